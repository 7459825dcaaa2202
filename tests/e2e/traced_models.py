"""Small models for tests of graph identity; run, it writes each as a serialized HloModuleProto: DIR/<name>.pb.

test_identity.py runs copies of this file in which every function has another name. Names of models are not names of
functions, so that they stay.
"""

import functools
import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np

ROWS = np.ones((8, 16), np.float32)
SQUARE = np.full((16, 16), 0.5, np.float32)
IMAGES = np.ones((2, 8, 8, 3), np.float32)
KERNEL = np.ones((3, 3, 3, 4), np.float32)
TOKENS = np.arange(6) % 4


@functools.partial(jax.jit, static_argnums=1)  # A computation of its own, named after the function.
def normalize(x, epsilon):
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + epsilon)


def perceptron(x, weights, epsilon=1e-5):
    return normalize(jax.nn.gelu(normalize(x, epsilon) @ weights), epsilon)


def loose_perceptron(x, weights):
    return perceptron(x, weights, epsilon=1e-3)


def perceptron_gradient(x, weights):
    def loss(weights):
        return jnp.square(perceptron(x, weights)).sum()

    return jax.value_and_grad(loss)(weights)


def convolve(images, kernel):
    layout = ("NHWC", "HWIO", "NHWC")
    return jax.nn.relu(jax.lax.conv_general_dilated(images, kernel, (1, 1), "SAME", dimension_numbers=layout))


def recur(x, weights):
    def step(state, row):
        state = jnp.tanh(state @ weights + row)
        return state, state.sum()

    return jax.lax.scan(step, jnp.zeros(16), x)


def reach(x):
    def unfinished(state):
        return state[1].sum() < 1e6

    def grow(state):
        return state[0] + 1, state[1] * 1.5

    return jax.lax.while_loop(unfinished, grow, (0, x))


def choose(x):
    def shrink(x):
        return x * 0.5

    def negate(x):
        return -x

    return jax.lax.cond(x[0, 0] > 0, shrink, negate, x)


def rank(x):
    return jax.lax.top_k(x, 3), jnp.sort(x, axis=0), jnp.argsort(x, axis=1)


def drop(x):
    return jnp.where(jax.random.bernoulli(jax.random.key(5), 0.9, x.shape), x, 0.0)


def attend(queries, keys, values):
    scores = jnp.einsum("qd,kd->qk", queries, keys) / queries.shape[-1] ** 0.5
    causal = jnp.tril(jnp.ones(scores.shape, bool))
    return jax.nn.softmax(jnp.where(causal, scores, -jnp.inf)) @ values


def attend_gradient(queries, keys, values):
    def loss(*inputs):
        return attend(*inputs).sum()

    return jax.grad(loss, argnums=(0, 1, 2))(queries, keys, values)


def decode(cache, row, position):
    cache = jax.lax.dynamic_update_slice(cache, row[None], (position, 0))
    return cache, attend(cache, cache, cache)[position]


def embed(table, tokens):
    return table[tokens]


def embed_gradient(table, tokens):
    def loss(table):
        return jnp.square(embed(table, tokens)).sum()

    return jax.grad(loss)(table)


def route(x, experts):
    weights, chosen = jax.lax.top_k(jax.nn.softmax(x[:, :2]), 1)
    return weights * jnp.einsum("bd,bde->be", x, experts[chosen[:, 0]])


def pool(images):
    return jax.lax.reduce_window(images, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def convolve_gradient(images, kernel):
    def loss(kernel):
        return convolve(images, kernel).sum()

    return jax.grad(loss)(kernel)


def quantized_product(x, weights):
    product = jax.lax.dot(x.astype(np.int8), weights.astype(np.int8), preferred_element_type=jnp.int32)
    return product.astype(jnp.float32) * 0.125


def solve(x):
    return jax.scipy.linalg.solve_triangular(jnp.linalg.cholesky(x @ x.T + jnp.eye(16)), x)


def spectrum(x):
    return jnp.abs(jnp.fft.rfft(x))


def momentum_step(x, weights, velocity):
    gradient = jax.grad(lambda weights: jnp.square(x @ weights).mean())(weights)
    velocity = 0.9 * velocity + gradient
    return weights - 0.01 * velocity, velocity


MODELS = {
    "mlp-forward": (perceptron, ROWS, SQUARE),
    "mlp-forward-other-constant": (loose_perceptron, ROWS, SQUARE),
    "mlp-forward-other-shape": (perceptron, ROWS[:4], SQUARE),
    "mlp-forward-other-type": (perceptron, ROWS.astype(np.float16), SQUARE),
    "mlp-backward": (perceptron_gradient, ROWS, SQUARE),
    "image-filter": (convolve, IMAGES, KERNEL),
    "rnn": (recur, ROWS, SQUARE),
    "loop": (reach, ROWS),
    "branch": (choose, ROWS),
    "sorting": (rank, ROWS),
    "dropout": (drop, ROWS),
    "attention": (attend, SQUARE, SQUARE, SQUARE),
    "attention-backward": (attend_gradient, SQUARE, SQUARE, SQUARE),
    "decoder": (decode, SQUARE, SQUARE[0], 3),
    "embedding": (embed, SQUARE, TOKENS),
    "embedding-backward": (embed_gradient, SQUARE, TOKENS),
    "experts": (route, ROWS, np.stack([SQUARE, SQUARE])),
    "pooling": (pool, IMAGES),
    "image-filter-backward": (convolve_gradient, IMAGES, KERNEL),
    "int8-matmul": (quantized_product, ROWS, SQUARE),
    "cholesky": (solve, SQUARE),
    "fourier": (spectrum, ROWS),
    "sgd": (momentum_step, ROWS, SQUARE, SQUARE),
}


if __name__ == "__main__":
    for model, (function, *arguments) in MODELS.items():
        module = jax.jit(function).lower(*arguments).compiler_ir("hlo")
        pathlib.Path(sys.argv[1], f"{model}.pb").write_bytes(module.as_serialized_hlo_module_proto())
