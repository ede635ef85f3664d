"""Convolution, pooling and padding layers: what they refuse, settings, and the place of channels."""

import inspect

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.keras.backend import settings
from thalweg._src.keras.layers.lookup import LAYERS


@pytest.fixture
def first():
    settings.set_image_data_format("channels_first")
    yield
    settings.set_image_data_format("channels_last")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        *(
            (name, {"filters": 2, "kernel_size": 2})
            for name in ("Conv2D", "Conv3D", "Conv2DTranspose", "SeparableConv1D")
        ),
        ("DepthwiseConv2D", {"kernel_size": 2}),
        ("LocallyConnected2D", {"filters": 2, "kernel_size": 2}),
        *((name, {}) for name in ("UpSampling2D", "ZeroPadding2D", "Cropping3D", "MaxPooling2D", "AveragePooling3D")),
        ("GlobalMaxPooling2D", {}),
        ("SpatialDropout2D", {"rate": 0.5}),
    ],
)
def test_the_setting_of_keras_decides_where_channels_are(name, arguments, first):
    layer = LAYERS[name](**arguments)
    assert layer.data_format == "channels_first"
    assert LAYERS[name](**arguments, data_format="channels_last").data_format == "channels_last"


@pytest.mark.parametrize("name", ["Conv1D", "MaxPooling1D", "GlobalAveragePooling1D"])
def test_some_layers_of_sequences_have_channels_last_by_default(name, first):
    arguments = {"filters": 2, "kernel_size": 2} if name == "Conv1D" else {}
    assert LAYERS[name](**arguments).data_format == "channels_last"


