"""Feeds and unmodified variables are sent first; variables that are written before the read are not."""

import re

import numpy as np

import thalweg as tf

TWO = tf.ConfigProto(device_count={"CPU": 2, "GPU": 0})


def first_part(sess, fetches, feeds=()):
    """Returns the lines of the program of the first device."""
    text = sess.show_program(fetches, feeds)
    return next(
        program for program in re.split(r"^(?=# /job)", text, flags=re.MULTILINE) if "CPU:0" in program.split("\n")[0]
    )


def test_shared_variables_and_feeds_are_sent_before_the_first_tower_runs():
    x = tf.placeholder(tf.float32, [2, 4], name="x")
    tops = []
    for tower in range(2):
        with tf.device(f"/cpu:{tower}"), tf.variable_scope("model", reuse=tf.AUTO_REUSE):
            h = tf.matmul(x, tf.get_variable("w", [4, 4]), name=f"product{tower}")
            tops.append(tf.matmul(h, tf.get_variable("u", [4, 4]), name=f"top{tower}"))
    with tf.Session(config=TWO) as sess:
        text = first_part(sess, tops, [x])
        sends = [match.start() for match in re.finditer(r"_send_0", text)]
        assert len(sends) == 3 and max(sends) < text.index("product0")
        sess.run(tf.global_variables_initializer())
        a, b = sess.run(tops, {x: np.ones([2, 4])})
        assert (a == b).all()


def test_a_read_after_a_write_stays_after_it():
    with tf.device("/cpu:0"):
        v = tf.get_variable("v", [], initializer=tf.ones_initializer(), use_resource=True)
        before = v.read_value()
        write = v.assign_add(1.0, read_value=False)
        after = v.read_value()
        with tf.control_dependencies([write]):
            controlled = v.read_value()
    with tf.device("/cpu:1"):
        values = [tf.multiply(value, 10.0) for value in (before, after, controlled)]
    with tf.Session(config=TWO) as sess:
        sess.run(v.initializer)
        assert sess.run([*values, write])[:3] == [10.0, 20.0, 20.0]
        assert sess.run([*values, write])[:3] == [20.0, 30.0, 30.0]
