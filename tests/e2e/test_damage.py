"""An artifact that rots in the store is never served: it is compiled again, and the daemon goes on."""

import hashlib
import shutil
import subprocess

import pytest

from cluster import BIN, SHIM
from fake_compiler import FakeCompiler

NEURON = ("--toolchain", "neuronx-cc")


@pytest.fixture
def compiler(tmp_path):
    return FakeCompiler(tmp_path / "compiler", payload_bytes=3 << 20)  # Above the inline limit: a file.


@pytest.fixture
def stored(fake_cluster, compiler, graph):
    """The artifact's file of a graph that was compiled."""
    fake_cluster.start_worker("neuronx-cc")
    fake_cluster.wait_for_toolchain("neuronx-cc")
    fake_cluster.ok("precompile", *NEURON, graph)
    [file] = fake_cluster.artifact_files()
    assert hashlib.sha256(file.read_bytes()).hexdigest() == file.name
    return file


def flip_a_bit(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.chmod(0o644)
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [
    flip_a_bit,
    lambda path: (path.chmod(0o644), path.write_bytes(path.read_bytes()[:-1])),
    lambda path: path.unlink(),
], ids=["one bit", "cut short", "gone"])
def test_damaged_artifact_is_not_served_but_compiled_again(fake_cluster, compiler, graph, stored, damage):
    damage(stored)
    # A daemon that has not read the file yet: what is in memory was good.
    fake_cluster.stop_daemon()
    fake_cluster.start_daemon()
    fake_cluster.wait_for_toolchain("neuronx-cc")  # The worker has come back by itself.

    output = fake_cluster.directory / "out"
    refused = fake_cluster.run("fetch", *NEURON, graph, "-o", output)
    assert refused.status == 1, refused.err
    assert not output.exists(), "damaged bytes were handed out"

    fake_cluster.ok("precompile", *NEURON, graph)
    fake_cluster.ok("fetch", *NEURON, graph, "-o", output)
    assert len(compiler.compiles()) == 2
    [entry] = fake_cluster.json("lookup", *NEURON, graph)["results"]
    assert hashlib.sha256(output.read_bytes()).hexdigest() == entry["artifact"]["digest"]
    assert entry["artifact"]["digest"] != stored.name, "the compiler's output is different every time"
    assert fake_cluster.stats()["damaged"] == 1


def test_artifact_that_rots_under_a_running_daemon_heals(fake_cluster, compiler, graph, stored):
    def shim(name):
        output = fake_cluster.directory / name
        env = compiler.shim_environment(NEFFCACHE_DAEMON=fake_cluster.address)
        return output, subprocess.Popen([SHIM, "compile", "--framework=XLA", graph, "--target=trn1", "--output", output],
                                        env=env, cwd=fake_cluster.directory, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)

    def run(names):
        started = [shim(name) for name in names]
        for output, process in started:
            assert process.wait(90) == 0
            assert output.stat().st_size > 0
        return [output.read_bytes() for output, _ in started]

    run(["first"])  # With the shim's options; and read whole once, so that it counts as good.
    run(["second"])
    before = len(compiler.compiles())
    for file in fake_cluster.artifact_files():
        flip_a_bit(file)
    run([f"rank-{i}" for i in range(8)])
    assert fake_cluster.stats()["damaged"] == 1
    assert "event=damaged" in fake_cluster.daemon.log.read_text()
    run(["after"])  # Waits for the daemon's compile, or starts it.
    # Each rank at most once, and the daemon's worker once for all.
    after = len(compiler.compiles())
    assert before + 1 <= after <= before + 9
    healed = run([f"later-{i}" for i in range(3)])
    assert len(set(healed)) == 1
    assert len(compiler.compiles()) == after


def test_index_that_was_lost_is_rebuilt(fake_cluster, graph, stored):
    fake_cluster.stop_daemon()
    shutil.rmtree(fake_cluster.data / "db")
    rebuilt = subprocess.run([BIN / "neffcached", "--data-dir", fake_cluster.data, "--rebuild-index"],
                             capture_output=True, text=True, timeout=60, check=False)
    assert (rebuilt.returncode, rebuilt.stdout) == (0, "taken_up=1 known=0 damaged=0\n"), rebuilt.stderr
    fake_cluster.start_daemon()
    [entry] = fake_cluster.json("lookup", *NEURON, graph)["results"]
    assert entry["artifact"]["digest"] == stored.name


def test_daemon_with_a_damaged_index_says_what_to_do_and_that_helps(fake_cluster, compiler, graph, stored):
    fake_cluster.stop_daemon()
    (fake_cluster.data / "db" / "CURRENT").unlink()
    command = [BIN / "neffcached", "--data-dir", fake_cluster.data, "--listen", "127.0.0.1:0", "--workers", "0"]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert refused.returncode == 1
    [sentence] = refused.stderr.splitlines()
    assert f"{fake_cluster.data}/db: it is damaged" in sentence
    advice = f"neffcached --rebuild-index --data-dir {fake_cluster.data}"
    assert sentence.endswith(advice)

    rebuilt = subprocess.run([BIN / advice.split()[0], *advice.split()[1:]], capture_output=True, text=True, timeout=60)
    assert rebuilt.returncode == 0, rebuilt.stderr
    assert rebuilt.stdout == "taken_up=1 known=0 damaged=0\n"
    fake_cluster.start_daemon()
    output = fake_cluster.directory / "out"
    fake_cluster.wait_for_toolchain("neuronx-cc")
    fake_cluster.ok("fetch", *NEURON, graph, "-o", output)
    assert hashlib.sha256(output.read_bytes()).hexdigest() == stored.name
    assert len(compiler.compiles()) == 1
