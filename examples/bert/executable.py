"""A graph's executable on this process's devices: loaded from what xla-cpu-compile wrote, or compiled here."""

import jax
import numpy as np
from jax.extend import backend as jax_backend
from jaxlib import _jax

from graphs import Graph


class Executable:
    """Runs a graph on its example arguments."""

    def __init__(self, graph: Graph, loaded: _jax.LoadedExecutable):
        self._graph = graph
        self._loaded = loaded

    @classmethod
    def load(cls, graph: Graph, serialized: bytes) -> "Executable":
        """Raises JaxRuntimeError when `serialized` does not fit this jaxlib."""
        client, devices = _client_and_devices(graph)
        return cls(graph, client.deserialize_executable(serialized, devices, None))

    @classmethod
    def compile(cls, graph: Graph, module: bytes) -> "Executable":
        """Compiles the very graph that neffcache would be asked for, without neffcache.

        jax.jit would compile the same computation from another form of it, in which XLA sums some numbers in another
        order: equal to rounding only. From the graph itself the outputs are equal to the bit.
        """
        client, devices = _client_and_devices(graph)
        options = _jax.CompileOptions()
        options.num_partitions = graph.devices
        options.executable_build_options.num_partitions = graph.devices
        options.executable_build_options.use_spmd_partitioning = graph.devices > 1
        options.executable_build_options.use_shardy_partitioner = graph.devices > 1
        options.device_assignment = _jax.DeviceAssignment.create(np.arange(graph.devices).reshape(1, -1))
        return cls(graph, client.compile_and_load(_jax.mlir.hlo_to_stablehlo(module), devices, options))

    def run(self) -> list[np.ndarray]:
        """The outputs in order, as the first device has them."""
        first = jax.devices()[0]
        arguments = []
        for index, argument in enumerate(self._graph.arguments):
            place = self._graph.shardings[index] if self._graph.shardings else first
            arguments += [jax.device_put(leaf, place) for leaf in jax.tree.leaves(argument)]
        results = self._loaded.execute_sharded(arguments, with_tokens=False)
        return [np.asarray(copies[0]) for copies in results.disassemble_into_single_device_arrays()]


def run_with_jit(graph: Graph) -> list[np.ndarray]:
    """What plain JAX computes, for comparison to rounding."""
    return [np.asarray(leaf) for leaf in jax.tree.leaves(graph.jitted()(*graph.arguments))]


def _client_and_devices(graph: Graph):
    devices = jax.devices()[: graph.devices]
    return jax_backend.get_backend("cpu"), _jax.DeviceList(tuple(devices))
