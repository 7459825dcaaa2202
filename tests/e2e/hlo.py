"""Small graphs made on the spot: real HloModuleProto bytes, without tracing."""

import os
import pathlib

from jaxlib import _hlo


def add_constant(path: pathlib.Path, constant: float, width: int = 4, name: str = "add_constant") -> pathlib.Path:
    """Writes the graph of x + constant. Another constant or width is another key; another name is not."""
    text = f"""HloModule {name}

ENTRY main {{
  x = f32[{width}]{{0}} parameter(0)
  c = f32[] constant({constant})
  cs = f32[{width}]{{0}} broadcast(c), dimensions={{}}
  ROOT sum = f32[{width}]{{0}} add(x, cs)
}}
"""
    path.write_bytes(_hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto())
    return path


def large(path: pathlib.Path, size: int) -> pathlib.Path:
    """Writes what is told to be MLIR bytecode and is not looked into: bytes that do not shrink, of a key of their own."""
    path.write_bytes(b"ML\xefR" + os.urandom(size))
    return path
