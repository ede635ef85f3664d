"""Values that stay in a session between steps."""

import gc

import numpy as np
import pytest

import thalweg as tf


def test_a_value_is_kept_read_and_deleted():
    x = tf.placeholder(tf.float32, [2])
    handle = tf.get_session_handle(x * 2.0)
    with tf.Session() as session:
        kept = session.run(handle, {x: [1.0, 2.0]})
        holder, value = tf.get_session_tensor(kept.handle, tf.float32)
        assert session.run(value + 1.0, {holder: kept.handle}).tolist() == [3.0, 5.0]
        assert session.run(value, {holder: kept}).tolist() == kept.eval().tolist() == [2.0, 4.0]
        holder, deleter = tf.delete_session_tensor(kept.handle)
        session.run(deleter, {holder: kept.handle})
        with pytest.raises(tf.errors.InvalidArgumentError, match="no tensor with the handle"):
            kept.eval()


def test_a_handle_is_fed_in_place_of_its_value():
    x = tf.placeholder(tf.float32, [2])
    with tf.Session() as session:
        kept = session.run(tf.get_session_handle(tf.constant([3.0, 4.0])))
        assert session.run(x + 1.0, {x: kept}).tolist() == [4.0, 5.0]
        kept.delete()
        with pytest.raises(tf.errors.InvalidArgumentError):
            kept.delete()


def test_a_kept_value_does_not_change_with_a_variable():
    v = tf.Variable([1.0, 2.0])
    with tf.Session() as session:
        session.run(v.initializer)
        kept = session.run(tf.get_session_handle(v))
        session.run(v.assign([5.0, 6.0]))
        assert kept.to_numpy_array().tolist() == [1.0, 2.0]


def test_strings_and_structures():
    handles = {"s": tf.get_session_handle(["a", "b"]), "n": tf.get_session_handle(np.int64(3)), "x": tf.constant(1)}
    with tf.Session() as session:
        kept = session.run(handles)
        assert kept["s"].eval().tolist() == [b"a", b"b"] and kept["n"].eval() == 3 and kept["x"] == 1
        holder, value = tf.get_session_tensor(kept["s"].get_raw_handle(), tf.float32)
        with pytest.raises(tf.errors.InvalidArgumentError, match="type string, not float32"):
            session.run(value, {holder: kept["s"]})


def test_reading_adds_operations_once():
    with tf.Session() as session:
        kept = session.run(tf.get_session_handle(1.0))
        kept.eval()
        count = len(session.graph.get_operations())
        kept.eval()
        assert len(session.graph.get_operations()) == count


def test_sessions_do_not_share_values():
    handle = tf.get_session_handle(1.0)
    with tf.Session() as first, tf.Session() as second:
        kept = first.run(handle)
        holder, value = tf.get_session_tensor(kept, tf.float32)
        with pytest.raises(tf.errors.InvalidArgumentError, match="another session"):
            second.run(value, {holder: kept})
    gc.collect()
