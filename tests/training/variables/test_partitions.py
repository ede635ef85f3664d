"""Partitioned variables: names, slices, initial values, sharing, writing, training."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.training.variables.partitioners import (
    create_partitioned_variables,
    fixed_size_partitioner,
    min_max_variable_partitioner,
    variable_axis_size_partitioner,
)
from thalweg._src.training.variables.partitions import PartitionedVariable


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def slices(variables: Any) -> list[Any]:
    found = [(v.name, v._get_save_slice_info()) for v in variables]
    return [(name, s.full_name, s.full_shape, s.var_offset, s.var_shape) for name, s in found]


def test_names_and_slices_of_partitions() -> None:
    with tf.variable_scope("a", partitioner=fixed_size_partitioner(3)):
        w = tf.get_variable("w", [7, 2])
        assert isinstance(tf.get_variable("scalar", []), tf.Variable)
    assert isinstance(w, PartitionedVariable)
    assert (w.name, w.shape.as_list(), len(w), w.dtype) == ("a/w", [7, 2], 3, tf.float32)
    assert slices(w) == [
        ("a/w/part_0:0", "a/w", [7, 2], [0, 0], [3, 2]),
        ("a/w/part_1:0", "a/w", [7, 2], [3, 0], [2, 2]),
        ("a/w/part_2:0", "a/w", [7, 2], [5, 0], [2, 2]),
    ]
    assert next(iter(w))._get_save_slice_info().spec == "7 2 0,3:0,2"
    assert tf.global_variables()[:3] == list(w) == tf.trainable_variables()[:3]
    whole = w.as_tensor()
    assert (whole.name, whole.shape.as_list(), tf.convert_to_tensor(w).name) == ("a/w:0", [7, 2], "a/w_1:0")


def test_initializers_receive_partition_info() -> None:
    told = []

    def initializer(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        axis = partition_info.single_slice_dim(shape)
        told.append((shape, partition_info.full_shape, partition_info.single_offset(shape), axis))
        return tf.zeros(shape, dtype)

    tf.get_variable("told", [3, 5], initializer=initializer, partitioner=fixed_size_partitioner(2, axis=1))
    assert told == [([3, 3], [3, 5], 0, 1), ([3, 2], [3, 5], 3, 1)]
    value = np.arange(10.0, dtype=np.float32).reshape(5, 2)
    cut = [
        tf.get_variable(f"v{i}", initializer=initial, partitioner=fixed_size_partitioner(2))
        for i, initial in enumerate((tf.constant(value), value))
    ]
    eye = tf.get_variable("eye", [4, 4], initializer=tf.initializers.identity(), partitioner=fixed_size_partitioner(3))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for variable in cut:
            np.testing.assert_array_equal(session.run(variable.as_tensor()), value)
        np.testing.assert_array_equal(session.run(eye.as_tensor()), np.eye(4))


def test_sharing() -> None:
    two, three = fixed_size_partitioner(2), fixed_size_partitioner(3)
    w = tf.get_variable("w", [6, 2], partitioner=three, regularizer=tf.nn.l2_loss)
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 3
    with tf.variable_scope("", reuse=True):
        assert tf.get_variable("w", [6, 2]) is w is tf.get_variable("w", [6, 2], partitioner=three)
        with pytest.raises(ValueError, match="specified partitions"):
            tf.get_variable("w", [6, 2], partitioner=two)
        with pytest.raises(ValueError, match="specified shape"):
            tf.get_variable("w", [6, 3])
        with pytest.raises(ValueError, match="specified dtype"):
            tf.get_variable("w", [6, 2], tf.int32, partitioner=three)
        with pytest.raises(ValueError, match="does not exist"):
            tf.get_variable("other", [6, 2], partitioner=two)
    with tf.variable_scope("", reuse=tf.AUTO_REUSE):
        assert tf.get_variable("w", [6, 2], partitioner=three) is w
    with pytest.raises(ValueError, match="already exists"):
        tf.get_variable("w", [6, 2], partitioner=three)
    with pytest.raises(ValueError, match="requested as a whole"):
        tf.get_variable("w", [6, 2])
    tf.get_variable("whole", [6])
    with pytest.raises(ValueError, match="requested in partitions"):
        tf.get_variable("whole", [6], partitioner=two)


@pytest.mark.parametrize(
    ("text", "shape", "partitioner"),
    [
        ("only one axis", [6, 2], lambda shape, dtype: [2, 2]),
        ("rank 2", [6, 2], lambda shape, dtype: [2]),
        ("one partition or more", [6, 2], lambda shape, dtype: [0, 1]),
        ("expected a sequence", [6, 2], lambda shape, dtype: 2),
        ("Cannot slice axis 0 of size 6 into 7", [6, 2], lambda shape, dtype: [7, 1]),
        ("fully defined shape", [None, 2], fixed_size_partitioner(2)),
        ("expected a callable", [6, 2], 3),
    ],
)
def test_errors(text: str, shape: Any, partitioner: Any) -> None:
    with pytest.raises(ValueError, match=text):
        tf.get_variable("v", shape, partitioner=partitioner)


def test_create_partitioned_variables() -> None:
    parts = create_partitioned_variables([4, 6], [1, 3], tf.ones_initializer(), name="e", trainable=False)
    assert slices(parts) == [
        ("e/part_0:0", "e", [4, 6], [0, 0], [4, 2]),
        ("e/part_1:0", "e", [4, 6], [0, 2], [4, 2]),
        ("e/part_2:0", "e", [4, 6], [0, 4], [4, 2]),
    ]
    assert tf.trainable_variables() == []
    assert create_partitioned_variables([4, 6], [1, 3], tf.ones_initializer(), name="e", reuse=True) == parts
    assert create_partitioned_variables([2], [2], [1.0, 2.0])[0].name == "PartitionedVariable/part_0:0"
    with pytest.raises(ValueError, match="same length"):
        create_partitioned_variables([4, 6], [2], tf.ones_initializer())
    with pytest.raises(ValueError, match="rank 1 or more"):
        create_partitioned_variables([], [], tf.ones_initializer())


@pytest.mark.parametrize(
    ("partitioner", "expected"),
    [
        (fixed_size_partitioner(4), [4, 1]),
        (fixed_size_partitioner(100, axis=1), [1, 6]),
        (variable_axis_size_partitioner(100), [5, 1]),
        (variable_axis_size_partitioner(100, max_shards=2), [2, 1]),
        (variable_axis_size_partitioner(1, axis=1), [1, 6]),
        (min_max_variable_partitioner(5, min_slice_size=64), [5, 1]),
        (min_max_variable_partitioner(5, min_slice_size=200), [3, 1]),
        (min_max_variable_partitioner(5), [1, 1]),
    ],
)
def test_partitioners(partitioner: Any, expected: list[int]) -> None:
    assert partitioner(shape=tf.TensorShape([20, 6]), dtype=tf.float32) == expected


def test_partitioners_reject_invalid_arguments() -> None:
    with pytest.raises(ValueError, match="expected positive"):
        variable_axis_size_partitioner(0)
    with pytest.raises(ValueError, match="max_shards"):
        variable_axis_size_partitioner(10, max_shards=0)
    with pytest.raises(ValueError, match="not fully defined"):
        variable_axis_size_partitioner(10)(shape=tf.TensorShape([None]), dtype=tf.float32)
    with pytest.raises(ValueError, match="along axis 2"):
        min_max_variable_partitioner(axis=2)(shape=tf.TensorShape([2]), dtype=tf.float32)


def test_reading_writing_and_looking_up() -> None:
    w = tf.get_variable("w", [7, 2], initializer=tf.zeros_initializer(), partitioner=fixed_size_partitioner(3))
    value = np.arange(14.0, dtype=np.float32).reshape(7, 2)
    rows = tf.nn.embedding_lookup(w, [0, 6, 3, 6], partition_strategy="div")
    product = tf.matmul(tf.ones([1, 7]), w)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(w.assign(value))
        np.testing.assert_array_equal(session.run(w.as_tensor()), value)
        np.testing.assert_array_equal(session.run(rows), value[[0, 6, 3, 6]])
        np.testing.assert_array_equal(session.run(product), value.sum(0, keepdims=True))
        session.run(w.assign_add(np.ones((7, 2)), read_value=False))
        session.run(w.assign_sub(w))
        np.testing.assert_array_equal(session.run(w.as_tensor()), np.zeros((7, 2)))
        session.run(w.assign([np.ones((3, 2)), np.ones((2, 2)), np.ones((2, 2))]))
        np.testing.assert_array_equal(session.run(w.as_tensor()), np.ones((7, 2)))
    with pytest.raises(ValueError, match="3 partitions"):
        w.assign([1.0])


def test_optimizers_train_partitions() -> None:
    w = tf.get_variable("w", [5, 2], initializer=tf.ones_initializer(), partitioner=fixed_size_partitioner(2))
    loss = tf.reduce_sum(tf.nn.embedding_lookup(w, [0, 4], partition_strategy="div") ** 2)
    optimizer = tf.train.MomentumOptimizer(0.25, 0.9)
    step = optimizer.minimize(loss, var_list=w)
    slots = [optimizer.get_slot(part, "momentum") for part in w]
    assert slices(slots) == [
        ("w/part_0/Momentum:0", "w/Momentum", [5, 2], [0, 0], [3, 2]),
        ("w/part_1/Momentum:0", "w/Momentum", [5, 2], [3, 0], [2, 2]),
    ]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        np.testing.assert_array_equal(session.run(w.as_tensor())[:, 0], [0.5, 1, 1, 1, 0.5])
    average = tf.train.ExponentialMovingAverage(0.9)
    average.apply(list(w))
    assert slices([average.average(part) for part in w])[1][1] == "w/ExponentialMovingAverage"


def test_the_container_checks_its_parts() -> None:
    w = tf.get_variable("w", [4, 2], partitioner=fixed_size_partitioner(2))
    parts = list(w)
    again = PartitionedVariable("w", [4, 2], tf.float32, parts[::-1], [2, 1])
    assert list(again) == parts
    for text, arguments in (
        ("may not be empty", ([4, 2], tf.float32, [], [2, 1])),
        ("len", ([4, 2], tf.float32, parts, [2])),
        ("positive", ([4, 2], tf.float32, parts, [0, 1])),
        ("save_slice_info", ([4, 2], tf.float32, [tf.get_variable("plain", [1])], [2, 1])),
        ("parts of a variable of shape", ([4, 3], tf.float32, parts, [2, 1])),
    ):
        with pytest.raises(ValueError, match=text):
            PartitionedVariable("w", *arguments)
    with pytest.raises(ValueError, match="to type 'int32' for variable of type 'float32"):
        tf.convert_to_tensor(w, tf.int32)
