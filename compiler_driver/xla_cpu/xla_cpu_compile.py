#!/usr/bin/env python3
"""Compiles a traced graph ahead of time for this host's CPU, with the XLA that jaxlib carries.

    xla-cpu-compile --version
    xla-cpu-compile [--num-replicas=N] [--num-partitions=N] GRAPH --output FILE

GRAPH holds an HloModuleProto, bare or inside an HloProto or HloSnapshot, plain or compressed with gzip or zstd.
FILE receives the serialized executable, complete or not at all. Nothing but the arguments steers the compile:
XLA_FLAGS is not heeded, because it is in no cache key.

Exit status: 0 done; 1 the graph cannot be compiled; 2 usage; 3 the environment is at fault (jaxlib missing, no space).
Whatever is not 0 comes with one line "error: ..." at the end of stderr.
"""

import argparse
import hashlib
import os
import pathlib
import platform
import sys
import tempfile

EXIT_GRAPH = 1
EXIT_ENVIRONMENT = 3

# Far above any graph that protobuf can hold (2 GiB); below what a decompression bomb asks for.
MAX_GRAPH_BYTES = 4 << 30


class GraphError(Exception):
    """The graph is at fault: another try on another machine ends the same way."""


class EnvironmentTrouble(Exception):
    """This machine is at fault."""


# --- The toolchain's version ------------------------------------------------------------------------------------


def cpu_description() -> str:
    """What XLA's code generator learns of this CPU: its architecture, model and instruction set extensions.

    The number of cores is left out on purpose: it changes how work is split, not where an executable may run.
    """
    wanted = {"vendor_id", "cpu family", "model", "flags", "CPU implementer", "CPU part", "CPU variant", "Features"}
    found = {}
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as cpuinfo:
        for line in cpuinfo:
            if not line.strip():
                break  # The other cores say the same.
            name, _, value = line.partition(":")
            name = name.strip()
            if name in wanted:
                found[name] = " ".join(sorted(value.split()))
    return "\n".join([platform.machine()] + [f"{name}={found[name]}" for name in sorted(found)])


def version() -> str:
    """jaxlib's version, and a digest of the rest that decides the generated code: the CPU and this program."""
    from importlib import metadata

    try:
        jaxlib = metadata.version("jaxlib")
    except metadata.PackageNotFoundError:
        raise EnvironmentTrouble(f"jaxlib is not installed for {sys.executable} (run deploy/venv)") from None
    digest = hashlib.sha256()
    digest.update(cpu_description().encode())
    digest.update(pathlib.Path(__file__).read_bytes())
    return f"{jaxlib}+{digest.hexdigest()[:12]}"


# --- The graph --------------------------------------------------------------------------------------------------


def read_graph(path: str) -> bytes:
    """The bytes of the graph's file, decompressed."""
    try:
        data = pathlib.Path(path).read_bytes()
    except OSError as error:
        raise GraphError(f"cannot read the graph {path}: {error.strerror}") from None
    if not data:
        raise GraphError(f"the graph {path} is empty")
    try:
        if data[:2] == b"\x1f\x8b":
            import gzip

            with gzip.open(path) as stream:
                data = stream.read(MAX_GRAPH_BYTES + 1)
        elif data[:4] == b"\x28\xb5\x2f\xfd":
            import zstandard

            with zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True) as stream:
                data = stream.read(MAX_GRAPH_BYTES + 1)
    except ImportError as error:
        raise EnvironmentTrouble(f"cannot decompress the graph {path}: {error}") from None
    except Exception as error:  # Each decompressor has its own kinds of error; all mean a damaged file.
        raise GraphError(f"cannot decompress the graph {path}: {error}") from None
    if len(data) > MAX_GRAPH_BYTES:
        raise GraphError(f"the graph {path} is larger than {MAX_GRAPH_BYTES} bytes")
    return data


def read_varint(data: memoryview, at: int) -> tuple[int, int]:
    """The varint at `at`, and where the next byte after it is."""
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise IndexError("varint too long")


def top_level_fields(data: memoryview) -> list[tuple[int, int, memoryview]]:
    """(field number, wire type, payload) of a protobuf message; IndexError when it is malformed."""
    fields = []
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        wire_type = tag & 7
        start = at
        if wire_type == 0:
            _, at = read_varint(data, at)
        elif wire_type == 1:
            at += 8
        elif wire_type == 2:
            size, start = read_varint(data, at)
            at = start + size
        elif wire_type == 5:
            at += 4
        else:
            raise IndexError("unknown wire type")
        if at > len(data) or tag >> 3 == 0:
            raise IndexError("field past the end")
        fields.append((tag >> 3, wire_type, data[start:at]))
    return fields


def is_module(fields: list[tuple[int, int, memoryview]]) -> bool:
    """Whether the fields are an HloModuleProto's: an entry computation's name (2) and computations (3)."""
    return {2, 3} <= {number for number, wire_type, _ in fields if wire_type == 2}


