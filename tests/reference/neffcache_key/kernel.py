"""Configurations of NKI kernels: keys.md, "NKI kernels"."""

from __future__ import annotations

import base64
import binascii
import collections.abc
import hashlib
import json
from typing import Any

from .encoding import counted, length_prefixed

# The content of a file by its path; OSError when it cannot be read.
ReadFile = collections.abc.Callable[[str], bytes]

_WHITESPACE = b" \t\r\n"
_TARGET = b"AwsNeuronCustomNativeKernel"


class _Integer(str):
    pass


class _Real(str):
    pass


class _Object(list[tuple[str, Any]]):
    """Members in the order of the text, as (name, value)."""


class _NotCanonical(Exception):
    """The configuration stays verbatim, and the compile is uncacheable."""


def is_native_kernel(msg: Any) -> bool:
    """The target alone decides, whatever the opcode."""
    return bool(msg.f28 == _TARGET)


def canonical_config(config: bytes, read_file: ReadFile) -> bytes | None:
    """The canonical form; None where the configuration stays verbatim and the compile is uncacheable."""
    try:
        if config.lstrip(_WHITESPACE).startswith(b"{"):
            return b"J" + _value(_parsed(config), (), read_file)
        return b"B" + _value(_parsed(_decoded(config)), (), read_file)
    except (_NotCanonical, OSError):
        return None


def _decoded(config: bytes) -> bytes:
    """White space does not count, and padding may lack."""
    text = bytes(byte for byte in config if byte not in _WHITESPACE)
    try:
        return base64.b64decode(text.rstrip(b"=") + b"=" * (-len(text.rstrip(b"=")) % 4), validate=True)
    except binascii.Error as error:
        raise _NotCanonical("not base64") from error


def _parsed(text: bytes) -> Any:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        value = json.loads(text.decode(), parse_int=_number, parse_float=_Real, parse_constant=refuse,
                           object_pairs_hook=_Object)
        json.dumps(value, ensure_ascii=False).encode()  # Half a surrogate pair is no text.
        return value
    except ValueError as error:
        raise _NotCanonical("not JSON") from error


def _number(text: str) -> _Integer | _Real:
    """What has no place in 64 bits is no integer."""
    return _Integer(text) if -1 << 63 <= int(text) < 1 << 64 else _Real(text)


def _value(value: Any, path: tuple[str, ...], read_file: ReadFile) -> bytes:
    kind, text = _kind_and_text(value, path, read_file)
    return kind + length_prefixed(text)


def _kind_and_text(value: Any, path: tuple[str, ...], read_file: ReadFile) -> tuple[bytes, bytes]:
    if value is None:
        return b"n", b""
    if isinstance(value, bool):
        return (b"t" if value else b"f"), b""
    if isinstance(value, _Integer):
        return (b"i" if value.startswith("-") else b"u"), str(int(value)).encode()
    if isinstance(value, _Real):
        return b"r", value.encode()
    if isinstance(value, _Object):
        return b"o", _object(value, path, read_file)
    if isinstance(value, list):
        return b"a", counted([_value(item, (*path, "[]"), read_file) for item in value])
    if path == ("klir_binary", "binary"):
        content = hashlib.sha256(read_file(value)).digest()
        return b"F", length_prefixed(value.rpartition("/")[2].encode()) + content
    _refuse_path(value)
    return b"s", value.encode()


def _object(members: _Object, path: tuple[str, ...], read_file: ReadFile) -> bytes:
    names = [name for name, _ in members]
    if len(set(names)) < len(names):
        raise _NotCanonical("a member is there twice")
    for name in names:
        _refuse_path(name)
    written = sorted((name.encode(), _value(value, (*path, name), read_file)) for name, value in members)
    return counted([length_prefixed(name) + value for name, value in written])


def _refuse_path(text: str) -> None:
    if len(text) > 1 and text.startswith(("/", "~/", "./", "../")) or text.endswith(".klir"):
        raise _NotCanonical(text)
