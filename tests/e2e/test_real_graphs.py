"""The main job on real graphs: trace with JAX, compile with XLA through the daemon, fetch, load, run."""

import re
import subprocess
import sys

import numpy as np
import pytest

from cluster import BIN, SOURCE, clean_environment

EXAMPLE = SOURCE / "examples" / "bert"
LINE = re.compile(r"rank=(?P<rank>\d+) graph=(?P<graph>\S+) from=(?P<source>\S+) .* checksum=(?P<checksum>\S+)")


def trainer(*words) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, str(EXAMPLE / "train.py"), "--neffcache", str(BIN / "neffcache"),
                             *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=clean_environment())


def results(process: subprocess.Popen) -> tuple[dict[str, str], set[str], str]:
    """Checksums by graph, where the executables came from, and the messages, of a trainer that ended well."""
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    lines = [match.groupdict() for match in map(LINE.match, out.splitlines()) if match]
    assert lines, out
    return {line["graph"]: line["checksum"] for line in lines}, {line["source"] for line in lines}, err


@pytest.fixture
def traced(tmp_path):
    """Folders of traced graphs, by the number of devices."""
    out = tmp_path / "graphs"
    subprocess.run([sys.executable, str(EXAMPLE / "trace.py"), "--out", str(out)], check=True, timeout=300,
                   stdout=subprocess.DEVNULL, env=clean_environment())
    return {1: sorted((out / "1-device").iterdir()), 8: sorted((out / "8-device").iterdir())}


def precompile(cluster, traced):
    cluster.ok("precompile", "--toolchain", "xla-cpu", "--bundle", "bert", *traced[1], timeout=300)
    cluster.ok("precompile", "--toolchain", "xla-cpu", "--bundle", "bert", *traced[8], "--", "--num-partitions=8",
               timeout=300)


def test_trainers_that_fetch_agree_with_the_uncached_result(cluster, traced):
    graphs = len(traced[1]) + len(traced[8])
    assert graphs >= 6
    precompile(cluster, traced)
    assert cluster.stats()["compiles_done"] == graphs
    precompile(cluster, traced)

    # Each trainer traces for itself, in a process of its own: equal keys, so nothing is compiled again.
    trainers = [trainer("--daemon", cluster.address, "--rank", rank, "--require-cached") for rank in range(3)]
    expected, sources, _ = results(trainer("--uncached"))
    assert sources == {"own-compile"}
    assert len(expected) == 3
    for process in trainers:
        checksums, sources, _ = results(process)
        assert sources == {"neffcache"}
        assert checksums == expected
    assert cluster.stats()["compiles_done"] == graphs


def test_first_trainers_share_one_compile(cluster):
    """Nobody precompiled: the trainers that start together wait for the same compile."""
    trainers = [trainer("--daemon", cluster.address, "--rank", rank, "--require-cached", "--graph", "eval_f32")
                for rank in range(4)]
    checksums = [results(process)[0] for process in trainers]
    assert all(checksum == checksums[0] for checksum in checksums)
    assert cluster.stats()["compiles_done"] == 1


def test_trainer_trains_without_a_daemon():
    checksums, sources, messages = results(trainer("--daemon", "127.0.0.1:1", "--graph", "embed_words"))
    assert sources == {"own-compile"}
    assert "not from neffcache" in messages
    assert checksums == results(trainer("--uncached", "--graph", "embed_words"))[0]


@pytest.mark.parametrize("name", ["train_f32", "train_bf16", "train_data_parallel", "eval_bf16"])
def test_executable_computes_what_plain_jax_computes(example_graphs, name):
    import executable

    graph = example_graphs[name]
    for mine, jax_own in zip(executable.Executable.compile(graph, graph.module()).run(), executable.run_with_jit(graph), strict=True):
        np.testing.assert_allclose(mine, jax_own, atol=2e-4)
