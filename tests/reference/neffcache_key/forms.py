"""What kind of graph a file holds: keys.md, "Fingerprint"."""

from __future__ import annotations

import dataclasses
import io
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
    if _is_module(data):
        return Graph("HloModuleProto", data, None if _is_module(_first(data, 1)) else data)
    inner = _first(data, 1)
    if _is_module(inner):
        return Graph("HloProto", data, inner if _is_plain_container(data, _PROTO_FIELDS) else None)
    module = _first(inner, 1)
    if _is_module(module):
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


def _first(data: bytes | None, number: int) -> bytes | None:
    """The first field `number` with a length; None where there is none before any damage."""
    if data is None:
        return None
    try:
        for field in read_fields(data):
            if field.number == number and field.wire_type == BYTES:
                assert isinstance(field.value, bytes)
                return field.value
    except Malformed:
        pass
    return None


def _is_module(data: bytes | None) -> bool:
    opcode = _first(_first(_first(data, 3), 2), 2)
    return opcode is not None and _OPCODE.fullmatch(opcode) is not None


def _is_plain_container(data: bytes | None, known: set[int]) -> bool:
    """All fields known, the module in one piece."""
    assert data is not None
    try:
        fields = list(read_fields(data))
    except Malformed:
        return False
    return all(field.number in known and field.wire_type == BYTES for field in fields) and (
        sum(field.number == 1 for field in fields) == 1)
