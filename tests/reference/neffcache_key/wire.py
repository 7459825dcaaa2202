"""The wire format, as far as the protobuf library does not do it our way: what is damaged, and how deep it is.

The library accepts groups and deeper nesting than keys.md does, and its parsers differ in how they take overlong
varints; so each module passes through `normalize` first.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import struct

from .schema import FIXED_WIDTH, SCHEMAS, Field, Schema

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
MAX_DEPTH = 64
# Depth is counted from the module, the computation or the instruction that the message hangs on.
_DEPTH_ZERO = {"HloComputation", "HloInstruction"}
_MAX_FIELD_NUMBER = (1 << 29) - 1


class Malformed(Exception):
    """Not an HLO module that can be numbered: its raw bytes are hashed."""


@dataclasses.dataclass(frozen=True)
class Occurrence:
    """One field as it stands on the wire; `value` is a number for varints, else the payload's bytes."""

    number: int
    wire_type: int
    value: int | bytes


def leb128(number: int) -> bytes:
    """u(n) of keys.md."""
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at `at`, cut to 64 bits, and where it ends."""
    number = 0
    for index in range(10):
        if at + index >= len(data):
            raise Malformed("a varint runs past the end")
        byte = data[at + index]
        number |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return number & (1 << 64) - 1, at + index + 1
    raise Malformed("a varint has more than ten bytes")


def read_fields(data: bytes) -> collections.abc.Iterator[Occurrence]:
    """The fields of one message in the order of the wire."""
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        number, wire_type = tag >> 3, tag & 7
        if not 1 <= number <= _MAX_FIELD_NUMBER:
            raise Malformed(f"field number {number}")
        if wire_type == VARINT:
            value, at = read_varint(data, at)
            yield Occurrence(number, wire_type, value)
            continue
        if wire_type == BYTES:
            size, at = read_varint(data, at)
        elif wire_type in (FIXED64, FIXED32):
            size = 8 if wire_type == FIXED64 else 4
        else:
            raise Malformed(f"wire type {wire_type}")
        if size > len(data) - at:
            raise Malformed("a length runs past the end")
        yield Occurrence(number, wire_type, data[at:at + size])
        at += size


def write_field(number: int, wire_type: int, value: int | bytes) -> bytes:
    tag = leb128(number << 3 | wire_type)
    if isinstance(value, int):
        return tag + leb128(value)
    return tag + (leb128(len(value)) if wire_type == BYTES else b"") + value


def normalize(data: bytes, schema: Schema, depth: int = 0) -> bytes:
    """The message with every varint of the least length. Dropped fields are not looked into."""
    if depth > MAX_DEPTH:
        raise Malformed(f"messages nested more than {MAX_DEPTH} deep")
    return b"".join(_normalize_field(field, schema.fields.get(field.number), depth) for field in read_fields(data))


def _normalize_field(occurrence: Occurrence, field: Field | None, depth: int) -> bytes:
    value = occurrence.value
    if field is not None and occurrence.wire_type == BYTES and BYTES in field.wire_types:
        assert isinstance(value, bytes)
        if field.is_message:
            value = normalize(value, SCHEMAS[field.type], 0 if field.type in _DEPTH_ZERO else depth + 1)
        elif field.repeated and field.type != "bytes":
            value = _normalize_packed(value, field)
    return write_field(occurrence.number, occurrence.wire_type, value)


def _normalize_packed(data: bytes, field: Field) -> bytes:
    if field.type in FIXED_WIDTH:
        if len(data) % FIXED_WIDTH[field.type]:
            raise Malformed("a packed list ends within an element")
        return data
    out = []
    at = 0
    while at < len(data):
        number, at = read_varint(data, at)
        out.append(leb128(number))
    return b"".join(out)


def little_endian(number: int, width: int) -> bytes:
    return struct.pack("<I" if width == 4 else "<Q", number)
