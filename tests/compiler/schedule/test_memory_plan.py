"""Deferred receives, memory limits, and execution orders within them."""

import numpy as np
import pytest

import thalweg as tf
from tests.compiler.place.problems import CPU
from tests.compiler.place.watched import held_in
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.compiler.optimize.optimize import optimize
from thalweg._src.compiler.partition.partition import partition
from thalweg._src.compiler.place.place import place
from thalweg._src.compiler.schedule import memory_plan
from thalweg._src.compiler.schedule.memory_plan import plan_memory

MB = 1 << 20


def config(cpus=2, **limits):
    proto = tf.ConfigProto(device_count={"CPU": cpus, "GPU": 0})
    for name, megabytes in limits.items():
        proto.experimental.memory_limit_in_mb[f"/cpu:{name[-1]}"] = megabytes
    return proto


def parts_of(fetches, feeds=(), targets=()):
    step = step_graph(list(feeds), list(fetches), list(targets))
    optimize(step, tf.GraphOptions(), lambda node: None)
    return partition(step, place(step, CPU[:2], lambda node: {"CPU"}, False).devices)


def layers_with_weights_elsewhere(count=5, size=1024):
    """Each layer's weights come from another device, and all could be sent at the start of the step."""
    x = tf.placeholder(tf.float32, [256, size], name="x")
    with tf.device("/cpu:0"):
        weights = [tf.get_variable(f"w{i}", [size, size], initializer=tf.zeros_initializer()) for i in range(count)]
    with tf.device("/cpu:1"):
        h = x
        for w in weights:
            h = tf.tanh(tf.matmul(h, w))
        return x, tf.reduce_sum(h, name="y")


def wide(count=8, size=1 << 18):
    """In breadth-first program order: all large tensors are computed before any is consumed."""
    large = [tf.random_uniform([size], name=f"large{i}") for i in range(count)]
    return tf.add_n([tf.reduce_sum(tensor, name=f"small{i}") for i, tensor in enumerate(large)], name="total")


def estimated(session, fetches, feeds=()):
    estimates = session._plan(fetches, tuple(feeds)).executable.placement.memory.estimates
    return {name[-1]: estimate.peak for name, estimate in estimates.items()}


# -- deferred receives ------------------------------------------------------------------------------------------------


def test_large_tensors_are_received_when_they_are_needed(monkeypatch):
    x, y = layers_with_weights_elsewhere()
    early = parts_of([y], [x])
    monkeypatch.setattr(memory_plan, "_WORTH", 1 << 40)
    before = plan_memory(early).estimates[CPU[1]].peak
    monkeypatch.undo()
    late = parts_of([y], [x])
    plan = plan_memory(late)
    assert plan.estimates[CPU[1]].peak <= before - 4 * MB
    receipts = [node for node in late[CPU[1]].nodes if node.type == "_Recv" and "/read/" in node.name]
    waiting = [node for node in receipts if node.controls]
    assert len(receipts) == 5 and len(waiting) >= 3
    assert all(control.type in ("MatMul", "Tanh") for node in waiting for control in node.controls)
    assert "large tensors are received only when they are needed" in plan.notes[0]


def test_deferred_receives_change_no_value():
    x, y = layers_with_weights_elsewhere()
    with tf.Session(config=config()) as session:
        session.run(tf.global_variables_initializer())
        rng = np.random.default_rng(1)
        values = [rng.normal(0, 0.05, [1024, 1024]).astype(np.float32) for _ in range(5)]
        for variable, value in zip(tf.global_variables(), values):
            variable.load(value, session)
        expected = feed = rng.random([256, 1024], np.float32)
        for value in values:
            expected = np.tanh(expected @ value)
        for _ in range(5):
            assert np.allclose(session.run(y, {x: feed}), expected.sum(), rtol=1e-3)


def test_small_tensors_and_steps_with_queues_are_not_deferred():
    x, y = layers_with_weights_elsewhere(size=64)
    partitions = parts_of([y], [x])
    assert plan_memory(partitions).notes == []
    assert not any(node.controls for graph in partitions.values() for node in graph.nodes if node.type == "_Recv")
    queue = tf.FIFOQueue(3, [tf.float32])
    with tf.variable_scope("other"):
        x, y = layers_with_weights_elsewhere()
    partitions = parts_of([y, queue.dequeue()], [x])
    assert plan_memory(partitions).notes == []  # reordering around a queue could deadlock
    assert not any(node.controls for graph in partitions.values() for node in graph.nodes if node.type == "_Recv")


