"""Descriptions of models as YAML."""

import sys

import pytest

import thalweg as tf
from tests.keras.saved_models import MODELS, outputs_of, trained


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_described_and_made_again(name):
    with tf.Graph().as_default():
        model = trained(tf.keras, name)
        again = tf.keras.models.model_from_yaml(model.to_yaml())
        assert again.to_json() == model.to_json()
        again.set_weights(model.get_weights())
        assert outputs_of(again, name) == outputs_of(model, name)


def test_tuples_of_keras_are_read():
    text = """
backend: tensorflow
class_name: Sequential
config:
  layers:
  - class_name: Dense
    config: {activation: relu, batch_input_shape: !!python/tuple [null, 4], name: d, units: 3}
  name: s
keras_version: 2.2.4-tf
"""
    with tf.Graph().as_default():
        model = tf.keras.models.model_from_yaml(text)
        assert model.output_shape == (None, 3)
        assert model.layers[0].activation is tf.keras.activations.relu


def test_other_objects_of_python_are_refused():
    with pytest.raises(Exception, match="could not determine a constructor"):
        tf.keras.models.model_from_yaml("!!python/object/apply:os.getcwd []")


def test_the_package_is_named_if_it_is_missing(monkeypatch):
    with tf.Graph().as_default():
        model = trained(tf.keras, "functional")
        monkeypatch.setitem(sys.modules, "yaml", None)
        with pytest.raises(ImportError, match=r"the package PyYAML: pip install 'thalweg\[keras\]'"):
            model.to_yaml()
