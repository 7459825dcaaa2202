#!/usr/bin/env python3
"""Measures what a call of the neuronx-cc shim costs, against cp of the same artifact.

Starts a daemon and a worker with the stand-in compiler, compiles one graph, and then times calls that hit. The calls
that are compared take turns, so that what else the machine does falls on all of them alike.
"""

import argparse
import contextlib
import io
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from cluster import SHIM, Cluster  # noqa: E402
from fake_compiler import VERSION, FakeCompiler  # noqa: E402

# With its header, an artifact of 1 MB.
PAYLOAD_BYTES = 1_000_000 - 1024


def run(program: str, arguments: list[str], environment: dict[str, str]) -> float:
    """Seconds that a program took, which must succeed. Its output goes nowhere."""
    actions = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
    start = time.perf_counter()
    pid = os.posix_spawn(program, [program, *arguments], environment, file_actions=actions)
    _, status = os.waitpid(pid, 0)
    taken = time.perf_counter() - start
    if status != 0:
        raise SystemExit(f"{program} {' '.join(arguments)} ended with {os.waitstatus_to_exitcode(status)}")
    return taken


def measure(calls: dict[str, tuple], rounds: int) -> dict[str, list[float]]:
    times = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(run(*call) * 1e3)
    return times


@contextlib.contextmanager
def logs_on_failure():
    """The cluster shows its programs' logs when it ends; they matter only when something failed."""
    logs = io.StringIO()
    try:
        with contextlib.redirect_stderr(logs):
            yield
    except BaseException:
        sys.stderr.write(logs.getvalue())
        raise


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--smoke", action="store_true", help="few rounds: shows that it runs, not how fast")
    parser.add_argument("--json", type=lambda name: pathlib.Path(name).absolute(), help="file for the figures")
    options = parser.parse_args()
    rounds = 5 if options.smoke else options.rounds

    with tempfile.TemporaryDirectory(prefix="neffcache-bench-") as name:
        directory = pathlib.Path(name)
        compiler = FakeCompiler(directory / "compiler", payload_bytes=PAYLOAD_BYTES)
        os.chdir(directory)
        pathlib.Path("g.hlo_module.pb").write_bytes(os.urandom(100_000))
        words = ["compile", "--framework=XLA", "g.hlo_module.pb", "--output", "g.neff", "--target=trn1"]
        direct = {"NEFFCACHE_DIR": str(directory / "node")}
        with logs_on_failure(), Cluster(directory, env=compiler.environment()) as cluster:
            cluster.start_worker("neuronx-cc")
            cluster.wait_for_toolchain("neuronx-cc")
            trainer = compiler.shim_environment(NEFFCACHE_DAEMON=cluster.address, **direct)
            away = compiler.shim_environment(NEFFCACHE_DAEMON="127.0.0.1:1", **direct)
            shim = str(SHIM)
            real = str(compiler.directory / "neuronx-cc")

            # As pip lays it out, so that the version is read and not asked of a compiler that takes seconds to start:
            # a script that names the package's module, of the environment's Python (here a shell).
            python = compiler.directory / "python3"
            python.symlink_to("/bin/sh")
            program = pathlib.Path(real)
            program.write_text(program.read_text().replace("#!/bin/sh\n", f"#!{python}\n# neuronxcc\n", 1))
            metadata = directory / f"lib/python3.11/site-packages/neuronx_cc-{VERSION}.dist-info/METADATA"
            metadata.parent.mkdir(parents=True)
            metadata.write_text(f"Metadata-Version: 2.1\nName: neuronx-cc\nVersion: {VERSION}\n")

            run(shim, words, trainer)  # The one compile.
            compiled = len(compiler.compiles())
            hits = measure({"cp": ("/bin/cp", ["g.neff", "copy.neff"], trainer),
                            "shim, hit": (shim, words, trainer)}, rounds)
            if compiled != 1 or len(compiler.compiles()) != 1:
                raise SystemExit(f"{len(compiler.compiles())} compiles instead of 1: these were no hits")
            others = measure({"compiler": (real, words, trainer), "shim, NEFFCACHE_DISABLE=1":
                              (shim, words, {**trainer, "NEFFCACHE_DISABLE": "1"}),
                              "shim, daemon away": (shim, words, away)}, max(5, rounds // 4))

    # The best of a call is what it costs; the median adds what else the machine did.
    times = {**hits, **others}
    base = {"shim, hit": "cp", "shim, NEFFCACHE_DISABLE=1": "compiler", "shim, daemon away": "compiler"}
    print(f"{'a call with an artifact of 1 MB':34}{'best ms':>10}{'median ms':>12}{'p90 ms':>10}   best beyond")
    rows = {}
    for name, values in times.items():
        values.sort()
        row = {"best ms": values[0], "median ms": statistics.median(values), "p90 ms": values[int(len(values) * 0.9)]}
        compared = ""
        if name in base:
            row["best ms beyond " + base[name]] = values[0] - min(times[base[name]])
            compared = f"   {values[0] - min(times[base[name]]):.2f} ms beyond {base[name]}"
        rows[name] = row
        print(f"{name:34}{row['best ms']:10.2f}{row['median ms']:12.2f}{row['p90 ms']:10.2f}{compared}")
    if options.json:
        options.json.write_text(json.dumps({"title": "shim", "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
