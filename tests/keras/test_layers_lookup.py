"""Layers by name, embeddings, attention, activations and feature columns."""

import json

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.layers.dense_features import DenseFeatures
from thalweg._src.keras.layers.lookup import LAYERS, deserialize, register_layers, serialize
from thalweg._src.runtime.eager.mode import eager_mode

column = tf.feature_column


def centered(x):
    return x - 1.0


class Doubled(Layer):
    def call(self, inputs):
        return 2 * inputs


# -- layers by name ---------------------------------------------------------------------------------------------------


def test_a_layer_is_described_by_class_and_configuration():
    found = serialize(LAYERS["Dense"](3, name="three"))
    assert found["class_name"] == "Dense" and found["config"]["units"] == 3
    assert deserialize(found).name == "three"


def test_an_unknown_layer_is_refused_and_a_custom_one_found():
    found = serialize(Doubled(name="twice"))
    with pytest.raises(ValueError, match="Unknown layer: Doubled"):
        deserialize(found)
    assert isinstance(deserialize(found, {"Doubled": Doubled}), Doubled)


def test_layers_of_other_modules_are_registered(monkeypatch):
    monkeypatch.setattr("thalweg._src.keras.layers.lookup.LAYERS", known := {})
    register_layers({"Doubled": Doubled, "_Hidden": Doubled, "other": 3, "str": str})
    assert known == {"Doubled": Doubled}
    register_layers({"__name__": "elsewhere", "Imported": Doubled})
    assert known == {"Doubled": Doubled}


def test_base_classes_are_no_layers_of_models():
    assert not {"Layer", "Elementwise", "Convolution"} & {*LAYERS}


# -- embeddings, activations and attention ----------------------------------------------------------------------------


def test_an_embedding_takes_floats_as_integers(fresh):
    layer = LAYERS["Embedding"](3, 2, weights=[np.array([[0, 1], [2, 3], [4, 5]], "float32")])
    assert layer(tf.constant([[2.0, 0.0]])).numpy().tolist() == [[[4, 5], [0, 1]]]


def test_an_embedding_masks_zeros_if_it_is_told_to(fresh):
    x = tf.constant([[1, 0, 2]])
    assert LAYERS["Embedding"](3, 2, mask_zero=True)(x)._keras_mask.numpy().tolist() == [[True, False, True]]
    assert getattr(LAYERS["Embedding"](3, 2)(x), "_keras_mask", None) is None


def test_the_length_of_the_inputs_of_an_embedding_is_checked():
    layer = LAYERS["Embedding"](3, 2, input_length=4)
    assert layer.compute_output_shape((None, None)).as_list() == [None, 4, 2]
    with pytest.raises(ValueError, match='"input_length" is 4'):
        layer.compute_output_shape((None, 5))
    assert layer._batch_input_shape == (None, 4)
    several = LAYERS["Embedding"](3, 2, input_length=(4, None))
    assert several.compute_output_shape((5, 4, 6)).as_list() == [5, 4, 6, 2]


@pytest.mark.parametrize("arguments", [{"max_value": -1.0}, {"negative_slope": -0.1}])
def test_relu_refuses_negative_bounds_and_slopes(arguments):
    with pytest.raises(ValueError, match="cannot be negative"):
        LAYERS["ReLU"](**arguments)


def test_softmax_along_several_axes_sums_to_one(fresh):
    found = LAYERS["Softmax"](axis=[1, 2])(tf.random.normal([2, 3, 4])).numpy()
    np.testing.assert_allclose(found.sum((1, 2)), 1, rtol=1e-5)


def test_prelu_needs_known_sizes_of_axes_that_are_not_shared():
    x = tf.placeholder(tf.float32, [None, None, 3])
    assert LAYERS["PReLU"](shared_axes=[1])(x).shape.as_list() == [None, None, 3]
    with pytest.raises(ValueError, match="must be known"):
        LAYERS["PReLU"]()(x)


@pytest.mark.parametrize("name", ["Attention", "AdditiveAttention"])
def test_attention_takes_queries_values_and_perhaps_keys(name):
    x = tf.zeros([2, 3, 4])
    with pytest.raises(ValueError, match="list of inputs"):
        LAYERS[name](use_scale=False)(x)
    with pytest.raises(ValueError, match="length 2 or 3"):
        LAYERS[name](use_scale=False)([x] * 4)
    with pytest.raises(ValueError, match="mask must be a list"):
        LAYERS[name](use_scale=False)([x, x], mask=tf.constant([[True] * 3] * 2))
    with pytest.raises(ValueError, match="received 3 masks"):
        LAYERS[name](use_scale=False)([x, x], mask=[None] * 3)


def test_masked_attention_of_small_floats_is_finite(fresh):
    x = tf.ones([1, 2, 3], tf.float16)
    found = LAYERS["Attention"]()([x, x], mask=[None, tf.constant([[True, False]])]).numpy()
    assert found.tolist() == [[[1, 1, 1]] * 2]


# -- feature columns --------------------------------------------------------------------------------------------------


