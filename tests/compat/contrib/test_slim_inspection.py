"""tf.contrib.slim.model_analyzer and tf.contrib.slim.summaries."""

from __future__ import annotations

from typing import Any

import pytest
from tensorboard.compat.proto.summary_pb2 import Summary

import thalweg as tf
from thalweg.contrib import slim


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def test_variables_are_counted_and_listed(capsys: Any) -> None:
    tf.get_variable("w", [3, 4], use_resource=True)
    tf.get_variable("n", [], tf.int64, initializer=tf.zeros_initializer(), use_resource=True)
    tf.get_variable("parts", [4, 2], partitioner=tf.fixed_size_partitioner(2), use_resource=True)
    assert slim.model_analyzer.analyze_vars(tf.global_variables(), print_info=True) == (12 + 1 + 8, 48 + 8 + 32)
    assert capsys.readouterr().out.splitlines() == [
        "---------",
        "Variables: name (type shape) [size]",
        "---------",
        "w:0 (float32 3x4) [12, bytes: 48]",
        "n:0 (int64 ) [1, bytes: 8]",
        "parts/part_0:0 (float32 2x2) [4, bytes: 16]",
        "parts/part_1:0 (float32 2x2) [4, bytes: 16]",
        "Total size of variables: 21",
        "Total bytes of variables: 88",
    ]


def test_operations_are_counted_and_listed(graph: Any, capsys: Any) -> None:
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    y = tf.placeholder(tf.int32, name="y")
    tf.group(x, y, name="both")
    assert slim.model_analyzer.analyze_ops(graph, print_info=True) == 6
    lines = capsys.readouterr().out.splitlines()
    assert lines[3:6] == ["x\t-> (float32 2x3) [6]", "y\t-> (int32 <unknown>)", "both\t-> ()"]
    assert lines[-1] == "Total size: 6"


def test_summaries_are_named_after_operations_and_collected(capfd: Any) -> None:
    a, b = tf.constant([0.0, 2.0], name="a"), tf.constant(3.0, name="b")
    slim.summaries.add_histogram_summaries([a], "hist")
    slim.summaries.add_zero_fraction_summaries([a], "zero")
    slim.summaries.add_scalar_summary(b, "loss", print_summary=True)
    slim.summaries.add_scalar_summaries([b], "all")
    slim.summaries.add_image_summary(tf.ones([1, 2, 2, 1], name="pixels"))
    with tf.Session() as session:
        merged = Summary.FromString(session.run(tf.summary.merge_all()))
    found = {value.tag: value for value in merged.value}
    assert found.keys() == {"hist/a", "zero/a", "loss", "all/b", "pixels_1/image/0"}
    assert found["zero/a"].simple_value == 0.5 and found["loss"].simple_value == 3 and found["hist/a"].histo.sum == 2
    assert "loss[3]" in capfd.readouterr().err
