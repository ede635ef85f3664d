"""Names, static cases, orthogonal kernels and sampled batches in contrib."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import thalweg as tf

framework, training = tf.contrib.framework, tf.contrib.training


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(4)
        yield graph


def run(fetches: Any, feed: Any = None) -> Any:
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return session.run(fetches, feed)


@pytest.mark.parametrize("prefix", ["", "^", "loc:@"])
def test_scopes_are_added_to_names_and_removed(prefix: str) -> None:
    assert framework.prepend_name_scope(f"{prefix}a/b", "s/") == f"{prefix}s/a/b"
    assert framework.strip_name_scope(f"{prefix}s/a/b", "s") == f"{prefix}a/b"
    assert framework.strip_name_scope(f"{prefix}st/a", "s") == f"{prefix}st/a"
    assert framework.prepend_name_scope("a", None) == framework.strip_name_scope("a", None) == "a"


def test_op_types_of_a_graph(graph: Any) -> None:
    tf.square(tf.constant(1.0))
    assert tf.contrib.util.ops_used_by_graph_def(graph.as_graph_def()) == {"Const", "Square"}


def test_cases_are_chosen_statically_where_they_can_be(graph: Any) -> None:
    def three() -> Any:
        return tf.constant(3)

    x = tf.placeholder(tf.bool, [])
    assert framework.smart_case([(False, three), (True, lambda: "chosen")]) == "chosen"
    assert framework.smart_case({False: three}, default=lambda: "default") == "default"
    assert not any(op.type == "Switch" for op in graph.get_operations())
    dynamic = framework.smart_case([(False, three), (x, three), (True, lambda: tf.constant(4))], lambda: tf.constant(5))
    assert [run(dynamic, {x: value}) for value in (True, False)] == [3, 4]
    with pytest.raises(ValueError, match="all predicates are false"):
        framework.smart_case([(False, three)])


@pytest.mark.parametrize("size", [3, 4])
def test_a_delta_orthogonal_kernel_keeps_norms(size: int) -> None:
    kernel = framework.convolutional_delta_orthogonal(gain=2.0, seed=1)([size, size, 3, 5])
    x = tf.random_normal([1, 6, 6, 3])
    y = tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME")
    value, before, after = run([kernel, tf.norm(x), tf.norm(y)])
    center = (size - 1) // 2
    np.testing.assert_allclose(value[center, center] @ value[center, center].T, 4 * np.eye(3), atol=1e-5)
    assert np.count_nonzero(value) == 15
    np.testing.assert_allclose(after, 2 * before, rtol=1e-5)
    with pytest.raises(ValueError, match="output as input channels"):
        framework.convolutional_delta_orthogonal()([3, 3, 5, 3])


def sampled(fetches: Any, steps: int) -> list[Any]:
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        found = [session.run(fetches) for _ in range(steps)]
        coordinator.request_stop()
        session.run([runner.cancel_op for runner in tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)])
        coordinator.join(threads)
    return found


@pytest.mark.parametrize("known", [False, True])
def test_classes_have_the_wanted_frequencies(known: bool) -> None:
    labels = tf.cast(tf.random_uniform([8]) < 0.2, tf.int32)  # four of the first class for one of the second
    data = tf.cast(labels, tf.float32) * 10.0
    init = [0.8, 0.2] if known else None
    (batch,), classes = training.stratified_sample([data], labels, [0.25, 0.75], 32, init, enqueue_many=True)
    found = sampled([batch, classes], 40)
    assert all((values == 10.0 * numbers).all() and numbers.shape == (32,) for values, numbers in found)
    assert abs(np.mean([numbers for _, numbers in found[5:]]) - 0.75) < 0.07


@pytest.mark.parametrize("many", [False, True])
def test_examples_are_accepted_with_their_probability(many: bool) -> None:
    x = tf.random_uniform([4] if many else [])
    (batch,) = training.rejection_sample(
        [x], lambda tensors: tf.cast(tensors[0] < 0.5, tf.float32), 6, enqueue_many=many, runtime_checks=True
    )
    found = np.array(sampled(batch, 5))
    assert found.shape == (5, 6) and (found < 0.5).all() and len(np.unique(found)) > 20


def test_the_next_checkpoint_is_awaited(tmp_path: Any) -> None:
    folder = str(tmp_path)
    assert training.wait_for_new_checkpoint(folder, timeout=0) is None
    v = tf.Variable(1.0)
    with tf.Session() as session:
        session.run(v.initializer)
        path = tf.train.Saver().save(session, f"{folder}/model")
    assert training.wait_for_new_checkpoint(folder) == path
    assert training.wait_for_new_checkpoint(folder, path, seconds_to_sleep=0.01, timeout=0.02) is None


def test_names_of_other_namespaces() -> None:
    assert framework.broadcast_to is tf.broadcast_to and framework.TensorSpec is tf.TensorSpec
    assert tf.contrib.hooks.ProfilerHook is tf.train.ProfilerHook
    assert tf.contrib.lookup.FastHashSpec.hasher == "fasthash"


def test_strategies_of_parameter_servers() -> None:
    greedy = training.GreedyLoadBalancingStrategy(2, training.byte_size_load_fn)
    setter = tf.train.replica_device_setter(2, ps_strategy=greedy)
    with tf.device(setter):
        sizes = [tf.get_variable(f"v{i}", [n], use_resource=True) for i, n in enumerate((10, 3, 4, 9))]
    assert [v.device for v in sizes] == [f"/job:ps/task:{task}" for task in (0, 1, 1, 1)]
    random = training.RandomStrategy(3, seed=1)
    assert {random(tf.no_op(f"op{i}")) for i in range(50)} == {0, 1, 2}
