"""Measures whether a step with sparse gradients costs the same on a large embedding as on a small one.

    python bench/sparse.py                          # every optimizer, 10 thousand and 10 million rows
    python bench/sparse.py --only adam,lazy_adam    # some of them
    python bench/sparse.py --large 1000000          # a smaller large table

Each step looks up and trains 32 other rows of 16 floats. Both tables are measured alternately in one process; the
output shows the median step and the ratio of the medians. The target is 1.3 for every optimizer whose sparse update
in TensorFlow touches only these rows. Adam and Nadam decay the moments of all rows in TensorFlow too, so the cost of
a step grows with the table; they have no target.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import quiet

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import thalweg as tf
from thalweg._src.compat.contrib.opt import adam_variants, decoupled as decoupled
from thalweg._src.compat.contrib.opt.accumulation import AccumulatingOptimizer
from thalweg._src.training.optimizers import optimizers, proximal as proximal
from thalweg._src.training.optimizers.mixed_precision import MixedPrecisionLossScaleOptimizer

WIDTH = 16
LOOKED_UP = 32
ACCUMULATED = 4  # micro-steps per step of the optimizer that accumulates gradients
TARGET = 1.3
WARM_STEPS = 30
PATIENCE_SECONDS = 10

OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "gradient_descent": lambda: optimizers.GradientDescentOptimizer(0.1),
    "momentum": lambda: optimizers.MomentumOptimizer(0.1, 0.9),
    "adagrad": lambda: optimizers.AdagradOptimizer(0.1),
    "adagrad_da": lambda: proximal.AdagradDAOptimizer(0.1, tf.train.get_or_create_global_step()),
    "adadelta": lambda: optimizers.AdadeltaOptimizer(0.1),
    "rms_prop": lambda: optimizers.RMSPropOptimizer(0.1),
    "rms_prop_centered": lambda: optimizers.RMSPropOptimizer(0.1, centered=True),
    "ftrl": lambda: optimizers.FtrlOptimizer(0.1),
    "proximal_gradient_descent": lambda: proximal.ProximalGradientDescentOptimizer(0.1, 0.01),
    "proximal_adagrad": lambda: proximal.ProximalAdagradOptimizer(0.1, l1_regularization_strength=0.01),
    "lazy_adam": lambda: adam_variants.LazyAdamOptimizer(0.1),
    "ada_max": lambda: adam_variants.AdaMaxOptimizer(0.1),
    "momentumw": lambda: decoupled.MomentumWOptimizer(0.01, 0.1, 0.9),
    "accumulating": lambda: AccumulatingOptimizer(optimizers.AdagradOptimizer(0.1), ACCUMULATED),
    "loss_scale": lambda: MixedPrecisionLossScaleOptimizer(optimizers.AdagradOptimizer(0.1), "dynamic"),
    "adam": lambda: optimizers.AdamOptimizer(0.1),
    "nadam": lambda: adam_variants.NadamOptimizer(0.1),
}
DENSE_IN_TENSORFLOW = ("adam", "nadam")
# Other uses of embeddings than a plain lookup and minimize, each with Adagrad.
VARIANTS = ("clipped", "two_lookups", "partitioned", "l2_of_rows", "gathered")


class Table:
    """An embedding with its training step."""

    def __init__(self, name: str, rows: int) -> None:
        self._rows = rows
        self._runs = ACCUMULATED if name == "accumulating" else 1
        self._rng = np.random.default_rng(1)
        with tf.Graph().as_default() as graph:
            self._ids = tf.placeholder(tf.int32, [LOOKED_UP])
            self._step = self._training(name)
            initializer = tf.global_variables_initializer()
        self._session = tf.Session(graph=graph)
        self._session.run(initializer)
        for _ in range(WARM_STEPS):
            self.step()

    def _training(self, name: str) -> Any:
        partitioner = tf.fixed_size_partitioner(4) if name == "partitioned" else None
        table = tf.get_variable(
            "table", [self._rows, WIDTH], initializer=tf.ones_initializer(), partitioner=partitioner
        )
        looked_up = tf.gather(table, self._ids) if name == "gathered" else tf.nn.embedding_lookup(table, self._ids)
        loss = tf.reduce_sum(tf.square(looked_up))
        if name == "two_lookups":
            loss += tf.reduce_sum(tf.nn.embedding_lookup(table, self._ids[::2]))
        if name == "l2_of_rows":
            loss += tf.nn.l2_loss(looked_up)
        optimizer = OPTIMIZERS.get(name, OPTIMIZERS["adagrad"])()
        pairs = optimizer.compute_gradients(loss)
        if name == "clipped":
            grads, _ = tf.clip_by_global_norm([grad for grad, _ in pairs], 5.0)
            pairs = [(grad, variable) for grad, (_, variable) in zip(grads, pairs)]
        return optimizer.apply_gradients(pairs)

    def step(self) -> float:
        """Runs a step with other rows than before and returns its seconds."""
        ids = self._rng.integers(0, self._rows, (self._runs, LOOKED_UP), dtype=np.int32)
        start = time.perf_counter()
        for run in ids:
            self._session.run(self._step, {self._ids: run})
        return time.perf_counter() - start

    def close(self) -> None:
        self._session.close()


def measure(name: str, sizes: tuple[int, int], rounds: int, steps: int) -> tuple[float, float, float]:
    """Returns the median seconds of a step on each table, and how many cores other processes used meanwhile."""
    tables = [Table(name, size) for size in sizes]
    seconds: list[list[float]] = [[], []]
    quiet.wait([], PATIENCE_SECONDS)
    others = quiet.Others([])
    for _ in range(rounds):
        for table, taken in zip(tables, seconds):
            table.step()  # warms the caches for the other table's program
            taken += [table.step() for _ in range(steps)]
    cores = others.cores()
    for table in tables:
        table.close()
    return median(seconds[0]), median(seconds[1]), cores


def main() -> None:
    names = [*OPTIMIZERS, *VARIANTS]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", default="", help=f"some of {','.join(names)}")
    parser.add_argument("--small", type=int, default=10_000)
    parser.add_argument("--large", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--steps", type=int, default=20, help="steps per round and table")
    given = parser.parse_args()
    wanted = given.only.split(",") if given.only else names
    print(f"{'':28}{given.small:>12,} rows{given.large:>14,} rows   ratio target  others (cores)")
    for name in wanted:
        dense = name in DENSE_IN_TENSORFLOW
        steps = (2, 3) if dense else (given.rounds, given.steps)
        small, large, cores = measure(name, (given.small, given.large), *steps)
        ratio = large / small
        verdict = "  -  " if dense else f"{TARGET:.1f}{' ' if ratio <= TARGET else '!'}"
        print(
            f"{name:28}{small * 1e6:12.1f} us  {large * 1e6:14.1f} us  {ratio:6.2f}   {verdict}  {cores:8.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
