"""Devices of eager operations; those on a GPU run with `--pretend-gpu`, or on a machine with one."""

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import thalweg as tf
from thalweg._src.runtime.eager.graph import EagerGraph
from thalweg._src.runtime.eager.mode import eager_graph

pytestmark = pytest.mark.usefixtures("eager")


@pytest.fixture
def gpu():
    """Returns the name of the first GPU."""
    found = [device.name for device in eager_graph().devices if device.type == "GPU"]
    if not found:
        pytest.skip("needs a GPU")
    return found[0]


def is_on_gpu(*tensors):
    return [tensor.device.endswith("GPU:0") for tensor in tensors]


def test_the_host_is_a_device():
    with tf.device("/cpu:0"):
        x = tf.constant([1.0, 2.0])
        assert x.device == (x + x).device == "/job:localhost/replica:0/task:0/device:CPU:0"
        with tf.device(None):
            assert tf.Variable(1.0).device


def test_devices_that_do_not_exist():
    with (
        pytest.raises(tf.errors.InvalidArgumentError, match="GPU:77 unknown device; expected one of"),
        tf.device("/gpu:77"),
    ):
        tf.constant(1.0)
    with pytest.raises(RuntimeError, match="does not support functions"), tf.device(lambda operation: "/cpu:0"):
        tf.constant(1.0)
    with EagerGraph(tf.ConfigProto(allow_soft_placement=True)).as_default(), tf.device("/gpu:77"):
        assert tf.constant(1.0).device.endswith("CPU:0")


def test_several_virtual_cpus():
    with EagerGraph(tf.ConfigProto(device_count={"CPU": 2, "GPU": 0})).as_default():
        with tf.device("/cpu:1"):
            x = tf.constant([1.0]) * 2.0
        assert x.device.endswith("CPU:1") and (x + 1.0).device.endswith("CPU:0")


def test_numbers_are_computed_on_the_gpu_and_shapes_on_the_host(gpu):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    y = tf.matmul(x, x) + 1.0
    assert x.device == y.device == gpu
    assert is_on_gpu(tf.reshape(y, [4]), tf.argmax(y, 1), tf.random_normal([2]), tf.zeros([2])) == [True] * 4
    shape, counter = tf.shape(y), tf.constant(3)
    assert is_on_gpu(shape, shape + 1, counter, counter > 2, tf.range(3), tf.constant("text")) == [False] * 6
    np.testing.assert_array_equal(tf.reduce_sum(y, axis=shape[:1] - 2).numpy(), [24.0, 34.0])


def test_inputs_are_copied(gpu):
    with tf.device("/cpu:0"):
        x = tf.constant([1.0, 2.0])
        y = tf.identity(tf.constant([3.0, 4.0]))
    with tf.device("/gpu:0"):
        z = tf.identity(x)
        indices = tf.identity([1, 0])
        text = tf.string_join(["a", "b"])
    assert is_on_gpu(x, y, z, indices, text) == [False, False, True, True, False]
    total = x + z * tf.gather(y, indices)
    assert is_on_gpu(total) == [True] and total.numpy().tolist() == [5.0, 8.0]
    with tf.device("/cpu:0"):
        assert is_on_gpu(total + 1.0) == [False]


def test_operations_on_variables_run_where_these_are(gpu):
    with tf.device("/cpu:0"):
        on_host = tf.Variable([1.0, 2.0])
    on_gpu, counter = tf.Variable([1.0, 2.0]), tf.Variable(1)
    assert is_on_gpu(on_host, on_gpu, counter) == [False, True, False]
    for variable in (on_host, on_gpu):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(variable * variable * tf.constant(2.0))
        grad = tape.gradient(loss, variable)
        tf.train.AdamOptimizer(0.5).apply_gradients([(grad, variable)])
        np.testing.assert_allclose(variable.numpy(), [0.5, 1.5], rtol=1e-6)
        assert variable.assign_add([1.0, 1.0]).device == variable.device
    assert is_on_gpu(on_host.value(), on_host.read_value(), on_gpu.value()) == [False, True, True]


