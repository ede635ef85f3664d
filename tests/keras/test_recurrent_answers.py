"""Recurrent layers and wrappers: the numbers, gradients and shapes of the real library, for equal weights."""

import gzip
import json
from pathlib import Path

import pytest

import thalweg as tf
from tests.keras import recurrent_cases as cases
from tests.keras.recurrent_layers import L, answer, in_mode, require_close, values_of
from thalweg._src.graph import nest
from thalweg._src.keras.backend import state

with gzip.open(Path(__file__).parent.parent / "fixtures" / "keras_recurrent.json.gz") as _file:
    ANSWERS = json.load(_file)
_SIZE = (cases.BATCH, cases.STEPS, cases.FEATURES)
# All kinds of loops, for the modes that take longer.
_SOME = ("simple", "gru, reset after", "lstm, sequences and states", "lstm, unrolled", "stacked cells", "bidirectional")
_MODES = [
    (mode, name)
    for name in cases.LAYERS
    for mode in ("graph", "eager", "function")
    if mode != "function" or name in _SOME
]
_MASKS = [("graph", "holes"), ("graph", "left"), ("eager", "right"), ("eager", "left")]


def _require(found, expected):
    require_close(found[0], expected["outputs"])
    require_close(found[1], expected["gradients"])


@pytest.mark.parametrize(("mode", "name"), _MODES)
def test_a_layer_gives_the_outputs_and_gradients_of_the_real_library(mode, name):
    with in_mode(mode):
        found = answer(mode, name, cases.LAYERS[name](L), [cases.numbers(name, _SIZE)])
    _require(found, ANSWERS["layers"][name])


@pytest.mark.parametrize("name", cases.MASKED)
@pytest.mark.parametrize(
    ("mode", "kind"), [("graph", "holes"), ("graph", "left"), ("eager", "right"), ("eager", "left")]
)
def test_masked_steps_are_skipped(mode, kind, name):
    with in_mode(mode):
        mask = tf.constant(cases.MASKS[kind])
        found = answer(mode, name, cases.LAYERS[name](L), [cases.numbers(name, _SIZE)], mask=mask)
    _require(found, ANSWERS["masked"][f"{name}, {kind}"])


@pytest.mark.parametrize("name", cases.INITIAL)
@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_a_layer_starts_from_given_states(mode, name):
    sizes = cases.INITIAL[name]
    arrays = [cases.numbers(f"{name} state {i}", (cases.BATCH, size)) for i, size in enumerate(sizes)]
    with in_mode(mode):
        states = [tf.constant(each) for each in arrays]
        found = answer(mode, name, cases.LAYERS[name](L), [cases.numbers(name, _SIZE)], initial_state=states)
    _require(found, ANSWERS["initial"][name])


@pytest.mark.parametrize("name", cases.LAYERS)
def test_static_shapes_are_those_of_the_real_library(name):
    for given, expected in ANSWERS["shapes"][name]:
        layer = cases.LAYERS[name](L)
        outputs = nest.flatten(layer(L.Input(batch_shape=given)))
        assert [each.shape.as_list() for each in outputs] == expected
        computed = layer.compute_output_shape(tuple(given))
        computed = computed if isinstance(computed, list) else [computed]
        assert [shape.as_list() for shape in computed] == expected


@pytest.mark.parametrize("name", cases.STATEFUL)
@pytest.mark.parametrize("mode", ["graph", "eager", "function"])
def test_a_stateful_layer_goes_on_where_the_last_batch_ended(mode, name):
    with in_mode(mode):
        layer = cases.STATEFUL[name](L)
        call = tf.function(layer) if mode == "function" else layer
        arrays = [cases.numbers(f"{name} {number}", _SIZE) for number in range(4)]
        layer(tf.constant(arrays[0]))
        layer.set_weights(cases.weights_for(name, layer))
        x = tf.placeholder(tf.float32, _SIZE) if mode == "graph" else None
        outputs = nest.flatten(layer(x)) if mode == "graph" else None
        for number, (array, expected) in enumerate(zip(arrays, ANSWERS["stateful"][name])):
            if number in (0, 2):
                layer.reset_states()
            if number == 3 and name != "bidirectional":
                sizes = [each.shape.as_list() for each in nest.flatten(layer.states)]
                layer.reset_states([cases.numbers(f"{name} state {i}", size) for i, size in enumerate(sizes)])
            if mode == "graph":
                session = state.get_session()
                found, _ = session.run([outputs, layer.get_updates_for(x)], {x: array})
            else:
                found = values_of(mode, nest.flatten(call(tf.constant(array))))
            require_close(found, expected)


@pytest.mark.parametrize("name", cases.CONVOLUTIONS)
@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_recurrent_convolutions_and_images_at_each_step_give_the_numbers_of_the_real_library(mode, name):
    with in_mode(mode):
        found = answer(mode, name, cases.CONVOLUTIONS[name](L), [cases.numbers(name, cases.IMAGES)])
    _require(found, ANSWERS["conv"][name])


@pytest.mark.parametrize("name", cases.CONVOLUTIONS)
def test_static_shapes_of_images_are_those_of_the_real_library(name):
    for given, expected in ANSWERS["conv shapes"][name]:
        layer = cases.CONVOLUTIONS[name](L)
        assert [each.shape.as_list() for each in nest.flatten(layer(L.Input(batch_shape=given)))] == expected


@pytest.mark.parametrize("name", cases.MODELS)
@pytest.mark.parametrize("mode", ["graph", "eager", "function"])
def test_models_of_recurrent_layers_give_the_numbers_of_the_real_library(mode, name):
    make, given = cases.MODELS[name]
    with in_mode(mode):
        found = answer(mode, name, make(L), cases.inputs_of(name, given))
    _require(found, ANSWERS["models"][name])


@pytest.mark.parametrize("name", cases.CUDNN)
@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_layers_with_the_weights_of_cudnn_compute_what_files_with_such_weights_mean(mode, name):
    with in_mode(mode):
        layer = cases.CUDNN[name][0](L)
        outputs, _ = answer(mode, name, layer, [cases.numbers(name, _SIZE)])
    require_close(outputs, ANSWERS["cudnn"][name])
