"""Fields as the description writes them: keys.md, "Description"."""

from __future__ import annotations

import collections.abc
import hashlib
from typing import Any

from google.protobuf import message, unknown_fields

from .schema import FIXED_WIDTH, SCHEMAS, Field, Schema
from .wire import BYTES, FIXED32, FIXED64, VARINT, Malformed, leb128, little_endian

_LONGEST_VERBATIM = 4096

# Written values of one message by field number: kind and value, joined.
Written = dict[int, bytes]


def length_prefixed(data: bytes) -> bytes:
    """b(s) of keys.md."""
    return leb128(len(data)) + data


def string(data: bytes) -> bytes:
    if len(data) <= _LONGEST_VERBATIM:
        return b"\0" + length_prefixed(data)
    return b"\1" + leb128(len(data)) + hashlib.sha256(data).digest()


def counted(items: collections.abc.Sequence[bytes]) -> bytes:
    return leb128(len(items)) + b"".join(items)


def positions(items: collections.abc.Sequence[int]) -> bytes:
    return counted([leb128(item) for item in items])


class Encoder:
    """Writes messages of one module, whose payload table Payloads refer to."""

    def __init__(self, payloads: collections.abc.Sequence[bytes]):
        self._payloads = payloads
        self.referred_payloads: set[int] = set()

    def fields(self, msg: Any, schema: Schema, special: Written | None = None) -> bytes:
        """All fields in ascending order; `special` are those that the table leaves to the caller."""
        written = dict(special or {})
        for number, field in schema.fields.items():
            if not field.marks & {"drop", "special"}:
                value = self._known(msg, field)
                if value is not None:
                    written[number] = value
        unknown = self.unknown(msg, schema)
        out = []
        for number in sorted(written.keys() | unknown.keys()):
            out += [leb128(number) + half[number] for half in (written, unknown) if number in half]
        return b"".join(out)

    def unknown(self, msg: message.Message, schema: Schema) -> Written:
        """Kind U by number. In a guarded message there may be none."""
        by_number: dict[int, list[bytes]] = {}
        foreign: Any = unknown_fields.UnknownFieldSet(msg)  # Iterable, though its type does not say so.
        for field in foreign:
            if schema.guarded and field.field_number not in _INERT.get(schema.name, ()):
                raise Malformed(f"unknown field {field.field_number} of {schema.name}")
            by_number.setdefault(field.field_number, []).append(_foreign(field.wire_type, field.data))
        return {number: b"U" + counted(items) for number, items in by_number.items()}

    def payload(self, msg: Any) -> bytes:
        """Kind p; a message like any other while it stands for nothing."""
        content = self.payload_content(msg)
        if content is None:
            return b"m" + self.fields(msg, SCHEMAS["Payload"]) + b"\0"
        return b"p" + string(content)

    def payload_content(self, msg: Any) -> bytes | None:
        """The bytes that a Payload stands for (hlo_keys.md 1.5); None where it has neither member."""
        self.unknown(msg, SCHEMAS["Payload"])
        if msg.HasField("f1"):
            return bytes(msg.f1)
        if not msg.HasField("f2"):
            return None
        if not 0 <= msg.f2 < len(self._payloads):
            raise Malformed(f"payload {msg.f2} of {len(self._payloads)}")
        self.referred_payloads.add(msg.f2)
        return bytes(self._payloads[msg.f2])

    def _known(self, msg: Any, field: Field) -> bytes | None:
        name = f"f{field.number}"
        value: Any = getattr(msg, name)
        if field.repeated:
            return self._list(value, field) if len(value) else None
        if field.has_presence and not msg.HasField(name):
            return None
        if field.type == "Payload":
            return self.payload(value)
        if field.is_message:
            text = self.fields(value, SCHEMAS[field.type])
            return None if not text and "unless-empty" in field.marks else b"m" + text + b"\0"
        if not field.has_presence and not value or "unless-one" in field.marks and value == 1:
            return None
        return _scalar(value, field)

    def _list(self, values: Any, field: Field) -> bytes | None:
        if "map" in field.marks:
            return b"P" + self._map(values)
        if field.is_message:
            items = [self.fields(value, SCHEMAS[field.type]) + b"\0" for value in values]
            return b"X" + counted(sorted(items)) if "set" in field.marks else b"M" + counted(items)
        if "unless-zeros" in field.marks and not any(values) or "unless-ones" in field.marks and all(values):
            return None
        if field.type == "bytes":
            return b"S" + counted([string(value) for value in values])
        if field.type in FIXED_WIDTH:
            width = FIXED_WIDTH[field.type]
            joined = b"".join(little_endian(value, width) for value in values)
            return (b"F" if width == 4 else b"D") + leb128(len(values)) + string(joined)
        return b"V" + leb128(len(values)) + string(b"".join(leb128(value & (1 << 64) - 1) for value in values))

    def _map(self, entries: Any) -> bytes:
        unique: dict[bytes, bytes] = {}
        for entry in entries:
            self.unknown(entry, SCHEMAS["MapEntry"])
            unique[entry.f1] = entry.f2
        return counted([string(key) + string(unique[key]) for key in sorted(unique)])


# Obsolete numbers that never held a reference (hlo_keys.md 3.4).
_INERT = {"HloModule": {9}, "HloInstruction": {41, 42, 44, 46, 53, 64, 78, 83, 84, 86}}


def _scalar(value: Any, field: Field) -> bytes:
    if field.type == "bytes":
        return b"s" + string(value)
    if field.type in FIXED_WIDTH:
        width = FIXED_WIDTH[field.type]
        return (b"f" if width == 4 else b"d") + little_endian(value, width)
    return b"v" + leb128(int(value) & (1 << 64) - 1)


def _foreign(wire_type: int, data: Any) -> bytes:
    """One item of kind U: wire type and value."""
    if wire_type == VARINT:
        value = leb128(data)
    elif wire_type == BYTES:
        value = string(data)
    else:
        value = little_endian(data, {FIXED32: 4, FIXED64: 8}[wire_type])
    return bytes([wire_type]) + value
