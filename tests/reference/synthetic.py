"""Random HLO modules on the wire: every field of the table, every freedom that the wire and XLA's ids leave."""

from __future__ import annotations

import dataclasses
import random

from neffcache_key.schema import FIXED_WIDTH, SCHEMAS, Field, Schema
from neffcache_key.wire import BYTES, FIXED32, FIXED64, VARINT, leb128, little_endian, write_field

_INTERESTING = (0, 1, 2, 3, 127, 128, 300, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 64) - 1, 1 << 63)
_OPCODES = (b"add", b"dot", b"custom-call", b"rng", b"all-reduce-start", b"constant")
# Written by `Synthesis` itself, because they refer to each other.
_WIRED = {
    "HloModule": {3, 5, 6, 7, 20, 22, 24},
    "HloComputation": {1, 2, 5, 6},
    "HloInstruction": {2, 9, 28, 35, 36, 37, 38},
}


@dataclasses.dataclass(frozen=True)
class Style:
    """What kind of modules to make."""

    ids: str = "small"  # small: one counter; full: (computation << 32) | local; local: references by the low half.
    density: float = 0.05  # The share of the fields that are present.
    unknown: float = 0.02  # The chance of an unknown field in a message that is not guarded ...
    guarded: float = 0.0  # ... and in one that is.
    unused: float = 0.3  # The chance that an operand is not just the instruction before.
    untidy: float = 0.1  # The chance of a long varint, a list in pieces, a field that is said twice.


class Synthesis:
    """One random module after the other. Remembers which fields it wrote: `covered` holds (message, number)."""

    def __init__(self, seed: int):
        self._random = random.Random(seed)
        self.covered: set[tuple[str, int]] = set()

    def module(self, style: Style) -> bytes:
        return _Writer(self._random, style, self.covered).module()


