"""What kind of graph a file holds: keys.md, "Fingerprint"."""

from __future__ import annotations

import collections.abc
import dataclasses
import io
import itertools
import re
import zlib

import zstandard

from .wire import BYTES, Malformed, read_fields

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_MLIR = b"ML\xefR"
# Module, ordering (obsolete), buffer assignment; HloProto, arguments, result, platform.
_PROTO_FIELDS = {1, 2, 3}
_SNAPSHOT_FIELDS = {1, 2, 3, 4}
_OPCODE = re.compile(rb"[a-z0-9_-]+")


@dataclasses.dataclass(frozen=True)
class Graph:
    """An unwrapped graph; `module` is the HloModuleProto in it, None where only the raw bytes count."""

    form: str
    data: bytes
    module: bytes | None


def read_graph(file: bytes) -> Graph:
    data = _unwrap(file)
    if data.startswith(_MLIR):
        return Graph("MLIR bytecode", data, None)
    proto = next((inner for inner in _all(data, 1) if _is_module(inner)), None)
    if _is_module(data):
        return Graph("HloModuleProto", data, data if proto is None else None)
    if proto is not None:
        return Graph("HloProto", data, proto if _is_plain_container(data, _PROTO_FIELDS) else None)
    for inner in _all(data, 1):
        module = next((each for each in _all(inner, 1) if _is_module(each)), None)
        if module is not None:
            plain = _is_plain_container(data, _SNAPSHOT_FIELDS) and _is_plain_container(inner, _PROTO_FIELDS)
            return Graph("HloSnapshot", data, module if plain else None)
    return Graph("opaque", data, None)


def _unwrap(file: bytes) -> bytes:
    if file.startswith(_GZIP):
        data, rest = b"", file
        while rest:
            member = zlib.decompressobj(wbits=31)
            data += member.decompress(rest) + member.flush()
            rest = member.unused_data
        return data
    if file.startswith(_ZSTD):
        return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(file), read_across_frames=True).read()
    return file


def _all(data: bytes, number: int) -> collections.abc.Iterator[bytes]:
    """The fields `number` with a length, up to any damage."""
    try:
        for field in read_fields(data):
            if field.number == number and isinstance(field.value, bytes) and field.wire_type == BYTES:
                yield field.value
    except Malformed:
        pass


def _is_module(data: bytes) -> bool:
    """The first computation holds an instruction with an opcode."""
    for computation in itertools.islice(_all(data, 3), 1):
        for instruction in itertools.islice(_all(computation, 2), 1):
            return any(_OPCODE.fullmatch(opcode) for opcode in itertools.islice(_all(instruction, 2), 1))
    return False


def _is_plain_container(data: bytes, known: set[int]) -> bool:
    """All fields known, the module in one piece."""
    try:
        fields = list(read_fields(data))
    except Malformed:
        return False
    return all(field.number in known and field.wire_type == BYTES for field in fields) and (
        sum(field.number == 1 for field in fields) == 1)
