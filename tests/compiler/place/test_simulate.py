"""The simulator, compared with schedules computed by hand."""

import sys

import numpy as np
import pytest

import thalweg as tf
from tests.compiler.place.problems import CPU, chain, costs_of, group_named, layered, problem_of, unit_named
from thalweg._src.compiler.place.simulate import simulate


def spans(problem, schedule):
    return {n.name: (schedule.starts[i], schedule.ends[i]) for i, n in enumerate(problem.units) if n.type != "_Arg"}


def on(problem, **places):
    """Returns the choice that puts the named nodes on numbered devices, all others on the first."""
    choice = problem.single(CPU[0])
    for name, place in places.items():
        choice[group_named(problem, name)] = CPU[place]
    return choice


def diamond(latency=0.5, **more):
    """a -> (b, c) -> d, of 1, 2, 3 and 1 seconds."""
    x = tf.placeholder(tf.float32, [2], name="x")
    a = tf.sin(x, name="a")
    d = tf.add(tf.sin(a, name="b"), tf.cos(a, name="c"), name="d")
    return problem_of([d], [x], {"a": 1, "b": 2, "c": 3, "d": 1}, latency=latency, **more)


def test_one_device_runs_one_node_at_a_time_in_program_order():
    problem = diamond()
    schedule = problem.simulate(problem.single(CPU[0]))
    assert spans(problem, schedule) == {"a": (0, 1), "b": (1, 3), "c": (3, 6), "d": (6, 7)}
    assert schedule.finish == 7 and schedule.busy == [7, 0]
    assert schedule.transfers == 0 and schedule.transferred == 0


def test_transfers_between_two_devices_take_time():
    problem = diamond()
    schedule = problem.simulate(on(problem, b=1))
    # b gets a at 1.5 and its result is back at 4.0, when c ends.
    assert spans(problem, schedule) == {"a": (0, 1), "b": (1.5, 3.5), "c": (1, 4), "d": (4, 5)}
    assert schedule.finish == 5 and schedule.busy_time() == {CPU[0]: 5, CPU[1]: 2}
    assert schedule.transfers == 2 and schedule.transferred == 16


def test_bytes_take_time_too():
    problem = diamond(latency=0.25, bandwidth=8.0)  # eight bytes take a second
    schedule = problem.simulate(on(problem, b=1))
    assert spans(problem, schedule)["b"] == (2.25, 4.25)
    assert schedule.finish == 6.5


def test_a_send_occupies_the_sender():
    problem = diamond(overhead=0.25)
    schedule = problem.simulate(on(problem, b=1))
    # a is sent until 1.25 and arrives at 1.75; b ends at 3.75 and arrives at 4.5, after c.
    assert spans(problem, schedule) == {"a": (0, 1), "b": (1.75, 3.75), "c": (1.25, 4.25), "d": (4.5, 5.5)}
    assert schedule.busy == [5.25, 2.25]


def test_starting_a_waiting_segment_has_a_cost():
    problem = diamond(segment=0.25)
    schedule = problem.simulate(on(problem, b=1))
    # b has what it needs at 1.5 and starts at 1.75; d has it at 4.25 and starts at 4.5. a and c do not wait.
    assert spans(problem, schedule) == {"a": (0, 1), "b": (1.75, 3.75), "c": (1, 4), "d": (4.5, 5.5)}
    assert problem.time(problem.single(CPU[0])) == 7


def test_nodes_with_the_same_transfers_form_a_segment():
    """What is ready in the middle of a segment does not run before its end, but beside the rest of it."""
    x = tf.placeholder(tf.float32, [2], name="x")
    a = tf.sin(x, name="a")
    c = tf.cos(a, name="c")
    d = tf.cos(tf.tan(a, name="b"), name="d")
    times = {"a": 1, "b": 1, "c": 4, "d": 2}
    problem = problem_of([c, d], [x], times, latency=0.0)
    schedule = problem.simulate(on(problem, b=1))
    # At 2 the device has c to end, 3 seconds, and d, 2: both at half the pace, then c alone.
    assert spans(problem, schedule) == {"a": (0, 1), "b": (1, 2), "c": (1, 7), "d": (2, 6)}
    costs = costs_of(times, latency=0.0)
    costs.contention = {"CPU": 0.0}  # two cores for all, and a thread for each segment
    problem = problem_of([c, d], [x], costs=costs)
    schedule = problem.simulate(on(problem, b=1))
    assert spans(problem, schedule) == {"a": (0, 1), "b": (1, 2), "c": (1, 5), "d": (2, 4)}


