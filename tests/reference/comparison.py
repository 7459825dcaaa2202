"""Runs the program and the reference over the same graphs and tells where they differ."""

from __future__ import annotations

import collections
import collections.abc
import pathlib

import programs
from neffcache_key.key import fingerprint
from neffcache_key.schema import SCHEMAS, Schema
from neffcache_key.wire import BYTES, Malformed, Occurrence, read_fields, read_varint


class Comparison:
    """Collects graphs as files; `check` compares them all in both orders."""

    def __init__(self, directory: pathlib.Path):
        self._directory = directory
        self._files: list[pathlib.Path] = []

    def add(self, data: bytes) -> None:
        file = self._directory / f"{len(self._files):05}.pb"
        file.write_bytes(data)
        self._files.append(file)

    def add_file(self, file: pathlib.Path) -> None:
        self._files.append(file)

    def check(self) -> collections.Counter[str]:
        """How many graphs there were of each tag."""
        tags: collections.Counter[str] = collections.Counter()
        for exact in (False, True):
            said = programs.fingerprints(self._files, exact)
            for file in self._files:
                data = file.read_bytes()
                expected = fingerprint(data, exact)
                tags[expected.tag] += 1
                if expected.undefined:
                    tags["undefined"] += 1
                elif said[file] != str(expected):
                    text = f"{data.hex()} " if len(data) < 2000 else ""
                    raise AssertionError(f"{file}: {text}the program says {said[file]}, the reference {expected} "
                                         f"{expected.reason}")
        return tags


# Fields that, said twice, are what test_known_differences.py is about.
_ONCE = {"HloInstruction": {7, 43, 99}, "InstructionMetadata": {20}, "OpMetadata": {20}, "Payload": {2}}

_ONE_OF = {"HloInstruction": {87, 92, 93}, "ResultAccuracy": {1, 2}}


def has_known_difference(data: bytes, schema: Schema = SCHEMAS["HloModule"]) -> bool:
    """test_known_differences.py says how the program reads this."""
    try:
        return _has_known_difference(data, schema)
    except Malformed:
        return False  # Raw, whatever is in it.


def _has_known_difference(data: bytes, schema: Schema) -> bool:
    fields = list(read_fields(data))
    count = collections.Counter(field.number for field in fields)
    if any(count[number] > 1 for number in _ONCE.get(schema.name, ())):
        return True
    if sum(number in count for number in _ONE_OF.get(schema.name, ())) > 1:
        return True
    if schema.name == "HloModule" and 22 not in count and _has_metadata_payload(fields):
        return True
    if schema.name == "HloInstruction" and _repeats_a_control(fields):
        return True
    return any(_has_known_difference(field.value, SCHEMAS[schema.fields[field.number].type]) for field in fields
               if isinstance(field.value, bytes) and field.number in schema.fields
               and schema.fields[field.number].is_message)


def _has_metadata_payload(module: list[Occurrence]) -> bool:
    def inside(fields: list[Occurrence], number: int) -> list[Occurrence]:
        return [inner for field in fields if field.number == number and isinstance(field.value, bytes)
                and field.wire_type == BYTES for inner in read_fields(field.value)]

    return bool(inside(inside(inside(inside(module, 3), 2), 7), 20))


def _repeats_a_control(fields: list[Occurrence]) -> bool:
    ids: list[int] = []
    for field in fields:
        if field.number != 37:
            continue
        if isinstance(field.value, int):
            ids.append(field.value)
        elif field.wire_type == BYTES:
            at = 0
            while at < len(field.value):
                number, at = read_varint(field.value, at)
                ids.append(number)
    return len(ids) > len({number & (1 << 32) - 1 for number in ids})
