"""kill -9 of each program, before, during and after a compile: the next request succeeds and nothing is torn."""

import hashlib

import pytest

import hlo
from cluster import Cluster, eventually
from fake_compiler import is_alive

NEURON = ("--toolchain", "neuronx-cc")


def start_worker(cluster):
    worker = cluster.start_worker("neuronx-cc")
    cluster.wait_for_toolchain("neuronx-cc")
    return worker


def check_store(cluster, graphs):
    """Every graph is served whole: the bytes have the digest that the entry names; files have their names' digest."""
    for graph in graphs:
        [entry] = cluster.json("lookup", *NEURON, graph)["results"]
        assert entry["state"] == "ready"
        output = cluster.directory / "checked"
        cluster.ok("fetch", *NEURON, graph, "-o", output)
        data = output.read_bytes()
        assert hashlib.sha256(data).hexdigest() == entry["artifact"]["digest"]
        assert data[8:16] == (1024).to_bytes(8, "little"), "not a NEFF"
        assert int.from_bytes(data[16:24], "little") == len(data) - 1024, "a NEFF cut short"
    for file in cluster.artifact_files():
        assert hashlib.sha256(file.read_bytes()).hexdigest() == file.name


@pytest.fixture(params=[4096, 3 << 20], ids=["inline artifact", "artifact in a file"])
def compiler(tmp_path, request):
    from fake_compiler import FakeCompiler

    return FakeCompiler(tmp_path / "compiler", payload_bytes=request.param)


# --- The daemon ---------------------------------------------------------------------------------------------------


def test_queue_survives_the_daemon(fake_cluster, compiler, graph):
    """Before the compile: what was queued is compiled after the restart, though nobody asks again."""
    other = hlo.add_constant(fake_cluster.directory / "other.pb", 2.0)
    flags = ("--toolchain", "neuronx-cc=2.27.5334.0+5d5f8e4a")
    waiting = [fake_cluster.start("precompile", *flags, each) for each in (graph, other)]
    eventually(lambda: fake_cluster.stats()["compiles_queued"] == 2, "both compiles are queued")
    fake_cluster.kill_daemon()
    for process in waiting:
        assert process.wait().status == 3
    fake_cluster.start_daemon()
    assert fake_cluster.stats()["compiles_queued"] == 2
    start_worker(fake_cluster)
    eventually(lambda: fake_cluster.stats()["compiles_done"] == 2, "the queue is worked off")
    check_store(fake_cluster, [graph, other])
    assert len(compiler.compiles()) == 2


def test_daemon_killed_during_the_compile(fake_cluster, compiler, graph):
    compiler.hold()
    start_worker(fake_cluster)
    waiting = fake_cluster.start("precompile", *NEURON, graph)
    compiler.wait_for_compiles(1)
    fake_cluster.kill_daemon()
    assert waiting.wait().status == 3
    compiler.release()
    fake_cluster.start_daemon()
    fake_cluster.wait_for_toolchain("neuronx-cc")  # The worker has come back by itself.
    fake_cluster.ok("precompile", *NEURON, graph)
    check_store(fake_cluster, [graph])


def test_daemon_killed_after_the_compile(fake_cluster, compiler, graph):
    start_worker(fake_cluster)
    fake_cluster.ok("precompile", *NEURON, graph)
    fake_cluster.kill_daemon()
    fake_cluster.start_daemon()
    fake_cluster.wait_for_toolchain("neuronx-cc")
    check_store(fake_cluster, [graph])
    fake_cluster.ok("precompile", *NEURON, graph)
    assert len(compiler.compiles()) == 1


def test_daemon_killed_while_compiles_commit(fake_cluster, compiler):
    """At moments that the schedule of the machine picks: what was acknowledged is there, and nothing is torn."""
    graphs = [hlo.add_constant(fake_cluster.directory / f"g{index}.pb", 10.0 + index) for index in range(12)]
    fake_cluster.start_worker("neuronx-cc", slots=2)
    fake_cluster.wait_for_toolchain("neuronx-cc")
    for done in (2, 5, 8):
        waiting = fake_cluster.start("precompile", *NEURON, *graphs)
        eventually(lambda: not waiting.running or len(compiler.compiles()) > done, "compiles are on their way")
        before = {entry["key"] for entry in fake_cluster.json("ls", "entries")["entries"]}
        fake_cluster.kill_daemon()
        waiting.wait()
        fake_cluster.start_daemon()
        after = {entry["key"] for entry in fake_cluster.json("ls", "entries")["entries"]}
        assert before <= after, "an acknowledged entry is lost"
        fake_cluster.wait_for_toolchain("neuronx-cc")
    fake_cluster.ok("precompile", *NEURON, *graphs)
    check_store(fake_cluster, graphs)