def test_more_threads_than_cores_share_them():
    x = tf.placeholder(tf.float32, [2], name="x")
    first = [tf.sin(x, name=f"s{i}") for i in range(3)]
    second = [tf.cos(value, name=f"c{i}") for i, value in enumerate(first)]
    costs = costs_of({**{f"s{i}": 0 for i in range(3)}, **{f"c{i}": 2 for i in range(3)}}, latency=0.5)
    for share, finish in ((0.0, 3.5), (0.5, 5.0), (1.0, 6.5)):
        costs.contention = {"CPU": share}
        problem = problem_of(second, [x], costs=costs)
        assert problem.time(on(problem, c0=1, c1=1, c2=1)) == pytest.approx(finish), share


def test_a_tensor_is_sent_to_a_device_once():
    x = tf.placeholder(tf.float32, [2], name="x")
    a = tf.sin(x, name="a")
    users = [tf.cos(a, name=f"u{i}") for i in range(3)]
    problem = problem_of(users, [x], {"a": 1, "u0": 1, "u1": 1, "u2": 1}, devices=3)
    schedule = problem.simulate(on(problem, u0=1, u1=1, u2=2))
    assert schedule.transfers == 2
    assert spans(problem, schedule) == {"a": (0, 1), "u0": (1.5, 2.5), "u1": (2.5, 3.5), "u2": (1.5, 2.5)}


def test_control_dependencies_and_their_signal():
    x = tf.placeholder(tf.float32, [2], name="x")
    a = tf.sin(x, name="a")
    with tf.control_dependencies([a]):
        b = tf.cos(x, name="b")
    problem = problem_of([b], [x], {"a": 2, "b": 1})
    assert problem.time(problem.single(CPU[0])) == 3
    schedule = problem.simulate(on(problem, b=1))
    assert spans(problem, schedule)["b"] == (2.5, 3.5)


def test_ready_nodes_run_in_program_order():
    x = tf.placeholder(tf.float32, [2], name="x")
    slow = tf.sin(x, name="slow")
    late = tf.cos(slow, name="late")
    early = tf.tan(x, name="early")
    problem = problem_of([late, early], [x], {"slow": 2, "late": 1, "early": 1})
    schedule = problem.simulate(problem.single(CPU[0]))
    assert spans(problem, schedule) == {"slow": (0, 2), "late": (2, 3), "early": (3, 4)}


def test_constants_are_replicated():
    x = tf.placeholder(tf.float32, [2], name="x")
    c = tf.constant([1.0, 2.0])
    a, b = tf.add(x, c, name="a"), tf.multiply(tf.sin(x, name="s"), c, name="b")
    problem = problem_of([a, b], [x], {"a": 1, "s": 1, "b": 1})
    schedule = problem.simulate(on(problem, b=1))
    assert schedule.transfers == 1  # the sine


def test_a_feed_is_placed_with_its_first_consumer():
    x = tf.placeholder(tf.float32, [2], name="x")
    a, b = tf.sin(x, name="a"), tf.cos(x, name="b")
    problem = problem_of([a, b], [x], {"a": 1, "b": 1})
    schedule = problem.simulate(on(problem, a=1))
    assert spans(problem, schedule) == {"a": (0, 1), "b": (0.5, 1.5)}


def test_an_empty_step():
    x = tf.placeholder(tf.float32, [2], name="x")
    problem = problem_of([x], [x])
    assert problem.groups == () and problem.time({}) == 0


# -- branches and loops -----------------------------------------------------------------------------------------------


