"""Runs the program and the reference over the same graphs and tells where they differ."""

from __future__ import annotations

import collections
import collections.abc
import pathlib

import programs
from neffcache_key.key import fingerprint


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
