"""Placers: against the optimum of small problems, and what all of them have to keep."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import thalweg as tf
from tests.compiler.place.problems import CPU, GPU, anywhere, chain, costs_of, group_named, layered, optimum, problem_of
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.compiler.optimize.optimize import optimize
from thalweg._src.compiler.place.cost import CostModel, Speed
from thalweg._src.compiler.place.place import place
from thalweg._src.compiler.place.placers import PLACERS, best_single, decide, register_placer
from thalweg._src.compiler.place.policy import learned
from thalweg._src.compiler.place.search import clusters, local_search

OURS = ("first", "single", "round_robin", "greedy", "critical_path", "local_search", "learned")
COMPARED = ("single", "greedy", "critical_path", "local_search", "learned")
CLEVER = ("greedy", "critical_path", "local_search", "learned")


@pytest.fixture
def registered():
    """Lets a test register placers, and forgets them afterwards."""
    before = dict(PLACERS._entries)
    yield register_placer
    PLACERS._entries = before


def towers(count=2, length=3, **links):
    """Chains that have nothing to do with each other until their sum."""
    x = tf.placeholder(tf.float32, [2], name="x")
    names = [[f"t{i}_{j}" for j in range(length)] for i in range(count)]
    y = tf.add_n([chain(x, *tower) for tower in names], name="sum")
    return problem_of([y], [x], dict.fromkeys([n for tower in names for n in tower] + ["sum"], 1), **links)


def fork():
    """A short and a long way from a to e: 1 + (1 | 2 + 2 | 3) + 1."""
    x = tf.placeholder(tf.float32, [2], name="x")
    a = tf.sin(x, name="a")
    e = tf.add_n([chain(a, "b"), chain(a, "c", "d"), chain(a, "f")], name="e")
    return problem_of([e], [x], {"a": 1, "b": 1, "c": 2, "d": 2, "f": 3, "e": 1}, latency=0.25)


def mixed():
    """Two kinds of device: one node is quick on the GPU, one has no kernel there."""
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.add(tf.sin(x, name="heavy"), tf.cos(chain(x, "light"), name="host"), name="out")
    costs = costs_of({"heavy": 4, "light": 1, "host": 1, "out": 1}, latency=0.25)
    costs.measured |= {f"GPU {name}": (0.5, 1) for name in ("heavy = Sin", "light = Sin", "out = AddV2", "out = Add")}
    types = lambda node: {"CPU"} if node.name == "host" else {"CPU", "GPU"}  # noqa: E731
    return problem_of([y], [x], devices=[CPU[0], GPU[0]], types=types, costs=costs)


# -- the optimum ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [towers, fork, mixed, functools.partial(towers, latency=3.0)])
@pytest.mark.parametrize("name", ["critical_path", "local_search", "learned"])
def test_the_optimum_of_small_problems(make, name):
    problem = make()
    assert decide(problem, name).schedule.finish == pytest.approx(optimum(problem))


@pytest.mark.parametrize("make", [towers, fork, mixed])
def test_greedy_is_near_the_optimum_of_small_problems(make):
    problem = make()
    assert decide(problem, "greedy").schedule.finish <= 1.15 * optimum(problem)


def test_towers_are_distributed_and_a_chain_is_not():
    problem = towers(2, 3)
    for name in CLEVER:
        assert decide(problem, name).schedule.finish == 3 + 0.5 + 1, name
    x = tf.placeholder(tf.float32, [2], name="z")
    line = problem_of([chain(x, "a", "b", "c")], [x], {"a": 1, "b": 1, "c": 1})
    for name in COMPARED:
        assert decide(line, name).schedule.transfers == 0, name


@pytest.mark.parametrize("name", CLEVER)
def test_a_shared_feed_does_not_serialize_two_branches(name):
    """The longer branch comes first and brings the feed along, but not the other branch, which used it first."""
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.add(tf.sin(x, name="left"), tf.cos(x, name="right"), name="y")
    problem = problem_of([y], [x], {"left": 4, "right": 5, "y": 1})
    assert decide(problem, name).schedule.finish == optimum(problem) < 10


def test_local_search_improves_on_its_start():
    rng = np.random.default_rng(3)
    fetches, feeds, times = layered(rng, 8, 5)
    problem = problem_of(fetches, feeds, times, devices=3, latency=1.0)
    seconds = problem.time(local_search(problem))
    assert seconds < min(decide(problem, name).schedule.finish for name in ("single", "greedy", "critical_path"))


def test_a_larger_learning_budget_improves_the_placement():
    rng = np.random.default_rng(5)
    fetches, feeds, times = layered(rng, 10, 4)
    problem = problem_of(fetches, feeds, times, latency=0.3)
    quick = problem.time(learned(problem, budget=1))
    assert problem.time(learned(problem)) < quick <= 1.001 * best_single(problem)[2].finish


def test_the_reward_can_be_customized():
    problem = towers()
    asked = []

    def time(choice):
        asked.append(choice)
        return float(sum(device == CPU[0] for device in choice.values()))

    choice = learned(problem, time=time, budget=10_000)
    assert len(asked) > 10
    assert set(choice.values()) == {CPU[1]}


def test_fast_devices_are_preferred():
    x = tf.placeholder(tf.float32, [256, 256], name="x")
    y = tf.matmul(tf.matmul(x, x, name="a"), x, name="b")
    speeds = {CPU[1]: Speed(1e12, 1e12, 1e-6)}
    problem = problem_of([y], [x], costs=CostModel(speeds))
    for name in COMPARED:
        assert set(decide(problem, name).choice.values()) == {CPU[1]}, name


# -- what every placer keeps ------------------------------------------------------------------------------------------


@st.composite
def random_problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    layers, width = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    devices = [*CPU[: draw(st.integers(1, 3))], *GPU[: draw(st.integers(0, 2))]]
    with tf.Graph().as_default() as graph:
        fetches, feeds, times = layered(rng, layers, width)
        costs = costs_of(times, latency=float(rng.choice([0.01, 0.5, 3.0])), kinds=("CPU", "GPU"))
    operations = [op for op in graph.get_operations() if op.name in times]
    step = step_graph(feeds, fetches, [])
    nodes = {node.name: node for node in step.nodes}
    for op in operations:
        node = nodes.get(op.name)
        if node is not None and rng.random() < 0.2:
            node.device = str(rng.choice(devices)).removeprefix("/job:localhost/replica:0/task:0")
        elif node is not None and rng.random() < 0.3:
            node.attrs = {**node.attrs, "_class": (f"loc:@{rng.choice(operations).name}",)}
    only_host = {op.name for op in operations if rng.random() < 0.2}
    types = lambda node: {"CPU"} if node.name in only_host else {"CPU", "GPU"}  # noqa: E731
    return step, devices, types, costs


@settings(max_examples=25, deadline=None)
@given(random_problems(), st.sampled_from(OURS))
def test_feasible_colocated_repeatable_and_no_worse_than_one_device(case, name):
    step, devices, types, costs = case
    nodes = {node.name: node for node in step.nodes}
    try:
        placement = place(step, devices, types, True, name, costs)
    except tf.errors.InvalidArgumentError:  # colocated with one that has no kernel there
        return
    for node, device in placement.devices.items():
        assert device.rpartition("device:")[2].partition(":")[0] in types(node)
    for group in placement.groups:
        assert {placement.devices[node] for node in group.nodes} <= set(group.feasible)
        assert len({placement.devices[node] for node in group.nodes}) == 1
    for node in step.nodes:
        for target in node.attrs.get("_class", ()):
            other = nodes.get(target.removeprefix("loc:@"))
            assert other is None or placement.devices[other] == placement.devices[node]
    again = place(step, devices, types, True, name, costs)
    assert again.devices == placement.devices
    if placement.schedule is not None and name in COMPARED:
        assert placement.schedule.finish <= 1.0001 * best_single(placement.schedule.problem)[2].finish


@pytest.mark.parametrize("search", [local_search, learned])
def test_the_seed_decides(search):
    fetches, feeds, times = layered(np.random.default_rng(1), 12, 6)
    problem = problem_of(fetches, feeds, times, devices=4, latency=0.5)
    small = functools.partial(search, problem, budget=10_000)
    assert small(seed=1) == small(seed=1)
    assert small(seed=1) != small(seed=2)


@pytest.mark.parametrize("devices", [2, 3])
def test_devices_that_share_all_cores_are_no_faster_than_one(devices):
    """Two devices on one core are no faster than one for any mix of long and short nodes."""
    fetches, feeds, times = layered(np.random.default_rng(8), 10, 6)
    costs = costs_of({name: seconds**4 for name, seconds in times.items()}, latency=0.0)
    costs.contention = {"CPU": 1.0}
    problem = problem_of(fetches, feeds, devices=devices, costs=costs)
    assert problem.time(local_search(problem, budget=20_000)) > 0.93 * best_single(problem)[2].finish


def test_large_problems_are_placed_in_seconds():
    fetches, feeds, times = layered(np.random.default_rng(2), 60, 50)
    problem = problem_of(fetches, feeds, times, devices=4, latency=0.2)
    alone = best_single(problem)[2].finish
    for name in ("greedy", "critical_path"):
        assert decide(problem, name).schedule.finish < 0.5 * alone
    assert problem.time(local_search(problem, budget=1)) < 0.5 * alone
    assert problem.time(learned(problem, budget=1)) <= 1.001 * alone


def test_clusters_hold_each_group_once():
    fetches, feeds, times = layered(np.random.default_rng(2), 20, 10)
    problem = problem_of(fetches, feeds, times)
    for count in (1, 8, 1000):
        sets = clusters(problem, count)
        assert sorted(i for cluster in sets for i in cluster) == [group.index for group in problem.groups]
    assert len(clusters(problem, 8)) < len(problem.groups) / 2


# -- custom placers ---------------------------------------------------------------------------------------------------


def test_the_result_of_a_placer_is_checked(registered):
    answers = {
        "nothing": lambda problem: {},
        "nowhere": lambda problem: dict.fromkeys(problem.groups, "/gpu:7"),
        "no_dict": lambda problem: [1],
        "others": lambda problem: {**problem.single(CPU[0]), "a": CPU[0]},
    }
    for name, answer in answers.items():
        registered(name, answer)
    problem = towers()
    for name in ("nothing", "nowhere"):
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=rf"(?s)'{name}' puts 't0_0'.*one of .*CPU:0.*defined at:"
        ):
            decide(problem, name)
    for name in ("no_dict", "others"):
        with pytest.raises(TypeError, match=f"'{name}': expected"):
            decide(problem, name)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"(?s)under 'gredy'.*greedy"):
        decide(problem, "gredy")
    with pytest.raises(KeyError, match="registered already"):
        registered("greedy", lambda problem: {})


def test_a_slow_placement_falls_back_to_one_device(registered):
    def scatter(problem):
        return {group: group.feasible[i % 2] for i, group in enumerate(problem.groups)}

    registered("scatter", scatter)
    registered("scatter_as_it_is", scatter, compared=False)
    problem = towers(1, 6)
    decision = decide(problem, "scatter")
    assert decision.schedule.finish == best_single(problem)[2].finish
    assert decision.why == "best single device" and "scatter: 10.000" not in decision.note
    assert "ms simulated against 7000.000 ms" in decision.note
    assert decide(problem, "scatter_as_it_is").schedule.finish > 7


# -- variables, loops, conditionals -----------------------------------------------------------------------------------


def test_a_variable_and_its_update_stay_together():
    x = tf.placeholder(tf.float32, [4, 8], name="x")
    y = tf.layers.dense(tf.layers.dense(x, 8, name="one"), 8, name="two")
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(y))
    step = step_graph([x], [], [train])
    optimize(step, tf.GraphOptions(), lambda node: None)
    assert [node.attrs["N"] for node in step.nodes if node.type == "_ApplyMomentumGroup"] == [4]
    placement = place(step, CPU[:2], anywhere, False, "round_robin")
    updates = [node for node in step.nodes if node.type == "_ApplyMomentumGroup"]
    assert sum(node.attrs["N"] for node in updates) == 4 and len(updates) == 2
    for node in step.nodes:
        for producer, _ in node.inputs:
            if producer.type == "VarHandleOp":
                assert placement.devices[producer] == placement.devices[node]
    assert set(placement.devices) == set(step.nodes)
    step = step_graph([x], [], [train])
    optimize(step, tf.GraphOptions(), lambda node: None)
    names = {node.name for node in step.nodes}
    place(step, CPU[:2], anywhere, False, "single")
    assert {node.name for node in step.nodes} == names  # one device, one update, as before


def test_a_loop_is_one_unit_unless_it_requests_devices():
    x = tf.placeholder(tf.float32, [2], name="x")

    def loop(device):
        def body(i, y):
            with tf.device(device):
                return i + 1, tf.sin(y, name="sin")

        return tf.while_loop(lambda i, y: i < 3, body, [0, x])[1]

    whole = problem_of([tf.cos(loop(None), name="after")], [x], optimized=True)
    inside = [node for node in group_named(whole, "while/sin").nodes if node.type != "_Arg"]
    assert {"_While", "Sin"} <= {node.type for node in inside}
    assert group_named(whole, "while/sin").feasible == tuple(CPU[:2])
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2], name="x")
        split = problem_of([tf.cos(loop("/cpu:1"), name="after")], [x], optimized=True)
    assert group_named(split, "while/sin").feasible == (CPU[1],)
    loops = [group for group in split.all_groups if group.nodes[0].type == "_While"]
    assert len(loops) == 1 and len(loops[0].feasible) == 1
    assert len(group_named(split, "after").feasible) == 2


@pytest.mark.parametrize("name", OURS)
def test_steps_with_loops_and_branches_run_the_same_wherever_they_are(name):
    x = tf.placeholder(tf.float32, [3], name="x")

    def body(i, y, total):
        with tf.device("/cpu:1"):
            z = tf.sin(y)
        return i + 1, z + 1.0, total + tf.reduce_sum(z)

    plain = tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, tf.cos(y) * 2.0), [0, x])[1]
    apart = tf.while_loop(lambda i, *_: i < 3, body, [0, x, 0.0])[1:]
    branch = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.sin(plain), lambda: apart[0])
    fetches = [plain, *apart, branch, tf.gradients(branch, x)[0]]
    expected = None
    for placer in ("", name):
        config = tf.ConfigProto(device_count={"CPU": 3, "GPU": 0})
        config.experimental.placer = placer
        with tf.Session(config=config) as session:
            for value in (1.0, -1.0):
                got = session.run(fetches, {x: np.full(3, value, np.float32)})
                if placer == "" and value == 1.0:
                    expected = []
                if placer == "":
                    expected.append(got)
                else:
                    for ours, value_there in zip(got, expected[int(value < 0)]):
                        np.testing.assert_allclose(ours, value_there, rtol=1e-6)


def test_state_stays_where_the_first_step_put_it():
    state_devices = {}
    v = tf.get_variable("v", [4])
    noise = tf.random_uniform([4], seed=1, name="noise")
    devices = [CPU[0], *GPU]
    step = step_graph([], [], [v.initializer])
    place(step, devices, anywhere, False, "round_robin", state_devices=state_devices)
    assert state_devices["v"] == GPU[0]  # where all steps look for it first
    step = step_graph([], [tf.sin(noise + v, name="y")], [])
    place(step, devices, anywhere, False, "round_robin", state_devices=state_devices)
    (random,) = [node.name for node in step.nodes if node.type == "RandomUniform"]
    first = state_devices[random]
    for _ in range(2):
        step = step_graph([], [tf.cos(tf.sin(noise)), noise], [])
        placement = place(step, devices[::-1], anywhere, False, "round_robin", state_devices=state_devices)
        assert {d for n, d in placement.devices.items() if n.name == random} == {first}
    step = step_graph([], [v.read_value()], [])
    again = place(step, devices[::-1], anywhere, False, "round_robin", state_devices=state_devices)
    assert again.devices[step.nodes[0]] == GPU[0]
