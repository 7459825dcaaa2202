"""Bad input: a one-sentence error, the right exit status, no partial file, and a daemon that goes on serving."""

import hashlib
import os
import pathlib
import subprocess

import pytest

from cluster import BIN, clean_environment

DONE, FAILED, USAGE, UNREACHABLE = 0, 1, 2, 3
XLA = ("--toolchain", "xla-cpu")


def assert_one_sentence(ended):
    """One line, for people: no stack trace, no status code's name, and something that was asked for in it."""
    lines = [line for line in ended.err.splitlines() if line.strip()]
    assert len(lines) == 1, ended.err
    assert not any(word in ended.err for word in ("Traceback", "INVALID_ARGUMENT", "UNAVAILABLE", "terminate called"))


@pytest.fixture
def files(tmp_path, graph) -> dict[str, pathlib.Path]:
    def file(name: str, content: bytes) -> pathlib.Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    module = graph.read_bytes()
    return {
        "good": graph,
        "absent": tmp_path / "absent.pb",
        "empty": file("empty.pb", b""),
        "truncated": file("truncated.pb", module[: len(module) // 2]),
        "directory": tmp_path,
    }


@pytest.fixture
def serving(cluster, files):
    """The cluster; after the test it must still do its job."""
    yield cluster
    assert cluster.daemon.running
    cluster.ok("precompile", *XLA, files["good"])


@pytest.mark.parametrize("command", ["fingerprint", "key", "lookup", "precompile", "fetch"])
@pytest.mark.parametrize("which", ["absent", "empty", "directory"])
def test_unreadable_graph(serving, files, tmp_path, command, which):
    output = tmp_path / "out"
    words = [command, files[which]]
    if command == "fetch":
        words += ["-o", output]
    if command == "key":
        words += ["--toolchain", "xla-cpu=1.0"]  # Offline: nobody to ask for the version.
    elif command != "fingerprint":
        words += XLA
    ended = serving.run(*words)
    assert ended.status == FAILED
    assert_one_sentence(ended)
    assert files[which].name in ended.err
    assert not output.exists()


def test_truncated_graph_fails_its_compile_with_the_compilers_words(serving, files):
    ended = serving.run("precompile", *XLA, files["truncated"])
    assert ended.status == FAILED
    assert "not an HloModuleProto" in ended.err
    # The failure is remembered, and can be looked at.
    looked_up = serving.run("--json", "lookup", *XLA, files["truncated"])
    assert looked_up.status == FAILED
    [entry] = looked_up.json["results"]
    assert entry["state"] == "failed"
    assert "not an HloModuleProto" in serving.ok("log", entry["key"]).out


def test_failed_graph_does_not_take_the_others_with_it(serving, files):
    ended = serving.run("precompile", *XLA, files["truncated"], files["good"])
    assert ended.status == FAILED
    [entry] = serving.json("lookup", *XLA, files["good"])["results"]
    assert entry["state"] == "ready"


@pytest.mark.parametrize("words", [
    ["--no-such-flag"],
    ["no-such-command"],
    ["precompile"],
    ["fetch", "graph.pb"],
    ["precompile", "--no-such-flag", "graph.pb"],
    [],
], ids=lambda words: " ".join(words) or "nothing")
def test_usage(serving, words):
    ended = serving.run(*words)
    assert ended.status == USAGE
    assert ended.err.strip()


def test_unknown_toolchain(serving, files):
    ended = serving.run("precompile", "--toolchain", "no-such-compiler", files["good"])
    assert ended.status == FAILED
    assert_one_sentence(ended)
    assert "no-such-compiler" in ended.err


def test_flag_that_the_compiler_refuses(serving, files):
    ended = serving.run("precompile", *XLA, files["good"], "--", "--no-such-compiler-flag")
    assert ended.status == FAILED
    assert "--no-such-compiler-flag" in ended.err


def test_absent_key(serving):
    ended = serving.run("fetch", "0" * 64, "-o", serving.directory / "out")
    assert ended.status == FAILED
    assert_one_sentence(ended)
    assert not (serving.directory / "out").exists()
    assert serving.run("show", "0" * 64).status == FAILED
    assert serving.run("log", "0" * 64).status == FAILED
    assert serving.run("retry", "0" * 64).status == FAILED


def test_unwritable_output(serving, files, tmp_path):
    serving.ok("precompile", *XLA, files["good"])
    for output in (tmp_path / "no-such-directory" / "out", pathlib.Path("/proc/out")):
        ended = serving.run("fetch", *XLA, files["good"], "-o", output)
        assert ended.status == FAILED
        assert_one_sentence(ended)
        assert str(output) in ended.err


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system takes root")
def test_full_disk_at_the_output(serving, files, tmp_path):
    serving.ok("precompile", *XLA, files["good"])
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(small)], check=True)
    try:
        ended = serving.run("fetch", *XLA, files["good"], "-o", small / "out")
        assert ended.status == FAILED
        assert_one_sentence(ended)
        assert "No space left on device" in ended.err
        assert not list(small.iterdir()), "something is left on the full disk"
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_daemon_away(files, tmp_path):
    output = tmp_path / "out"
    for words in (["lookup", *XLA, files["good"]], ["precompile", *XLA, files["good"]], ["stats"], ["ls", "entries"],
                  ["fetch", "0" * 64, "-o", output]):
        done = subprocess.run([str(BIN / "neffcache"), "--daemon", "127.0.0.1:1", *map(str, words)], text=True,
                              capture_output=True, timeout=60, env=clean_environment(), check=False)
        assert done.returncode == UNREACHABLE, words
        assert "127.0.0.1:1" in done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert not output.exists()


