"""A Neuron compiler for tests: tests/fakes/neuronx-cc with a journal and a control file of its own."""

import json
import pathlib
import shlex

from cluster import SHIM, SOURCE, clean_environment, eventually

VERSION = "2.27.5334.0+5d5f8e4a"


class FakeCompiler:
    """A directory with a `neuronx-cc` to put on PATH. Every compile is a line in its journal."""

    def __init__(self, directory: pathlib.Path, payload_bytes: int = 4096):
        self.directory = directory
        directory.mkdir()
        self._journal = directory / "journal"
        self._control = directory / "control.json"
        self._gate = directory / "gate"
        settings = {
            "FAKE_NEURONX_CC_VERSION": VERSION,
            "FAKE_NEURONX_CC_JOURNAL": self._journal,
            "FAKE_NEURONX_CC_CONTROL": self._control,
            "FAKE_NEURONX_CC_SIZE": payload_bytes,
        }
        # Set by the program itself: a worker passes no foreign variables on to a compiler.
        program = directory / "neuronx-cc"
        program.write_text("#!/bin/sh\n" + "".join(
            f"export {name}={shlex.quote(str(value))}\n" for name, value in settings.items()) +
            f'exec {shlex.quote(str(SOURCE / "tests" / "fakes" / "neuronx-cc"))} "$@"\n')
        program.chmod(0o755)

    def environment(self, **extra: str) -> dict[str, str]:
        """With this compiler first on PATH: for daemons and workers."""
        env = clean_environment(**extra)
        return {**env, "PATH": f"{self.directory}:{env['PATH']}"}

    def shim_environment(self, **extra: str) -> dict[str, str]:
        """With the shim in front of this compiler: for trainers."""
        env = self.environment(**extra)
        return {**env, "PATH": f"{SHIM.parent}:{env['PATH']}"}

    # --- What compiles do -------------------------------------------------------------------------------------

    def set_mode(self, mode: str) -> None:
        """Of compiles that start from now on; see tests/fakes/neuronx-cc."""
        replacement = self._control.with_suffix(".new")
        replacement.write_text(json.dumps({"*": mode}))
        replacement.replace(self._control)

    def hold(self) -> None:
        """Compiles that start from now on wait for release()."""
        self._gate.unlink(missing_ok=True)
        self.set_mode(f"wait-file:{self._gate}")

    def release(self) -> None:
        self.set_mode("ok")
        self._gate.touch()

    # --- What compiles did ------------------------------------------------------------------------------------

    def compiles(self) -> list[dict]:
        """One for each compile that was started, in order."""
        if not self._journal.exists():
            return []
        return [json.loads(line) for line in self._journal.read_text().splitlines()]

    def wait_for_compiles(self, count: int) -> list[dict]:
        return eventually(lambda: len(self.compiles()) >= count and self.compiles(), f"{count} compiles have started")


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that ended and was not waited for does not count."""
    try:
        status = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"
