"""The fingerprint of graphs that JAX traces here: it tells models apart, and nothing else.

Each model is traced by several fresh processes from sources in other folders, with other function names and lines,
another hash seed, and with or without full stack traces in the metadata.
"""

import ast
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from cluster import BIN, SOURCE, clean_environment

MODELS = SOURCE / "tests" / "e2e" / "traced_models.py"
EXAMPLE = SOURCE / "examples" / "bert"
# Functions of the example that appear in its graphs; graphs are named otherwise.
EXAMPLE_FUNCTIONS = {"layer_norm", "attention", "logits", "masked_loss", "adamw", "train_step", "eval_step"}
TRACEBACKS = "JAX_INCLUDE_FULL_TRACEBACKS_IN_LOCATIONS"


def function_names(source: str) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)}


def rename(source: str, names: set[str]) -> str:
    """Every one of `names` is another one, on another line."""
    return "# Moved.\n" * 7 + re.sub(rf"\b({'|'.join(sorted(names))})\b", r"renamed_\1", source)


def trace_models(directory: pathlib.Path, renamed: bool, **env: str) -> pathlib.Path:
    source = MODELS.read_text()
    program = directory / ("other_name.py" if renamed else MODELS.name)
    program.write_text(rename(source, function_names(source)) if renamed else source)
    return run(program, directory / "graphs", directory / "graphs", **env)


def trace_example(directory: pathlib.Path, renamed: bool, **env: str) -> pathlib.Path:
    for file in EXAMPLE.glob("*.py"):
        shutil.copy(file, directory)
    if renamed:
        for file in (directory / "model.py", directory / "graphs.py"):
            file.write_text(rename(file.read_text(), EXAMPLE_FUNCTIONS))
    return run(directory / "trace.py", directory / "graphs", "--out", directory / "graphs", **env)


def run(program: pathlib.Path, out: pathlib.Path, *words, **env: str) -> pathlib.Path:
    out.mkdir()
    subprocess.run([sys.executable, program, *words], check=True, timeout=300, stdout=subprocess.DEVNULL,
                   env=clean_environment(JAX_PLATFORMS="cpu", **env))
    return out


def fingerprints(folder: pathlib.Path) -> dict[str, str]:
    """By graph, as sha256sum prints them: FINGERPRINT  PATH."""
    files = sorted(folder.rglob("*.pb"))
    out = subprocess.run([BIN / "neffcache", "fingerprint", *files], check=True, capture_output=True, text=True).stdout
    pairs = [line.split(maxsplit=1) for line in out.splitlines()]
    return {str(pathlib.Path(path).relative_to(folder)): fingerprint for fingerprint, path in pairs}


@pytest.mark.parametrize("trace", [trace_models, trace_example])
def test_equal_models_have_one_fingerprint_and_different_models_different_ones(tmp_path, trace):
    runs = []
    for renamed, seed, tracebacks in ((False, "1", "true"), (True, "2", "true"), (True, "3", "false")):
        directory = tmp_path / f"home-{seed}" / ("deep" * int(seed))
        directory.mkdir(parents=True)
        runs.append(trace(directory, renamed, PYTHONHASHSEED=seed, **{TRACEBACKS: tracebacks}))

    first, *others = map(fingerprints, runs)
    assert len(first) >= (20 if trace is trace_models else 6)
    assert all(fingerprint.startswith("neffcache-hlo-1:") for fingerprint in first.values()), first
    assert len(set(first.values())) == len(first), f"different models, one fingerprint: {first}"
    for other in others:
        assert other == first

    # What was to be overlooked was there.
    for name in first:
        assert len({(folder / name).read_bytes() for folder in runs}) == len(runs), f"{name}: traced to equal bytes"
