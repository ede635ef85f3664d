"""The cost model: estimates by hand, measurements from traced runs, and its file."""

import json
import math
import time

import numpy as np
import pytest

import thalweg as tf
from tests.compiler.place.problems import CPU, GPU, costs_of, group_named, problem_of
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.compiler.place.cost import CostModel, Link, Speed, signature
from thalweg._src.compiler.place.placers import decide
from thalweg._src.compiler.place.work import FLOPS, Sizes, bytes_accessed, flop_count, flops
from thalweg._src.runtime.session.measured_costs import learn_costs, measure_costs

PLAIN = CostModel({"CPU": Speed(1e9, 1e9, 1e-6), "GPU": Speed(1e12, 1e11, 1e-5)})
SIZES = Sizes(unknown=7)


def node_of(tensor, feeds=()):
    return next(node for node in step_graph(list(feeds), [tensor], []).nodes if node.name == tensor.op.name)


def some(*shape):
    return tf.placeholder(tf.float32, shape)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: tf.matmul(some(3, 4), some(4, 5)), 2 * 3 * 4 * 5),
        (lambda: tf.matmul(some(4, 3), some(4, 5), transpose_a=True), 2 * 3 * 4 * 5),
        (lambda: tf.matmul(some(2, 3, 4), some(2, 4, 5)), 2 * 2 * 3 * 4 * 5),
        (lambda: tf.nn.conv2d(some(2, 8, 8, 3), some(3, 3, 3, 16), 1, "SAME"), 2 * 2 * 8 * 8 * 16 * 27),
        (lambda: tf.nn.conv2d(some(2, 8, 8, 3), some(3, 3, 3, 16), 2, "SAME"), 2 * 2 * 4 * 4 * 16 * 27),
        (lambda: tf.nn.max_pool(some(1, 4, 4, 2), 2, 2, "VALID"), 2 * 2 * 2 * 4),
        (lambda: tf.reduce_sum(some(3, 5), 1), 15),
        (lambda: tf.tanh(some(6)), 60),
        (lambda: some(6) * 2.0, 6),
        (lambda: tf.matmul(some(None, 4), some(4, 5)), 2 * 7 * 4 * 5),
        (lambda: tf.linalg.cholesky(some(2, 5, 5)), 2 * 2 * 125),
    ],
)
def test_operations_are_counted(make, expected):
    assert flop_count(node_of(make()), SIZES) == expected


def test_gradients_of_convolutions_cost_as_much_as_convolutions():
    x, w = tf.get_variable("x", [2, 8, 8, 3]), tf.get_variable("w", [3, 3, 3, 16])
    y = tf.nn.conv2d(x, w, 2, "SAME")
    counts = {flop_count(node_of(t), SIZES) for t in (y, *tf.gradients(y, [x, w]))}
    assert counts == {2 * 2 * 4 * 4 * 16 * 27}


def test_bytes():
    x = tf.placeholder(tf.float64, [2, None], name="x")
    assert SIZES.bytes(tf.float64, (2, None)) == 2 * 7 * 8
    assert SIZES.bytes(tf.int8, ()) == 1 and SIZES.bytes(tf.float32, None) == 4
    assert SIZES.bytes(tf.resource, ()) == 0 and SIZES.bytes(tf.string, (2,)) > 2
    assert bytes_accessed(node_of(x + x), SIZES) == 3 * 2 * 7 * 8
    assert bytes_accessed(node_of(tf.reshape(x, [-1])), SIZES) == 0
    v = tf.get_variable("v", [10])
    assert SIZES.persistent(node_of(v._handle)) == 40


