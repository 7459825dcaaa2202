"""A small BERT-style masked language model in plain JAX: forward, loss, backward and AdamW in one train step.

Everything is deterministic: parameters and batches come from fixed seeds, so that two processes that run the same step
print the same numbers.
"""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec


@dataclasses.dataclass(frozen=True)
class Config:
    vocabulary: int = 512
    positions: int = 64
    hidden: int = 128
    heads: int = 4
    layers: int = 4
    batch: int = 8
    masked_fraction: float = 0.15
    compute_dtype: str = "float32"  # Of activations; parameters, gradients and optimizer state stay in f32.


# --- Parameters and data: NumPy, so that making them traces and compiles nothing ---------------------------------


def initial_parameters(config: Config) -> dict:
    random = np.random.default_rng(seed=20)

    def matrix(*shape):
        return (random.standard_normal(shape) * 0.02).astype(np.float32)

    def norm():
        return {"scale": np.ones(config.hidden, np.float32), "bias": np.zeros(config.hidden, np.float32)}

    def layer():
        return {
            "qkv": matrix(config.hidden, 3 * config.hidden),
            "out": matrix(config.hidden, config.hidden),
            "attention_norm": norm(),
            "up": matrix(config.hidden, 4 * config.hidden),
            "down": matrix(4 * config.hidden, config.hidden),
            "mlp_norm": norm(),
        }

    return {
        "words": matrix(config.vocabulary, config.hidden),
        "positions": matrix(config.positions, config.hidden),
        "embedding_norm": norm(),
        "layers": [layer() for _ in range(config.layers)],
        "head_norm": norm(),
        "head_bias": np.zeros(config.vocabulary, np.float32),
    }


def initial_state(config: Config) -> dict:
    """What a train step takes and returns: parameters, both AdamW moments, the step's number."""
    parameters = initial_parameters(config)
    zeros = jax.tree.map(np.zeros_like, parameters)
    return {"parameters": parameters, "first": zeros, "second": jax.tree.map(np.copy, zeros), "step": np.int32(0)}


def example_batch(config: Config) -> dict:
    """Token sequences with a learnable pattern; some words are masked and are to be guessed."""
    random = np.random.default_rng(seed=7)
    start = random.integers(0, config.vocabulary, (config.batch, 1))
    words = (start + 3 * np.arange(config.positions)) % (config.vocabulary - 1) + 1
    masked = random.random(words.shape) < config.masked_fraction
    return {
        "words": np.where(masked, 0, words).astype(np.int32),  # Word 0 is the mask.
        "labels": words.astype(np.int32),
        "masked": masked.astype(np.float32),
    }


# --- The model --------------------------------------------------------------------------------------------------


def layer_norm(x, parameters):
    x32 = x.astype(jnp.float32)
    mean = x32.mean(-1, keepdims=True)
    variance = jnp.square(x32 - mean).mean(-1, keepdims=True)
    normal = (x32 - mean) * jax.lax.rsqrt(variance + 1e-6)
    return (normal * parameters["scale"] + parameters["bias"]).astype(x.dtype)


def attention(x, parameters, config: Config):
    batch, length, hidden = x.shape
    size = hidden // config.heads
    qkv = (x @ parameters["qkv"].astype(x.dtype)).reshape(batch, length, 3, config.heads, size)
    query, key, value = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key).astype(jnp.float32) / size**0.5
    weights = jax.nn.softmax(scores, axis=-1).astype(x.dtype)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, value).reshape(batch, length, hidden) @ parameters["out"].astype(x.dtype)


def logits(parameters, words, config: Config):
    dtype = jnp.dtype(config.compute_dtype)
    x = parameters["words"][words] + parameters["positions"][None, : words.shape[1]]
    x = layer_norm(x, parameters["embedding_norm"]).astype(dtype)
    for layer in parameters["layers"]:
        x = x + attention(layer_norm(x, layer["attention_norm"]), layer, config)
        inner = jax.nn.gelu(layer_norm(x, layer["mlp_norm"]) @ layer["up"].astype(dtype))
        x = x + inner @ layer["down"].astype(dtype)
    x = layer_norm(x, parameters["head_norm"])
    return (x @ parameters["words"].T.astype(dtype)).astype(jnp.float32) + parameters["head_bias"]


def masked_loss(parameters, batch, config: Config):
    """Mean cross-entropy over the masked words."""
    log_probabilities = jax.nn.log_softmax(logits(parameters, batch["words"], config))
    picked = jnp.take_along_axis(log_probabilities, batch["labels"][..., None], axis=-1)[..., 0]
    return -(picked * batch["masked"]).sum() / jnp.maximum(batch["masked"].sum(), 1.0)


# --- Steps ------------------------------------------------------------------------------------------------------


def adamw(state, gradients, rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8, decay=0.01):
    step = state["step"] + 1
    first = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, state["first"], gradients)
    second = jax.tree.map(lambda v, g: beta2 * v + (1 - beta2) * g * g, state["second"], gradients)
    scale1 = 1 / (1 - beta1 ** step.astype(jnp.float32))
    scale2 = 1 / (1 - beta2 ** step.astype(jnp.float32))

    def update(p, m, v):
        return p - rate * (m * scale1 / (jnp.sqrt(v * scale2) + epsilon) + decay * p)

    parameters = jax.tree.map(update, state["parameters"], first, second)
    return {"parameters": parameters, "first": first, "second": second, "step": step}


def train_step(state, batch, config: Config):
    """(new state, loss) on one device."""
    loss, gradients = jax.value_and_grad(masked_loss)(state["parameters"], batch, config)
    return adamw(state, gradients), loss


def eval_step(parameters, batch, config: Config):
    """(loss, accuracy over the masked words)."""
    guess = logits(parameters, batch["words"], config).argmax(-1)
    right = ((guess == batch["labels"]) * batch["masked"]).sum() / jnp.maximum(batch["masked"].sum(), 1.0)
    return masked_loss(parameters, batch, config), right


def embed_words(parameters, words):
    """The first small graph that a trainer meets: a look-up and a norm."""
    return layer_norm(parameters["words"][words], parameters["embedding_norm"])


def global_norm(tree):
    """Of a tree of gradients; the second small graph."""
    return jnp.sqrt(sum(jnp.square(leaf).sum() for leaf in jax.tree.leaves(tree)))


def data_parallel_train_step(config: Config, devices):
    """train_step over all `devices`, each with its part of the batch and an explicit all-reduce of the gradients."""
    mesh = Mesh(np.asarray(devices), ("data",))

    def local_step(state, batch):
        loss, gradients = jax.value_and_grad(masked_loss)(state["parameters"], batch, config)
        loss, gradients = jax.lax.pmean((loss, gradients), "data")
        return adamw(state, gradients), loss

    return mesh, jax.shard_map(local_step, mesh=mesh, in_specs=(PartitionSpec(), PartitionSpec("data")),
                               out_specs=(PartitionSpec(), PartitionSpec()), check_vma=False)


def with_config(step, config: Config):
    """`step` with its configuration filled in and its own name kept: the name shows in the graph."""
    return functools.wraps(step)(functools.partial(step, config=config))
