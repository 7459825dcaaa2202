"""The xla-cpu compiler program by itself: its command line, its exit statuses, its output."""

import gzip
import re
import subprocess

import pytest
import zstandard

import hlo
from cluster import XLA_CPU_COMPILE, clean_environment


def compiler(*words, env=None):
    return subprocess.run([str(XLA_CPU_COMPILE), *map(str, words)], capture_output=True, text=True, timeout=60,
                          env=env or clean_environment(), check=False)


def varint(value: int) -> bytes:
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(encoded + bytes([value]))


def test_version_is_one_line_with_jaxlibs_version():
    import jaxlib

    done = compiler("--version")
    assert done.returncode == 0
    assert re.fullmatch(rf"xla-cpu {re.escape(jaxlib.__version__)}\+[0-9a-f]{{12}}\n", done.stdout)


@pytest.mark.parametrize("wrap", [
    lambda module: module,
    gzip.compress,
    lambda module: zstandard.ZstdCompressor().compress(module),
    lambda module: b"\x0a" + varint(len(module)) + module,  # HloProto
], ids=["plain", "gzip", "zstd", "HloProto"])
def test_module_in_any_wrapping_compiles(tmp_path, graph, wrap):
    graph.write_bytes(wrap(graph.read_bytes()))
    output = tmp_path / "out"
    done = compiler(graph, "--output", output)
    assert (done.returncode, done.stderr) == (0, "")
    assert output.stat().st_size > 1000


def test_xla_flags_of_the_environment_do_not_steer_the_compile(tmp_path, graph):
    # A flag that XLA does not know ends a process that heeds it.
    done = compiler(graph, "--output", tmp_path / "out", env=clean_environment(XLA_FLAGS="--xla_no_such_flag=1"))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("damage", [
    lambda module: b"",
    lambda module: module[: len(module) // 2],
    lambda module: b"\x7fELF" + module,
    lambda module: gzip.compress(module)[:-10],
], ids=["empty", "truncated", "not a protobuf", "truncated gzip"])
def test_bad_graph_is_one_line_and_status_1(tmp_path, graph, damage):
    graph.write_bytes(damage(graph.read_bytes()))
    output = tmp_path / "out"
    done = compiler(graph, "--output", output)
    assert done.returncode == 1
    assert re.fullmatch(r"error: .*\n", done.stderr), done.stderr
    assert not output.exists()


def test_graph_that_xla_refuses_is_status_1(tmp_path, graph):
    # The opcode of the root: XLA knows no such operation.
    module = graph.read_bytes()
    assert b"\x12\x03add" in module
    graph.write_bytes(module.replace(b"\x12\x03add", b"\x12\x03zzz"))
    done = compiler(graph, "--output", tmp_path / "out")
    assert done.returncode == 1
    assert re.fullmatch(r"error: XLA cannot compile the graph: .*zzz.*\n", done.stderr), done.stderr


def test_unwritable_output_is_the_environments_fault(tmp_path, graph):
    done = compiler(graph, "--output", tmp_path / "no-such-directory" / "out")
    assert done.returncode == 3
    assert re.fullmatch(r"error: cannot write .*\n", done.stderr), done.stderr


def test_missing_python_environment_is_the_environments_fault(tmp_path, graph):
    env = clean_environment(NEFFCACHE_XLA_CPU_PYTHON=str(tmp_path / "no-python"))
    done = compiler(graph, "--output", tmp_path / "out", env=env)
    assert done.returncode == 3
    assert "deploy/venv" in done.stderr


def test_python_without_jaxlib_is_the_environments_fault(tmp_path, graph):
    env = clean_environment(NEFFCACHE_XLA_CPU_PYTHON="/usr/bin/python3")
    assert compiler("--version", env=env).returncode == 3
    done = compiler(graph, "--output", tmp_path / "out", env=env)
    assert done.returncode == 3
    assert re.fullmatch(r"error: cannot load jaxlib: .*\n", done.stderr), done.stderr


def test_device_is_never_replaced_by_a_file(graph):
    done = compiler(graph, "--output", "/dev/null")
    assert done.returncode == 3
    assert "not a regular file" in done.stderr


def test_decompositions_compile(tmp_path, example_graphs):
    """LAPACK calls are custom calls, which jaxlib has to be told of."""
    import jax
    import jax.numpy as jnp

    lowered = jax.jit(lambda x: (jnp.linalg.cholesky(x), jnp.linalg.eigh(x))).lower(jnp.eye(8))
    graph = tmp_path / "graph.pb"
    graph.write_bytes(lowered.compiler_ir("hlo").as_serialized_hlo_module_proto())
    done = compiler(graph, "--output", tmp_path / "out")
    assert done.returncode == 0, done.stderr


def test_partitioned_graph_runs_on_all_its_devices(tmp_path, example_graphs):
    """The number of devices is not in the module: it is an option, and part of the key."""
    import executable
    import graphs

    graph = example_graphs["train_data_parallel"]
    module = tmp_path / "graph.pb"
    module.write_bytes(graph.module())
    done = compiler(*graph.flags, module, "--output", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    loaded = executable.Executable.load(graph, (tmp_path / "out").read_bytes())
    assert graphs.checksum(loaded.run()) == graphs.checksum(executable.Executable.compile(graph, graph.module()).run())
