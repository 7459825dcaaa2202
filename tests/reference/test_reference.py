"""The program and the second implementation in neffcache_key/ give every graph the same fingerprint and key."""

import gzip
import os
import pathlib
import random
import subprocess
import sys

import pytest
import zstandard

import mutations
import programs
from comparison import Comparison, has_known_difference
from neffcache_key.key import fingerprint, key
from neffcache_key.options import MissingValue, normalize
from neffcache_key.schema import SCHEMAS
from neffcache_key.wire import BYTES, VARINT, write_field
from synthetic import Style, Synthesis

GRAPHS = pathlib.Path(os.environ.get("NEFFCACHE_GRAPHS", programs.SOURCE / ".." / "shared" / "graphs"))
MODELS = programs.SOURCE / "tests" / "e2e" / "traced_models.py"
IDS = ("small", "full", "local")


def styles(rng: random.Random) -> Style:
    return Style(ids=rng.choice(IDS), density=rng.choice([0, 0.02, 0.1, 0.3]), unknown=rng.choice([0, 0.02]),
                 guarded=rng.choice([0, 0, 0, 0.05]), untidy=rng.choice([0, 0, 0.1, 0.3]))


@pytest.fixture
def comparison(tmp_path: pathlib.Path) -> Comparison:
    directory = tmp_path / "graphs"
    directory.mkdir()
    return Comparison(directory)


@pytest.mark.skipif(not GRAPHS.is_dir(), reason="no collection of real graphs here: set NEFFCACHE_GRAPHS")
def test_real_graphs(comparison):
    for file in sorted(GRAPHS.rglob("*")):
        if file.is_file() and file.suffix != ".md":
            comparison.add_file(file)
    assert comparison.check()["neffcache-hlo-1"] > 10


def test_traced_models(comparison, tmp_path):
    subprocess.run([sys.executable, MODELS, tmp_path], check=True, timeout=300, env={**os.environ, "JAX_PLATFORMS": "cpu"})
    for file in sorted(tmp_path.glob("*.pb")):
        comparison.add_file(file)
    assert comparison.check()["neffcache-hlo-1"] > 5


def test_synthetic_modules_with_every_field_of_the_table(comparison):
    rng = random.Random(1)
    synthesis = Synthesis(seed=2)
    for _ in range(600):
        comparison.add(synthesis.module(styles(rng)))
    tags = comparison.check()
    assert tags["neffcache-hlo-1"] > 300 and tags["neffcache-raw-1"] > 30 and tags["undefined"] < 10, tags

    dropped_by_meaning = {("HloModule", 5), ("HloModule", 20), ("HloModule", 24)}
    every = {(schema.name, number) for schema in SCHEMAS.values() for number in schema.fields}
    assert every - dropped_by_meaning <= synthesis.covered


def test_structures(comparison):
    """Little else than references, so that many are alike: ties, control edges, sharing, computations nobody calls."""
    synthesis = Synthesis(seed=3)
    for count in range(600):
        comparison.add(synthesis.module(Style(ids=IDS[count % 3], density=0, unknown=0, unused=0.8)))
    assert comparison.check()["neffcache-hlo-1"] == 600


@pytest.mark.parametrize("mutate", [mutations.edit_field, mutations.flip_bits, mutations.truncate])
def test_damaged_and_edited_modules(comparison, mutate):
    rng = random.Random(4)
    synthesis = Synthesis(seed=5)
    for _ in range(30):
        module = synthesis.module(Style(ids=rng.choice(IDS), density=0.02, untidy=0))
        for _ in range(20):
            mutated = mutate(module, rng)
            if mutated and not has_known_difference(mutated):
                comparison.add(mutated)
    tags = comparison.check()
    assert tags["neffcache-raw-1"] > 30, tags