def module_inside(data: bytes, path: str) -> bytes:
    """The HloModuleProto in an HloModuleProto (itself), HloProto (field 1) or HloSnapshot (field 1 of field 1)."""
    here = memoryview(data)
    try:
        for _ in range(3):
            fields = top_level_fields(here)
            if is_module(fields):
                return bytes(here)
            inner = [payload for number, wire_type, payload in fields if number == 1 and wire_type == 2]
            if not inner:
                break
            here = inner[0]
    except IndexError:
        pass
    raise GraphError(f"the graph {path} is not an HloModuleProto")


# --- The compile ------------------------------------------------------------------------------------------------


def compile_module(module: bytes, replicas: int, partitions: int) -> bytes:
    """The serialized executable of an HloModuleProto, for as many devices as replicas and partitions need."""
    # Set before the import: XLA reads both once. Its own chatter would bury the one line that callers look for.
    os.environ.pop("XLA_FLAGS", None)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    try:
        from jaxlib import _jax as xla
    except ImportError as error:
        raise EnvironmentTrouble(f"cannot load jaxlib: {error}") from None

    # JAX itself is not imported: it would double the start-up time and bring nothing that a compile needs.
    client = xla.get_tfrt_cpu_client(asynchronous=False, num_devices=replicas * partitions)
    if b"lapack_" in module:
        register_linear_algebra(xla)
    devices = client.local_devices()

    options = xla.CompileOptions()
    options.num_replicas = replicas
    options.num_partitions = partitions
    build = options.executable_build_options
    build.num_replicas = replicas
    build.num_partitions = partitions
    if partitions > 1:
        build.use_spmd_partitioning = True
        # JAX writes shardings for Shardy since 0.7; older traces have them on the instructions.
        build.use_shardy_partitioner = b"xla.sdy" in module
    build.device_assignment = device_assignment(xla, replicas, partitions)

    try:
        stablehlo = xla.mlir.hlo_to_stablehlo(module)
        executable = client.compile_and_load(stablehlo, xla.DeviceList(tuple(devices)), options)
        return client.serialize_executable(executable)
    except (xla.JaxRuntimeError, ValueError) as error:
        message = " ".join(str(error).split())
        if message.startswith("RESOURCE_EXHAUSTED"):
            raise EnvironmentTrouble(f"XLA ran out of memory: {message}") from None
        raise GraphError(f"XLA cannot compile the graph: {message[:2000]}") from None


def device_assignment(xla, replicas: int, partitions: int):
    """Replica r, partition p runs on device r * partitions + p, as JAX lays out a mesh by default."""
    import numpy

    return xla.DeviceAssignment.create(numpy.arange(replicas * partitions).reshape(replicas, partitions))


def register_linear_algebra(xla) -> None:
    """Makes jaxlib's LAPACK kernels known: decompositions are custom calls, checked when they are compiled."""
    from jaxlib.cpu import _lapack

    for name, value in _lapack.registrations().items():
        xla.register_custom_call_target(name, value, platform="cpu", api_version=int(name.endswith("_ffi")))


# --- The output -------------------------------------------------------------------------------------------------


def write_atomically(path: str, data: bytes) -> None:
    """Puts `data` at `path` through a temporary file beside it: complete or not at all."""
    target = pathlib.Path(path)
    if target.exists() and not target.is_file():
        raise EnvironmentTrouble(f"cannot write {path}: not a regular file")  # Never rename over a device.
    temporary = None
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except OSError as error:
        if temporary is not None:
            pathlib.Path(temporary).unlink(missing_ok=True)
        raise EnvironmentTrouble(f"cannot write {path}: {error.strerror}") from None


def positive(text: str) -> int:
    value = int(text)
    if not 1 <= value <= 4096:
        raise argparse.ArgumentTypeError("must be from 1 to 4096")
    return value


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="xla-cpu-compile", description="Compiles a traced graph for this CPU.",
                                     allow_abbrev=False)
    parser.add_argument("--version", action="store_true", help="print this toolchain's name and version")
    parser.add_argument("--num-replicas", type=positive, default=1, metavar="N")
    parser.add_argument("--num-partitions", type=positive, default=1, metavar="N")
    parser.add_argument("--output", metavar="FILE", help="where the serialized executable goes")
    parser.add_argument("graph", nargs="?", metavar="GRAPH", help="file with an HloModuleProto")
    flags = parser.parse_args(arguments)
    try:
        if flags.version:
            print(f"xla-cpu {version()}")
            return 0
        if flags.graph is None or flags.output is None:
            parser.error("GRAPH and --output are needed")
        module = module_inside(read_graph(flags.graph), flags.graph)
        write_atomically(flags.output, compile_module(module, flags.num_replicas, flags.num_partitions))
        return 0
    except GraphError as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_GRAPH
    except EnvironmentTrouble as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_ENVIRONMENT
    except MemoryError:
        print("error: out of memory", file=sys.stderr)
        return EXIT_ENVIRONMENT


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
