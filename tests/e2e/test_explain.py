"""Every miss explains itself: `show` says why a key was compiled, `explain` how a graph differs from what is cached."""

import pathlib
import subprocess
import sys

import pytest

from cluster import clean_environment, eventually

TOOLCHAIN = ("--toolchain", "neuronx-cc")

TRACER = """
import sys
import jax
import jax.numpy as jnp
import numpy as np

def train_step(weights, x):
    def loss(weights):
        return jnp.tanh(x @ weights).sum() * {scale}
    return weights - 0.5 * jax.grad(loss)(weights)

module = jax.jit(train_step).lower(np.ones((16, 16), np.float32), np.ones(({batch}, 16), np.float32))
open(sys.argv[1], "wb").write(module.compiler_ir("hlo").as_serialized_hlo_module_proto())
"""


def trace(path: pathlib.Path, batch: int = 8, scale: float = 2.0, rename: tuple = ()) -> pathlib.Path:
    source = TRACER.format(batch=batch, scale=scale)
    for old, new in rename:
        source = source.replace(old, new)
    program = path.with_suffix(".py")
    program.write_text(source)
    subprocess.run([sys.executable, program, path], check=True, timeout=300,
                   env=clean_environment(JAX_PLATFORMS="cpu"))
    return path


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """The same model: as it was, with another batch size, with its functions renamed, and for two other ranks."""
    folder = tmp_path_factory.mktemp("traced")
    return {
        "first": trace(folder / "first.pb"),
        "batch": trace(folder / "batch.pb", batch=32),
        "renamed": trace(folder / "renamed.pb", rename=(("loss", "another_loss"), ("train_step", "renamed_step"))),
        "rank1": trace(folder / "rank1.pb", scale=3.0),
        "rank2": trace(folder / "rank2.pb", scale=4.0),
    }


def precompile(cluster, graph, *words, flags=("-O1",)) -> str:
    """Compiles it; its key, once it is one that later misses may find."""
    done = cluster.json("precompile", *TOOLCHAIN, *words, graph, "--", *flags)
    key = done["graphs"][0]["key"]
    eventually(lambda: why(cluster, key), f"it is recorded why {key} was compiled")
    return key


def why(cluster, key: str) -> str:
    return cluster.json("show", key).get("miss", {}).get("explanation", "")


def until_near(cluster, graph, *flags) -> None:
    """Entries are indexed a moment after their commit."""
    eventually(lambda: cluster.run("--json", "explain", *TOOLCHAIN, graph, "--", *flags).json.get("nearest"),
               "the entry is found")


@pytest.fixture
def workers(fake_cluster):
    fake_cluster.start_worker("neuronx-cc")
    fake_cluster.wait_for_toolchain("neuronx-cc")
    return fake_cluster


def test_misses_are_explained_by_the_nearest_entry(workers, traced):
    first = precompile(workers, traced["first"])
    assert why(workers, first) == "no entry is like it"
    assert workers.ok("explain", *TOOLCHAIN, traced["first"], "--", "-O1").out == f"it is cached: key {first}\n"
    until_near(workers, traced["batch"], "-O1")

    # Another flag.
    flagged = precompile(workers, traced["first"], flags=("-O2",))
    assert why(workers, flagged).startswith(f"nearest {first[:12]} (jit_train_step"), why(workers, flagged)
    assert "optlevel" in why(workers, flagged)

    # Another batch size: said before the compile by the client, and of the compile by the daemon.
    said = workers.run("explain", *TOOLCHAIN, traced["batch"], "--", "-O1")
    assert said.status == 1
    assert "f32[8,16]" in said.out and "f32[32,16]" in said.out, said.out
    batch = precompile(workers, traced["batch"])
    assert "f32[8,16] → f32[32,16]" in why(workers, batch), why(workers, batch)
    assert why(workers, batch) in workers.ok("show", batch).out
    assert why(workers, batch) in workers.ok("explain", batch).out
    log = workers.daemon.log.read_text()
    assert f"event=miss key={batch}" in log

    # Other names are no other graph.
    assert first in workers.ok("explain", *TOOLCHAIN, traced["renamed"], "--", "-O1").out

    # What is going to be compiled is explained while it waits, too.
    other = workers.run("--json", "explain", "--toolchain", "neuronx-cc=2.28.1", traced["first"], "--", "-O1")
    assert other.status == 1
    assert [difference["kind"] for difference in other.json["differences"]] == ["toolchain"], other.out


def test_another_toolchain_is_named(workers, compiler, traced):
    precompile(workers, traced["first"])
    until_near(workers, traced["batch"], "-O1")
    newer = workers.start("precompile", "--toolchain", "neuronx-cc=2.28.9.0+abcdef12", "--wait-for-worker",
                          traced["first"], "--", "-O1")
    compiles = eventually(lambda: [compile for compile in workers.json("ls", "compiles").get("compiles", [])
                                   if "miss" in compile], "the queued compile is explained")
    assert "2.28.9.0+abcdef12" in compiles[0]["miss"]["explanation"]
    newer.kill()


def test_a_rank_that_is_baked_in_is_named(workers, traced):
    ranks = [traced[name] for name in ("first", "rank1", "rank2")]
    told = workers.ok("precompile", *TOOLCHAIN, "--bundle", "job", *ranks)
    assert "2 other graphs" in told.err and "constant" in told.err, told.err
    bundle = workers.run("--json", "explain", "--bundle", "job")
    assert bundle.status == 1
    (group,) = bundle.json["rank_baked_in"]
    assert len(group["keys"]) == 3
    assert {value for constant in group["constants"] for value in constant["values"]} & {"3", "4"}, group
    workers.ok("precompile", *TOOLCHAIN, "--bundle", "alone", traced["batch"])
    assert "no rank is baked in" in workers.ok("explain", "--bundle", "alone").out


def test_without_a_daemon_it_says_so(workers, traced):
    workers.stop_daemon()
    assert workers.run("explain", "--toolchain", "neuronx-cc=1", traced["first"]).status == 3