def test_elements_of_datasets_are_in_host_memory(gpu):
    factor = tf.constant([2.0, 3.0])
    dataset = tf.data.Dataset.from_tensor_slices(np.ones([4, 2], np.float32)).map(lambda x: x * factor).batch(2)
    for batch in dataset:
        assert is_on_gpu(batch, batch + 1.0) == [False, True]
        assert batch.numpy().tolist() == [[2.0, 3.0]] * 2


class _CopiesToHost(TorchDispatchMode):
    """Counts the copies from an accelerator to the host."""

    count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        inputs = [value for value in args if isinstance(value, torch.Tensor)]
        if isinstance(result, torch.Tensor) and result.device.type == "cpu":
            self.count += any(tensor.device.type != "cpu" for tensor in inputs)
        return result


def test_the_host_waits_for_no_value_before_it_is_read(gpu):
    weights = tf.Variable(tf.ones([3, 2]))
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)

    def train():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.relu(tf.matmul(tf.ones([4, 3]), weights) - 1.0) ** 2.0)
        optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
        return loss

    with _CopiesToHost() as copies:
        losses = [train() for _ in range(3)]
        assert copies.count == 0
        assert losses[0].numpy() == 4.0 and copies.count == 1


def test_a_function_changes_a_variable_where_it_is(gpu):
    weights, steps = tf.Variable(np.ones([4], np.float32)), tf.Variable(np.int64(0))
    rate = tf.constant(0.1)

    @tf.function
    def train(x):
        weights.assign_sub(rate * x / (tf.sqrt(x) + 1e-7), read_value=False)
        steps.assign_add(1, read_value=False)

    found = []
    for _ in range(6):
        train(tf.constant(np.ones([4], np.float32)))
        found.append(steps.numpy())
    assert found == [1, 2, 3, 4, 5, 6]
    assert is_on_gpu(weights._handle, steps._handle) == [True, False]


def test_functions_take_and_return_values_in_the_memory_of_the_gpu(gpu):
    weights = tf.Variable(np.eye(3, dtype=np.float32))

    @tf.function
    def hidden(x, scale):
        return tf.nn.relu(tf.matmul(x, weights) * tf.cast(scale, tf.float32)), tf.shape(x)

    @tf.function
    def train(x):
        with tf.GradientTape() as tape:
            y, _ = hidden(x, 2)
            loss = tf.reduce_sum(y * y)
        weights.assign_sub(0.01 * tape.gradient(loss, weights))
        return loss

    x = tf.constant(np.ones([2, 3], np.float32))
    losses = []
    with _CopiesToHost() as copies:
        for _ in range(8):  # the last ones are captured and replayed
            with tf.GradientTape() as tape:
                tape.watch(x)
                y, shape = hidden(x, 2)
                total = tf.reduce_sum(y)
            grad = tape.gradient(total, x)
            losses.append(train(x))
        assert copies.count == 0
    assert is_on_gpu(y, shape, total, grad, *losses) == [True, False, True, True, *[True] * 8]
    values = np.array([loss.numpy() for loss in losses])
    expected, matrix = [], np.eye(3)
    for _ in range(8):
        product = np.ones([2, 3]) @ matrix * 2
        expected.append(np.sum(product**2))
        matrix -= 0.01 * np.ones([3, 2]) @ (2 * product) * 2
    np.testing.assert_allclose(values, expected, rtol=1e-5)  # values that were returned do not change


def test_a_function_copies_inputs_to_the_memory_of_those_of_its_first_call(gpu):
    double = tf.function(lambda x: x * 2.0)
    with tf.device("/cpu:0"):
        on_host = tf.constant([3.0, 4.0])
    assert double(tf.constant([1.0, 2.0])).numpy().tolist() == [2.0, 4.0]
    assert double(on_host).numpy().tolist() == [6.0, 8.0]


def test_a_function_without_kernels_for_the_gpu_takes_values_from_it(gpu):
    describe = tf.function(lambda x: tf.strings.as_string(x + 1.0))
    result = describe(tf.constant([1.0, 2.0]))
    assert not any(is_on_gpu(result)) and result.numpy().tolist() == [b"2.000000", b"3.000000"]
