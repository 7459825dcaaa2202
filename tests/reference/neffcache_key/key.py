"""Fingerprints and keys: keys.md, "Fingerprint" and "Key"."""

from __future__ import annotations

import collections.abc
import dataclasses
import hashlib
import pathlib

from .description import describe, kernels
from .encoding import length_prefixed
from .forms import read_graph
from .kernel import ReadFile
from .numbering import TieBreak
from .wire import Malformed, leb128


@dataclasses.dataclass(frozen=True)
class Fingerprint:
    tag: str
    digest: bytes
    reason: str = ""  # Why the raw tag.
    # Equal structural digests decided an order in a way that keys.md leaves open: only the program knows.
    undefined: bool = False

    def __str__(self) -> str:
        return f"{self.tag}:{self.digest.hex()}"


def read_from_disk(path: str) -> bytes:
    return pathlib.Path(path).read_bytes()


def fingerprint(file: bytes, exact: bool = False, read_file: ReadFile = read_from_disk) -> Fingerprint:
    graph = read_graph(file)
    tag = "neffcache-hlo-1-exact" if exact else "neffcache-hlo-1"
    reason = graph.form
    appended: list[bytes] = []
    if graph.module is not None:
        try:
            ties = TieBreak()
            description = describe(graph.module, exact, ties, read_file)
            undefined = ties.met and description != describe(graph.module, exact, TieBreak(reverse=True), read_file)
            return Fingerprint(tag, hashlib.sha256(length_prefixed(tag.encode()) + description).digest(),
                               undefined=undefined)
        except Malformed as malformed:
            reason = str(malformed)
            appended = [length_prefixed(config) for config in kernels(graph.module, read_file)]
    raw = "neffcache-raw-1"
    text = length_prefixed(raw.encode()) + leb128(len(graph.data)) + graph.data + b"".join(appended)
    return Fingerprint(raw, hashlib.sha256(text).digest(), reason)


def key(of: Fingerprint, toolchain: str, version: str, options: collections.abc.Iterable[str]) -> str:
    """`options` are normalized."""
    parts = [("s", b"neffcache-key-1"), ("t", of.tag.encode()), ("d", of.digest), ("c", toolchain.encode()),
             ("v", version.encode())]
    parts += [("o", option.encode()) for option in options]
    text = b"".join(kind.encode() + len(part).to_bytes(8, "little") + part for kind, part in parts)
    return hashlib.sha256(text).hexdigest()
