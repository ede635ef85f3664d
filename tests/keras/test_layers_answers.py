"""Layers against TensorFlow's answers: outputs, gradients, weights after the call, masks and shapes."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import thalweg as tf
from tests.keras.layer_cases import CASES, factors_of, inputs_of, masks_of, name_of, weights_of
from thalweg._src.keras.layers.lookup import LAYERS, deserialize, serialize
from thalweg._src.runtime.eager.mode import eager_mode

FIXTURE = Path(__file__).parent.parent / "fixtures" / "keras_layers.json.gz"
ANSWERS = json.loads(gzip.decompress(FIXTURE.read_bytes()))
NUMBERS = range(len(CASES))


def array(numbers):
    return None if numbers is None else np.array([float(x) if isinstance(x, str) else x for x in numbers])


def close(found, expected):
    if expected is None or found is None:
        assert found is None and expected is None
    else:
        np.testing.assert_allclose(np.asarray(found).ravel(), array(expected), rtol=2e-4, atol=2e-5)


def made(number):
    """Returns the layer of a case, with its weights, and its inputs with their masks."""
    layer = LAYERS[CASES[number]["layer"]](**CASES[number]["arguments"])
    inputs = [tf.constant(x) for x in inputs_of(number)]
    for tensor, mask in zip(inputs, masks_of(number)):
        if mask is not None:
            tensor._keras_mask = tf.constant(mask)
    shapes = [tensor.shape for tensor in inputs]
    layer.build(shapes[0] if len(inputs) == 1 else shapes)
    if layer.weights:
        layer.set_weights(weights_of(number, [(w.name, w.shape.as_list()) for w in layer.weights]))
    return layer, inputs


def called(number, layer, inputs):
    """Returns the output, its mask, and the loss that gradients are of."""
    output = layer(inputs[0] if len(inputs) == 1 else inputs, **CASES[number]["call"])
    loss = tf.reduce_sum(output * factors_of(number, ANSWERS[number]["shape"]))
    mask = getattr(output, "_keras_mask", None)
    return output, mask, loss


def compare(number, output, mask, gradients, losses):
    expected = ANSWERS[number]
    assert list(np.shape(output)) == expected["shape"]
    close(output, expected["output"])
    close(mask, expected["mask"])
    if expected["gradients"] is not None:
        assert len(gradients) == len(expected["gradients"])
        for found, wanted in zip(gradients, expected["gradients"]):
            close(found, wanted)
    assert len(losses) == len(expected["losses"])
    for found, wanted in zip(losses, expected["losses"]):
        close(found, wanted)


@pytest.mark.parametrize("number", NUMBERS, ids=name_of)
def test_a_layer_in_a_graph_computes_what_tensorflow_does(number):
    with tf.Session() as session:
        layer, inputs = made(number)
        output, mask, loss = called(number, layer, inputs)
        floats = [tensor for tensor in inputs if tensor.dtype.is_floating]
        wanted = [*layer.trainable_weights, *floats]
        gradients = tf.gradients(loss, wanted) if ANSWERS[number]["gradients"] is not None else []
        gradients = [None if each is None else tf.convert_to_tensor(each) for each in gradients]
        fetched = [each for each in (output, mask, *gradients, *layer.losses) if each is not None]
        values, _ = session.run([fetched, layer.updates])
        found = {id(tensor): value for tensor, value in zip(fetched, values)}
        compare(
            number,
            *(found.get(id(each)) for each in (output, mask)),
            [found.get(id(each)) for each in gradients],
            [found[id(each)] for each in layer.losses],
        )
        assert output.shape.as_list() == ANSWERS[number]["shape"]
        for weight, expected in zip(layer.get_weights(), ANSWERS[number]["weights"]):
            close(weight, expected)


@pytest.mark.parametrize("number", NUMBERS, ids=name_of)
def test_a_layer_in_eager_execution_computes_what_tensorflow_does(number):
    with eager_mode():
        layer, inputs = made(number)
        with tf.GradientTape() as tape:
            floats = [tensor for tensor in inputs if tensor.dtype.is_floating]
            for tensor in floats:
                tape.watch(tensor)
            output, mask, loss = called(number, layer, inputs)
        wanted = [*layer.trainable_weights, *floats]
        gradients = tape.gradient(loss, wanted) if ANSWERS[number]["gradients"] is not None else []
        gradients = [None if each is None else tf.convert_to_tensor(each) for each in gradients]
        numbers = [None if each is None else each.numpy() for each in (output, mask, *gradients, *layer.losses)]
        compare(number, *numbers[:2], numbers[2 : 2 + len(gradients)], numbers[2 + len(gradients) :])
        for weight, expected in zip(layer.get_weights(), ANSWERS[number]["weights"]):
            close(weight, expected)


@pytest.mark.parametrize("number", NUMBERS, ids=name_of)
def test_a_layer_in_a_function_computes_what_tensorflow_does(number):
    with eager_mode():
        layer, inputs = made(number)
        masks = [getattr(tensor, "_keras_mask", None) for tensor in inputs]

        @tf.function
        def call(*tensors):
            for tensor, mask in zip(tensors, masks):
                if mask is not None:
                    tensor._keras_mask = mask
            return called(number, layer, tensors)[0]

        close(call(*inputs).numpy(), ANSWERS[number]["output"])
        for weight, expected in zip(layer.get_weights(), ANSWERS[number]["weights"]):
            close(weight, expected)


@pytest.mark.parametrize("number", NUMBERS, ids=name_of)
def test_the_static_shape_is_the_computed_one_for_any_batch(number):
    case = CASES[number]
    layer = LAYERS[case["layer"]](**case["arguments"])
    kind = tf.int32 if case["integers"] else tf.float32
    inputs = [tf.placeholder(kind, [None, *shape[1:]]) for shape in case["shapes"]]
    given = inputs[0] if len(inputs) == 1 else inputs
    output = layer(given, **case["call"])
    shapes = [tensor.shape for tensor in inputs]
    expected = [None, *ANSWERS[number]["shape"][1:]]
    assert tf.TensorShape(layer.compute_output_shape(shapes[0] if len(inputs) == 1 else shapes)).as_list() == expected
    if not case["arguments"].get("virtual_batch_size"):
        assert output.shape.as_list() == expected


@pytest.mark.parametrize("number", NUMBERS, ids=name_of)
def test_a_configuration_makes_an_equal_layer(number):
    layer = LAYERS[CASES[number]["layer"]](**CASES[number]["arguments"])
    config = layer.get_config()
    again = type(layer).from_config(json.loads(json.dumps(config)))
    assert json.dumps(again.get_config()) == json.dumps(config)
    assert {*CASES[number]["arguments"]} - {"fused"} <= {*config}
    assert json.dumps(serialize(deserialize(serialize(layer)))) == json.dumps(serialize(layer))
