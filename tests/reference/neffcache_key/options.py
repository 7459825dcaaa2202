"""Normalized options of neuronx-cc: keys.md, "Key", DESIGN 4.4 and the flags of the compiler's manual.

keys.md leaves the table of flags to the program. This one is from the manual; a flag that is not in it is unknown.
"""

from __future__ import annotations

import collections.abc
import re

_WITH_VALUE = {
    "--framework", "--target", "--model-type", "--auto-cast", "--auto-cast-type", "--native-int64",
    "--implicit-integer-downcast", "--distribution-strategy", "--logical-nc-config", "--optlevel",
}
_ALIASES = {"-O": "--optlevel", "-lnc": "--logical-nc-config", "--lnc": "--logical-nc-config"}
# A switch and its opposite share a place: the last one wins.
_SWITCHES = {
    "--enable-saturate-infinity": "saturate-infinity",
    "--enable-fast-context-switch": "fast-context-switch",
    "--enable-fast-loading-neuron-binaries": "fast-loading-neuron-binaries",
    "--enable-mixed-precision-accumulation": "mixed-precision-accumulation",
    "--disable-mixed-precision-accumulation": "mixed-precision-accumulation",
    "--enable-dge": "dge",
    "--disable-dge": "dge",
}
_DROPPED_WITH_VALUE = {"--output", "-o", "--logfile", "--logfile-verbose", "--verbose", "--cache_dir", "--log_level"}
_DROPPED_SWITCHES = {"--no_cache", "--retry_failed_compilation"}
_VALUE_ALIASES = {("--distribution-strategy", "NEMO"): "llm-training", ("--distribution-strategy", "nemo"): "llm-training"}


class MissingValue(Exception):
    """A flag that needs a value is the last word."""


def normalize(toolchain: str, flags: collections.abc.Sequence[str]) -> list[str]:
    """Documented flags sorted by name, one each; then all that is unknown, verbatim and in order."""
    if toolchain != "neuronx-cc":
        return list(flags)
    known: dict[str, str] = {}
    unknown: list[str] = []
    words = iter(flags)
    for word in words:
        level = re.fullmatch(r"-O([0-9])", word)
        name, equals, value = ("-O", "=", level[1]) if level else word.partition("=")
        name = _ALIASES.get(name, name)
        if name in _WITH_VALUE or name in _DROPPED_WITH_VALUE:
            if not equals:
                value = _next(words, word)
            if name in _WITH_VALUE:
                known[name] = f"{name}={_VALUE_ALIASES.get((name, value), value)}"
        elif name in _SWITCHES and not equals:
            known[_SWITCHES[name]] = name
        elif name not in _DROPPED_SWITCHES:
            unknown.append(word)
    by_name = sorted(known.values(), key=lambda option: option.partition("=")[0])
    return [option for option in by_name if option != "--framework=XLA"] + unknown


def _next(words: collections.abc.Iterator[str], flag: str) -> str:
    value = next(words, None)
    if value is None:
        raise MissingValue(flag)
    return value
