"""Libraries that Inductor has compiled, in the cache and out of it."""

import os
import sys

import numpy as np
import pytest

import thalweg as tf
from tests import children
from thalweg._src.runtime.compile import clusters
from thalweg._src.runtime.compile.inductor import Compiler

JIT = tf.ConfigProto(
    graph_options=tf.GraphOptions(optimizer_options=tf.OptimizerOptions(global_jit_level=tf.OptimizerOptions.ON_1))
)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_truncated_library_is_compiled_again(tmp_path, monkeypatch, caplog):
    """Also while a process runs it."""
    monkeypatch.setenv("THALWEG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(clusters, "FOREGROUND", Compiler(low_priority=False))  # with a process that has this cache
    x = tf.placeholder(tf.float32, [4])
    y = tf.tanh(tf.sin(tf.exp(x) + 1.0))
    feed = {x: np.zeros(4)}
    expected = np.full(4, np.tanh(np.sin(2.0)))
    with tf.Session(config=JIT) as session:
        np.testing.assert_allclose(session.run(y, feed), expected, rtol=1e-5)
        (file,) = (tmp_path / "cache").glob("*.compiled")
        whole = file.stat().st_size
        os.truncate(file, 5000)
        np.testing.assert_allclose(session.run(y, feed), expected, rtol=1e-5)
    with tf.Session(config=JIT) as session:
        np.testing.assert_allclose(session.run(y, feed), expected, rtol=1e-5)
    assert file.stat().st_size == whole
    assert [record.getMessage() for record in caplog.records if "is damaged" in record.getMessage()] == [
        f"the compiled code {file} is damaged: its SHA-256 is not the one that was stored."
        " It is not used but compiled again"
    ]


_BAD_LABEL = """
import numpy as np
import thalweg as tf

jit = tf.OptimizerOptions(global_jit_level=tf.OptimizerOptions.ON_1)
labels = tf.placeholder(tf.int32, [4])
logits = tf.placeholder(tf.float32, [4, 3])
loss = 2.0 * tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=tf.exp(logits) + 1.0)
with tf.Session(config=tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=jit))) as session:
    for third in (2, 7):
        try:
            print(session.run(loss, {labels: [0, 1, third, 0], logits: np.zeros((4, 3))}).shape)
        except tf.errors.InvalidArgumentError as error:
            print(error.message)
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_failed_library_writes_nothing():
    child = children.run([sys.executable, "-c", _BAD_LABEL])
    assert child.stdout.splitlines()[:1] == ["(4,)"]
    assert "label value of 7 which is outside the valid range of [0, 3)" in child.stdout
    assert child.stderr == ""


_MANY_LABELS = """
import numpy as np
import thalweg as tf

jit = tf.OptimizerOptions(global_jit_level=tf.OptimizerOptions.ON_1)
labels = tf.placeholder(tf.int32, [20000])
logits = tf.placeholder(tf.float32, [20000, 30])
loss = 2.0 * tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=tf.exp(logits) + 1.0)
config = tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=jit), intra_op_parallelism_threads=2)
with tf.Session(config=config) as session:
    for last in (29, 30):
        try:
            print(session.run(loss, {labels: [last] * 20000, logits: np.zeros((20000, 30))}).shape)
        except tf.errors.InvalidArgumentError as error:
            print(error.message)
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_failure_in_a_parallel_loop_does_not_end_the_process():
    child = children.run([sys.executable, "-c", _MANY_LABELS])
    assert child.stdout.splitlines()[:1] == ["(20000,)"]
    assert "label value of 30 which is outside the valid range of [0, 30)" in child.stdout
    assert child.stderr == ""
