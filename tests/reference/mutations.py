"""Damage and rewriting of serialized modules."""

from __future__ import annotations

import random

from neffcache_key.schema import SCHEMAS, Schema
from neffcache_key.wire import BYTES, FIXED32, FIXED64, VARINT, Malformed, Occurrence, read_fields, write_field


def flip_bits(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def truncate(data: bytes, rng: random.Random) -> bytes:
    return data[:rng.randrange(1, len(data))]


def edit_field(data: bytes, rng: random.Random) -> bytes:
    """Somewhere in the tree of messages one field is said twice, left out, moved, or has another type or value."""
    return _edit(data, SCHEMAS["HloModule"], rng)


def edit_container(data: bytes, rng: random.Random) -> bytes:
    """Fields of the outermost message are added, said twice or moved, so that it can be read as more than one form."""
    fields = list(read_fields(data))
    field = rng.choice(fields)
    inside = field.value if isinstance(field.value, bytes) else b""
    added = rng.choice([field, Occurrence(rng.randrange(1, 8), *_value(rng)), Occurrence(rng.choice([1, 3]), BYTES, inside)])
    fields.insert(rng.randrange(len(fields) + 1), added)
    if rng.random() < 0.3:
        rng.shuffle(fields)
    return b"".join(write_field(each.number, each.wire_type, each.value) for each in fields)


def _edit(data: bytes, schema: Schema, rng: random.Random) -> bytes:
    try:
        fields = list(read_fields(data))
    except Malformed:
        return flip_bits(data, rng)
    if not fields:
        return write_field(rng.randrange(1, 200), VARINT, 1)
    at = rng.randrange(len(fields))
    field = fields[at]
    known = schema.fields.get(field.number)
    if known is not None and known.is_message and isinstance(field.value, bytes) and rng.random() < 0.85:
        fields[at] = Occurrence(field.number, BYTES, _edit(field.value, SCHEMAS[known.type], rng))
    else:
        fields[at:at + 1] = _replaced(field, rng)
    if fields and rng.random() < 0.1:
        fields.append(fields.pop(rng.randrange(len(fields))))
    return b"".join(write_field(each.number, each.wire_type, each.value) for each in fields)


def _replaced(field: Occurrence, rng: random.Random) -> list[Occurrence]:
    choice = rng.randrange(5)
    if choice == 0:
        return []
    if choice == 1:
        return [field, field]
    if choice == 2:
        return [field, Occurrence(field.number, *_value(rng))]
    if choice == 3:
        return [Occurrence(rng.choice([field.number + 1, rng.randrange(1, 110)]), field.wire_type, field.value)]
    return [Occurrence(field.number, *_value(rng))]


def _value(rng: random.Random) -> tuple[int, int | bytes]:
    wire_type = rng.choice([VARINT, FIXED64, BYTES, FIXED32])
    if wire_type == VARINT:
        return wire_type, rng.choice([0, 1, 5, (1 << 64) - 1])
    return wire_type, rng.randbytes({FIXED64: 8, FIXED32: 4}.get(wire_type, rng.randrange(4)))
