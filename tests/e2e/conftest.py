import pathlib
import sys

import pytest

from cluster import SOURCE, Cluster

sys.path.insert(0, str(SOURCE / "examples" / "bert"))


@pytest.fixture
def graph(tmp_path: pathlib.Path) -> pathlib.Path:
    import hlo

    return hlo.add_constant(tmp_path / "graph.hlo_module.pb", 1.0)


@pytest.fixture
def cluster(tmp_path: pathlib.Path):
    """A daemon with one embedded worker that has the xla-cpu compiler."""
    with Cluster(tmp_path, embedded_workers=1, daemon_flags=("--worker-toolchain", "xla-cpu")) as running:
        running.wait_for_toolchain("xla-cpu")
        yield running


@pytest.fixture(scope="session")
def example_graphs():
    """The graphs of examples/bert by name, with JAX set up for as many host devices as they want."""
    import graphs

    graphs.use_host_devices()
    return graphs.all_graphs()


@pytest.fixture
def compiler(tmp_path: pathlib.Path):
    from fake_compiler import FakeCompiler

    return FakeCompiler(tmp_path / "compiler")


@pytest.fixture
def fake_cluster(tmp_path: pathlib.Path, compiler):
    """A daemon without workers of its own; a test starts workers that run `compiler`."""
    with Cluster(tmp_path, env=compiler.environment()) as running:
        yield running
        compiler.release()  # Workers finish what they run before they leave.
