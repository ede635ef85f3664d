"""Records TensorFlow's answers to the cases of layers: `.venv-bench/tf/bin/python tests/keras/record_layers.py`."""

import gzip
import json
import os
import sys
from pathlib import Path

os.environ.update(TF_USE_LEGACY_KERAS="1", CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")
sys.path.insert(0, str(Path(__file__).parent))

import layer_cases
import numpy as np
import tensorflow as tf

LAYERS = tf.compat.v1.keras.layers
FIXTURE = Path(__file__).parent.parent / "fixtures" / "keras_layers.json.gz"


def numbers(value):
    """Returns an array as lists of numbers with seven digits, None for None."""
    if value is None:
        return None
    array = np.asarray(tf.convert_to_tensor(value))
    return [f"{x:.7g}" for x in array.ravel().tolist()] if array.dtype.kind == "f" else array.ravel().tolist()


def answer(number):
    """Returns what TensorFlow computes for one case."""
    case = layer_cases.CASES[number]
    layer = getattr(LAYERS, case["layer"])(**case["arguments"])
    inputs = [tf.constant(array) for array in layer_cases.inputs_of(number)]
    for tensor, mask in zip(inputs, layer_cases.masks_of(number)):
        if mask is not None:
            tensor._keras_mask = tf.constant(mask)
    given = inputs[0] if len(inputs) == 1 else inputs
    shapes = [tensor.shape for tensor in inputs]
    layer.build(shapes[0] if len(inputs) == 1 else shapes)
    layer.set_weights(layer_cases.weights_of(number, [(w.name, w.shape.as_list()) for w in layer.weights]))
    with tf.GradientTape() as tape:
        floats = [tensor for tensor in inputs if tensor.dtype.is_floating]
        tape.watch(floats)
        output = layer(given, **case["call"])
        loss = tf.reduce_sum(output * layer_cases.factors_of(number, output.shape))
    try:
        gradients = [numbers(each) for each in tape.gradient(loss, [*layer.trainable_weights, *floats])]
    except tf.errors.OpError:  # some gradients have no kernel for channels_first on a CPU
        gradients = None
    return {
        "shape": output.shape.as_list(),
        "output": numbers(output),
        "gradients": gradients,
        "weights": [numbers(weight) for weight in layer.get_weights()],
        "mask": numbers(getattr(output, "_keras_mask", None)),
        "losses": [numbers(value) for value in layer.losses],
    }


if __name__ == "__main__":
    answers = [answer(number) for number in range(len(layer_cases.CASES))]
    for number, found in enumerate(answers):
        if found["gradients"] is None:
            print(layer_cases.name_of(number), "has no gradients")
    FIXTURE.write_bytes(gzip.compress(json.dumps(answers).encode(), mtime=0))
    print(len(answers), "answers,", FIXTURE.stat().st_size, "bytes")
