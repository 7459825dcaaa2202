"""The neuronx-cc stand-in on a trainer's PATH: behaves like the compiler, and never breaks a trainer."""

import os
import subprocess

import pytest

from cluster import Process, eventually
from fake_compiler import VERSION


class Trainer:
    """Runs `neuronx-cc` as a trainer does: found on PATH, in a directory of its own."""

    def __init__(self, directory, environment):
        self.directory = directory
        self.environment = environment
        directory.mkdir(exist_ok=True)

    def start(self, *words) -> Process:
        # Through env(1), so that PATH decides which neuronx-cc runs.
        return Process(["/usr/bin/env", "neuronx-cc", *words], self.directory / "shim.log", self.environment,
                       cwd=self.directory)

    def run(self, *words):
        (self.directory / "shim.log").unlink(missing_ok=True)
        return self.start(*words).wait()

    def compile(self, graph, *flags):
        return self.run(*self.command(graph, *flags))

    def command(self, graph, *flags):
        return ["compile", "--framework=XLA", graph, "--output", self.output, "--target=trn1", *flags]

    @property
    def output(self):
        return self.directory / "graph.neff"


@pytest.fixture
def cluster_with_worker(fake_cluster, compiler):
    fake_cluster.start_worker("neuronx-cc")
    fake_cluster.wait_for_toolchain("neuronx-cc")
    return fake_cluster


@pytest.fixture
def trainer(tmp_path, compiler, cluster_with_worker):
    return Trainer(tmp_path / "trainer", compiler.shim_environment(NEFFCACHE_DAEMON=cluster_with_worker.address))


def is_neff(path):
    data = path.read_bytes()
    return int.from_bytes(data[8:16], "little") == 1024 and int.from_bytes(data[16:24], "little") == len(data) - 1024


def test_miss_waits_for_the_compile_and_hit_runs_no_compiler(trainer, compiler, graph):
    first = trainer.compile(graph)
    assert first.status == 0, first.err
    assert "Compiler status PASS" in first.out
    assert is_neff(trainer.output)
    artifact = trainer.output.read_bytes()
    trainer.output.unlink()

    second = trainer.compile(graph)
    assert second.status == 0, second.err
    assert "Compiler status PASS" in second.out
    assert second.err == ""
    assert trainer.output.read_bytes() == artifact
    assert len(compiler.compiles()) == 1
    assert (trainer.directory / "log-neuron-cc.txt").exists()
    assert sorted(path.name for path in trainer.directory.iterdir()) == [
        "graph.neff", "log-neuron-cc.txt", "shim.log", "shim.out"]


def test_shim_waits_for_a_compile_that_somebody_else_began(trainer, compiler, cluster_with_worker, graph):
    compiler.hold()
    other = cluster_with_worker.start("precompile", "--toolchain", "neuronx-cc", graph, "--", "--framework=XLA",
                                      "--target=trn1")
    compiler.wait_for_compiles(1)
    shim = trainer.start(*trainer.command(graph))
    eventually(lambda: cluster_with_worker.stats()["compiles_joined"] == 1, "the shim waits too")
    assert not trainer.output.exists()
    compiler.release()
    assert shim.wait().status == 0
    assert other.wait().status == 0
    assert is_neff(trainer.output)
    assert len(compiler.compiles()) == 1


@pytest.mark.parametrize("words", [["--version"], ["list-operators", "--framework", "XLA"], ["--help"]],
                         ids=lambda words: words[0])
def test_other_commands_go_to_the_real_compiler(trainer, compiler, words):
    through_shim = trainer.run(*words)
    real = subprocess.run([str(compiler.directory / "neuronx-cc"), *words], capture_output=True, text=True, check=True)
    assert (through_shim.status, through_shim.out) == (0, real.stdout)


def test_compile_with_extra_outputs_goes_to_the_real_compiler(trainer, compiler, cluster_with_worker, graph):
    assert trainer.compile(graph, "--pipeline", "compile", "SaveTemps").status == 0
    assert is_neff(trainer.output)
    assert compiler.compiles()[0]["cwd"] == str(trainer.directory)
    assert cluster_with_worker.json("ls", "entries")["entries"] == []


