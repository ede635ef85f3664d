"""smart_cond: known conditions choose while the graph is built, tensors choose in the step."""

from __future__ import annotations

from typing import Any

import pytest

import thalweg as tf
from thalweg._src.training.nn.smart_cond import smart_cond, smart_constant_value


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def never() -> Any:
    raise AssertionError("not chosen")


def test_known_predicates_build_one_branch() -> None:
    for yes in (True, 1, tf.constant(True)):
        assert smart_cond(yes, lambda: "a", never) == "a"
    for no in (False, 0, tf.constant(False)):
        assert smart_cond(no, never, lambda: "b") == "b"


def test_a_tensor_predicate_selects_in_the_step() -> None:
    pred = tf.placeholder(tf.bool, [])
    assert smart_constant_value(pred) is None
    chosen = smart_cond(pred, lambda: {"a": [tf.constant([1, 2]), 3.0]}, lambda: {"a": [tf.constant([4, 5]), 6.0]})
    assert chosen["a"][0].shape.as_list() == [2]
    with tf.Session() as session:
        assert [v.tolist() for v in session.run(chosen["a"], {pred: True})] == [[1, 2], 3.0]
        assert [v.tolist() for v in session.run(chosen["a"], {pred: False})] == [[4, 5], 6.0]


def test_errors() -> None:
    pred = tf.placeholder(tf.bool, [])
    with pytest.raises(TypeError, match="callable"):
        smart_cond(pred, 1, lambda: 2)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a bool, 0 or 1"):
        smart_cond("yes", never, never)
    with pytest.raises(ValueError, match="the same structure"):
        smart_cond(pred, lambda: [1, 2], lambda: [1])