def test_wrappers(comparison):
    rng = random.Random(6)
    synthesis = Synthesis(seed=7)
    for _ in range(25):
        module = synthesis.module(Style(ids=rng.choice(IDS)))
        proto = write_field(1, BYTES, module)
        assigned = proto + write_field(3, BYTES, rng.randbytes(5))
        snapshot = write_field(1, BYTES, assigned)
        for graph in (module, proto, assigned, snapshot, snapshot + write_field(2, BYTES, b"") + write_field(4, BYTES, b"cpu"),
                      proto + proto, proto + write_field(7, VARINT, 1), snapshot + write_field(5, BYTES, b""),
                      proto + module, write_field(2, BYTES, b"") + proto, write_field(1, BYTES, proto + proto),
                      b"ML\xefR" + module, b"\0" + module, module + b"\0", module[:-1], rng.randbytes(20), snapshot * 2):
            comparison.add(graph)
        comparison.add(gzip.compress(module))
        comparison.add(gzip.compress(module[:9]) + gzip.compress(module[9:]))
        comparison.add(gzip.compress(gzip.compress(module)))
        comparison.add(zstandard.compress(snapshot))
        comparison.add(zstandard.compress(module[:9]) + zstandard.compress(module[9:]))
        comparison.add(zstandard.compress(gzip.compress(module)))
    comparison.check()


def test_edited_containers(comparison):
    rng = random.Random(11)
    synthesis = Synthesis(seed=12)
    for _ in range(40):
        module = synthesis.module(Style(ids="full", density=0, unknown=0, untidy=0))
        proto = write_field(1, BYTES, module)
        for graph in (module, proto, proto + module, write_field(1, BYTES, proto) + write_field(4, BYTES, b"cpu")):
            for _ in range(4):
                comparison.add(mutations.edit_container(graph, rng))
            comparison.add(mutations.edit_container(mutations.edit_container(graph, rng), rng))
    tags = comparison.check()
    assert tags["neffcache-raw-1"] > 100 and tags["neffcache-hlo-1"] > 30, tags


FLAGS = (
    ["--target=trn1"], ["--target", "trn2"], ["-O1"], ["-O", "3"], ["-O=2"], ["--optlevel", "2"], ["--optlevel=3"],
    ["-lnc", "1"], ["--lnc=2"], ["--logical-nc-config", "1"], ["--framework=XLA"], ["--framework", "XLA"],
    ["--auto-cast", "all"], ["--auto-cast=none"], ["--auto-cast-type=bf16"], ["--model-type=transformer"],
    ["--distribution-strategy=NEMO"], ["--distribution-strategy", "llm-training"], ["--native-int64=enabled"],
    ["--implicit-integer-downcast=dot,scatter"], ["--enable-saturate-infinity"], ["--enable-fast-context-switch"],
    ["--enable-mixed-precision-accumulation"], ["--disable-mixed-precision-accumulation"], ["--verbose", "35"],
    ["--enable-fast-loading-neuron-binaries"], ["--output=x.neff"], ["--logfile", "log"], ["--cache_dir=/x"], ["--no_cache"],
    ["--retry_failed_compilation"], ["--log_level", "info"], ["--internal-x"], ["--unknown", "word"], ["--unknown=word"],
    ["--tensorizer-options=--a --b=c"], ["--tensorizer-options=--d"], ["--enable-dge"], ["--disable-dge"], ["-v"], ["-Ofast"],
)


def test_options_and_keys(tmp_path):
    rng = random.Random(8)
    synthesis = Synthesis(seed=9)
    file = tmp_path / "graph.pb"
    for round_ in range(120):
        file.write_bytes(synthesis.module(Style(density=0, guarded=0)))
        name, version = rng.choice([("neuronx-cc", "2.16.372.0+4a9b2326"), ("neuronx-cc", "1"), ("xla-cpu", "0.10"), ("other", "ü")])
        flags = sum(rng.choices(FLAGS, k=rng.randrange(8)), [])
        exact = round_ % 2 == 1
        said = programs.key(file, f"{name}={version}", flags, exact)
        options = normalize(name, flags)
        assert said["options"] == options, flags
        expected = fingerprint(file.read_bytes(), exact)
        if not expected.undefined:
            assert said["key"] == key(expected, name, version, options), flags


@pytest.mark.parametrize("flag", ["--target", "-O", "--lnc", "--output"])
def test_flags_without_their_value_have_no_key(tmp_path, flag):
    file = tmp_path / "graph.pb"
    file.write_bytes(Synthesis(seed=10).module(Style()))
    with pytest.raises(MissingValue):
        normalize("neuronx-cc", ["--no_cache", flag])
    assert "key" not in programs.key(file, "neuronx-cc=1", ["--no_cache", flag])
