"""multi_gpu_model: equal numbers with batches that are split over devices."""

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.runtime.eager.mode import eager_mode

pytestmark = pytest.mark.cpu_only(reason="the virtual devices are those of the CPU, which a GPU comes before")
keras = tf.keras
multi_gpu_model = keras.utils.multi_gpu_model
X = np.random.RandomState(0).uniform(-1, 1, [7, 3]).astype(np.float32)
Y = np.random.RandomState(1).uniform(-1, 1, [7, 2]).astype(np.float32)


@pytest.fixture
def devices():
    """A session with three virtual devices."""
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 3})) as session:
        yield session


def network():
    first, second = keras.Input((3,), name="a"), keras.Input((3,), name="b")
    hidden = keras.layers.Dense(4, activation="tanh", name="hidden", kernel_initializer=keras.initializers.Ones())
    both = keras.layers.Concatenate()([hidden(first), hidden(second)])
    ones = keras.initializers.RandomUniform(seed=3)
    outputs = [keras.layers.Dense(size, name=f"out{size}", kernel_initializer=ones)(both) for size in (2, 1)]
    return keras.Model([first, second], outputs)


@pytest.mark.parametrize("options", [{}, {"cpu_merge": False}, {"cpu_relocation": True}], ids=str)
def test_parts_of_a_batch_give_the_whole(devices, options):
    model = network()
    parallel = multi_gpu_model(model, 3, **options)
    if options.get("cpu_relocation"):
        parallel.set_weights(model.get_weights())
    for one, other in zip(model.predict([X, X * 2]), parallel.predict([X, X * 2]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    assert parallel.output_names == ["out2", "out1"]
    used = {operation.device for operation in devices.graph.get_operations()}
    assert {"/device:CPU:0", "/device:CPU:1", "/device:CPU:2"} <= used


def test_training_is_that_of_one_device(devices):
    def losses(wrap):
        inputs = keras.Input((3,))
        model = keras.Model(inputs, keras.layers.Dense(2, kernel_initializer="ones")(inputs))
        trained = multi_gpu_model(model, [0, 2]) if wrap else model
        trained.compile(keras.optimizers.SGD(0.1), "mse")
        history = trained.fit(X, Y, batch_size=4, epochs=3, shuffle=False, verbose=0)
        return history.history["loss"], model.get_weights()

    (one, weights), (other, shared) = losses(False), losses(True)
    np.testing.assert_allclose(one, other, rtol=1e-5)
    for mine, theirs in zip(weights, shared):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


def test_devices_must_exist(devices):
    model = network()
    with pytest.raises(ValueError, match=r"'/cpu:3'\]\. However this session only has: .*'/cpu:2'\]"):
        multi_gpu_model(model, 4)
    for few in (1, [0]):
        with pytest.raises(ValueError, match="must be at least 2"):
            multi_gpu_model(model, few)


def test_eager_execution_is_refused():
    with eager_mode(), pytest.raises(ValueError, match=r"replicate a model by `tf\.distribute\.MirroredStrategy`"):
        multi_gpu_model(None, 2)


def test_a_parallel_model_is_described(devices):
    parallel = multi_gpu_model(network(), 2)
    again = keras.Model.from_config(parallel.get_config())
    again.set_weights(parallel.get_weights())
    for one, other in zip(parallel.predict([X, X]), again.predict([X, X]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