def test_receives_on_the_critical_path_are_not_deferred():
    """The tensor is needed as soon as it is made."""
    with tf.device("/cpu:0"):
        a = tf.random_uniform([1 << 20])
    with tf.device("/cpu:1"):
        b = tf.reduce_sum(tf.sin(a))
    partitions = parts_of([b])
    assert plan_memory(partitions).notes == []


# -- limits -----------------------------------------------------------------------------------------------------------


def test_an_execution_order_within_the_limit_is_found():
    total = wide()
    with tf.Session(config=config(1)) as session:
        assert estimated(session, total)["0"] > 8 * MB
        real, _ = held_in(session, total)
        assert real > 8 * MB
    with tf.Session(config=config(1, cpu0=3)) as session:
        assert estimated(session, total)["0"] <= 3 * MB
        real, _ = held_in(session, total)
        assert real <= 3 * MB
        assert 0.4 < session.run(total) / (8 << 18) < 0.6
        text = session.show_placement(total)
    assert "(limit 3.15 MB)" in text and "nodes are reordered to stay within the limit" in text


def test_effects_keep_their_order():
    seen = []

    def note(number):
        return lambda value: seen.append(number) or np.float32(value.sum())

    large = [tf.random_uniform([1 << 18], name=f"large{i}") for i in range(6)]
    total = tf.add_n([tf.py_func(note(i), [large[i]], tf.float32) for i in (3, 1, 5, 0, 2, 4)])
    with tf.Session(config=config(1)) as session:
        session.run(total)
        expected, seen[:] = list(seen), []
    with tf.Session(config=config(1, cpu0=9)) as session:
        session.run(total)
    assert seen == expected


def test_an_order_within_the_limit_is_not_changed():
    total = wide()
    with tf.Session(config=config(1)) as session:
        program = session.show_program(total)
    with tf.Session(config=config(1, cpu0=16)) as session:
        assert session.show_program(total) == program


def test_too_little_memory_is_an_error_before_anything_runs():
    ran = []
    with tf.device("/cpu:1"):
        a = tf.random_uniform([1 << 20], name="a")
        b = tf.matmul(tf.reshape(a, [1024, 1024]), tf.reshape(a, [1024, 1024]), name="b")
        c = tf.py_func(lambda value: ran.append(1) or value, [b], tf.float32)
    with tf.Session(config=config(cpu1=5)) as session, pytest.raises(tf.errors.ResourceExhaustedError) as caught:
        session.run(c)
    text = caught.value.message
    assert f"the step would exceed the memory limit of {CPU[1]}" in text
    assert "expected: at most 5.24 MB: memory_limit_in_mb is 5" in text
    assert "received: at most 8.39 MB while 'b' runs" in text
    assert "'b:0' float32[1024, 1024], 4.19 MB, defined at test_memory_plan.py:" in text
    assert "defined at: test_memory_plan.py:" in text and not ran
    assert caught.value.op.name == "b"
    with tf.Session(config=config(cpu1=16)) as session:
        session.run(c)
    assert ran


def test_unknown_dimensions_are_reported_as_an_assumption():
    x = tf.placeholder(tf.float32, [None, 1 << 18], name="x")
    y = tf.sin(x) + 1.0
    error = pytest.raises(tf.errors.ResourceExhaustedError, match="unknown dimensions are assumed to be 32")
    with tf.Session(config=config(1, cpu0=1)) as session, error:
        session.run(y, {x: np.zeros([1, 1 << 18])})


def test_a_receiving_device_stays_within_its_limit():
    x, y = layers_with_weights_elsewhere()
    with tf.Session(config=config(cpu1=8)) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            assert session.run(y, {x: np.ones([256, 1024])}) == 0.0
        assert estimated(session, y, [x])["1"] <= 8 * MB


