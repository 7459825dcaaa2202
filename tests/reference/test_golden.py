"""The second implementation still gives what golden/expected.tsv says; tests/graph/golden_test.cc asks the program's code."""

from make_golden import GOLDEN, expected_lines


def test_golden_fingerprints_and_keys():
    lines = (GOLDEN / "expected.tsv").read_text().splitlines()
    names = sorted({line.split("\t")[1] for line in lines})
    assert names == sorted(file.name for file in GOLDEN.iterdir() if file.suffix not in (".tsv", ".klir"))
    assert expected_lines(names) == lines


def test_each_tag_is_there():
    text = (GOLDEN / "expected.tsv").read_text()
    assert all(f"\t{tag}:" in text for tag in ("neffcache-hlo-1", "neffcache-hlo-1-exact", "neffcache-raw-1"))
