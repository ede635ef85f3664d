"""Descriptions of models in which one entry is spoiled: a model, or a typed error that says where the entry is."""

import copy
import json
import math
import random

import pytest

import thalweg as tf
from thalweg._src.base.errors import OpError
from thalweg._src.keras.saving.training_config import compile_model

layers, models = tf.keras.layers, tf.keras.models


def dense():
    return tf.keras.Sequential(
        [
            layers.Dense(
                3,
                activation="relu",
                kernel_initializer=tf.keras.initializers.VarianceScaling(2.0, "fan_in", "uniform", seed=3),
                kernel_regularizer=tf.keras.regularizers.l2(0.1),
                bias_constraint=tf.keras.constraints.MaxNorm(2),
                input_shape=(4,),
            ),
            layers.Dropout(0.5, seed=1),
            layers.BatchNormalization(),
            layers.GaussianNoise(0.1),
            layers.LeakyReLU(0.2),
            layers.Dense(2, activation="softmax"),
        ]
    )


def branches():
    first, second = tf.keras.Input((4,), name="first"), tf.keras.Input((4,), name="second")
    shared = layers.Dense(3, name="shared")
    inner = tf.keras.Input((3,))
    nested = tf.keras.Model(inner, layers.PReLU()(inner), name="nested")
    a, b = nested(shared(first)), shared(second)
    merged = layers.Concatenate()([a, b])
    added = layers.Add()([a, b])
    return tf.keras.Model([first, second], [layers.Dense(1)(merged), layers.ActivityRegularization(0.1)(added)])


def convolutional():
    return tf.keras.Sequential(
        [
            layers.ZeroPadding2D((1, 2), input_shape=(8, 8, 2)),
            layers.Conv2D(3, (3, 2), strides=2, padding="same", data_format="channels_last"),
            layers.SeparableConv2D(2, 2, depth_multiplier=2),
            layers.DepthwiseConv2D(2),
            layers.Conv2DTranspose(2, 3, strides=2, output_padding=1),
            layers.UpSampling2D((2, 1)),
            layers.Cropping2D(((1, 0), (0, 1))),
            layers.MaxPooling2D((2, 1)),
            layers.LocallyConnected2D(2, 1),
            layers.Permute((2, 1, 3)),
            layers.GlobalAveragePooling2D(),
            layers.RepeatVector(2),
            layers.Conv1D(2, 1, dilation_rate=2),
            layers.AveragePooling1D(2, padding="same"),
            layers.Flatten(),
            layers.Reshape((2, 1)),
        ]
    )


def recurrent():
    cells = layers.StackedRNNCells([layers.LSTMCell(2), layers.GRUCell(3)])
    return tf.keras.Sequential(
        [
            layers.Embedding(5, 3, input_length=4, mask_zero=True),
            layers.TimeDistributed(layers.Dense(3)),
            layers.Bidirectional(layers.GRU(2, return_sequences=True, reset_after=True), merge_mode="concat"),
            layers.SimpleRNN(2, return_sequences=True, dropout=0.1, recurrent_dropout=0.1),
            layers.RNN(cells, return_sequences=True),
            layers.LSTM(2, unroll=True),
        ]
    )


def columns():
    number = tf.feature_column.numeric_column("number", (2,))
    word = tf.feature_column.categorical_column_with_vocabulary_list("word", ["a", "b"])
    embedded = tf.feature_column.embedding_column(word, 2)
    layer = layers.DenseFeatures([number, tf.feature_column.indicator_column(word), embedded])
    return {"class_name": "DenseFeatures", "config": layer.get_config()}


DESCRIPTIONS = {each.__name__: each for each in (dense, branches, convolutional, recurrent, columns)}
TRAINING = {
    "optimizer_config": {
        "class_name": "Adam",
        "config": {
            "name": "Adam",
            "clipnorm": 1.0,
            "learning_rate": {
                "class_name": "ExponentialDecay",
                "config": {"initial_learning_rate": 0.1, "decay_steps": 10, "decay_rate": 0.9, "staircase": False},
            },
            "beta_1": 0.9,
            "epsilon": 1e-7,
            "amsgrad": False,
        },
    },
    "loss": {"class_name": "Huber", "config": {"delta": 1.0, "reduction": "auto", "name": "huber"}},
    "metrics": ["accuracy", {"class_name": "MeanSquaredError", "config": {"name": "m", "dtype": "float32"}}],
    "weighted_metrics": None,
    "sample_weight_mode": None,
    "loss_weights": [0.5],
}


def description(name):
    """Returns the description of a model, as JSON has it."""
    with tf.Graph().as_default():
        made = DESCRIPTIONS[name]()
        return made if isinstance(made, dict) else json.loads(made.to_json())


