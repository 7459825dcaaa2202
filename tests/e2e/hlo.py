"""Small graphs made on the spot: real HloModuleProto bytes, without tracing."""

import base64
import json
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


def kernel_call(path: pathlib.Path, kernel: str) -> pathlib.Path:
    """Writes the graph of a call of the NKI kernel whose file is named `kernel`."""
    config = base64.b64encode(json.dumps({"func_name": "f", "klir_binary": {"binary": kernel}}).encode()).decode()
    text = f"""HloModule kernel_call

ENTRY main {{
  x = f32[4]{{0}} parameter(0)
  ROOT y = f32[4]{{0}} custom-call(x), custom_call_target="AwsNeuronCustomNativeKernel", backend_config="{config}"
}}
"""
    path.write_bytes(_hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto())
    return path


def large(path: pathlib.Path, size: int) -> pathlib.Path:
    """Writes what says it is MLIR bytecode, which is not looked into: random bytes, so they do not shrink."""
    path.write_bytes(b"ML\xefR" + os.urandom(size))
    return path