def test_roofline_estimate_of_a_node():
    x = some(100)
    assert PLAIN.time(node_of(x + x), CPU[0]) == pytest.approx(1e-6 + 1200 / 1e9)
    assert PLAIN.time(node_of(x + x), GPU[0]) == pytest.approx(1e-5 + 1200 / 1e11)
    a = some(100, 100)
    assert PLAIN.time(node_of(tf.matmul(a, a)), CPU[0]) == pytest.approx(1e-6 + 2e6 / 1e9)
    assert PLAIN.time(node_of(tf.reshape(a, [-1])), CPU[0]) == 1e-6
    assert PLAIN.time(node_of(tf.constant([1.0, 2.0])), CPU[0]) == 0


def test_transfers():
    costs = CostModel(links={"CPU>GPU": Link(1.0, 10.0), f"{CPU[0]}>{CPU[1]}": Link(2.0, 1.0)})
    assert costs.transfer(20, CPU[0], GPU[0]) == 3
    assert costs.transfer(20, CPU[0], CPU[0]) == 0
    assert costs.transfer(20, CPU[0], CPU[1]) == 22
    assert costs.transfer(20, CPU[1], CPU[0]) < 1
    remote = "/job:worker/replica:0/task:3/device:CPU:0"
    assert costs.link(CPU[0], remote) == costs.link(remote, GPU[0]) == costs.links["remote"]


def test_users_can_register_flops_of_their_ops():
    tf.op("HeavyOp", "x: float32 -> y: float32", infer=lambda c: c.shapes)
    try:
        flops("HeavyOp")(lambda node, sizes: 1000.0 * sizes.elements(node.input_shape(0)))
        from thalweg._src.graph.op_def import OPS

        assert flop_count(node_of(OPS.lookup("HeavyOp")(some(3))), SIZES) == 3000
    finally:
        FLOPS._entries.pop("HeavyOp")
        OPS._entries.pop("HeavyOp")


# -- measurements -----------------------------------------------------------------------------------------------------


def stats(*rows):
    """Returns the statistics of a step: (device, node, type, microseconds)."""
    metadata = tf.RunMetadata()
    for device, name, kind, micros in rows:
        device_stats = metadata.step_stats.dev_stats.add(device=device)
        device_stats.node_stats.add(node_name=name, timeline_label=f"{name} = {kind}(x)", all_end_rel_micros=micros)
    return metadata.step_stats


def test_measured_times_replace_estimates():
    x = some(10, 10)
    y, z, other = tf.matmul(x, x, name="y"), tf.matmul(x, x, name="z"), tf.matmul(some(9, 10), x, name="other")
    costs = CostModel()
    node = node_of(y)
    used = costs.learn(stats((CPU[1], "y", "MatMul", 30), (CPU[0], "y", "MatMul", 10)), [node])
    assert used == 2
    assert costs.time(node, CPU[0]) == costs.time(node, CPU[3]) == pytest.approx(20e-6)
    assert costs.time(node_of(z), CPU[0]) == pytest.approx(20e-6)  # same type and shapes
    assert costs.time(node_of(other), CPU[0]) == costs.estimate(node_of(other), CPU[0])
    assert costs.time(node, GPU[0]) == costs.estimate(node, GPU[0])


def test_measurements_of_equal_names_in_other_graphs_are_not_used():
    costs = CostModel()
    costs.learn(stats((CPU[0], "y", "MatMul", 1000)))
    y = node_of(tf.sin(some(3), name="y"))
    assert costs.time(y, CPU[0]) == costs.estimate(y, CPU[0])


def test_costs_are_learned_from_a_traced_run():
    x = tf.placeholder(tf.float32, [64, 64], name="x")
    _, looped = tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, tf.matmul(y, y, name="inner")), [0, x * 0.01])
    y = tf.reduce_sum(tf.tanh(tf.matmul(x, x, name="product")) + looped, name="y")
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session(config=tf.ConfigProto(device_count={"GPU": 0})) as session:
        session.run(y, {x: np.eye(64)}, options=options, run_metadata=metadata)
    costs = CostModel()
    assert costs.learn(metadata.step_stats) >= 8
    assert costs.measured["CPU product = MatMul"][1] == 1
    assert costs.measured["CPU while/inner = MatMul"][1] == 5
    problem = problem_of([y], [x], costs=costs, optimized=True)
    loop = next(node for node in problem.units if node.type == "_While")
    assert costs.time(loop, CPU[0]) > 3 * costs.measured["CPU while/inner = MatMul"][0]


