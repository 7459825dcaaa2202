"""The table of messages as objects, and as protobuf classes that the protobuf library can parse with."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from .schema_table import TABLE

_PACKAGE = "neffcache_reference"
_Types = descriptor_pb2.FieldDescriptorProto

# Floats are read as fixed-width bits, so that NaN payloads survive. Enums are open: any int32.
_PROTOBUF_TYPES = {
    "bool": _Types.TYPE_BOOL, "enum": _Types.TYPE_INT32, "int32": _Types.TYPE_INT32, "int64": _Types.TYPE_INT64,
    "uint32": _Types.TYPE_UINT32, "uint64": _Types.TYPE_UINT64, "float": _Types.TYPE_FIXED32,
    "double": _Types.TYPE_FIXED64, "bytes": _Types.TYPE_BYTES,
}
FIXED_WIDTH = {"float": 4, "double": 8}


@dataclasses.dataclass(frozen=True)
class Field:
    number: int
    name: str
    type: str  # A key of _PROTOBUF_TYPES or the name of a message.
    repeated: bool
    marks: frozenset[str]
    oneof: str | None

    @property
    def is_message(self) -> bool:
        return self.type not in _PROTOBUF_TYPES

    @property
    def has_presence(self) -> bool:
        """Zero differs from absent (hlo_keys.md 1.9)."""
        return self.is_message or self.oneof is not None or "present" in self.marks

    @property
    def wire_types(self) -> frozenset[int]:
        """The wire types under which protobuf reads the field; any other is foreign."""
        if self.is_message or self.type == "bytes":
            return frozenset({2})
        one = {4: 5, 8: 1}[FIXED_WIDTH[self.type]] if self.type in FIXED_WIDTH else 0
        return frozenset({one, 2} if self.repeated else {one})


@dataclasses.dataclass(frozen=True)
class Schema:
    name: str
    guarded: bool
    fields: dict[int, Field]


def _parse_field(line: str) -> Field:
    number, name, type_name, *marks = line.split()
    oneof = next((mark.partition("=")[2] for mark in marks if mark.startswith("oneof=")), None)
    return Field(int(number), name, type_name.removesuffix("*"), type_name.endswith("*"), frozenset(marks), oneof)


def _parse_table() -> dict[str, Schema]:
    schemas = {}
    for block in TABLE.strip().split("\n\n"):
        heading, *lines = block.splitlines()
        name, *marks = heading.split()
        fields = sorted(map(_parse_field, lines), key=lambda field: field.number)
        schemas[name] = Schema(name, "guarded" in marks, {field.number: field for field in fields})
    return schemas


SCHEMAS = _parse_table()


@functools.cache
def message_class(name: str) -> Any:
    """The protobuf class of a message, whose fields no type checker can know; field N is the attribute fN."""
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"{_PACKAGE}.{name}"))


@functools.cache
def _pool() -> descriptor_pool.DescriptorPool:
    # proto2, because its scalars have presence and its strings are free: what counts as absent is for the description.
    file = descriptor_pb2.FileDescriptorProto(name="reference.proto", package=_PACKAGE, syntax="proto2")
    for schema in SCHEMAS.values():
        descriptor = file.message_type.add(name=schema.name)
        groups: list[str] = []
        for field in schema.fields.values():
            entry = descriptor.field.add(name=f"f{field.number}", number=field.number)
            entry.label = _Types.LABEL_REPEATED if field.repeated else _Types.LABEL_OPTIONAL
            if field.is_message:
                entry.type, entry.type_name = _Types.TYPE_MESSAGE, f".{_PACKAGE}.{field.type}"
            else:
                entry.type = _PROTOBUF_TYPES[field.type]
            if field.oneof is not None:
                if field.oneof not in groups:
                    groups.append(field.oneof)
                    descriptor.oneof_decl.add(name=field.oneof)
                entry.oneof_index = groups.index(field.oneof)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool
