"""Starts the real programs of a build tree on loopback and scratch directories, and stops them by process id.

NEFFCACHE_BUILD_DIR names the build tree; NEFFCACHE_SOURCE_DIR the sources.
"""

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

SOURCE = pathlib.Path(os.environ.get("NEFFCACHE_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
BUILD = pathlib.Path(os.environ.get("NEFFCACHE_BUILD_DIR", SOURCE / "build"))
BIN = BUILD / "bin"
SHIM = BUILD / "shim" / "neuronx-cc"
XLA_CPU_COMPILE = BUILD / "libexec" / "neffcache" / "xla-cpu-compile"

# Longer than anything takes on a busy machine; a test that waits this long has failed.
PATIENCE = 90.0


def eventually(condition, what: str, timeout: float = PATIENCE):
    """The first true value of `condition()`; fails the test when there is none in time."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"not within {timeout:.0f} s: {what}"
        time.sleep(0.02)


def clean_environment(**extra: str) -> dict[str, str]:
    """This process's environment without settings of neffcache, and with `extra`."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NEFFCACHE_")}
    return {**inherited, **extra}


@dataclasses.dataclass
class Ended:
    """How a program ended."""

    status: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


class Process:
    """A program started by a test; its output goes to files, so that it never blocks on us."""

    def __init__(self, command: list, log: pathlib.Path, env: dict[str, str], cwd: pathlib.Path | None = None):
        self.log = log
        self._out = log.with_suffix(".out")
        with open(self._out, "wb") as out, open(log, "ab") as err:
            self._popen = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=out,
                                           stderr=err, env=env, cwd=cwd)

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def running(self) -> bool:
        return self._popen.poll() is None

    def wait(self, timeout: float = PATIENCE) -> Ended:
        status = self._popen.wait(timeout)
        return Ended(status, self._out.read_text(errors="replace"), self.log.read_text(errors="replace"))

    def kill(self) -> None:
        """kill -9: the process gets no chance to tidy up."""
        self._popen.kill()
        self._popen.wait(PATIENCE)

    def kill_after(self, seconds: float) -> None:
        """kill -9 at that moment, unless it ended before."""
        try:
            self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()

    def stop(self) -> None:
        if self.running:
            self._popen.send_signal(signal.SIGTERM)
            try:
                self._popen.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.kill()
                raise


class Cluster:
    """One daemon and its workers, and the command line against them. A context manager."""

    def __init__(self, directory: pathlib.Path, embedded_workers: int = 0, env: dict[str, str] | None = None,
                 daemon_flags: tuple = ()):
        self.directory = directory
        self.data = directory / "data"
        self.address = ""
        self.daemon: Process | None = None
        self.workers: list[Process] = []
        self._clients: list[Process] = []
        self._embedded_workers = embedded_workers
        self._env = env if env is not None else clean_environment()
        self._daemon_flags = tuple(daemon_flags)
        self._serial = 0

    def __enter__(self) -> "Cluster":
        self.start_daemon()
        return self

    def __exit__(self, kind, value, traceback) -> None:
        for process in self._clients + self.workers + ([self.daemon] if self.daemon else []):
            if process.running:
                process.kill() if kind else process.stop()
        for log in sorted(self.directory.glob("*.log")):  # pytest shows it when the test fails.
            text = log.read_text(errors="replace")
            if text:
                print(f"--- {log.name}\n{text[-4000:]}", file=sys.stderr)

    def log_path(self, name: str) -> pathlib.Path:
        self._serial += 1
        return self.directory / f"{name}-{self._serial}.log"

    # --- The daemon -------------------------------------------------------------------------------------------

    def daemon_command(self, listen: str, address_file: pathlib.Path) -> list:
        return [BIN / "neffcached", "--data-dir", self.data, "--listen", listen, "--address-file", address_file,
                "--workers", self._embedded_workers, *self._daemon_flags]

    def start_daemon(self) -> None:
        """Starts it, at its former address when it had one: clients and workers come back by themselves."""
        address_file = self.directory / "address"
        address_file.unlink(missing_ok=True)
        self.daemon = Process(self.daemon_command(self.address or "127.0.0.1:0", address_file),
                              self.log_path("daemon"), self._env)

        def announced():
            assert self.daemon.running, f"neffcached ended: {self.daemon.log.read_text(errors='replace')}"
            return address_file.exists() and address_file.read_text().strip()

        self.address = eventually(announced, "the daemon tells its address")

    def kill_daemon(self) -> None:
        self.daemon.kill()

    def stop_daemon(self) -> None:
        self.daemon.stop()

    # --- Workers ----------------------------------------------------------------------------------------------

    def start_worker(self, toolchain: str, slots: int = 1, env: dict[str, str] | None = None, flags: tuple = ()) -> Process:
        scratch = self.directory / f"scratch-{len(self.workers)}"
        scratch.mkdir(exist_ok=True)
        worker = Process([BIN / "neffcache-worker", "--daemon", self.address, "--toolchain", toolchain, "--slots",
                          slots, "--scratch", scratch, *flags], self.log_path("worker"), env or self._env)
        self.workers.append(worker)
        return worker

    def wait_for_toolchain(self, name: str) -> None:
        def offered():
            workers = self.json("ls", "workers").get("workers", [])
            return any(toolchain["name"] == name for worker in workers for toolchain in worker["toolchains"])

        eventually(offered, f"a worker offers {name}")

    # --- The command line -------------------------------------------------------------------------------------

    def start(self, *words, env: dict[str, str] | None = None) -> Process:
        """neffcache with these words, in the background."""
        client = Process([BIN / "neffcache", "--daemon", self.address, *words], self.log_path("client"),
                         env or self._env)
        self._clients.append(client)
        return client

    def run(self, *words, timeout: float = PATIENCE) -> Ended:
        return self.start(*words).wait(timeout)

    def ok(self, *words, timeout: float = PATIENCE) -> Ended:
        ended = self.run(*words, timeout=timeout)
        assert ended.status == 0, f"neffcache {' '.join(map(str, words))}: status {ended.status}: {ended.err}"
        return ended

    def json(self, *words):
        return self.ok("--json", *words).json

    def stats(self) -> dict:
        return self.json("stats")

    # --- The store --------------------------------------------------------------------------------------------

    def artifact_files(self) -> list[pathlib.Path]:
        """Artifacts kept as files; those up to the inline limit are inside RocksDB."""
        return [path for path in (self.data / "artifacts").glob("??/*") if path.suffix != ".zst"]
