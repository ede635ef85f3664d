"""Python's loops over datasets in converted functions."""

import numpy as np
import pytest

import thalweg as tf

to_graph = tf.autograph.to_graph
zero = np.int64(0)


def value(result, feeds=None):
    with tf.Session() as session:
        return session.run(result, feeds)


def total(elements):
    s = zero
    for x in elements:
        if x % 2 == 0:
            continue
        s += x
    return s


def until(elements, limit):
    s, count = zero, 0
    for x in elements:
        s += x
        if s > limit:
            break
        count += 1
    return s, count


def found(elements, limit):
    for x in elements:
        if x * x > limit:
            return x, -x
    return zero, zero


def with_else(elements, limit):
    s = zero
    for x in elements:
        if x > limit:
            break
        s += x
    else:
        s = -s
    return s


def in_loops(elements, limit):
    s = zero
    for x in elements:
        for y in elements:
            if y > x:
                break
            s += y
        while s > limit:
            s -= limit + 1
    return s


def test_a_sum():
    assert value(to_graph(total)(tf.data.Dataset.range(10))) == total(np.arange(10))


@pytest.mark.parametrize("function", [until, found, with_else, in_loops])
def test_loops_compute_what_python_computes(function):
    limit = tf.placeholder(tf.int64, [])
    result = to_graph(function)(tf.data.Dataset.range(8), limit)
    for each in (0, 5, 20, 100):
        assert value(result, {limit: each}) == function(np.arange(8), each)


def test_an_infinite_dataset():
    limit = tf.placeholder(tf.int64, [])
    result = to_graph(until)(tf.data.Dataset.range(3).repeat(), limit)
    assert value(result, {limit: 100}) == until(np.tile(np.arange(3), 200), 100)


def test_structures():
    def combined(dataset):
        low, high = tf.constant(100.0), tf.constant(-100.0)
        for i, element in enumerate(dataset):
            x = element["x"] + tf.cast(i, tf.float32)
            low, high = tf.minimum(low, x), tf.maximum(high, x)
        return low, high

    dataset = tf.data.Dataset.from_tensor_slices({"x": tf.constant([3.0, -5.0, 4.0])})
    assert value(to_graph(combined)(dataset)) == (-4.0, 6.0)


def test_a_converted_function_of_a_dataset():
    offset = tf.placeholder(tf.int64, [])

    def collatz(n):
        steps = tf.constant(0, tf.int64)
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        if steps > 3:
            return steps + offset
        return steps

    dataset = tf.data.Dataset.range(8).map(to_graph(collatz))
    assert value(dataset.reduce(zero, lambda s, x: s + x), {offset: 1}) == 0 + 0 + 1 + 8 + 2 + 6 + 9 + 17


def test_builtin_functions_of_datasets():
    def combined(dataset):
        s = zero
        for a, b in zip(dataset, map(lambda x: x + 1 if x > 2 else x, filter(lambda x: x != 3, dataset))):  # noqa: C417
            s += a * b
        for pair in map(lambda a, b: a - b, dataset, dataset):
            s += pair
        return s

    assert value(to_graph(combined)(tf.data.Dataset.range(6))) == combined(list(range(6)))


def test_the_values_of_a_loop_print(capfd):
    def prints(dataset):
        s = zero
        for x in dataset:
            print("x", x)
            s += x
        return s

    value(to_graph(prints)(tf.data.Dataset.range(2)))
    assert capfd.readouterr().out == "x 0\nx 1\n"


def test_a_list_cannot_be_appended_to():
    def collects(dataset):
        values = []
        for x in dataset:
            values.append(x)
        return values

    with pytest.raises(TypeError, match="A loop over a dataset cannot append to a list"):
        to_graph(collects)(tf.data.Dataset.range(2))


def test_the_state_keeps_its_type():
    def changes(dataset):
        s = 0
        for x in dataset:
            s = x
        return s

    with pytest.raises(TypeError, match="'s' has dtype int32 before the loop, but dtype int64 after one iteration"):
        to_graph(changes)(tf.data.Dataset.range(2))
