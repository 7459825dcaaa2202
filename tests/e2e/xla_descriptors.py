"""The descriptors of XLA's messages, out of the library that JAX installs.

A C++ program that uses protobuf carries each .proto file as a serialized FileDescriptorProto
(google/protobuf/descriptor.proto has its fields). Enough of it is read here to list fields.
"""

import dataclasses
import mmap
import pathlib
from collections.abc import Iterator

import jaxlib

# google.protobuf.FieldDescriptorProto.Type, named as the project's field table names them.
TYPES = {1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 6: "uint64", 7: "uint32", 8: "bool", 9: "string",
         11: "message", 12: "bytes", 13: "uint32", 14: "enum"}
REPEATED = 3


@dataclasses.dataclass
class Field:
    name: str = ""
    number: int = 0
    type: str = ""
    type_name: str = ""  # Of messages, from the package on: ".xla.ShapeProto".
    repeated: bool = False
    in_oneof: bool = False  # Members of a oneof and optional scalars.


def varint(data, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data, at: int, end: int, highest: int) -> Iterator[tuple[int, int | bytes]]:
    """Numbers and values; ends at `end` or at what cannot be a field of this message."""
    while at < end:
        tag, at = varint(data, at)
        number, wire_type = tag >> 3, tag & 7
        if not 1 <= number <= highest or wire_type not in (0, 2):
            return
        value, at = varint(data, at)
        if wire_type == 2:
            value, at = bytes(data[at:at + value]), at + value
        yield number, value


def messages_in(scope: str, data: bytes) -> Iterator[tuple[str, list[Field]]]:
    """A DescriptorProto's own fields, then those of the messages nested in it."""
    name, members, nested = "", [], []
    for number, value in fields(data, 0, len(data), 20):
        if number == 1:
            name = f"{scope}.{value.decode()}"
        elif number == 2:
            members.append(field_of(value))
        elif number == 3:
            nested.append(value)
    yield name, members
    for message in nested:
        yield from messages_in(name, message)


def field_of(data: bytes) -> Field:
    field = Field()
    for number, value in fields(data, 0, len(data), 20):
        match number:
            case 1: field.name = value.decode()
            case 3: field.number = value
            case 4: field.repeated = value == REPEATED
            case 5: field.type = TYPES[value]
            case 6: field.type_name = value.decode()
            case 9 | 17: field.in_oneof = True
    return field


def load(*files: str) -> dict[str, list[Field]]:
    """The fields of every message of these .proto files, by the message's full name."""
    library = pathlib.Path(jaxlib.__file__).parent / "libjax_common.so"
    found: dict[str, list[Field]] = {}
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for name in files:
            start = data.find(b"\n" + bytes([len(name)]) + name.encode() + b"\x12\x03xla")
            assert start >= 0, f"{library} has no descriptor of {name}"
            for number, value in fields(data, start, len(data), 14):
                if number == 4:
                    found.update(messages_in(".xla", value))
    return found
