"""kill -9 (and SIGTERM) of each program around a compile: the next request succeeds and nothing is torn."""

import hashlib
import os
import signal

import pytest

import hlo
from cluster import Cluster, eventually
from fake_compiler import VERSION, is_alive

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


def sizes(directory):
    """Of the files in it that are not empty."""
    found = []
    for path in directory.iterdir():
        try:
            found.append(path.stat().st_size)
        except FileNotFoundError:  # Renamed or deleted meanwhile.
            pass
    return [size for size in found if size > 0]


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
        process.kill()
    fake_cluster.start_daemon()
    assert fake_cluster.stats()["compiles_queued"] == 2
    start_worker(fake_cluster)
    eventually(lambda: fake_cluster.stats()["compiles_done"] == 2, "the queue is worked off")
    check_store(fake_cluster, [graph, other])
    assert len(compiler.compiles()) == 2


def test_daemon_killed_during_the_compile(fake_cluster, compiler, graph):
    compiler.hold()
    start_worker(fake_cluster)
    waiting = fake_cluster.start("--json", "precompile", *NEURON, graph)
    impatient = [fake_cluster.start("--reconnect", "0", "precompile", *NEURON, graph) for _ in range(2)]
    compiler.wait_for_compiles(1)
    eventually(lambda: fake_cluster.stats()["compiles_joined"] == 2, "all wait")
    fake_cluster.kill_daemon()
    for process in impatient:
        assert process.wait().status == 3
    compiler.release()
    fake_cluster.start_daemon()  # The worker comes back by itself, and so does who waits.
    ended = waiting.wait()
    assert ended.status == 0, ended.err
    assert ended.json["graphs"][0]["state"] == "compiled"
    check_store(fake_cluster, [graph])


@pytest.mark.parametrize("compiler", [4096], indirect=True)
def test_daemon_stopped_during_the_compile(fake_cluster, compiler, graph):
    """SIGTERM: what runs is finished and stored, what waits is compiled after the restart; each of them once."""
    other = hlo.add_constant(fake_cluster.directory / "other.pb", 2.0)
    compiler.hold()
    start_worker(fake_cluster)
    waiting = fake_cluster.start("precompile", *NEURON, graph, other)
    compiler.wait_for_compiles(1)
    eventually(lambda: fake_cluster.stats()["compiles_queued"] == 1, "the other compile is queued")
    os.kill(fake_cluster.daemon.pid, signal.SIGTERM)
    eventually(lambda: "event=draining" in fake_cluster.daemon.log.read_text(), "the daemon drains")
    compiler.release()
    ended = fake_cluster.daemon.wait()
    assert ended.status == 0
    assert "event=drained complete=true" in ended.err
    fake_cluster.start_daemon()
    ended = waiting.wait()
    assert ended.status == 0, ended.err
    eventually(lambda: len(fake_cluster.json("ls", "entries")["entries"]) == 2, "the queue is worked off")
    check_store(fake_cluster, [graph, other])
    assert len(compiler.compiles()) == 2


@pytest.mark.parametrize("compiler", [4096], indirect=True)
@pytest.mark.parametrize("signals, flags", [(1, ("--drain-timeout", "1s")), (2, ("--drain-timeout", "1h"))],
                         ids=["time-out", "second signal"])
def test_draining_ends_though_a_compile_does_not(tmp_path, compiler, graph, signals, flags):
    compiler.hold()
    with Cluster(tmp_path, embedded_workers=1, env=compiler.environment(), daemon_flags=flags) as cluster:
        cluster.wait_for_toolchain("neuronx-cc")
        waiting = cluster.start("precompile", *NEURON, graph)
        [started] = compiler.wait_for_compiles(1)
        for number in range(signals):
            os.kill(cluster.daemon.pid, signal.SIGTERM)
            eventually(lambda: "event=draining" in cluster.daemon.log.read_text(), "the daemon drains")
        assert cluster.daemon.wait().status == 0
        eventually(lambda: not is_alive(started["pid"]), "the compiler has ended with the daemon")
        compiler.release()
        cluster.start_daemon()
        eventually(lambda: cluster.json("ls", "entries").get("entries"), "the compile is taken up")
        assert waiting.wait().status == 0
        assert len(compiler.compiles()) == 2
        check_store(cluster, [graph])


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
        waiting = fake_cluster.start("--reconnect", "0", "precompile", *NEURON, *graphs)
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
        compiler.release()
        cluster.start_daemon()
        assert waiting.wait().status == 0
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


LARGE = 64 << 20  # Takes long enough to be met on its way.


@pytest.mark.parametrize("compiler", [4096], indirect=True)
def test_client_killed_during_upload(fake_cluster, compiler):
    """A graph that came in part is not queued; whoever asks next is asked for it again."""
    flags = ("--toolchain", f"neuronx-cc={VERSION}")
    incoming = fake_cluster.data / "tmp"
    graphs = [hlo.large(fake_cluster.directory / f"large-{index}", LARGE) for index in range(4)]
    for graph in graphs:
        client = fake_cluster.start("precompile", *flags, graph)
        eventually(lambda: sizes(incoming) or not client.running, "the upload has begun")
        client.kill()
        eventually(lambda: not sizes(incoming), "the daemon has put away what came")
    assert fake_cluster.stats()["compiles_queued"] < len(graphs), "no kill fell into an upload"
    start_worker(fake_cluster)
    fake_cluster.ok("precompile", *NEURON, *graphs)
    check_store(fake_cluster, graphs)


@pytest.mark.parametrize("compiler", [LARGE], indirect=True)
def test_client_killed_during_fetch_leaves_no_output(fake_cluster, compiler, graph):
    start_worker(fake_cluster)
    fake_cluster.ok("precompile", *NEURON, graph)
    [entry] = fake_cluster.json("lookup", *NEURON, graph)["results"]
    cut = []
    for part in (0, 0.1, 0.3, 0.6):
        output = fake_cluster.directory / f"output-{part}" / "out"
        output.parent.mkdir()
        client = fake_cluster.start("fetch", *NEURON, graph, "-o", output)
        eventually(lambda: max(sizes(output.parent), default=0) > part * LARGE or not client.running, "bytes come in")
        client.kill()
        if output.exists():
            assert hashlib.sha256(output.read_bytes()).hexdigest() == entry["artifact"]["digest"]
        # Under its temporary name: what nobody was left to delete.
        cut += [size for size in sizes(output.parent) if size < entry["artifact"]["size"]]
    assert cut, "no kill fell into a fetch"
    check_store(fake_cluster, [graph])