def test_a_branch_counts_for_half():
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.cond(x > 0, lambda: tf.sin(x, name="yes"), lambda: tf.cos(x, name="no"))
    problem = problem_of([y], [x], {"cond/yes": 2, "cond/no": 4}, optimized=True)
    times = {node.name: problem.times[i][0] for i, node in enumerate(problem.units)}
    assert times["cond/yes"] == 1 and times["cond/no"] == 2


def test_a_loop_is_one_unit_with_the_assumed_trip_count():
    x = tf.placeholder(tf.float32, [2], name="x")
    _, y = tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, tf.sin(y, name="body")), [0, x])
    problem = problem_of([y], [x], {"while/body": 1}, optimized=True)
    loops = [unit for unit, node in enumerate(problem.units) if node.type == "_While"]
    assert len(loops) == 1 and "body" not in {node.name for node in problem.units}
    assert problem.times[loops[0]][0] == pytest.approx(problem.costs.iterations, rel=1e-2)
    assert len(group_named(problem, "while/body").nodes) > 2


# -- memory -----------------------------------------------------------------------------------------------------------


def test_memory_is_held_until_the_last_reader_ends():
    x = tf.placeholder(tf.float32, [100], name="x")  # 400 bytes
    y = chain(x, "a", "b", "c")
    problem = problem_of([y], [x], {"a": 1, "b": 1, "c": 1})
    assert problem.simulate(problem.single(CPU[0])).peak_memory() == {CPU[0]: 800, CPU[1]: 0}
    both = tf.add(y, tf.get_default_graph().get_tensor_by_name("a:0"), name="both")
    problem = problem_of([both], [x], {"a": 1, "b": 1, "c": 1, "both": 1})
    assert problem.simulate(problem.single(CPU[0])).peak_memory()[CPU[0]] == 1200  # a, with two others


def test_sent_tensors_occupy_memory_on_both_devices():
    x = tf.placeholder(tf.float32, [100], name="x")
    problem = problem_of([chain(x, "a", "b")], [x], {"a": 1, "b": 1})
    peaks = problem.simulate(on(problem, b=1)).peak_memory()
    assert peaks == {CPU[0]: 800, CPU[1]: 800}


def test_variables_are_always_live_and_views_are_free():
    v = tf.get_variable("v", [100])
    y = tf.reshape(tf.sin(v.read_value(), name="y"), [10, 10])
    problem = problem_of([tf.cos(tf.squeeze(y), name="z")], [], {"y": 1, "z": 1})
    assert problem.simulate(problem.single(CPU[0])).peak_memory()[CPU[0]] == 1200  # v, y, z


# -- size -------------------------------------------------------------------------------------------------------------


def lines_of(function):
    """Returns the result of a call, and how many lines of Python it ran."""
    count, before = 0, sys.gettrace()

    def trace(frame, event, arg):
        nonlocal count
        count += event == "line"
        return trace

    sys.settrace(trace)
    try:
        result = function()
    finally:
        sys.settrace(before)
    return result, count


def simulated(layers):
    """Simulates a random step of so many layers of a hundred nodes; returns also the lines that took for each node."""
    rng = np.random.default_rng(0)
    with tf.Graph().as_default():
        fetches, feeds, times = layered(rng, layers, 100)
        problem = problem_of(fetches, feeds, times, devices=4, latency=0.01)
    homes = [int(place) for place in rng.integers(0, 4, len(problem.all_groups))]
    schedule, lines = lines_of(lambda: simulate(problem, homes))
    _, more = lines_of(schedule.peak_memory)
    return problem, schedule, (lines + more) / len(problem.units)


def test_simulation_work_is_linear_in_the_nodes():
    problem, schedule, lines = simulated(130)
    assert lines < 1.3 * simulated(32)[2]
    assert schedule.finish >= max(schedule.busy) and len(problem.units) > 10_000
    for unit in (unit_named(problem, "n128_5"), unit_named(problem, "n129_99")):
        assert schedule.ends[unit] > schedule.starts[unit] > 0
