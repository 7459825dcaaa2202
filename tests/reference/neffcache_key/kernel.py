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

_TARGET = b"AwsNeuronCustomNativeKernel"


class _Integer(str):
    pass


class _Real(str):
    pass


class _Object(list):
    """Members in the order of the text, as (name, value)."""


class _NotCanonical(Exception):
    """The configuration stays verbatim, and the compile is uncacheable."""


def is_native_kernel(msg: Any) -> bool:
    return bool(msg.f2 == b"custom-call" and msg.f28 == _TARGET)


def canonical_config(config: bytes, read_file: ReadFile) -> bytes | None:
    """The canonical form; None where the configuration stays verbatim."""
    try:
        for form, text in ((b"J", config), (b"B", _decoded(config))):
            value = _parsed(text) if text is not None else None
            if isinstance(value, _Object):
                return form + _value(value, (), read_file)
    except (_NotCanonical, OSError):
        pass
    return None


def _decoded(config: bytes) -> bytes | None:
    try:
        return base64.b64decode(config, validate=True)
    except binascii.Error:
        return None


def _parsed(text: bytes) -> Any:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        return json.loads(text.decode(), parse_int=_Integer, parse_float=_Real, parse_constant=refuse,
                          object_pairs_hook=_Object)
    except ValueError:
        return None


def _value(value: Any, path: tuple[str, ...], read_file: ReadFile) -> bytes:
    kind, text = _kind_and_text(value, path, read_file)
    return kind + length_prefixed(text)


def _kind_and_text(value: Any, path: tuple[str, ...], read_file: ReadFile) -> tuple[bytes, bytes]:
    if value is None:
        return b"n", b""
    if isinstance(value, bool):
        return (b"t" if value else b"f"), b""
    if isinstance(value, _Integer):
        return (b"i" if value.startswith("-") else b"u"), value.encode()
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
    for name, _ in members:
        _refuse_path(name)
    written = sorted((name.encode(), _value(value, (*path, name), read_file)) for name, value in members)
    return counted([length_prefixed(name) + value for name, value in written])


def _refuse_path(text: str) -> None:
    if text.startswith("/"):
        raise _NotCanonical(text)
