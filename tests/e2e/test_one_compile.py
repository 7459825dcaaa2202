"""However many ask, a key is compiled once, and all get the same artifact."""

import hashlib
import os

import hlo
from cluster import SHIM, Process

CLIENTS = 64
FLAGS = ["--target=trn1", "-O1"]


def start_shims(cluster, compiler, graph, count):
    """Starts `count` trainers' compilers at once, each in a directory of its own; (process, output) of each."""
    started = []
    for index in range(count):
        directory = cluster.directory / f"rank-{index}"
        directory.mkdir()
        output = directory / "graph.neff"
        process = Process([SHIM, "compile", "--framework=XLA", graph, "--output", output, *FLAGS],
                          cluster.directory / f"rank-{index}.log", cwd=directory,
                          env=compiler.shim_environment(NEFFCACHE_DAEMON=cluster.address))
        started.append((process, output))
    return started


def digests(started):
    for process, _ in started:
        ended = process.wait()
        assert ended.status == 0, ended.err
        assert "compiling here" not in ended.err
    return {hashlib.sha256(output.read_bytes()).hexdigest() for _, output in started}


def test_64_shims_share_one_compile(fake_cluster, compiler, graph):
    compiler.hold()
    fake_cluster.start_worker("neuronx-cc")
    fake_cluster.wait_for_toolchain("neuronx-cc")
    started = start_shims(fake_cluster, compiler, graph, CLIENTS)
    compiler.wait_for_compiles(1)
    compiler.release()
    assert len(digests(started)) == 1
    assert len(compiler.compiles()) == 1


def test_64_command_lines_share_one_compile(fake_cluster, compiler, graph):
    """Half of them name the module differently: the same computation, the same key."""
    renamed = hlo.add_constant(fake_cluster.directory / "renamed.pb", 1.0, name="another_name")
    assert renamed.read_bytes() != graph.read_bytes()
    compiler.hold()
    fake_cluster.start_worker("neuronx-cc", slots=4)
    fake_cluster.wait_for_toolchain("neuronx-cc")
    started = [fake_cluster.start("precompile", "--toolchain", "neuronx-cc", [graph, renamed][index % 2], "--", *FLAGS)
               for index in range(CLIENTS)]
    compiler.wait_for_compiles(1)
    compiler.release()
    for process in started:
        ended = process.wait()
        assert ended.status == 0, ended.err
    assert len(compiler.compiles()) == 1

    fetched = set()
    for index in range(4):
        output = fake_cluster.directory / f"fetched-{index}"
        fake_cluster.ok("fetch", "--toolchain", "neuronx-cc", graph, "-o", output, "--", *FLAGS)
        fetched.add(output.read_bytes())
    assert len(fetched) == 1
    assert len(compiler.compiles()) == 1


def test_flag_spelling_and_order_make_no_second_compile(fake_cluster, compiler, graph):
    fake_cluster.start_worker("neuronx-cc")
    fake_cluster.wait_for_toolchain("neuronx-cc")
    for flags in (["--target=trn1", "-O1"], ["--optlevel", "1", "--target", "trn1"], ["-O2", "--target=trn1", "-O1"]):
        fake_cluster.ok("precompile", "--toolchain", "neuronx-cc", graph, "--", *flags)
    assert len(compiler.compiles()) == 1
    fake_cluster.ok("precompile", "--toolchain", "neuronx-cc", graph, "--", "--target=trn2", "-O1")
    assert len(compiler.compiles()) == 2


def test_compiler_gets_the_graphs_bytes_and_the_flags(fake_cluster, compiler, graph):
    fake_cluster.start_worker("neuronx-cc")
    fake_cluster.wait_for_toolchain("neuronx-cc")
    fake_cluster.ok("precompile", "--toolchain", "neuronx-cc", graph, "--", *FLAGS)
    [compile_line] = compiler.compiles()
    assert compile_line["graph"] == hashlib.sha256(graph.read_bytes()).hexdigest()
    assert "--target=trn1" in compile_line["argv"]
    assert {"-O1", "--optlevel=1"} & set(compile_line["argv"])
    assert not os.path.exists(compile_line["cwd"]), "the scratch directory is left behind"