class _Writer:
    def __init__(self, rng: random.Random, style: Style, covered: set[tuple[str, int]]):
        self._random = rng
        self._style = style
        self._covered = covered
        self._payloads = [rng.randbytes(rng.randrange(8)) for _ in range(rng.randrange(4))]

    def module(self) -> bytes:
        rng = self._random
        count = rng.randint(1, 4)
        # Ids in any order, sparse, and negative now and then, as they are only compared.
        self._computation_ids = rng.sample([*range(-1, 12), 1 << 31, 1 << 40], count)
        self._next_id = rng.randrange(100)
        self._instruction_ids: list[list[int]] = []
        computations = [self._computation(index) for index in range(count)]
        entry = rng.choice([count - 1, count - 1, rng.randrange(count)])
        parts = [self._field(3, BYTES, each) for each in rng.sample(computations, count)]
        parts.append(self._field(6, VARINT, self._computation_ids[entry]))
        if rng.random() < 0.3:
            parts.append(self._field(7, BYTES, self._schedule()))
        parts += [self._field(22, BYTES, payload) for payload in self._payloads]
        self._covered |= {("HloModule", number) for number in (3, 6, 7, 22)}
        parts += self._plain_fields(SCHEMAS["HloModule"], 0)
        return self._shuffled(parts, in_order={3, 22})

    def _computation(self, index: int) -> bytes:
        rng = self._random
        count = rng.randint(1, 10)
        low = rng.sample(range(40), count) if self._style.ids != "small" else self._counted(count)
        high = self._computation_ids[index] << 32 if self._style.ids != "small" else 0
        self._instruction_ids.append([high | local for local in low])
        references = low if self._style.ids == "local" else self._instruction_ids[-1]
        instructions = [self._instruction(index, at, references) for at in range(count)]
        root = rng.choice([count - 1, rng.randrange(count)])
        parts = [self._field(2, BYTES, each) for each in rng.sample(instructions, count)]
        parts += [self._field(5, VARINT, self._computation_ids[index]), self._field(6, VARINT, references[root])]
        if rng.random() < 0.5:
            parts.append(self._field(1, BYTES, rng.choice(_NAMES)))
        self._covered |= {("HloComputation", number) for number in (1, 2, 5, 6)}
        parts += self._plain_fields(SCHEMAS["HloComputation"], 1)
        return self._shuffled(parts, in_order={2})

    def _counted(self, count: int) -> list[int]:
        ids = list(range(self._next_id, self._next_id + count))
        self._next_id += count
        return ids

    def _instruction(self, computation: int, at: int, references: list[int]) -> bytes:
        rng = self._random
        opcode = b"parameter" if at < 3 and rng.random() < 0.6 else rng.choice(_OPCODES)
        parts = [self._field(2, BYTES, opcode), self._field(35, VARINT, self._instruction_ids[computation][at])]
        if opcode == b"parameter":
            parts.append(self._field(9, VARINT, at))
        elif at > 0:
            before = [at - 1 if rng.random() > self._style.unused else rng.randrange(at) for _ in range(rng.randrange(4))]
            parts += self._references(36, [references[each] for each in before])
        if at > 0 and rng.random() < 0.3:
            parts += self._references(37, rng.sample(references[:at], min(at, rng.randint(1, 4))))
        if computation > 0 and rng.random() < 0.2:
            callees = [self._computation_ids[rng.randrange(computation)] for _ in range(rng.randint(1, 3))]
            parts += self._references(38, callees)
        if rng.random() < 0.3:
            parts.append(self._field(28, BYTES, b"Target"))
        self._covered |= {("HloInstruction", number) for number in _WIRED["HloInstruction"]}
        parts += self._plain_fields(SCHEMAS["HloInstruction"], 2)
        return self._shuffled(parts)

    def _schedule(self) -> bytes:
        parts = []
        for index, ids in enumerate(self._instruction_ids):
            if self._random.random() < 0.8:
                sequence = b"".join(self._references(1, self._random.sample(ids, len(ids))))
                key = self._field(1, VARINT, self._computation_ids[index])
                parts.append(write_field(1, BYTES, self._shuffled([key, write_field(2, BYTES, sequence)])))
        self._covered |= {("HloSchedule", 1), ("SequencesEntry", 1), ("SequencesEntry", 2), ("InstructionSequence", 1)}
        return self._shuffled(parts)

    def _references(self, number: int, ids: list[int]) -> list[bytes]:
        return self._list_field(number, [self._varint(each) for each in ids], VARINT)

    # Fields without a meaning of their own.

    def _plain_fields(self, schema: Schema, depth: int) -> list[bytes]:
        rng = self._random
        left_out = _WIRED.get(schema.name, set())
        density = self._style.density if depth < 3 else 1.2 / depth
        parts = []
        for number, field in schema.fields.items():
            if number not in left_out and rng.random() < density and not (field.is_message and depth > 6):
                self._covered.add((schema.name, number))
                twice = self._untidy() and field.name not in _NOT_TWICE
                for _ in range(2 if twice else 1):
                    parts += self._occurrence(field, depth)
        if rng.random() < (self._style.guarded if schema.guarded else self._style.unknown):
            parts.append(self._unknown(schema))
        return parts

    def _occurrence(self, field: Field, depth: int) -> list[bytes]:
        rng = self._random
        if field.type == "Payload" or field.name == "statistics_viz":
            return [self._field(field.number, BYTES, self._payload() if field.type == "Payload" else rng.randbytes(3))]
        values = [self._value(field, depth) for _ in range(rng.choice([0, 1, 2, 3, 5]) if field.repeated else 1)]
        wire_type = min(field.wire_types - {BYTES}, default=BYTES)
        if wire_type == BYTES:
            return [write_field(field.number, BYTES, value) for value in values]
        return self._list_field(field.number, values, wire_type) if field.repeated else [
            self._tag(field.number, wire_type) + value for value in values]

    def _payload(self) -> bytes:
        rng = self._random
        if self._payloads and rng.random() < 0.7:
            self._covered.add(("Payload", 2))
            return self._field(2, VARINT, rng.randrange(len(self._payloads)))
        self._covered.add(("Payload", 1))
        return rng.choice([b"", write_field(1, BYTES, rng.randbytes(rng.randrange(6)))])

    def _value(self, field: Field, depth: int) -> bytes:
        rng = self._random
        if field.is_message:
            return self._shuffled(self._plain_fields(SCHEMAS[field.type], depth + 1))
        if field.type == "bytes":
            return rng.choice(_TEXTS) if rng.random() < 0.98 else rng.randbytes(rng.choice([4096, 4097]))
        if field.type in FIXED_WIDTH:
            width = FIXED_WIDTH[field.type]
            bits = rng.choice([0, 1 << 8 * width - 1, 0x7F800001, 0x3F800000, rng.getrandbits(8 * width)])
            return little_endian(bits, width)
        if field.type == "bool" or "unless-one" in field.marks:
            return self._varint(rng.choice([0, 1, 1, 2, 1 << 40]))
        return self._varint(rng.choice([rng.choice(_INTERESTING), rng.randrange(5)]))

    def _unknown(self, schema: Schema) -> bytes:
        rng = self._random
        number = rng.choice([each for each in (*schema.fields, 150, 1 << 20, 4, 41) if each != 0])
        taken = schema.fields[number].wire_types if number in schema.fields else frozenset()
        wire_type = rng.choice(sorted({VARINT, FIXED64, BYTES, FIXED32} - taken))
        if wire_type == VARINT:
            return write_field(number, wire_type, rng.choice(_INTERESTING))
        return write_field(number, wire_type, rng.randbytes(8 if wire_type == FIXED64 else 4))

    # The wire.

    def _untidy(self) -> bool:
        return self._random.random() < self._style.untidy

    def _varint(self, number: int) -> bytes:
        text = leb128(number & (1 << 64) - 1)
        if self._untidy() and len(text) < 10:
            text = text[:-1] + bytes([text[-1] | 0x80]) + b"\x80" * self._random.randrange(10 - len(text)) + b"\0"
        return text

    def _tag(self, number: int, wire_type: int) -> bytes:
        return self._varint(number << 3 | wire_type) if number < 16 else leb128(number << 3 | wire_type)

    def _field(self, number: int, wire_type: int, value: int | bytes) -> bytes:
        if isinstance(value, int):
            return self._tag(number, wire_type) + self._varint(value)
        return self._tag(number, wire_type) + self._varint(len(value)) + value

    def _list_field(self, number: int, values: list[bytes], wire_type: int) -> list[bytes]:
        """Packed, unpacked, or in pieces of both."""
        if not self._untidy():
            return [write_field(number, BYTES, b"".join(values))] if values else []
        cut = self._random.randint(0, len(values))
        packed = write_field(number, BYTES, b"".join(values[:cut]))
        return [packed + b"".join(self._tag(number, wire_type) + value for value in values[cut:])]

    def _shuffled(self, parts: list[bytes], in_order: set[int] | None = None) -> bytes:
        if self._random.random() < 0.5:
            self._random.shuffle(parts)
        return b"".join(parts)


# What these mean twice is the matter of test_known_differences.py.
_NOT_TWICE = {"metadata", "backend_config", "metadata_payload", "backend_config_payload"}
_TEXTS = (b"", b"a", b"b", b"\0\xff", b"parameter", b"0123456789" * 13)
_NAMES = (b"main.7", b"shmap_body", b"shmap_body.12", b"x_xla.sdy.manual_computation_body_3", b"shmap_body.1.2_3",
          b"shmap_body.", b"shmap_body_4x", b"xla.sdy.7_")