def test_tracing_overhead_is_subtracted():
    """Three nodes of 1, 1 and 10 us in a step of 6 us: tracing cost 2 us per node, but no time becomes negative."""
    x = some(3)
    a, b, c = (tf.sin(x, name="a"), tf.cos(x, name="b"), tf.tan(x, name="c"))
    costs = CostModel()
    rows = stats((CPU[0], "a", "Sin", 1), (CPU[0], "b", "Cos", 1), (CPU[0], "c", "Tan", 10))
    rows.dev_stats[0].node_stats.extend([*rows.dev_stats[1].node_stats, *rows.dev_stats[2].node_stats])
    del rows.dev_stats[1:]
    costs.learn(rows, seconds=6e-6)
    assert [costs.time(node_of(t), CPU[0]) for t in (a, b, c)] == pytest.approx([1e-7, 1e-7, 8e-6])


def test_devices_that_share_cores_slow_each_other_down():
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.add(tf.sin(x, name="a"), tf.cos(x, name="b"), name="y")
    costs = costs_of({"a": 4, "b": 4, "y": 1}, latency=0.5)
    spread = {"a": CPU[0], "b": CPU[1], "y": CPU[0]}
    for share, finish in ((0.0, 6.0), (0.5, 7.75), (1.0, 9.5)):
        costs.contention = {"CPU": share}
        problem = problem_of([y], [x], costs=costs)
        choice = {group_named(problem, name): device for name, device in spread.items()}
        assert problem.time(choice) == finish, share
        assert problem.time(problem.single(CPU[0])) == 9
        assert decide(problem, "local_search").schedule.transfers == (2 if share == 0.0 else 0)
    mixed = problem_of([y], [x], costs=costs, devices=[CPU[0], GPU[0]])
    assert mixed.pool_of == [0, 1]  # a GPU shares nothing with the CPU


def test_transfers_between_cpus_can_be_scaled():
    costs = CostModel(segment=1e-5)
    scaled = CostModel.from_json(costs.with_scaled_transfers(3.0).to_json())
    before, after = costs.links["CPU>CPU"], scaled.links["CPU>CPU"]
    assert (after.latency, after.overhead, scaled.segment) == pytest.approx(
        (3 * before.latency, 3 * before.overhead, 3e-5)
    )
    assert after.bandwidth == before.bandwidth and scaled.links["CPU>GPU"] == costs.links["CPU>GPU"]
    assert costs.segment == 1e-5


# -- measured in sessions ---------------------------------------------------------------------------------------------


def test_from_a_run_to_a_file_to_a_better_placement(tmp_path):
    """Both branches are estimated to be fast; a run shows that they are slow, so that two devices pay off."""
    x = tf.placeholder(tf.float32, [2], name="x")

    def slow(value):
        time.sleep(0.03)
        return np.sin(value)

    branches = [tf.py_func(slow, [x], tf.float32, stateful=False, name=name) for name in ("left", "right")]
    y = tf.add_n(branches, name="y")
    config = tf.ConfigProto(device_count={"CPU": 2, "GPU": 0})
    config.experimental.placer = "critical_path"
    with tf.Session(config=config) as session:
        assert "0 transfers" in session.show_placement(y, [x])
        costs = learn_costs(session, y, {x: [1.0, 2.0]}, steps=6)
    assert costs.measured["CPU left = PyFuncStateless"][0] > 0.02
    costs.save(tmp_path / "costs.json")
    config.experimental.cost_model = str(tmp_path / "costs.json")
    with tf.Session(config=config) as session:
        text = session.show_placement(y, [x])
        np.testing.assert_allclose(session.run(y, {x: [1.0, 2.0]}), 2 * np.sin([1.0, 2.0]), rtol=1e-6)
    rows = {line.split()[0]: line.split()[2] for line in text.split("\n\n")[0].splitlines()}
    assert rows["left"] != rows["right"]
    assert CostModel.load(tmp_path / "costs.json").measured == costs.measured


