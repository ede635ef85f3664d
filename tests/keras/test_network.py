"""Networks: graphs of layers and subclasses, what belongs to them, and how they are called."""

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.keras.backend import state
from thalweg._src.keras.backend.values import get_value
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.engine.input_layer import Input
from thalweg._src.keras.engine.model import Model
from thalweg._src.keras.engine.sequential import Sequential
from thalweg._src.keras.layers.core import Activation, Dense, Dropout, Flatten, Masking, Permute, RepeatVector, Reshape


@pytest.fixture(params=["graph", "eager"], autouse=True)
def mode(request):
    """Makes models in a graph of their own, or in eager execution."""
    if request.param == "eager":
        request.getfixturevalue("fresh")
        state.clear_session()
        yield "eager"
    else:
        with tf.Graph().as_default():
            yield "graph"


def value(tensor):
    return get_value(tensor) if isinstance(tensor, tf.Variable) else _evaluated(tensor)


def _evaluated(tensor):
    return tensor.numpy() if tf.executing_eagerly() else state.get_session().run(tensor)


def ones(*shape):
    return tf.constant(np.ones(shape, np.float32))


def test_layers_are_ordered_by_their_distance_from_the_outputs():
    a, b = Input((3,), name="a"), Input((3,), name="b")
    shared = Dense(4, name="shared")
    left, right = shared(a), Dense(4, name="right")(shared(b))
    model = Model([a, b], [Dense(1, name="last")(left), right])
    assert [layer.name for layer in model.layers] == ["a", "b", "shared", "last", "right"]
    assert model.input_names == ["a", "b"] and model.output_names == ["last", "right"]
    assert [w.name for w in model.weights] == [
        *("shared/kernel:0", "shared/bias:0", "last/kernel:0", "last/bias:0", "right/kernel:0", "right/bias:0")
    ]
    assert model.input_shape == [(None, 3), (None, 3)] and model.output_shape == [(None, 1), (None, 4)]


def test_a_model_is_called_with_other_inputs():
    x = Input((2,))
    hidden = Dense(3, activation="relu")(x)
    model = Model(x, tf.reduce_sum(hidden * 2.0, axis=1) + 1.0)
    kernel, bias = np.array([[1.0, -1.0, 2.0], [0.5, 1.0, 0.0]], np.float32), np.array([0.0, 0.0, 1.0], np.float32)
    model.set_weights([kernel, bias])
    given = np.array([[1.0, 2.0], [0.0, -1.0]], np.float32)
    expected = 2 * np.maximum(given @ kernel + bias, 0).sum(1) + 1
    np.testing.assert_allclose(value(model(tf.constant(given))), expected)
    again = Model(y := Input((2,)), model(y) * 3.0)
    np.testing.assert_allclose(value(again(tf.constant(given))), 3 * expected)
    assert len(again.weights) == 2


def test_a_graph_that_lacks_an_input_is_refused():
    a, b = Input((3,)), Input((3,))
    outputs = Dense(1)(tf.concat([a, b], 1))
    with pytest.raises(ValueError, match="Graph disconnected"):
        Model(a, outputs)
    with pytest.raises(ValueError, match="must be the output of a layer"):
        Model(tf.zeros([1, 2]), outputs)


def test_names_of_layers_are_unique_in_a_model():
    x = Input((3,))
    with pytest.raises(ValueError, match="names should be unique"):
        Model(x, Dense(1, name="same")(Dense(2, name="same")(x)))


class Block(Model):
    """A subclass with layers in attributes, lists and dictionaries."""

    def __init__(self):
        super().__init__()
        self.first = Dense(4, name="first")
        self.more = [Dense(3, name="second")]
        self.named = {"third": Dense(2, name="third")}
        self.scale = tf.Variable(2.0, name="scale")
        self.more.append(Dense(3, name="late"))

    def call(self, inputs, training=None):
        x = self.first(inputs)
        for layer in self.more:
            x = layer(x)
        return self.named["third"](x) * self.scale


def test_a_subclass_owns_the_layers_of_its_attributes():
    model = Block()
    state.track_variable(model.scale)
    outputs = model(ones(5, 6))
    assert value(outputs).shape == (5, 2)
    assert [layer.name for layer in model.layers] == ["first", "second", "late", "third"]
    assert len(model.trainable_weights) == 9 and model.weights[-1] is model.scale
    assert "block/first/kernel:0" in [weight.name for weight in model.weights]
    model.first.trainable = False
    assert len(model.trainable_weights) == 7 and len(model.non_trainable_weights) == 2
    model.trainable = False
    assert not model.trainable_weights and len(model.weights) == 9


def test_an_attribute_that_is_replaced_belongs_to_a_model_no_longer():
    model = Block()
    model.first = Dense(4, name="other")
    assert "first" not in [layer.name for layer in model.layers]


def test_regularizers_and_losses_of_nested_layers():
    class Penalty(Layer):
        """Adds the mean of its inputs to the loss."""

        def call(self, inputs):
            self.add_loss(tf.reduce_mean(inputs))
            return inputs

    x = Input((2,))
    inner = Model(x, Penalty()(Dense(1, kernel_regularizer="l2", use_bias=False)(x)))
    model = Model(y := Input((2,)), inner(y))
    model.set_weights([np.array([[1.0], [3.0]], np.float32)])
    if tf.executing_eagerly():
        model(ones(4, 2))
        found = sorted(float(value(loss)) for loss in model.losses)
        np.testing.assert_allclose(found, [0.1, 4.0], rtol=1e-6)
    else:
        regularization = [loss for loss in model.losses if "Regularizer" in loss.name]
        np.testing.assert_allclose(value(regularization[0]), 0.1, rtol=1e-6)
        assert model.losses[0] is model.losses[0]


