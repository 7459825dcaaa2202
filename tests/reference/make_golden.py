"""Writes golden/: small graphs of every kind, and expected.tsv with what each is to get under each tag.

    python make_golden.py

Only for a new tag, beside the old ones: what has been expected once stays. expected.tsv has two kinds of lines, their columns
separated by tabs; FILE is in golden/, ORDER is canonical or exact:

    fingerprint  FILE  ORDER  TAG:DIGEST
    key          FILE  ORDER  TOOLCHAIN  VERSION  KEY  NORMALIZED-OPTION...

Kernel files that graphs name as /kernels/NAME are golden/NAME.
"""

import base64
import gzip
import pathlib
import random

import zstandard

from neffcache_key.key import fingerprint, key
from neffcache_key.wire import BYTES, VARINT, write_field
from synthetic import Style, Synthesis
from test_kernel_configs import call, module

GOLDEN = pathlib.Path(__file__).parent / "golden"
ORDERS = {"canonical": False, "exact": True}
TOOLCHAINS = (
    ("neuronx-cc", "2.16.372.0+4a9b2326", ["--auto-cast=none", "--target=trn1", "--unknown", "two words"]),
    ("xla-cpu", "0.10.2", []),
)


def read_golden_kernel(path: str) -> bytes:
    directory, _, name = path.rpartition("/")
    if directory != "/kernels":
        raise FileNotFoundError(path)
    return (GOLDEN / name).read_bytes()


def expected_lines(names: list[str]) -> list[str]:
    lines = []
    for name in names:
        for order, exact in ORDERS.items():
            found = fingerprint((GOLDEN / name).read_bytes(), exact, read_golden_kernel)
            assert not found.undefined, name
            lines.append("\t".join(("fingerprint", name, order, str(found))))
            for toolchain, version, options in TOOLCHAINS:
                made = key(found, toolchain, version, options)
                lines.append("\t".join(("key", name, order, toolchain, version, made, *options)))
    return lines


def _graphs() -> dict[str, bytes]:
    graphs = {}
    synthesis = Synthesis(seed=20)
    for ids in ("small", "full", "local"):
        graphs[f"structure-{ids}-ids.pb"] = synthesis.module(Style(ids=ids, density=0, unknown=0, unused=0.6))
    while sum(name.startswith("fields-") for name in graphs) < 12:
        graph = synthesis.module(Style(ids="full", density=0.12, untidy=0.05))
        if 1500 < len(graph) < 5000 and not fingerprint(graph).undefined:
            graphs[f"fields-{len(graphs) - 2}.pb"] = graph
    graphs["guarded.pb"] = graphs["structure-full-ids.pb"] + write_field(150, VARINT, 7)
    base = graphs["structure-full-ids.pb"]
    config = base64.b64encode(b'{"func_name": "add", "mac_count": 1.5, "klir_binary": {"binary": "/kernels/add.klir"}}')
    graphs["kernel.pb"] = module(call(config))
    graphs["kernel-of-a-raw-graph.pb"] = module(call(config)) + write_field(20, BYTES, b"")
    graphs["hlo-proto.pb"] = write_field(1, BYTES, base) + write_field(3, BYTES, b"assignment")
    graphs["hlo-snapshot.pb"] = write_field(1, BYTES, graphs["hlo-proto.pb"]) + write_field(4, BYTES, b"cpu")
    graphs["gzip.pb.gz"] = gzip.compress(base, mtime=0)
    graphs["zstd.pb.zst"] = zstandard.compress(graphs["hlo-proto.pb"])
    graphs["bytecode.mlirbc"] = b"ML\xefR" + random.Random(21).randbytes(100)
    graphs["opaque.bin"] = b"neither of these"
    return graphs


def main() -> None:
    GOLDEN.mkdir(exist_ok=True)
    (GOLDEN / "add.klir").write_bytes(b"the code of a kernel")
    graphs = _graphs()
    for name, graph in graphs.items():
        (GOLDEN / name).write_bytes(graph)
    (GOLDEN / "expected.tsv").write_text("\n".join(expected_lines(sorted(graphs))) + "\n")


if __name__ == "__main__":
    main()
