"""The layers under the names that the cases of recurrent layers use, and calls of them in all modes."""

import contextlib
from types import SimpleNamespace

import numpy as np

import thalweg as tf
from tests.keras import recurrent_cases as cases
from thalweg._src.graph import nest
from thalweg._src.keras.backend import state
from thalweg._src.keras.engine.input_layer import Input
from thalweg._src.keras.engine.model import Model
from thalweg._src.keras.engine.sequential import Sequential
from thalweg._src.keras.layers import (
    bidirectional,
    cells,
    conv_recurrent,
    convolutional,
    core,
    cudnn_recurrent,
    embeddings,
    recurrent,
    recurrent_layers,
    wrappers,
)
from thalweg._src.runtime.eager.mode import eager_mode

_MODULES = (bidirectional, cells, conv_recurrent, convolutional, core, cudnn_recurrent, embeddings, recurrent)
L = SimpleNamespace(Input=Input, Model=Model, Sequential=Sequential)
for _module in (*_MODULES, recurrent_layers, wrappers):
    vars(L).update({name: value for name, value in vars(_module).items() if isinstance(value, type)})


@contextlib.contextmanager
def in_mode(mode):
    """Context manager: a graph with a session, or eager execution."""
    with contextlib.ExitStack() as entered:
        if mode == "graph":
            entered.enter_context(tf.Graph().as_default())
            entered.enter_context(tf.Session())
        else:
            entered.enter_context(eager_mode())
        yield


def values_of(mode, tensors):
    """Returns the values of tensors."""
    if mode == "graph":
        return state.get_session().run(list(tensors))
    return [tf.convert_to_tensor(each).numpy() for each in tensors]


def answer(mode, name, layer, inputs, **arguments):
    """Returns the outputs, and the gradients of their weighted sum with respect to the weights and the first input."""
    inputs = [tf.constant(each) for each in inputs]
    given = inputs[0] if len(inputs) == 1 else inputs
    if not isinstance(layer, Model):
        layer(given, **arguments)
    layer.set_weights(cases.weights_for(name, layer))
    sources = [*layer.trainable_weights, *([inputs[0]] if inputs[0].dtype.is_floating else [])]

    def total(outputs):
        factors = cases.coefficients([tuple(each.shape.as_list()) for each in outputs])
        return tf.add_n([tf.reduce_sum(each * factor) for each, factor in zip(outputs, factors)])

    if mode == "graph":
        outputs = nest.flatten(layer(given, **arguments))
        gradients = tf.gradients(total(outputs), sources)
    else:

        def differentiate():
            with tf.GradientTape() as tape:
                tape.watch([each for each in inputs[:1] if each.dtype.is_floating])
                outputs = nest.flatten(layer(given, **arguments))
                loss = total(outputs)
            return outputs, [tf.convert_to_tensor(each) for each in tape.gradient(loss, sources)]

        outputs, gradients = (tf.function(differentiate) if mode == "function" else differentiate)()
    gradients = [tf.convert_to_tensor(each) for each in gradients]
    found = values_of(mode, [*outputs, *gradients])
    return found[: len(outputs)], found[len(outputs) :]


def require_close(found, expected):
    """Fails unless arrays are close to recorded ones."""
    assert len(found) == len(expected)
    for each, wanted in zip(found, expected):
        np.testing.assert_allclose(each, np.array(wanted, np.float32), rtol=1e-4, atol=2e-6)