def test_training_reaches_nested_layers():
    seen = []

    class Notes(Layer):
        """Notes whether it is in training."""

        def call(self, inputs, training=None):
            seen.append(training)
            return inputs

    inner = Sequential([Notes(), Dropout(0.5)])
    model = Sequential([inner, Notes()])
    model(ones(2, 3), training=True)
    assert seen[-1] is True and seen[-2] is True
    np.testing.assert_array_equal(value(model(ones(2, 3), training=False)), np.ones([2, 3]))
    dropped = value(model(ones(50, 30), training=True))
    assert set(np.unique(dropped)) == {0.0, 2.0}


def test_masks_pass_through_layers_that_support_them():
    x = tf.constant(np.array([[[1.0, 2.0], [0.0, 0.0], [3.0, 0.0]]], np.float32))
    masked = Masking()(x)
    np.testing.assert_array_equal(value(masked._keras_mask), [[True, False, True]])
    np.testing.assert_array_equal(value(Activation("linear")(Dense(3)(masked))._keras_mask), [[True, False, True]])
    assert not hasattr(Flatten()(masked), "_keras_mask")
    with pytest.raises(TypeError, match="does not support masking"):
        Flatten().compute_mask(masked, masked._keras_mask)


def test_shapes_of_layers_that_reshape():
    x = ones(2, 3, 4)
    assert value(Flatten()(x)).shape == (2, 12) and value(Reshape((2, -1))(x)).shape == (2, 2, 6)
    assert value(Permute((2, 1))(x)).shape == (2, 4, 3) and value(RepeatVector(5)(ones(2, 3))).shape == (2, 5, 3)
    symbolic = Input((3, 4))
    assert Reshape((-1, 2))(symbolic).shape.as_list() == [None, 6, 2]
    assert Flatten()(symbolic).shape.as_list() == [None, 12]
    with pytest.raises(ValueError, match="size of new array must be unchanged"):
        Reshape((5,))(symbolic)


def test_a_sequential_model_with_and_without_a_known_input():
    known = Sequential([Dense(4, input_shape=(3,)), Dense(2)])
    assert known.built and known.input_shape == (None, 3) and known.output_shape == (None, 2)
    assert len(known.layers) == 2
    known.pop()
    assert known.output_shape == (None, 4)
    known.add(Dense(1))
    assert known.output_shape == (None, 1) and value(known(ones(2, 3))).shape == (2, 1)
    late = Sequential([Dense(4), Dense(2)])
    assert not late.built and not late.weights
    assert value(late(ones(5, 3))).shape == (5, 2)
    assert late.built and late.output_shape == (None, 2) and len(late.weights) == 4
    with pytest.raises(TypeError, match="must be an instance of class Layer"):
        late.add("dense")


def test_a_model_is_made_from_its_description():
    a, b = Input((3,), name="a"), Input((4,), name="b")
    shared = Dense(4, activation="tanh", name="shared", kernel_regularizer="l2")
    inner = Sequential([Dense(2, input_shape=(4,), name="small")], name="inner")
    first = inner(shared(a))
    model = Model([a, b], [first, inner(b)], name="described")
    again = Model.from_config(model.get_config())
    assert again.to_json() == model.to_json()
    again.set_weights(model.get_weights())
    inputs = [ones(2, 3), ones(2, 4)]
    for mine, other in zip(model(inputs), again(inputs)):
        np.testing.assert_array_equal(value(mine), value(other))
    line = Sequential([Dense(3, input_shape=(2,)), Activation("relu")])
    assert Sequential.from_config(line.get_config()).to_json() == line.to_json()


def test_the_summary(capsys):
    Sequential([Dense(4, input_shape=(3,), name="one"), Dense(1, name="two")], name="net").summary()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == 'Model: "net"' and "one (Dense)" in lines[4] and "(None, 4)" in lines[4] and "16" in lines[4]
    assert "Total params: 21" in lines
    with pytest.raises(ValueError, match="not yet been built"):
        Sequential([Dense(1)]).summary()


def test_wrong_arguments():
    with pytest.raises(TypeError, match="not understood"):
        Dense(1, unknown=2)
    with pytest.raises(ValueError, match="has 2 weights"):
        layer = Dense(1)
        layer(ones(1, 2))
        layer.set_weights([np.zeros([2, 1])])
    with pytest.raises(ValueError, match="incompatible with the layer"):
        layer(ones(1, 3))
    with pytest.raises(ValueError, match="No such layer"):
        Sequential([Dense(1)]).get_layer("two")


def test_weights_of_a_model_come_layer_by_layer():
    layers = [Dense(2, input_shape=(3,), name="a"), tf.keras.layers.BatchNormalization(name="b"), Dense(1, name="c")]
    model = Sequential(layers)
    names = [weight.name.split("/")[0] for weight in model.weights]
    assert names == [*"aa", *"bbbb", *"cc"]
    assert [value.shape for value in model.get_weights()] == [(3, 2), (2,), (2,), (2,), (2,), (2,), (2, 1), (1,)]