def paths(value, path=()):
    """Yields the paths of all entries of a description."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from paths(each, (*path, key))


REPLACEMENTS = {
    **{repr(each): lambda old, each=each: each for each in (None, "", "x", True, 0, -1, 1.5, 2**31, -(2**63), 2**70)},
    **{repr(each): lambda old, each=each: each for each in (math.nan, math.inf, [], {}, [None], [-1, 2**40])},
    "in a list": lambda old: [old],
    "in a dictionary": lambda old: {"class_name": old, "config": old},
    "twice": lambda old: [old, old],
    "deleted": None,
}


def spoiled(value, path, change):
    """Returns a copy of a description with one entry changed."""
    if not path:
        return change(value) if change is not None else None
    result = copy.deepcopy(value)
    holder = result
    for key in path[:-1]:
        holder = holder[key]
    if change is None:
        del holder[path[-1]]
    else:
        holder[path[-1]] = change(holder[path[-1]])
    return result


def cases(value):
    """Yields the paths of a description with what is done to the entries."""
    for path in paths(value):
        for how in REPLACEMENTS:
            yield path, how


def check(read, value, path, how):
    """Reads a spoiled description; an error that it ends with is a typed one, with its place."""
    with tf.Graph().as_default():
        try:
            read(spoiled(value, path, REPLACEMENTS[how]))
        except (ValueError, TypeError, OpError) as error:
            assert f"\n  place: {error.place}" in str(error), (path, how)


def compiled(training):
    model = tf.keras.Sequential([layers.Dense(1, input_shape=(2,))])
    compile_model(model, training, None)


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_a_spoiled_description_gives_a_model_or_a_typed_error_with_a_place(name):
    value = description(name)
    for path, how in random.Random(name).sample(list(cases(value)), 60):
        check(models.model_from_config, value, path, how)


def test_a_spoiled_description_of_training_gives_a_model_or_a_typed_error_with_a_place():
    for path, how in random.Random(1).sample(list(cases(TRAINING)), 100):
        check(compiled, TRAINING, path, how)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", [*DESCRIPTIONS, "training"])
def test_every_spoiled_description_gives_a_model_or_a_typed_error_with_a_place(name):
    read, value = (compiled, TRAINING) if name == "training" else (models.model_from_config, description(name))
    for path, how in cases(value):
        check(read, value, path, how)


@pytest.mark.parametrize(
    ("path", "value", "place", "what"),
    [
        (("config",), None, "config", "expected a dictionary"),
        (("config", "layers"), 3, "config.layers", "expected a list or None, received 3"),
        (("config", "layers", 0, "config", "units"), 2**31, "config.layers[0].config.units", "less than 2147483648"),
        (("config", "layers", 0, "config", "units"), -1, "config.layers[0].config.units", "at least 0"),
        (("config", "layers", 0, "config", "units"), "3", "config.layers[0].config.units", "an integer, received '3'"),
        (("config", "layers", 1, "config", "rate"), [], "config.layers[1].config.rate", r"a number, received \[\]"),
        (
            ("config", "layers", 0, "config", "kernel_initializer", "config", "seed"),
            "x",
            "config.layers[0].config.kernel_initializer.config.seed",
            "an integer or None",
        ),
        (("class_name",), {}, "class_name", "expected a text, received {}"),
        (("config", "layers", 2, "class_name"), "Danse", "config.layers[2].class_name", "Unknown layer: Danse"),
    ],
)
def test_the_place_is_that_of_the_wrong_entry(path, value, place, what):
    with pytest.raises((ValueError, TypeError), match=what) as caught:
        models.model_from_config(spoiled(description("dense"), path, lambda old: value))
    assert caught.value.place == place


@pytest.mark.parametrize(
    ("key", "place"),
    [("inbound_nodes", "config.layers[1]"), ("name", "config.layers[1]"), ("class_name", "config.layers[1]")],
)
def test_a_key_that_is_missing_is_named(key, place):
    with pytest.raises(ValueError, match=key) as caught:
        models.model_from_config(spoiled(description("branches"), ("config", "layers", 1, key), None))
    assert caught.value.place == place


def test_layers_that_lack_what_they_wrap_are_refused():
    for cls, key in (("RNN", "cell"), ("TimeDistributed", "layer"), ("StackedRNNCells", "cells")):
        with pytest.raises(ValueError, match=f"the key '{key}' is missing\n  place: config"):
            layers.deserialize({"class_name": cls, "config": {"name": "a"}})
        with pytest.raises(ValueError, match=f"the key '{key}' is missing"):
            getattr(layers, cls).from_config({"name": "a"})


def test_an_error_of_a_class_of_the_program_stays_what_it_is():
    class Own(layers.Layer):
        def __init__(self, **kwargs):
            raise KeyError("own")

    with pytest.raises(KeyError, match="own") as caught:
        layers.deserialize({"class_name": "Own", "config": {}}, {"Own": Own})
    assert caught.value.__notes__ == ["  place: config"]


def test_whole_numbers_and_flags_may_be_written_otherwise():
    given = {"units": 3.0, "use_bias": 1, "name": None}
    assert layers.deserialize({"class_name": "Dense", "config": given}).units == 3
