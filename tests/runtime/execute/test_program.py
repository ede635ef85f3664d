"""A large program is interpreted on its first run and generated on its second."""

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.runtime.execute import program


@pytest.mark.cpu_only(reason="on a GPU the step is captured later")
def test_interpreted_and_generated_runs_agree(monkeypatch):
    monkeypatch.setattr(program, "_LARGE", 3)
    x = tf.placeholder(tf.float32, [4, 3])
    w = tf.get_variable("w", [3, 2], initializer=tf.ones_initializer())
    loss = tf.reduce_sum(tf.square(tf.matmul(x, w)))
    train = tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss)
    feeds = {x: np.random.default_rng(0).normal(size=(4, 3))}
    results = []
    for limit in (3, 10**9):
        monkeypatch.setattr(program, "_LARGE", limit)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            losses = [sess.run([loss, train], feeds)[0] for _ in range(4)]
            executable = sess._plan([loss, train], tuple(feeds)).executable
            assert executable.programs[0].large == (limit == 3)
            assert executable._function is executable.programs[0].codes[0].function
            results.append([*losses, sess.run(w)])
    for a, b in zip(*results):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_an_error_in_the_interpreted_run_is_explained(monkeypatch):
    monkeypatch.setattr(program, "_LARGE", 0)
    x = tf.placeholder(tf.float32, name="x")
    y = tf.reshape(tf.exp(x), [2, 2], name="y")
    texts = []
    with tf.Session() as sess:
        for _ in range(3):
            try:
                sess.run(y, {x: np.zeros(3)})
            except tf.errors.InvalidArgumentError as error:
                texts.append(str(error))
    assert len(set(texts)) == 1 and "Reshape 'y'" in texts[0]
