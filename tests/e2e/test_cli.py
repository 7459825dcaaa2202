"""What only the program as a whole shows: its streams, its signals, its files."""

import os
import signal
import subprocess

from cluster import BIN, Process, clean_environment, eventually


def test_reader_that_has_enough_is_no_error(graph):
    """As in `neffcache fingerprint … | head -1`."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as out:
        ended = subprocess.run([BIN / "neffcache", "fingerprint", *[str(graph)] * 2000], stdout=out,
                               stderr=subprocess.PIPE, env=clean_environment(), check=False)
    assert ended.stderr == b""
    assert ended.returncode == 0


def test_full_disk_under_the_result_is_an_error(graph):
    with open("/dev/full", "wb") as out:
        ended = subprocess.run([BIN / "neffcache", "fingerprint", graph], stdout=out, stderr=subprocess.PIPE,
                               env=clean_environment(), check=False)
    assert b"cannot be written" in ended.stderr
    assert ended.returncode == 1


def test_interrupted_precompile_says_what_goes_on(fake_cluster, compiler, graph):
    compiler.hold()
    fake_cluster.start_worker("neuronx-cc")
    fake_cluster.wait_for_toolchain("neuronx-cc")
    waiting = fake_cluster.start("precompile", "--toolchain", "neuronx-cc", graph)
    compiler.wait_for_compiles(1)
    eventually(lambda: fake_cluster.stats()["compiles_running"] == 1, "the compile runs")
    os.kill(waiting.pid, signal.SIGINT)
    ended = waiting.wait()
    assert ended.status == 130
    assert "1 compile goes on in the daemon" in ended.err
    compiler.release()
    fake_cluster.ok("precompile", "--toolchain", "neuronx-cc", graph)
    assert len(compiler.compiles()) == 1


def test_one_config_file_serves_all_three_programs(tmp_path, compiler):
    config = tmp_path / "neffcache.conf"
    address = "127.0.0.1:9"
    config.write_text(f"""
[neffcached]
data-dir = "{tmp_path / 'data'}"
listen = "127.0.0.1:0"
workers = 0
[neffcache]
daemon = "{address}"
[neffcache-worker]
daemon = "{address}"
no-such-option = 1
""")
    env = compiler.environment(NEFFCACHE_CONFIG=str(config))
    client = subprocess.run([BIN / "neffcache", "stats"], capture_output=True, text=True, env=env, check=False)
    assert client.returncode == 3
    assert address in client.stderr
    worker = subprocess.run([BIN / "neffcache-worker"], capture_output=True, text=True, env=env, check=False)
    assert worker.returncode == 2, "the worker reads its section"
    assert "no-such-option" in worker.stderr
    daemon = Process([BIN / "neffcached", "--address-file", tmp_path / "address"], tmp_path / "daemon.log", env)
    try:
        eventually((tmp_path / "address").exists, "the daemon starts with its section alone")
    finally:
        daemon.stop()