def test_a_dilated_transposed_convolution_has_the_same_numbers_with_channels_first():
    x = np.random.RandomState(0).normal(size=(2, 5, 6, 3)).astype("float32")
    last = LAYERS["Conv2DTranspose"](4, 2, dilation_rate=2)
    other = LAYERS["Conv2DTranspose"](4, 2, dilation_rate=2, data_format="channels_first")
    outputs = last(tf.constant(x)), other(tf.constant(x.transpose(0, 3, 1, 2)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        other.set_weights(last.get_weights())
        found, transposed = session.run(outputs)
    np.testing.assert_allclose(found, transposed.transpose(0, 2, 3, 1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("Conv2D", {"filters": 2, "kernel_size": (1, 2, 3)}, "kernel_size"),
        ("Conv2D", {"filters": 2, "kernel_size": 2, "padding": "causal"}, "padding"),
        ("Conv2D", {"filters": 2, "kernel_size": 2, "data_format": "NHWC"}, "data_format"),
        ("Conv2D", {"filters": 2, "kernel_size": 2, "activation": "no such"}, "Unknown activation"),
        ("Conv2D", {"filters": 2, "kernel_size": 2, "kernel_initializer": "no such"}, "Unknown initializer"),
        ("Conv2DTranspose", {"filters": 2, "kernel_size": 2, "strides": 2, "output_padding": 2}, "output padding"),
        ("LocallyConnected1D", {"filters": 2, "kernel_size": 2, "padding": "same"}, "only .valid. is supported"),
        ("LocallyConnected1D", {"filters": 2, "kernel_size": 2, "implementation": 4}, "implementation"),
        ("UpSampling2D", {"interpolation": "area"}, "interpolation"),
        ("ZeroPadding2D", {"padding": (1, 2, 3)}, "2 elements"),
        ("Cropping2D", {"cropping": ((1, 2, 3), 1)}, "cropping"),
        ("MaxPooling2D", {"padding": "causal"}, "padding"),
    ],
)
def test_arguments_that_cannot_work_are_refused(name, arguments, words):
    with pytest.raises(ValueError, match=words):
        LAYERS[name](**arguments)


def test_an_unknown_argument_is_refused():
    with pytest.raises(TypeError, match="not understood"):
        LAYERS["Conv2D"](2, 2, groups=2)


@pytest.mark.parametrize("name", ["Conv2D", "DepthwiseConv2D", "SeparableConv2D"])
def test_the_number_of_channels_must_be_known(name):
    arguments = {"kernel_size": 2} if name == "DepthwiseConv2D" else {"filters": 2, "kernel_size": 2}
    with pytest.raises(ValueError, match="channel dimension"):
        LAYERS[name](**arguments)(tf.placeholder(tf.float32, [None, 5, 5, None]))


def test_a_locally_connected_layer_needs_known_sizes():
    with pytest.raises(ValueError, match="fully-defined"):
        LAYERS["LocallyConnected1D"](2, 2)(tf.placeholder(tf.float32, [None, None, 3]))


@pytest.mark.parametrize("implementation", [2, 3])
def test_a_locally_connected_layer_may_pad(implementation, fresh):
    layer = LAYERS["LocallyConnected1D"](1, 3, padding="same", implementation=implementation, kernel_initializer="ones")
    assert layer(tf.ones([1, 4, 1])).numpy().ravel().tolist() == [2, 3, 3, 2]


def test_an_input_of_another_rank_is_refused():
    with pytest.raises(ValueError, match="ndim=4"):
        LAYERS["Conv2D"](2, 2)(tf.zeros([2, 3, 4]))


def test_weights_are_named_by_layer_and_purpose():
    layer = LAYERS["SeparableConv2D"](2, 2, name="mixed")
    layer(tf.zeros([2, 3, 4, 3]))
    assert [w.name for w in layer.weights] == ["mixed/depthwise_kernel:0", "mixed/pointwise_kernel:0", "mixed/bias:0"]
    assert layer.count_params() == 2 * 2 * 3 + 3 * 2 + 2


def test_regularizers_of_kernel_bias_and_activity_become_losses():
    layer = LAYERS["Conv2D"](
        2,
        1,
        kernel_initializer="ones",
        bias_initializer="ones",
        kernel_regularizer="l2",
        bias_regularizer="l1",
        activity_regularizer="l2",
    )
    layer(tf.ones([2, 1, 1, 3]))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = sorted(session.run(layer.losses))
    np.testing.assert_allclose(found, [0.02, 0.06, 0.32], rtol=1e-5)  # activity: 4 outputs of 4, over a batch of 2


def test_weights_are_constrained_by_optimizers():
    layer = LAYERS["Conv1D"](1, 1, kernel_initializer="ones", kernel_constraint="non_neg", use_bias=False)
    loss = tf.reduce_sum(layer(tf.ones([1, 1, 1])))
    step = tf.train.GradientDescentOptimizer(5.0).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(layer.kernel).ravel().tolist() == [0]


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("Conv2D", ["filters", "kernel_size", "strides", "padding", "data_format", "dilation_rate", "activation"]),
        ("SeparableConv1D", ["filters", "kernel_size", "strides", "padding", "data_format", "dilation_rate"]),
        ("Conv2DTranspose", ["filters", "kernel_size", "strides", "padding", "output_padding", "data_format"]),
        ("DepthwiseConv2D", ["kernel_size", "strides", "padding", "depth_multiplier", "data_format", "activation"]),
        ("MaxPooling2D", ["pool_size", "strides", "padding", "data_format"]),
        ("BatchNormalization", ["axis", "momentum", "epsilon", "center", "scale", "beta_initializer"]),
    ],
)
def test_parameters_have_the_order_of_keras(name, names):
    found = list(inspect.signature(LAYERS[name].__init__).parameters)[1:]
    assert found[: len(names)] == names and found[-1] == "kwargs"


def test_unknown_spatial_sizes_are_found_when_a_step_runs():
    x = tf.placeholder(tf.float32, [None, None, None, 3])
    layers = [
        LAYERS["UpSampling2D"]((2, 3)),
        LAYERS["UpSampling2D"](2, interpolation="bilinear"),
        LAYERS["Cropping2D"](1),
        LAYERS["ZeroPadding2D"](2),
        LAYERS["Conv2DTranspose"](4, 3, strides=2),
        LAYERS["Conv2DTranspose"](4, 3, dilation_rate=2),
    ]
    outputs = [layer(x) for layer in layers]
    assert [output.shape.as_list() for output in outputs[:2]] == [[None, None, None, 3]] * 2
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = [value.shape for value in session.run(outputs, {x: np.zeros([2, 5, 6, 3])})]
    assert found == [(2, 10, 18, 3), (2, 10, 12, 3), (2, 3, 4, 3), (2, 9, 10, 3), (2, 11, 13, 4), (2, 9, 10, 4)]
    volumes = tf.placeholder(tf.float32, [None, None, 4, None, 3])
    repeated = LAYERS["UpSampling3D"]()(volumes)
    assert repeated.shape.as_list() == [None, None, 8, None, 3]
    with tf.Session() as session:
        assert session.run(repeated, {volumes: np.zeros([1, 2, 4, 3, 3])}).shape == (1, 4, 8, 6, 3)