def random_graph(seed):
    rng = np.random.default_rng(seed)
    sizes = (64, 512, 4096)
    values = [tf.random_uniform([64], 1.0, 2.0) * 0.0 + rng.random(64).astype(np.float32) for _ in range(3)]
    with tf.variable_scope(f"graph{seed}"):
        state = tf.get_variable("state", initializer=np.float32(1.0))
    for i in range(40):
        a, b = (values[rng.integers(len(values))] for _ in range(2))
        with tf.device(f"/cpu:{rng.integers(3)}"):
            size = sizes[rng.integers(3)]
            tensor = tf.tanh(tf.reduce_mean(a) + tf.reduce_sum(b[:7])) if i % 3 else tf.reduce_max(tf.sin(a)) - b[0]
            values.append(tf.fill([size], tensor) * tf.cast(tf.range(size), tf.float32) / size)
    with tf.control_dependencies(values[5:8]):
        update = state.assign_add(2.0)
    fetches = [tf.reduce_sum(values[i]) for i in rng.choice(len(values), 6, replace=False)]
    return state, [*fetches, tf.add_n([tf.reduce_mean(value) for value in values[3:]]), update]


def test_random_graphs_under_a_limit_give_the_same_results():
    reordered = 0
    for seed in range(6):
        state, fetches = random_graph(seed)
        with tf.Session(config=config(3)) as session:
            session.run(state.initializer)
            expected = [session.run(fetches) for _ in range(2)]
            peaks = estimated(session, fetches)
        for name, peak in peaks.items():
            proto = config(3)
            proto.experimental.memory_limit_in_mb[f"/cpu:{name}"] = peak * 0.9 / MB
            with tf.Session(config=proto) as session:
                try:
                    session.run(state.initializer)
                    results = [session.run(fetches, options=tf.RunOptions(timeout_in_ms=20_000)) for _ in range(2)]
                except tf.errors.ResourceExhaustedError:
                    continue
                reordered += 1
                assert estimated(session, fetches)[name] <= peak * 0.9
            for one, other in zip(expected, results):
                np.testing.assert_allclose(one, other, rtol=1e-4)
    assert reordered >= 4


@pytest.mark.parametrize(
    ("name", "megabytes"),
    [("/cpu:7", 5), ("/cpu:0", 0), ("/cpu:0", -1), ("/cpu:0", float("nan")), ("/cpu:0", float("inf"))],
)
def test_invalid_limits(name, megabytes):
    proto = config()
    proto.experimental.memory_limit_in_mb[name] = megabytes
    error = pytest.raises(tf.errors.InvalidArgumentError, match=r"(?s)memory_limit_in_mb.*expected: a positive number")
    with tf.Session(config=proto) as session, error:
        session.run(tf.constant(1.0) + tf.random_uniform([]))


def test_limits_of_unknown_devices():
    proto = config()
    proto.experimental.memory_limit_in_mb["cpu0"] = 5
    with (
        tf.Session(config=proto) as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="Invalid device name"),
    ):
        session.run(tf.constant(1.0) + tf.random_uniform([]))


def test_limits_of_gpus_as_tensorflow_writes_them():
    proto = tf.ConfigProto()
    proto.gpu_options.experimental.virtual_devices.add(memory_limit_mb=[100])
    gpu = "/job:localhost/replica:0/task:0/device:GPU:0"
    assert memory_plan.memory_limits(proto, [CPU[0], gpu]) == {gpu: 100 * MB}
    assert memory_plan.memory_limits(proto, [CPU[0]]) == {}  # a machine without it


# -- reports ----------------------------------------------------------------------------------------------------------


def test_run_metadata_has_the_costs():
    x, y = layers_with_weights_elsewhere(2, 64)
    metadata = tf.RunMetadata()
    with tf.Session(config=config()) as session:
        session.run(tf.global_variables_initializer())
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(y, {x: np.ones([256, 64])}, options, metadata)
        peaks = estimated(session, y, [x])
    costs = {entry.dimension: entry.cost for entry in metadata.cost_graph.cost}
    assert costs == {f"memory {CPU[int(name)]}": peak for name, peak in peaks.items()}
    product = next(node for node in metadata.cost_graph.node if node.name == "MatMul")
    assert product.device == CPU[1] and product.output_info[0].size == 256 * 64 * 4 and product.compute_cost > 0
    assert {metadata.cost_graph.node[info.preceding_node].name for info in product.input_info} == {
        "_arg_x_0",
        "w0/read/_recv_0",
    }
