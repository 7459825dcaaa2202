"""The graphs of the example: what each traces, on how many devices, and its inputs."""

import dataclasses
from collections.abc import Callable

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

import model

DATA_PARALLEL_DEVICES = 8


@dataclasses.dataclass(frozen=True)
class Graph:
    name: str
    devices: int
    function: Callable
    arguments: tuple  # NumPy trees.
    donated: tuple = ()
    shardings: tuple | None = None  # Of each argument, when there is more than one device.

    @property
    def flags(self) -> list[str]:
        """Compiler flags: the number of devices is not in the graph itself."""
        return [f"--num-partitions={self.devices}"] if self.devices > 1 else []

    def jitted(self):
        # Unused inputs stay, so that the executable takes exactly the leaves of `arguments`, in order.
        extra = {"in_shardings": self.shardings} if self.shardings else {}
        return jax.jit(self.function, donate_argnums=self.donated, keep_unused=True, **extra)

    def lowered(self):
        return self.jitted().lower(*self.arguments)

    def module(self) -> bytes:
        """The traced graph as a serialized HloModuleProto."""
        return self.lowered().compiler_ir("hlo").as_serialized_hlo_module_proto()


def use_host_devices() -> None:
    """Makes JAX offer as many host devices as the data-parallel graph wants. Call before the first use of JAX."""
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_num_cpu_devices", DATA_PARALLEL_DEVICES)


def train(name: str, config: model.Config) -> Graph:
    return Graph(name, 1, model.with_config(model.train_step, config),
                 (model.initial_state(config), model.example_batch(config)), donated=(0,))


def train_data_parallel(name: str, config: model.Config) -> Graph:
    mesh, step = model.data_parallel_train_step(config, jax.devices()[:DATA_PARALLEL_DEVICES])
    shardings = (NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("data")))
    return Graph(name, DATA_PARALLEL_DEVICES, step, (model.initial_state(config), model.example_batch(config)),
                 donated=(0,), shardings=shardings)


def all_graphs() -> dict[str, Graph]:
    f32 = model.Config()
    bf16 = model.Config(compute_dtype="bfloat16")
    batch = model.example_batch(f32)
    parameters = model.initial_parameters(f32)
    graphs = [
        train("train_f32", f32),
        train("train_bf16", bf16),
        train_data_parallel("train_data_parallel", f32),
        Graph("eval_f32", 1, model.with_config(model.eval_step, f32), (parameters, batch)),
        Graph("eval_bf16", 1, model.with_config(model.eval_step, bf16), (parameters, batch)),
        Graph("embed_words", 1, model.embed_words, (parameters, batch["words"])),
        Graph("global_norm", 1, model.global_norm, (parameters,)),
    ]
    return {graph.name: graph for graph in graphs}


def checksum(arrays: list[np.ndarray]) -> str:
    """A digest of output values to the bit."""
    import hashlib

    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