def columns():
    words = column.categorical_column_with_vocabulary_list("word", ["a", "b", "c"])
    number = column.numeric_column("number", shape=(2,), normalizer_fn=centered)
    place = column.categorical_column_with_identity("place", 4)
    return [
        column.embedding_column(words, 2, initializer=tf.ones_initializer()),
        number,
        column.bucketized_column(column.numeric_column("age"), [10, 20]),
        column.indicator_column(column.crossed_column(["word", place], 5)),
    ]


def features():
    return {
        "word": tf.constant(["c", "a"]),
        "number": tf.constant([[1.0, 2.0], [3.0, 4.0]]),
        "age": tf.constant([[5.0], [15.0]]),
        "place": tf.constant([[1], [2]], tf.int64),
    }


def check(layer, numbers):
    assert numbers.shape == (2, 12)
    assert numbers[:, :3].tolist() == [[1, 0, 0], [0, 1, 0]]  # age_bucketized
    assert numbers[:, 3:5].tolist() == [[0, 1], [2, 3]]  # number
    assert numbers[:, 5:10].sum(1).tolist() == [1, 1]  # place_X_word_indicator
    assert numbers[:, 10:].tolist() == [[1, 1], [1, 1]]  # word_embedding
    assert [weight.shape.as_list() for weight in layer.trainable_weights] == [[3, 2]]


def test_features_are_concatenated_by_the_names_of_their_columns():
    layer = DenseFeatures(columns())
    output = layer(features())
    layer(features())
    assert output.shape.as_list() == [2, 12]
    assert [weight.name for weight in layer.weights] == ["dense_features/word_embedding/embedding_weights:0"]
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        check(layer, session.run(output))
        assert session.run(tf.gradients(output, layer.weights)[0].values).tolist() == [[1, 1]] * 2


def test_features_of_eager_execution_share_one_table():
    with eager_mode():
        layer = DenseFeatures(columns())
        check(layer, layer(features()).numpy())
        layer.set_weights([np.full([3, 2], 7, "float32")])
        assert layer(features()).numpy()[:, 10:].tolist() == [[7, 7], [7, 7]]
        assert tf.function(layer)(features()).numpy()[:, 10:].tolist() == [[7, 7], [7, 7]]
        assert len(layer.weights) == 1


def test_a_shared_table_is_a_part_of_the_layer(fresh):
    ids = [column.categorical_column_with_identity(key, 3) for key in ("x", "y")]
    layer = DenseFeatures(column.shared_embedding_columns(ids, 2, initializer=tf.ones_initializer()))
    found = layer({"x": tf.constant([[0]], tf.int64), "y": tf.constant([[2]], tf.int64)})
    assert found.numpy().tolist() == [[1, 1, 1, 1]] and len(layer.weights) == 1


def test_outputs_of_columns_are_given_to_a_dictionary(fresh):
    ages = columns()[2]
    outputs = {}
    DenseFeatures([ages])({"age": tf.constant([[5.0]])}, cols_to_output_tensors=outputs)
    assert outputs[ages].numpy().tolist() == [[1, 0, 0]]


def test_a_configuration_has_the_columns():
    layer = DenseFeatures(columns())
    config = json.loads(json.dumps(serialize(layer)))
    again = deserialize(config, {"centered": centered})
    assert again._feature_columns[1] == layer._feature_columns[1]
    assert json.loads(json.dumps(serialize(again))) == config
    with pytest.raises(ValueError, match="Unknown normalizer_fn"):
        deserialize(config)
    with pytest.raises(ValueError, match="lambda"):
        DenseFeatures(column.numeric_column("x", normalizer_fn=lambda x: x)).get_config()


def test_inputs_that_are_no_dictionary_are_refused():
    with pytest.raises(ValueError, match="expected a dictionary"):
        DenseFeatures(column.numeric_column("x"))(tf.zeros([2, 1]))
    with pytest.raises(ValueError, match="must be a DenseColumn"):
        DenseFeatures(column.categorical_column_with_identity("x", 3))


def test_the_output_shape_is_the_batch_and_the_widths():
    layer = DenseFeatures(columns())
    assert layer.compute_output_shape({"age": (None, 1), "word": (None, 1)}).as_list() == [None, 12]


@pytest.mark.parametrize(
    "name, further",
    [
        ("GlobalAveragePooling2D", {"keepdims": False}),
        ("GaussianNoise", {"stddev": 0.5, "seed": None}),
        ("Attention", {"score_mode": "dot", "dropout": 0.0}),
    ],
)
def test_arguments_of_later_releases_may_change_nothing(name, further):
    layer = deserialize({"class_name": name, "config": {"name": "a", **further}})
    assert layer.name == "a"
    changing = {key: True for key in further if key != "stddev"}
    with pytest.raises(TypeError, match="not understood"):
        deserialize({"class_name": name, "config": {**further, **changing}})


def test_a_layer_of_a_network_has_the_name_of_later_releases_too():
    layer = deserialize({"class_name": "Custom>CustomScaleLayer", "config": {"scale": 0.5}})
    assert type(layer).__name__ == "CustomScaleLayer" and layer.get_config()["scale"] == 0.5
