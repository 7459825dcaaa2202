"""Calls of the real program, many graphs at once."""

from __future__ import annotations

import collections.abc
import json
import os
import pathlib
import subprocess
from typing import Any

SOURCE = pathlib.Path(os.environ.get("NEFFCACHE_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
BUILD = pathlib.Path(os.environ.get("NEFFCACHE_BUILD_DIR", SOURCE / "build"))
_PROGRAM = BUILD / "bin" / "neffcache"
_GRAPHS_A_CALL = 500


def fingerprints(files: collections.abc.Sequence[pathlib.Path], exact: bool) -> dict[pathlib.Path, str]:
    """What `neffcache fingerprint` says of each file; nothing of those that it refuses."""
    found = {}
    for start in range(0, len(files), _GRAPHS_A_CALL):
        words = ["fingerprint", *(["--exact"] if exact else []), *map(str, files[start:start + _GRAPHS_A_CALL])]
        for graph in _call(words)["graphs"]:
            found[pathlib.Path(graph["graph"])] = graph["fingerprint"]
    return found


def key(file: pathlib.Path, toolchain: str, options: collections.abc.Sequence[str], exact: bool = False) -> dict[str, Any]:
    """What `neffcache key` says: key, options, or errors."""
    return _call(["key", *(["--exact"] if exact else []), "--toolchain", toolchain, str(file), "--", *options])


def _call(words: list[str]) -> dict[str, Any]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NEFFCACHE_")}
    ended = subprocess.run([_PROGRAM, "--json", *words], capture_output=True, text=True, env=environment, timeout=300)
    assert ended.returncode >= 0, f"neffcache died of signal {-ended.returncode}: {ended.stderr}"
    document: dict[str, Any] = json.loads(ended.stdout)
    return document
