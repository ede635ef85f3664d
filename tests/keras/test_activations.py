"""Activations: values of the real Keras, gradients, and names."""

import numpy as np
import pytest

import thalweg as tf
from tests.keras.modes import MODES, evaluate
from thalweg._src.keras import activations
from thalweg._src.keras.serialization import custom_object_scope

_X = np.array([[-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0, 7.0]], np.float32)
_Y = np.arange(8, dtype=np.float32).reshape(2, 2, 2) / 4

# What tf_keras 2.21 computes of _X.
_VALUES = {
    "linear": [-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0, 7.0],
    "relu": [0.0, 0.0, 0.0, 0.0, 0.5, 1.0, 3.0, 7.0],
    "sigmoid": [0.04742587, 0.2689414, 0.37754068, 0.5, 0.62245935, 0.73105854, 0.95257413, 0.99908894],
    "hard_sigmoid": [0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 1.0, 1.0],
    "tanh": [-0.9950547, -0.7615942, -0.46211714, 0.0, 0.46211714, 0.7615942, 0.9950547, 0.99999833],
    "softmax": [
        *(4.432966e-05, 3.2755433e-04, 5.4004567e-04, 8.903849e-04),
        *(1.4679966e-03, 2.4203171e-03, 1.7883858e-02, 9.764256e-01),
    ],
    "elu": [-0.95021296, -0.63212055, -0.39346933, 0.0, 0.5, 1.0, 3.0, 7.0],
    "selu": [-1.6705687, -1.1113307, -0.69175816, 0.0, 0.5253505, 1.050701, 3.152103, 7.354907],
    "softplus": [0.04858736, 0.3132617, 0.474077, 0.6931472, 0.97407693, 1.3132616, 3.048587, 7.0009117],
    "softsign": [-0.75, -0.5, -0.33333334, 0.0, 0.33333334, 0.5, 0.75, 0.875],
    "exponential": [0.04978707, 0.36787945, 0.60653067, 1.0, 1.6487212, 2.7182817, 20.085537, 1096.6332],
}
_RELU = [
    ({"alpha": 0.1}, [-0.3, -0.1, -0.05, 0.0, 0.5, 1.0, 3.0, 7.0]),
    ({"max_value": 6.0}, [0.0, 0.0, 0.0, 0.0, 0.5, 1.0, 3.0, 6.0]),
    ({"max_value": 2.0}, [0.0, 0.0, 0.0, 0.0, 0.5, 1.0, 2.0, 2.0]),
    ({"threshold": 0.75}, [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 3.0, 7.0]),
    ({"alpha": 0.1, "threshold": 0.75}, [-0.375, -0.175, -0.125, -0.075, -0.025, 1.0, 3.0, 7.0]),
    ({"alpha": 0.1, "max_value": 6.0}, [-0.3, -0.1, -0.05, 0.0, 0.5, 1.0, 3.0, 6.0]),
    ({"alpha": 0.1, "max_value": 2.0, "threshold": 0.75}, [-0.375, -0.175, -0.125, -0.075, -0.025, 1.0, 2.0, 2.0]),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", _VALUES)
def test_an_activation_found_by_name_has_the_values_of_keras(name, mode):
    activation = activations.get(name)
    np.testing.assert_allclose(evaluate(mode, activation, _X), [_VALUES[name]], rtol=2e-6)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("arguments, expected", _RELU, ids=[",".join(arguments) for arguments, _ in _RELU])
def test_relu_leaks_below_a_threshold_and_has_a_largest_value(arguments, expected, mode):
    value = evaluate(mode, lambda x: activations.relu(x, **arguments), _X)
    np.testing.assert_allclose(value, [expected], rtol=2e-6, atol=1e-7)


def test_the_slope_of_relu_may_be_a_tensor(eager):
    value = activations.relu(_X, alpha=tf.constant(0.1), max_value=2.0)
    np.testing.assert_allclose(value.numpy(), [[-0.3, -0.1, -0.05, 0.0, 0.5, 1.0, 2.0, 2.0]], rtol=2e-6)


def test_relu_keeps_the_type_of_its_input(eager):
    for kind in (np.float64, np.float16):
        value = activations.relu(_X.astype(kind), alpha=0.5, max_value=2.0, threshold=0.5)
        assert value.numpy().dtype == kind


def test_elu_is_scaled_below_zero_alone(eager):
    value = activations.elu(_X, alpha=0.5).numpy()
    np.testing.assert_allclose(value, [[-0.4751065, -0.31606027, -0.19673467, 0, 0.5, 1, 3, 7]], rtol=2e-6)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "axis, expected",
    [
        (1, [[[0.37754065] * 2, [0.62245935] * 2]] * 2),
        (0, [[[0.26894143] * 2] * 2, [[0.73105854] * 2] * 2]),
        ((1, 2), [[[0.16529618, 0.2122445], [0.27252734, 0.34993201]]] * 2),
    ],
)
def test_softmax_sums_to_one_along_its_axes(axis, expected, mode):
    value = evaluate(mode, lambda x: activations.softmax(x, axis), _Y)
    np.testing.assert_allclose(value, expected, rtol=2e-6)


def test_softmax_of_a_vector_is_refused():
    with pytest.raises(ValueError, match=r"Cannot apply softmax to a tensor of shape \(3,\)"):
        activations.softmax([1.0, 2.0, 3.0])


def test_softmax_takes_a_tensor_of_unknown_rank():
    x = tf.placeholder(tf.float32)
    with tf.Session() as session:
        value = session.run(activations.softmax(x), {x: _Y})
    np.testing.assert_allclose(value.sum(-1), np.ones([2, 2]), rtol=1e-6)


def test_gradients_pass_through_an_activation(eager):
    x = tf.constant(_X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = activations.relu(x, alpha=0.1, max_value=2.0, threshold=0.75)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), [[0.1, 0.1, 0.1, 0.1, 0.1, 1.0, 0.0, 0.0]], rtol=1e-6)


def test_a_name_stands_for_a_function_and_the_function_for_its_name():
    for name in _VALUES:
        assert activations.serialize(activations.get(name)) == name
        assert activations.deserialize(name) is activations.get(name)
    assert activations.serialize(tf.nn.relu) == "relu"


def test_no_activation_is_linear_and_a_callable_is_itself():
    assert activations.get(None) is activations.linear
    assert activations.get(tf.sin) is tf.sin
    assert activations.linear(3) == 3


def test_an_activation_of_the_program_is_found_in_its_scope():
    def double(x):
        return x + x

    assert activations.deserialize("double", {"double": double}) is double
    with custom_object_scope({"double": double}):
        assert activations.get("double") is double
    with pytest.raises(ValueError, match="Unknown activation function: double"):
        activations.get("double")


def test_what_is_no_activation_is_refused():
    with pytest.raises(TypeError, match="Could not interpret activation function identifier: 3"):
        activations.get(3)
