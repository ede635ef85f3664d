"""Records what the real library computes for the cases of recurrent layers.

Run with its Python, from the root of the repository: python -m tests.keras.record_recurrent. It must be a version with
`tf_keras`, the Keras of TensorFlow 1 and 2.
"""

import gzip
import json
import os
from types import SimpleNamespace

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow as tf
from tf_keras.api._v1 import keras
from tf_keras.src.saving.legacy import hdf5_format

from tests.keras import recurrent_cases as cases

L = SimpleNamespace(**vars(keras.layers), Model=keras.Model, Sequential=keras.Sequential)


def as_lists(values):
    return [np.round(np.asarray(value, np.float64), 7).tolist() for value in tf.nest.flatten(values)]


def answer(name, layer, inputs, **arguments):
    """Returns the outputs, and the gradients of their weighted sum with respect to the weights and the first input."""
    inputs = [tf.constant(each) for each in inputs]
    given = inputs[0] if len(inputs) == 1 else inputs
    if isinstance(layer, keras.Model):
        # Of an unknown number of examples, since TimeDistributed loops over time if it is known.
        signature = [tf.TensorSpec([None, *each.shape[1:]], each.dtype) for each in inputs]
        call = tf.function(layer, input_signature=[signature if len(inputs) > 1 else signature[0]])
    else:
        call = layer
        layer(given, **arguments)
    layer.set_weights(cases.weights_for(name, layer))
    with tf.GradientTape() as tape:
        if inputs[0].dtype.is_floating:
            tape.watch(inputs[0])
        outputs = tf.nest.flatten(call(given, **arguments))
        factors = cases.coefficients([tuple(each.shape) for each in outputs])
        total = tf.add_n([tf.reduce_sum(each * factor) for each, factor in zip(outputs, factors)])
    sources = [*layer.trainable_weights, *([inputs[0]] if inputs[0].dtype.is_floating else [])]
    gradients = [tf.convert_to_tensor(each) for each in tape.gradient(total, sources)]
    return {"outputs": as_lists(outputs), "gradients": as_lists(gradients)}


def shapes(make, given):
    outputs = tf.nest.flatten(make(L)(L.Input(batch_shape=given)))
    return [list(each.shape) for each in outputs]


def stateful(name, make):
    """Returns the outputs of batches, of which the third is preceded by a reset and the fourth by given states."""
    layer, found = make(L), []
    for number in range(4):
        x = tf.constant(cases.numbers(f"{name} {number}", (cases.BATCH, cases.STEPS, cases.FEATURES)))
        if number == 0:
            layer(x)
            layer.set_weights(cases.weights_for(name, layer))
        if number in (0, 2):
            layer.reset_states()
        if number == 3 and not isinstance(layer, L.Bidirectional):
            sizes = [tuple(each.shape) for each in tf.nest.flatten(layer.states)]
            layer.reset_states([cases.numbers(f"{name} state {i}", size) for i, size in enumerate(sizes)])
        found.append(as_lists(layer(x)))
    return found


def cudnn(name, of_cudnn, plain):
    """Returns what the plain layer computes with the weights of the other one, converted as those in a file."""
    x = cases.numbers(name, (cases.BATCH, cases.STEPS, cases.FEATURES))
    model = keras.Sequential([plain(L)])
    layer = model.layers[0]
    layer.build((None, None, cases.FEATURES))
    sizes = {"cudnn lstm": (4, 8), "cudnn gru": (3, 6)}[name]
    units = cases.UNITS
    shapes_of = ((cases.FEATURES, sizes[0] * units), (units, sizes[0] * units), (sizes[1] * units,))
    weights = [cases.numbers(f"{name} {index}", shape) for index, shape in enumerate(shapes_of)]
    layer.set_weights(hdf5_format.preprocess_weights_for_loading(layer, weights, original_keras_version="2"))
    return as_lists(layer(tf.constant(x)))


def record():
    size = (cases.BATCH, cases.STEPS, cases.FEATURES)
    found = {key: {} for key in ("layers", "shapes", "masked", "initial", "stateful", "conv", "conv shapes")}
    for name, make in cases.LAYERS.items():
        x = [cases.numbers(name, size)]
        found["layers"][name] = answer(name, make(L), x)
        batches = [[None, cases.STEPS, cases.FEATURES], [3, cases.STEPS, cases.FEATURES]]
        batches += [] if "unrolled" in name else [[None, None, cases.FEATURES]]
        found["shapes"][name] = [[given, shapes(make, given)] for given in batches]
        if name in cases.MASKED:
            for kind, mask in cases.MASKS.items():
                found["masked"][f"{name}, {kind}"] = answer(name, make(L), x, mask=tf.constant(mask))
        if name in cases.INITIAL:
            states = [cases.numbers(f"{name} state {i}", (cases.BATCH, n)) for i, n in enumerate(cases.INITIAL[name])]
            found["initial"][name] = answer(name, make(L), x, initial_state=[tf.constant(each) for each in states])
    for name, make in cases.STATEFUL.items():
        found["stateful"][name] = stateful(name, make)
    for name, make in cases.CONVOLUTIONS.items():
        found["conv"][name] = answer(name, make(L), [cases.numbers(name, cases.IMAGES)])
        batches = [[None, *cases.IMAGES[1:]]] + ([] if "flatten" in name else [[None, None, None, None, 2]])
        found["conv shapes"][name] = [[given, shapes(make, given)] for given in batches]
    found["models"] = {
        name: answer(name, make(L), cases.inputs_of(name, given)) for name, (make, given) in cases.MODELS.items()
    }
    found["cudnn"] = {name: cudnn(name, *both) for name, both in cases.CUDNN.items()}
    found["configs"] = {name: list(make(L).get_config()) for name, make in cases.LAYERS.items()}
    found["configs"] |= {name: list(make(L).get_config()) for name, make in cases.CONVOLUTIONS.items()}
    return found


if __name__ == "__main__":
    with gzip.GzipFile("tests/fixtures/keras_recurrent.json.gz", "wb", mtime=0) as file:
        file.write(json.dumps(record(), separators=(",", ":")).encode())
