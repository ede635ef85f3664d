"""Users' subclasses of optimizers, which override or call the methods that TensorFlow's own classes have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import thalweg as tf


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def run(step: Any, *fetches: Any, times: int = 1) -> list[Any]:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(times):
            session.run(step)
        return session.run(list(fetches))


NAMES = ["GradientDescent", "Momentum", "Adagrad", "Adadelta", "RMSProp", "Adam", "Ftrl"]
NAMES += ["ProximalGradientDescent", "ProximalAdagrad", "AdagradDA"]


@pytest.mark.parametrize("name", NAMES)
def test_the_base_of_each_optimizer_is_optimizer(name: str) -> None:
    assert getattr(tf.train, f"{name}Optimizer").__base__ is tf.train.Optimizer


class _Watched(tf.train.MomentumOptimizer):
    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        self.received = args, set(kwargs)
        return super().compute_gradients(*args, **kwargs)


def test_minimize_passes_all_but_the_loss_by_name() -> None:
    w = tf.Variable([1.0])
    watched = _Watched(0.1, 0.9)
    loss = tf.reduce_sum(w)
    watched.minimize(loss)
    args, names = watched.received
    assert args == (loss,)
    assert names == {
        "var_list",
        "gate_gradients",
        "aggregation_method",
        "colocate_gradients_with_ops",
        "grad_loss",
    }


class _LazyAdam(tf.train.AdamOptimizer):
    """Replaces only the rule that sparse gradients of both protocols share."""

    def _apply_sparse_shared(self, grad: Any, var: Any, indices: Any, scatter_add: Any) -> Any:
        mean = scatter_add(self.get_slot(var, "m"), indices, grad)
        return tf.group(mean, scatter_add(var, indices, -grad))


def test_a_subclass_of_adam_replaces_the_shared_sparse_rule() -> None:
    table = tf.Variable([[1.0], [2.0], [3.0]])
    adam = _LazyAdam()
    rows = tf.IndexedSlices(tf.constant([[0.5], [0.25]]), tf.constant([2, 2]), tf.constant([3, 1]))
    step = adam.apply_gradients([(rows, table)])
    value, mean = run(step, table, adam.get_slot(table, "m"))
    assert value.ravel().tolist() == [1.0, 2.0, 2.25]
    assert mean.ravel().tolist() == [0.0, 0.0, 0.75]


class _OnePower(tf.train.AdamOptimizer):
    """Has one power instead of two, and its own slots, as published AdaMax optimizers do."""

    def _get_beta_accumulators(self) -> Any:
        return self._get_non_slot_variable("beta1_power", graph=tf.get_default_graph())

    def _create_slots(self, var_list: Any) -> None:
        first = min(var_list, key=lambda v: v.name)
        self._create_non_slot_variable(initial_value=self._beta1, name="beta1_power", colocate_with=first)
        for v in var_list:
            self._zeros_slot(v, "m", self._name)

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        m = self.get_slot(var, "m")
        mean = m.assign(self._beta1_t * m + (1 - self._beta1_t) * grad)
        return var.assign_sub(self._lr_t / (1 - self._get_beta_accumulators()) * mean).op

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        power = self._get_beta_accumulators()
        with tf.control_dependencies(update_ops), tf.colocate_with(power):
            updated = power.assign(power * self._beta1_t, use_locking=self._use_locking)
        return tf.group(*update_ops, updated, name=name_scope)


def test_a_subclass_of_adam_with_one_power() -> None:
    w = tf.Variable([1.0, 2.0])
    adam = _OnePower(0.5, beta1=0.5)
    step = adam.apply_gradients([(tf.constant([1.0, 1.0]), w)])
    value, power = run(step, w, adam._get_beta_accumulators(), times=2)
    np.testing.assert_allclose(value, [0.0, 1.0])  # the mean over one minus the power is the gradient
    np.testing.assert_allclose(power, 0.125)
