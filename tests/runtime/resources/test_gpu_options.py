"""GPU options: visible GPUs and logical devices, on a machine with fake GPUs."""

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.runtime.resources import accelerators
from thalweg._src.runtime.resources.accelerators import Accelerator
from thalweg._src.runtime.resources.gpu_options import LogicalGpu, logical_gpus
from thalweg._src.runtime.session.device_lib import list_local_devices

MB = 1 << 20
GPU = "/job:localhost/replica:0/task:0/device:GPU:"


def config(visible="", *virtual, fraction=0.0, count=None):
    made = tf.ConfigProto()
    made.gpu_options.visible_device_list = visible
    made.gpu_options.per_process_gpu_memory_fraction = fraction
    if count is not None:
        made.device_count["GPU"] = count
    for limits in virtual:
        made.gpu_options.experimental.virtual_devices.add(memory_limit_mb=limits)
    return made


@pytest.fixture
def gpus(monkeypatch):
    """Puts so many GPUs into this machine; each torch device is the CPU."""

    def install(number):
        known = {**accelerators._accelerators, "GPU": Accelerator("GPU", "cpu", lambda: number)}
        monkeypatch.setattr(accelerators, "_accelerators", known)

    return install


@pytest.mark.parametrize(
    ("made", "devices"),
    [
        (config(), [0, 1, 2]),
        (config("2,0"), [2, 0]),
        (config(" 1 ,2"), [1, 2]),
        (config("2,0", count=1), [2]),
        (config(count=0), []),
        (config("9", count=0), []),
        (config("", [], [], []), [0, 1, 2]),
        (config("1", []), [1]),
    ],
)
def test_visible_gpus(made, devices):
    assert logical_gpus(made, 3) == [LogicalGpu(index) for index in devices]


