#!/usr/bin/env python3
"""One trainer process: gets the executables of its steps from neffcache, loads them, runs each once.

Prints one line for each graph: name, where the executable came from, milliseconds from the traced graph to the loaded
executable, the loss (the last output) and a checksum over all outputs to the bit. With --uncached the trainer compiles for itself: same numbers.
Without a daemon, or on any other trouble, a trainer compiles for itself too, and says so: training never depends on
the cache.
"""

import argparse
import functools
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import jax
import numpy as np

import executable
import graphs


class NotCached(Exception):
    """neffcache could not help; the text says why."""


def run(command: list[str]) -> str:
    """Standard output of a command that ends well."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise NotCached(f"cannot run {command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise NotCached(lines[-1] if lines else f"{command[0]} ended with status {done.returncode}")
    return done.stdout.strip()


@functools.cache
def local_toolchain(neffcache: str) -> str:
    """xla-cpu=VERSION of this very host: an executable for another CPU must not be loaded."""
    programs = pathlib.Path(shutil.which(neffcache) or neffcache).resolve().parent.parent
    name, version = run([str(programs / "libexec/neffcache/xla-cpu-compile"), "--version"]).split()
    return f"{name}={version}"


def cached_executable(graph: graphs.Graph, module: bytes, flags: argparse.Namespace, scratch: pathlib.Path) -> bytes:
    """The serialized executable from neffcache; compiled there once, however many trainers ask."""
    traced = scratch / f"{graph.name}.hlo_module.pb"
    artifact = scratch / f"{graph.name}.executable"
    traced.write_bytes(module)
    neffcache = [flags.neffcache] + (["--daemon", flags.daemon] if flags.daemon else [])
    what = [str(traced), "--toolchain", local_toolchain(flags.neffcache)]
    options = ["--"] + graph.flags if graph.flags else []
    run(neffcache + ["precompile"] + what + options)  # At once when it is cached.
    run(neffcache + ["fetch", "-o", str(artifact)] + what + options)
    return artifact.read_bytes()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--daemon", metavar="ADDR", help="of neffcached; default: as neffcache finds it")
    parser.add_argument("--neffcache", default="neffcache", metavar="PROGRAM")
    parser.add_argument("--rank", type=int, default=0, metavar="N", help="shown on each line")
    parser.add_argument("--graph", action="append", metavar="NAME", help="only this one; may be repeated")
    parser.add_argument("--uncached", action="store_true", help="compile here, for comparison")
    parser.add_argument("--require-cached", action="store_true", help="end with status 1 rather than compile here")
    flags = parser.parse_args()
    graphs.use_host_devices()
    known = graphs.all_graphs()

    with tempfile.TemporaryDirectory(prefix="trainer-") as scratch:
        for name in flags.graph or [name for name in known if name.startswith("train_")]:
            graph = known[name]
            module = graph.module()
            begin = time.monotonic()
            step = None
            source = "neffcache"
            if not flags.uncached:
                try:
                    serialized = cached_executable(graph, module, flags, pathlib.Path(scratch))
                    step = executable.Executable.load(graph, serialized)
                except (NotCached, jax.errors.JaxRuntimeError) as error:
                    print(f"trainer {flags.rank}: {name}: not from neffcache: {error}", file=sys.stderr)
                    if flags.require_cached:
                        return 1
            if step is None:
                step = executable.Executable.compile(graph, module)
                source = "own-compile"
            milliseconds = round((time.monotonic() - begin) * 1000)
            outputs = step.run()
            loss = float(np.ravel(outputs[-1])[0])
            print(f"rank={flags.rank} graph={name} from={source} ready_ms={milliseconds} loss={loss:.6f} "
                  f"checksum={graphs.checksum(outputs)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