# --- The worker ---------------------------------------------------------------------------------------------------


def test_worker_killed_before_the_compile(fake_cluster, compiler, graph):
    start_worker(fake_cluster).kill()
    waiting = fake_cluster.start("precompile", "--toolchain", "neuronx-cc=2.27.5334.0+5d5f8e4a", graph)
    start_worker(fake_cluster)
    assert waiting.wait().status == 0
    check_store(fake_cluster, [graph])


def test_worker_killed_during_the_compile(fake_cluster, compiler, graph):
    compiler.hold()
    first = start_worker(fake_cluster)
    waiting = fake_cluster.start("precompile", *NEURON, graph)
    [started] = compiler.wait_for_compiles(1)
    first.kill()
    # The compiler does not outlive its worker: two compilers of one key must not fight over a machine.
    eventually(lambda: not is_alive(started["pid"]), "the compiler of the killed worker has ended")
    compiler.release()
    start_worker(fake_cluster)
    assert waiting.wait().status == 0
    assert len(compiler.compiles()) == 2
    check_store(fake_cluster, [graph])


def test_worker_killed_after_the_compile(fake_cluster, compiler, graph):
    worker = start_worker(fake_cluster)
    fake_cluster.ok("precompile", *NEURON, graph)
    worker.kill()
    check_store(fake_cluster, [graph])
    assert len(compiler.compiles()) == 1


def test_embedded_worker_is_replaced_and_ends_with_its_daemon(tmp_path, compiler, graph):
    compiler.hold()
    with Cluster(tmp_path, embedded_workers=1, env=compiler.environment()) as cluster:
        cluster.wait_for_toolchain("neuronx-cc")
        waiting = cluster.start("precompile", *NEURON, graph)
        [started] = compiler.wait_for_compiles(1)
        cluster.kill_daemon()
        eventually(lambda: not is_alive(started["pid"]), "the compiler has ended with the daemon")
        assert waiting.wait().status == 3
        compiler.release()
        cluster.start_daemon()
        cluster.ok("precompile", *NEURON, graph)
        check_store(cluster, [graph])


# --- The client ---------------------------------------------------------------------------------------------------


def test_client_killed_while_it_waits(fake_cluster, compiler, graph):
    """Its compile goes on, and serves the next one who asks."""
    compiler.hold()
    start_worker(fake_cluster)
    waiting = fake_cluster.start("precompile", *NEURON, graph)
    compiler.wait_for_compiles(1)
    waiting.kill()
    compiler.release()
    fake_cluster.ok("precompile", *NEURON, graph)
    assert len(compiler.compiles()) == 1
    check_store(fake_cluster, [graph])


def test_client_killed_at_any_moment(fake_cluster, compiler):
    """Before, in and after the upload of the graph; whatever it left behind, the next request succeeds."""
    start_worker(fake_cluster)
    for milliseconds in (0, 2, 5, 10, 20, 40):
        graph = hlo.add_constant(fake_cluster.directory / f"after-{milliseconds}.pb", float(milliseconds))
        client = fake_cluster.start("precompile", *NEURON, graph)
        client.kill_after(milliseconds / 1000)
        fake_cluster.ok("precompile", *NEURON, graph)
        check_store(fake_cluster, [graph])


def test_client_killed_during_fetch_leaves_no_output(fake_cluster, compiler, graph):
    start_worker(fake_cluster)
    fake_cluster.ok("precompile", *NEURON, graph)
    output = fake_cluster.directory / "outputs" / "out"
    output.parent.mkdir()
    for milliseconds in (1, 4, 8, 12, 16):
        client = fake_cluster.start("fetch", *NEURON, graph, "-o", output)
        client.kill_after(milliseconds / 1000)
        [entry] = fake_cluster.json("lookup", *NEURON, graph)["results"]
        if output.exists():
            assert hashlib.sha256(output.read_bytes()).hexdigest() == entry["artifact"]["digest"]
            output.unlink()
    check_store(fake_cluster, [graph])
