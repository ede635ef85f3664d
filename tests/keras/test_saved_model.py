"""Models as SavedModels: those of the real Keras 2 are read here and train on, and ours are served as saved."""

import json
import tarfile
from pathlib import Path

import numpy as np
import pytest

import thalweg as tf
from tests.keras.saved_models import MODELS, data, losses_of, outputs_of, trained
from thalweg._src.deploy.saved_model.files import read_saved_model

FIXTURES = Path(__file__).parents[1] / "fixtures" / "keras_saved_models"


@pytest.fixture(params=["graph", "eager"], autouse=True)
def mode(request):
    if request.param == "eager":
        request.getfixturevalue("fresh")
        tf.keras.backend.clear_session()
        yield "eager"
    else:
        with tf.Graph().as_default():
            yield "graph"


@pytest.mark.parametrize("name", MODELS)
def test_a_folder_of_keras_is_read_and_its_training_continues(name, tmp_path):
    with tarfile.open(FIXTURES / f"{name}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    expected = json.loads((FIXTURES / f"{name}.json").read_text())
    model = tf.keras.models.load_model(str(tmp_path / name))
    for found, outputs in zip(outputs_of(model, name), expected["outputs"], strict=True):
        np.testing.assert_allclose(found, outputs, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(losses_of(model, name), expected["continued"], rtol=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_saved_loaded_and_trained_on(name, tmp_path):
    model = trained(tf.keras, name)
    path = str(tmp_path / "model")
    model.save(path, save_format="tf")
    again = tf.keras.models.load_model(path)
    assert again.to_json() == model.to_json()
    assert outputs_of(again, name) == outputs_of(model, name)
    np.testing.assert_allclose(losses_of(again, name), losses_of(model, name), rtol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_the_signature_serves_the_model(name, tmp_path):
    model = trained(tf.keras, name)
    path = str(tmp_path / "model")
    model.save(path, save_format="tf")
    x = data(name)[0]
    inputs = dict(zip(model.input_names, x if isinstance(x, list) else [x], strict=True))
    expected = dict(zip(model.output_names, outputs_of(model, name), strict=True))
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        signature = tf.saved_model.load(session, ["serve"], path).signature_def["serving_default"]
        assert signature.method_name == "tensorflow/serving/predict"
        found = session.run(
            {key: info.name for key, info in signature.outputs.items()},
            {signature.inputs[key].name: value for key, value in inputs.items()},
        )
    assert sorted(found) == sorted(expected)
    for key, value in expected.items():
        np.testing.assert_allclose(found[key], value, rtol=1e-5, atol=1e-6)


def test_what_is_left_out(tmp_path):
    model = trained(tf.keras, "functional")
    path = str(tmp_path / "model")
    tf.keras.models.save_model(model, path, include_optimizer=False, save_format="tf")
    assert model.optimizer is not None
    assert tf.keras.models.load_model(path).optimizer is None
    with pytest.raises(FileExistsError, match="overwrite is False"):
        model.save(path, overwrite=False, save_format="tf")
    model.save(path, save_format="tf")
    assert tf.keras.models.load_model(path, compile=False).optimizer is None
    assert tf.keras.models.load_model(path).optimizer.get_config()["learning_rate"] == pytest.approx(0.01)


def test_saving_leaves_the_model_as_it_was(tmp_path):
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [layers.Dense(3, activity_regularizer="l2", input_shape=(4,)), layers.BatchNormalization(), layers.Dense(2)]
    )
    model.compile("sgd", "mse")
    model.train_on_batch(*data("functional"))
    before = len(model.losses), len(model.updates)
    model.save(str(tmp_path / "model"), save_format="tf")
    assert (len(model.losses), len(model.updates)) == before
    assert np.isfinite(model.train_on_batch(*data("functional")))


class Scaled(tf.keras.layers.Layer):
    """A layer with a variable and an argument of its own."""

    def __init__(self, factor, **kwargs):
        super().__init__(**kwargs)
        self.factor = factor

    def build(self, input_shape):
        self.scale = self.add_weight("scale", [int(input_shape[-1])], initializer="ones")

    def call(self, inputs):
        return inputs * self.scale * self.factor

    def get_config(self):
        return {**super().get_config(), "factor": self.factor}


def test_objects_of_the_program(tmp_path):
    def distance(labels, outputs):
        return tf.reduce_mean(tf.abs(labels - outputs), axis=-1)

    model = tf.keras.Sequential([Scaled(2.0, input_shape=(4,)), tf.keras.layers.Dense(2)])
    model.compile("sgd", distance, metrics=[tf.keras.metrics.MeanSquaredError(name="squares"), distance])
    x, y = data("functional")
    model.train_on_batch(x, y)
    path = str(tmp_path / "model")
    model.save(path, save_format="tf")
    again = tf.keras.models.load_model(path, custom_objects={"Scaled": Scaled, "distance": distance})
    assert again.metrics_names == model.metrics_names == ["loss", "squares", "distance"]
    np.testing.assert_allclose(again.train_on_batch(x, y), model.train_on_batch(x, y), rtol=1e-6)
    with pytest.raises(ValueError, match="Unknown layer: Scaled"):
        tf.keras.models.load_model(path)


def test_what_cannot_be_saved_or_loaded(tmp_path):
    class Plain(tf.keras.Model):
        def call(self, inputs):
            return inputs

    with pytest.raises(ValueError, match="input shapes have not been set"):
        Plain().save(str(tmp_path / "model"), save_format="tf")
    with pytest.raises(ValueError, match="expected 'h5' or 'tf'"):
        trained(tf.keras, "functional").save(str(tmp_path / "model"), save_format="zip")
    with pytest.raises(ValueError, match="an HDF5 file has none"):
        trained(tf.keras, "functional").save(str(tmp_path / "m.h5"), signatures=tf.function(abs))
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None])
        tf.saved_model.simple_save(session, str(tmp_path / "plain"), {"x": x}, {"y": x * 2})
    with pytest.raises(ValueError, match="no description of a Keras model"):
        tf.keras.models.load_model(str(tmp_path / "plain"))


def test_an_optimizer_of_tf_train_is_not_saved(tmp_path):
    model = trained(tf.keras, "functional")
    model.compile(tf.train.AdamOptimizer(0.1), "mse")
    model.train_on_batch(*data("functional"))
    for name, options in (("model", {"save_format": "tf"}), ("model.h5", {})):
        model.save(str(tmp_path / name), **options)
        again = tf.keras.models.load_model(str(tmp_path / name))
        assert again.optimizer is None
        assert outputs_of(again, "functional") == outputs_of(model, "functional")


class Own(tf.keras.Model):
    """A model with a `call` of its own."""

    def __init__(self):
        super().__init__()
        self.hidden = tf.keras.layers.Dense(3, activation="tanh")
        self.last = tf.keras.layers.Dense(2)

    def call(self, inputs):
        return self.last(self.hidden(inputs))


def test_a_model_with_a_call_of_its_own_is_served(tmp_path):
    model, other = Own(), Own()
    x, y = data("functional")
    for each in (model, other):
        each.compile("sgd", "mse")
        each.train_on_batch(x, y)
    path = str(tmp_path / "model")
    model.save(path, save_format="tf")
    serve = tf.contrib.predictor.from_saved_model(path)
    np.testing.assert_allclose(serve({"input_1": x})["output_1"], model.predict(x), rtol=1e-5)
    other.load_weights(f"{path}/variables/variables")
    np.testing.assert_array_equal(other.predict(x), model.predict(x))
    with pytest.raises(ValueError, match="make it with its class Own and load its variables"):
        tf.keras.models.load_model(path)


def test_a_graph_of_objects_names_those_that_it_has(tmp_path):
    with tf.Graph().as_default():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
        model.compile("sgd", "mse")
        model.save(str(tmp_path / "model"), save_format="tf")
        message = read_saved_model(tmp_path / "model")
        nodes = message.meta_graphs[0].object_graph_def.nodes
        nodes[0].children.add(local_name="optimizer", node_id=len(nodes))
        (tmp_path / "model" / "saved_model.pb").write_bytes(message.SerializeToString())
        with pytest.raises(ValueError, match="has no object"):
            tf.keras.models.load_model(str(tmp_path / "model"))
