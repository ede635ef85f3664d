"""Example and SequenceExample: bytes as TensorFlow writes them."""

import sys

import pytest

import thalweg as tf
from tests.valid_calls.parsing import example, sequence_example
from thalweg._src.base.formats.example import NAMES, example_from_json, message_class


def test_serialization_matches_tensorflow():
    # Written by TensorFlow 2.21 from the same values.
    assert example(a=[1, -1]).hex() == "0a160a140a0161120f1a0d0a0b01ffffffffffffffffff01"
    assert example(b=[0.5]).hex() == "0a0f0a0d0a0162120812060a040000003f"
    assert example(c=[b"x", b""]).hex() == "0a0e0a0c0a016312070a050a01780a00"
    assert sequence_example({}, x=[[1], []]).hex() == "12100a0e0a017812090a051a030a01010a00"


def test_messages_are_public_and_round_trip():
    feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 2]))
    message = tf.train.Example(features=tf.train.Features(feature={"a": feature}))
    again = tf.train.Example.FromString(message.SerializeToString())
    assert again == message
    assert list(again.features.feature["a"].int64_list.value) == [1, 2]
    assert again.features.feature["a"].WhichOneof("kind") == "int64_list"
    steps = tf.train.FeatureList(feature=[feature])
    lists = tf.train.FeatureLists(feature_list={"x": steps})
    assert len(tf.train.SequenceExample(feature_lists=lists).feature_lists.feature_list["x"].feature) == 1
    assert all(message_class(name).DESCRIPTOR.full_name == f"tensorflow.{name}" for name in NAMES)
    assert not hasattr(tf.train, "NoSuchMessage")


def test_json():
    text = b'{"features": {"feature": {"a": {"int64List": {"value": ["1"]}}}}}'
    assert example_from_json(text) == example(a=[1])
    for wrong in (b"{", b"\xff", b'{"no": 1}', b"[" * 5000):
        with pytest.raises(ValueError):
            example_from_json(wrong)


def test_messages_coexist_with_tensorflows():
    """The classes live in a pool of their own, so another definition of the file does not clash."""
    from google.protobuf import descriptor_pool

    with pytest.raises(KeyError):
        descriptor_pool.Default().FindMessageTypeByName("tensorflow.Example")
    assert "tensorflow" not in sys.modules