def test_daemon_away_the_real_compiler_runs_and_one_line_says_so(trainer, compiler, cluster_with_worker, graph):
    cluster_with_worker.stop_daemon()
    ended = trainer.compile(graph)
    assert ended.status == 0
    assert is_neff(trainer.output)
    assert len(ended.err.splitlines()) == 1
    assert ended.err.startswith("neffcache: ")
    assert compiler.compiles()[0]["cwd"] == str(trainer.directory)


def test_restart_of_the_daemon_is_waited_out_by_all_who_wait(tmp_path, compiler, cluster_with_worker, graph):
    """A job with 16 shims and a precompile on one slow compile: none gives up, and none compiles for itself."""
    compiler.hold()
    environment = compiler.shim_environment(NEFFCACHE_DAEMON=cluster_with_worker.address)
    trainers = [Trainer(tmp_path / f"rank-{rank}", environment) for rank in range(16)]
    shims = [trainer.start(*trainer.command(graph)) for trainer in trainers]
    precompile = cluster_with_worker.start("precompile", "--toolchain", "neuronx-cc", graph, "--", "--framework=XLA",
                                           "--target=trn1")
    compiler.wait_for_compiles(1)
    eventually(lambda: cluster_with_worker.stats()["compiles_joined"] == 16, "all wait for one compile")
    cluster_with_worker.kill_daemon()
    compiler.release()
    cluster_with_worker.start_daemon()
    for trainer, shim in zip(trainers, shims):
        ended = shim.wait()
        assert ended.status == 0, ended.err
        assert is_neff(trainer.output)
        assert ended.err.count("\n") == 1 and "was lost (" in ended.err
    assert precompile.wait().status == 0
    assert len({trainer.output.read_bytes() for trainer in trainers}) == 1, "all load the same artifact"
    compiles = compiler.compiles()
    assert len(compiles) <= 2
    assert not [each for each in compiles if "rank-" in each["cwd"]], "a shim compiled for itself"


def test_daemon_that_stays_away_leaves_the_shim_to_compile(trainer, compiler, cluster_with_worker, graph):
    trainer.environment["NEFFCACHE_RECONNECT"] = "1s"
    compiler.hold()
    shim = trainer.start(*trainer.command(graph))
    compiler.wait_for_compiles(1)
    compiler.set_mode("ok")  # Of the compile that the shim itself will start.
    cluster_with_worker.kill_daemon()
    ended = shim.wait()
    assert ended.status == 0, ended.err
    assert is_neff(trainer.output)
    assert compiler.compiles()[-1]["cwd"] == str(trainer.directory)
    compiler.release()


def test_disabled_shim_is_the_real_compiler(trainer, compiler, cluster_with_worker, graph):
    trainer.environment["NEFFCACHE_DISABLE"] = "1"
    assert trainer.compile(graph).status == 0
    assert compiler.compiles()[0]["cwd"] == str(trainer.directory)
    assert cluster_with_worker.stats()["lookups"] == 0


def test_compilers_diagnostic_is_replayed_with_its_exit_status(trainer, compiler, graph):
    compiler.set_mode("diagnostic:NCC_EVRF007")
    for _ in range(2):
        ended = trainer.compile(graph)
        assert ended.status == 70
        assert "NCC_EVRF007" in ended.err
        assert not trainer.output.exists()
    assert len(compiler.compiles()) == 1, "the failure is remembered"


def test_bad_graph_ends_as_the_compiler_ends_it(trainer, compiler, tmp_path):
    ended = trainer.compile(tmp_path / "absent.pb")
    assert ended.status == 70
    assert "NCC_EARG001" in ended.err


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system takes root")
def test_full_disk_at_the_output_leaves_no_partial_file(trainer, compiler, graph):
    assert trainer.compile(graph).status == 0
    trainer.output.unlink()
    small = trainer.directory / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(small)], check=True)
    try:
        output = small / "graph.neff"
        ended = trainer.run("compile", "--framework=XLA", graph, "--output", output, "--target=trn1")
        assert ended.status != 0
        assert not output.exists() or output.stat().st_size == 0
        assert "No space left on device" in ended.err
        assert "Traceback" not in ended.err
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_version_of_the_local_compiler_is_the_keys(trainer, compiler, cluster_with_worker, graph):
    assert trainer.compile(graph).status == 0
    [entry] = cluster_with_worker.json("ls", "entries")["entries"]
    assert entry["toolchain"] == {"name": "neuronx-cc", "version": VERSION}
