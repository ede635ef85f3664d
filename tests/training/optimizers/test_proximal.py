"""Proximal and dual-averaging optimizers beyond TensorFlow's numbers, which test_optimizers.py compares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import thalweg as tf
from thalweg._src.runtime.kernels import update_rules
from thalweg._src.training.optimizers.proximal import (
    AdagradDAOptimizer,
    ProximalAdagradOptimizer,
    ProximalGradientDescentOptimizer,
)


def run(step: Any, *fetches: Any, times: int = 1) -> list[Any]:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(times):
            session.run(step)
        return session.run(list(fetches))


def test_l1_leaves_exact_zeros() -> None:
    target = np.array([3.0, 0.05, -2.0, -0.02], "float32")
    for optimizer in (
        ProximalGradientDescentOptimizer(0.1, l1_regularization_strength=0.5),
        ProximalAdagradOptimizer(0.5, l1_regularization_strength=0.5),
    ):
        w = tf.Variable(np.ones(4, "float32"))
        (value,) = run(optimizer.minimize(tf.reduce_sum(tf.square(w - target)) / 2), w, times=300)
        np.testing.assert_allclose(value, [2.5, 0, -1.5, 0], atol=1e-2)
        assert value[1] == 0 and value[3] == 0


def test_dual_averaging_leaves_exact_zeros() -> None:
    step = tf.train.get_or_create_global_step()
    w = tf.Variable(np.ones(2, "float32"))
    optimizer = AdagradDAOptimizer(1.0, step, l1_regularization_strength=0.1)
    grads = tf.constant([0.05, -1.0])
    value, count = run(optimizer.apply_gradients([(grads, w)], global_step=step), w, step, times=5)
    assert value[0] == 0 and value[1] > 0 and count == 5


def test_slots() -> None:
    step = tf.train.get_or_create_global_step()
    w = tf.Variable([1.0], name="w")
    adagrad, dual = ProximalAdagradOptimizer(0.1), AdagradDAOptimizer(0.1, step)
    for optimizer in (adagrad, dual):
        optimizer.minimize(tf.square(w))
    assert adagrad.get_slot(w, "accumulator").op.name == "w/ProximalAdagrad"
    assert dual.get_slot_names() == ["gradient_accumulator", "gradient_squared_accumulator"]
    assert dual.get_slot(w, "gradient_accumulator").op.name == "w/AdagradDA"


def test_tensors_and_python_numbers_give_the_same_results() -> None:
    a, b = tf.Variable([1.0, -2.0]), tf.Variable([1.0, -2.0])
    grad = tf.constant([0.3, 0.1])
    rate, l1, l2 = (tf.placeholder("float32", []) for _ in range(3))
    fed = ProximalGradientDescentOptimizer(rate, l1, l2).apply_gradients([(grad, a)])
    known = ProximalGradientDescentOptimizer(0.5, 0.2, 0.1).apply_gradients([(grad, b)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([fed, known], {rate: 0.5, l1: 0.2, l2: 0.1})
        first, second = session.run([a, b])
    np.testing.assert_allclose(first, second, rtol=1e-6)


def test_rules_take_numbers_and_scalar_tensors() -> None:
    """On a device hyperparameters are tensors, so that no step waits for them."""
    numbers = {"proximal_gradient_descent": 3, "proximal_adagrad": 3, "adagrad_da": 4, "add_sign": 4, "power_sign": 4}
    buffers = {"proximal_gradient_descent": 1, "adagrad_da": 3}
    for name, count in numbers.items():
        results = []
        for kind in (float, torch.tensor):
            held = [torch.tensor([1.0, -2.0, 0.5]) for _ in range(buffers.get(name, 2))]
            given: list[Any] = [kind(x) for x in (0.5, 0.2, 0.1, 3.0)[:count]]
            grad = torch.tensor([0.3, -0.2, 0.0])
            arguments = [grad, *given] if name == "adagrad_da" else [*given, grad]
            held[1:] = [buffer.abs() for buffer in held[1:]]
            getattr(update_rules, name)(*held, *arguments)
            results.append(torch.stack(held))
        torch.testing.assert_close(results[0], results[1])


def test_initial_values_must_be_positive() -> None:
    with pytest.raises(ValueError, match="initial_accumulator_value must be positive"):
        ProximalAdagradOptimizer(0.1, 0.0)
    with pytest.raises(ValueError, match="initial_gradient_squared_accumulator_value must be positive"):
        AdagradDAOptimizer(0.1, tf.train.get_or_create_global_step(), 0.0)
