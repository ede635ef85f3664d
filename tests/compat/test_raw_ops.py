"""tf.raw_ops."""

import pytest

import thalweg as tf


def test_ops_by_their_names():
    total = tf.raw_ops.AddV2(x=[1.0, 2.0], y=3.0, name="total")
    parts = tf.raw_ops.Unpack(value=total, num=2, axis=0)
    top = tf.raw_ops.TopKV2(input=total, k=1, sorted=True)
    assert total.op.name == "total" and tf.raw_ops.NoOp().type == "NoOp"
    with tf.Session() as session:
        assert [part.tolist() for part in session.run(parts)] == [4.0, 5.0]
        assert session.run(top).indices.tolist() == [1]


def test_arguments_are_keywords_and_names_must_exist():
    with pytest.raises(TypeError, match="positional"):
        tf.raw_ops.AddV2(1.0, 2.0)
    with pytest.raises(TypeError, match="y"):
        tf.raw_ops.AddV2(x=1.0)
    with pytest.raises(AttributeError, match="Nothing"):
        tf.raw_ops.Nothing
    assert "MatMul" in dir(tf.raw_ops) and "_Arg" not in dir(tf.raw_ops)