def test_devices_and_links_are_measured(tmp_path):
    config = tf.ConfigProto(device_count={"CPU": 2, "GPU": 0})
    costs = measure_costs(config, tmp_path / "costs.json", seconds=0.003)
    speed, link = costs.speeds["CPU"], costs.links["CPU>CPU"]
    measured = speed.flops, speed.bytes, speed.launch, link.latency + link.overhead, link.bandwidth
    assert all(0 < number < math.inf for number in measured) and costs.contention["CPU"] >= 0
    assert CostModel.load(tmp_path / "costs.json").to_json() == costs.to_json()


# -- files ------------------------------------------------------------------------------------------------------------


def test_json_round_trip(tmp_path):
    speeds = {"CPU": Speed(1.0, 2.0, 3.0), CPU[1]: Speed(4.0, 5.0, 0.0)}
    costs = CostModel(speeds, {"CPU>CPU": Link(0.0, 7.0)}, contention={"CPU": 0.5})
    costs.learn(stats((CPU[0], "y", "MatMul", 30), (GPU[0], "y", "MatMul", 10), (CPU[0], "y", "MatMul", 31)))
    path = tmp_path / "costs.json"
    costs.save(path)
    loaded = CostModel.load(path)
    assert loaded.to_json() == costs.to_json() == path.read_text()
    assert (loaded.speeds, loaded.links, loaded.measured) == (costs.speeds, costs.links, costs.measured)
    assert loaded.contention == {"CPU": 0.5}
    assert json.loads(costs.to_json())["measured"]["CPU y = MatMul"] == [pytest.approx(30.5e-6), 2]


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.pop("speeds"),
        lambda content: content.update(version=99),
        lambda content: content["links"].update({"CPU>CPU": {"latency": 1}}),
        lambda content: content["links"].update({"CPU>CPU": {"latency": 1, "bandwidth": 0}}),
        lambda content: content["speeds"].update(CPU={"flops": -1, "bytes": 1, "launch": 1}),
        lambda content: content.update(measured={"a": 3}),
        lambda content: content.update(contention={"CPU": "a lot"}),
        lambda content: content.update(measured=[]),
    ],
)
def test_damaged_files(change):
    content = json.loads(CostModel().to_json())
    change(content)
    with pytest.raises(ValueError, match="not a cost model"):
        CostModel.from_json(json.dumps(content))
    with pytest.raises(ValueError, match="not a cost model"):
        CostModel.from_json(json.dumps(content)[:-20])


def test_a_session_uses_the_cost_model_of_a_file(tmp_path):
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.add(tf.sin(tf.sin(x, name="a"), name="a2"), tf.cos(tf.cos(x, name="b"), name="b2"), name="y")
    config = tf.ConfigProto(device_count={"CPU": 2, "GPU": 0})
    config.experimental.placer = "greedy"
    with tf.Session(config=config) as session:
        assert "0 transfers" in session.show_placement(y, [x])  # nothing is worth sending
    costs = CostModel()
    costs.learn(stats(*[(CPU[0], n, t, 10_000) for n, t in (("a", "Sin"), ("a2", "Sin"), ("b", "Cos"), ("b2", "Cos"))]))
    config.experimental.cost_model = str(tmp_path / "costs.json")
    costs.save(config.experimental.cost_model)
    with tf.Session(config=config) as session:
        assert "2 transfers" in session.show_placement(y, [x])
        session.run(y, {x: [1.0, 2.0]})


def test_signatures_name_types_and_shapes():
    x = tf.placeholder(tf.float64, [2, None])
    assert signature(node_of(tf.matmul(x, x, transpose_a=True))) == "MatMul(float64[2, ?] float64[2, ?])"
