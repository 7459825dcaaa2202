"""Graphs that name NKI kernel files: the content counts, the path does not, and the file travels with the graph."""

import hlo
import pytest

from cluster import eventually
from fake_compiler import VERSION
from test_shim import Trainer

FLAGS = ("--", "--framework=XLA", "--target=trn1")


@pytest.fixture
def worker(fake_cluster):
    running = fake_cluster.start_worker("neuronx-cc")
    fake_cluster.wait_for_toolchain("neuronx-cc")
    return running


def graph_with_kernel(directory, content, name="k.klir"):
    """A graph, and the kernel file that it names, in a directory of their own."""
    directory.mkdir()
    kernel = directory / name
    kernel.write_bytes(content)
    return hlo.kernel_call(directory / "graph.hlo_module.pb", str(kernel)), kernel


def key(cluster, graph):
    return cluster.json("key", "--toolchain", "neuronx-cc", graph, *FLAGS)


def trainer_in(directory, compiler, cluster):
    return Trainer(directory, compiler.shim_environment(NEFFCACHE_DAEMON=cluster.address))


def test_content_counts_and_not_the_path(tmp_path, fake_cluster, compiler, worker):
    first, kernel = graph_with_kernel(tmp_path / "a", b"code")
    second, _ = graph_with_kernel(tmp_path / "b", b"code")
    other, _ = graph_with_kernel(tmp_path / "c", b"other")
    trainer = trainer_in(tmp_path / "trainer", compiler, fake_cluster)
    artifacts = []
    for graph in (first, second, other):
        ended = trainer.compile(graph)
        assert ended.status == 0, ended.err
        artifacts.append(trainer.output.read_bytes())
        trainer.output.unlink()
    assert artifacts[0] == artifacts[1] != artifacts[2]
    assert len(compiler.compiles()) == 2
    assert {compile["cwd"] for compile in compiler.compiles()}.isdisjoint({str(trainer.directory)})

    keys = [key(fake_cluster, graph) for graph in (first, second, other)]
    assert keys[0]["key"] == keys[1]["key"] != keys[2]["key"]
    assert [file["path"] for file in keys[0]["files"]] == [str(kernel)]
    assert keys[0]["files"][0]["digest"] == keys[1]["files"][0]["digest"]
    assert keys[0]["parts"] == keys[1]["parts"] != keys[2]["parts"]

    same = fake_cluster.run("explain", first, second)
    assert same.status == 0, same.out
    differs = fake_cluster.run("explain", first, other)
    assert differs.status == 1
    assert "the content of k.klir" in differs.out


@pytest.mark.parametrize("name", ["graph.neff", "sitecustomize.py", ".hidden", "a b"])
def test_a_name_that_cannot_travel_is_compiled_here(tmp_path, fake_cluster, compiler, worker, name):
    graph, _ = graph_with_kernel(tmp_path / "a", b"code", name)
    trainer = trainer_in(tmp_path / "trainer", compiler, fake_cluster)
    ended = trainer.compile(graph)
    assert ended.status == 0, ended.err
    assert [compile["cwd"] for compile in compiler.compiles()] == [str(trainer.directory)]
    assert fake_cluster.stats()["compiles_done"] == 0


def test_a_kernel_that_cannot_be_read_is_left_to_the_compiler(tmp_path, fake_cluster, compiler, worker):
    graph, kernel = graph_with_kernel(tmp_path / "a", b"code")
    kernel.unlink()
    trainer = trainer_in(tmp_path / "trainer", compiler, fake_cluster)
    ended = trainer.compile(graph)
    assert ended.status == 70
    assert "NCC_EVRF059" in ended.err
    assert [compile["cwd"] for compile in compiler.compiles()] == [str(trainer.directory)]
    assert not key(fake_cluster, graph)["cacheable"]


def test_a_restarted_daemon_still_has_the_kernel(tmp_path, fake_cluster, compiler):
    """No worker is there until the client, its kernel file and the first daemon are gone."""
    graph, kernel = graph_with_kernel(tmp_path / "a", b"code")
    fake_cluster.ok("precompile", "--no-wait", "--wait-for-worker", "--toolchain", f"neuronx-cc={VERSION}", graph, *FLAGS)
    wanted = key(fake_cluster, graph)["key"]
    kernel.unlink()
    assert compiler.compiles() == []
    fake_cluster.kill_daemon()
    fake_cluster.start_daemon()
    fake_cluster.start_worker("neuronx-cc")
    eventually(lambda: fake_cluster.stats()["compiles_done"] == 1, "the queue is worked off")
    [entry] = fake_cluster.json("lookup", wanted)["results"]
    assert entry["state"] == "ready"
    assert len(compiler.compiles()) == 1


def test_another_file_at_the_path_on_the_worker_is_never_compiled(tmp_path, fake_cluster, compiler):
    graph, kernel = graph_with_kernel(tmp_path / "a", b"code")
    fake_cluster.ok("precompile", "--no-wait", "--wait-for-worker", "--toolchain", f"neuronx-cc={VERSION}", graph, *FLAGS)
    kernel.write_bytes(b"newer")
    worker = fake_cluster.start_worker("neuronx-cc")
    eventually(lambda: "another file" in worker.log.read_text(), "the worker has refused")
    assert compiler.compiles() == []
    assert fake_cluster.stats()["compiles_done"] == 0