def test_offline_commands_need_no_daemon(files):
    for words in (["fingerprint", files["good"]], ["key", "--toolchain", "xla-cpu=1.0", files["good"]]):
        done = subprocess.run([str(BIN / "neffcache"), "--daemon", "127.0.0.1:1", *map(str, words)], text=True,
                              capture_output=True, timeout=60, env=clean_environment(), check=False)
        assert done.returncode == DONE, done.stderr


def test_daemon_gone_in_mid_stream(fake_cluster, compiler, graph):
    compiler.hold()
    fake_cluster.start_worker("neuronx-cc")
    fake_cluster.wait_for_toolchain("neuronx-cc")
    waiting = fake_cluster.start("precompile", "--toolchain", "neuronx-cc", graph)
    compiler.wait_for_compiles(1)
    fake_cluster.kill_daemon()
    ended = waiting.wait()
    assert ended.status == UNREACHABLE
    assert fake_cluster.address in ended.err


def test_second_daemon_on_the_directory_is_refused(serving, files, tmp_path):
    second = subprocess.run(list(map(str, serving.daemon_command("127.0.0.1:0", tmp_path / "second"))), text=True,
                            capture_output=True, timeout=60, env=clean_environment(), check=False)
    assert second.returncode != 0
    last = second.stderr.strip().splitlines()[-1]
    assert str(serving.data) in last
    assert str(serving.daemon.pid) in last, "the holder is not named"
    assert not (tmp_path / "second").exists()


@pytest.mark.parametrize("words", [["--no-such-flag"], ["--listen", "nonsense"], ["--workers", "-1"]],
                         ids=lambda words: " ".join(words))
def test_daemon_refuses_flags_that_make_no_sense(tmp_path, words):
    done = subprocess.run([str(BIN / "neffcached"), "--data-dir", str(tmp_path / "data"), *words], text=True,
                          capture_output=True, timeout=60, env=clean_environment(), check=False)
    assert done.returncode != 0
    assert words[0].lstrip("-") in done.stderr or words[-1] in done.stderr


def test_compile_that_writes_half_an_output_is_not_cached(fake_cluster, compiler, graph):
    compiler.set_mode("partial")
    fake_cluster.start_worker("neuronx-cc")
    fake_cluster.wait_for_toolchain("neuronx-cc")
    assert fake_cluster.run("precompile", "--toolchain", "neuronx-cc", graph).status == FAILED
    compiler.set_mode("ok")
    fake_cluster.ok("precompile", "--toolchain", "neuronx-cc", graph)
    output = fake_cluster.directory / "out"
    fake_cluster.ok("fetch", "--toolchain", "neuronx-cc", graph, "-o", output)
    [entry] = fake_cluster.json("lookup", "--toolchain", "neuronx-cc", graph)["results"]
    assert hashlib.sha256(output.read_bytes()).hexdigest() == entry["artifact"]["digest"]