def test_virtual_devices():
    made = config("", [100, 200.5], [], [300])
    assert logical_gpus(made, 3) == [(0, 100 * MB), (0, 200 * MB + MB // 2), (1, 0), (2, 300 * MB)]
    assert logical_gpus(config("2,1", [1], [2, 3]), 3) == [(2, MB), (1, 2 * MB), (1, 3 * MB)]
    assert logical_gpus(config("1", [1, 2], count=1), 3) == [(1, MB), (1, 2 * MB)]


def test_a_machine_without_gpus_checks_nothing():
    assert logical_gpus(config("7,x", [-1], fraction=0.5), 0) == []


@pytest.mark.parametrize(
    ("made", "error", "text"),
    [
        (config("0,x"), tf.errors.InvalidArgumentError, "'x' of '0,x' is not a number"),
        (config("0,"), tf.errors.InvalidArgumentError, "'' of '0,' is not a number"),
        (config("1_0"), tf.errors.InvalidArgumentError, "is not a number"),
        (config("-1"), tf.errors.InvalidArgumentError, "GPU -1, but there are 3"),
        (config("3"), tf.errors.InvalidArgumentError, "GPU 3, but there are 3"),
        (config("1,0,1"), tf.errors.InvalidArgumentError, "GPU 1 twice"),
        (config("0", [1], fraction=0.1), tf.errors.InvalidArgumentError, "are mutually exclusive"),
        (config("", [], [], [], []), tf.errors.UnknownError, "4 entries, but the session has 3 GPUs"),
        (config("0", [], [], count=8), tf.errors.UnknownError, "2 entries, but the session has 1 GPUs"),
        (config("0", [1], count=0), tf.errors.UnknownError, "1 entries, but the session has 0 GPUs"),
        (config("0,1", [], count=8), tf.errors.InvalidArgumentError, "each of the 2 visible GPUs, but has 1"),
        (config("", [1]), tf.errors.UnknownError, "each of the 3 visible GPUs, but has 1"),
        (config("0", [-5]), tf.errors.InvalidArgumentError, "must be positive, not -5"),
        (config("0", [0]), tf.errors.InvalidArgumentError, "must be positive, not 0"),
        (config("0", [float("nan")]), tf.errors.InvalidArgumentError, "must be positive, not nan"),
    ],
)
def test_invalid_options(made, error, text, gpus):
    gpus(3)
    with pytest.raises(error, match=text):
        tf.Session(config=made)


def test_priorities_match_limits():
    made = config("0", [1, 2])
    made.gpu_options.experimental.virtual_devices[0].priority.extend([0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="1 priorities for 2 limits"):
        logical_gpus(made, 1)


def test_a_session_has_them_and_runs_on_them(gpus):
    gpus(1)
    made = config("", [100, 200])
    with tf.Session(config=made) as session:
        found = [device for device in session.list_devices() if device.device_type == "GPU"]
        assert [(device.name, device.memory_limit_bytes) for device in found] == [
            (GPU + "0", 100 * MB),
            (GPU + "1", 200 * MB),
        ]
        x = tf.placeholder(tf.float32, [3])
        with tf.device("/gpu:0"):
            a = tf.sin(x, name="a")
        with tf.device("/gpu:1"):
            b = tf.exp(a, name="b")
        metadata = tf.RunMetadata()
        options = tf.RunOptions(output_partition_graphs=True)
        np.testing.assert_allclose(
            session.run(b, {x: [1, 2, 3]}, options, metadata), np.exp(np.sin([1, 2, 3])), rtol=1e-6
        )
    nodes = {node.name: node.device for graph in metadata.partition_graphs for node in graph.node}
    assert (nodes["a"], nodes["b"]) == (GPU + "0", GPU + "1")


def test_each_logical_gpu_has_its_own_limit(gpus):
    gpus(1)
    x = tf.placeholder(tf.float32, [1024, 1024])
    y = {}
    for index in range(2):
        with tf.device(f"/gpu:{index}"):
            y[index] = tf.matmul(x, x)
    with tf.Session(config=config("", [100, 2])) as session:
        session.run(y[0], {x: np.zeros([1024, 1024])})
        with pytest.raises(
            tf.errors.ResourceExhaustedError, match=r"GPU:1 in every execution order(?s:.*)at most 2\.1 MB"
        ):
            session.run(y[1], {x: np.zeros([1024, 1024])})


def test_the_smaller_of_two_limits_applies(gpus):
    gpus(1)
    made = config("", [100])
    made.experimental.memory_limit_in_mb["/gpu:0"] = 2
    x = tf.placeholder(tf.float32, [1024, 1024])
    with tf.device("/gpu:0"):
        y = tf.matmul(x, x)
    with tf.Session(config=made) as session, pytest.raises(tf.errors.ResourceExhaustedError):
        session.run(y, {x: np.zeros([1024, 1024])})


def test_list_local_devices(gpus):
    gpus(2)
    assert [device.name for device in list_local_devices()] == ["/device:CPU:0", "/device:GPU:0", "/device:GPU:1"]
    made = config("1,0", [5, 6], [7])
    made.device_count["CPU"] = 2
    assert [(d.name, d.memory_limit, d.physical_device_desc) for d in list_local_devices(made)][2:] == [
        ("/device:GPU:0", 5 * MB, "/physical_device:GPU:1"),
        ("/device:GPU:1", 6 * MB, "/physical_device:GPU:1"),
        ("/device:GPU:2", 7 * MB, "/physical_device:GPU:0"),
    ]


def test_torch_limits_the_sum(monkeypatch):
    """The allocator of torch knows GPUs only whole."""
    fractions = {}

    class Properties:
        total_memory = 1000 * MB

    monkeypatch.setattr(accelerators, "gpu_count", lambda: 3)
    monkeypatch.setattr(accelerators, "_use_arithmetic", lambda: None)
    monkeypatch.setattr(accelerators.torch.backends.cudnn, "benchmark", False)
    monkeypatch.setattr(accelerators.torch.cuda, "get_device_properties", lambda index: Properties)
    monkeypatch.setattr(
        accelerators.torch.cuda,
        "set_per_process_memory_fraction",
        lambda fraction, index: fractions.__setitem__(index, fraction),
    )
    accelerators._prepare_cuda(config("2,0,1", [100, 200], [], [5000]))
    assert fractions == {2: pytest.approx(0.3), 1: 1.0}
    fractions.clear()
    accelerators._prepare_cuda(config("1", fraction=0.5))
    assert fractions == {1: 0.5}
