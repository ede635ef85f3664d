"""Libraries that Inductor has compiled, in the cache and out of it."""

import os

import numpy as np
import pytest

import thalweg as tf

JIT = tf.ConfigProto(
    graph_options=tf.GraphOptions(optimizer_options=tf.OptimizerOptions(global_jit_level=tf.OptimizerOptions.ON_1))
)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_truncated_library_is_compiled_again(tmp_path, monkeypatch, caplog):
    """Also while a process runs it."""
    monkeypatch.setenv("THALWEG_CACHE", str(tmp_path / "cache"))
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
