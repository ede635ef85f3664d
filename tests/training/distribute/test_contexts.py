"""Contexts: the current strategy and replica, merge calls, and what must be called where."""

import threading

import numpy as np
import pytest

import thalweg as tf
from tests.training.distribute.programs import TWO, mirrored, one_device, session
from thalweg._src.training.distribute.values import Mirrored, PerReplica


def test_without_a_strategy_there_is_one_replica():
    assert not tf.distribute.has_strategy() and not tf.distribute.in_cross_replica_context()
    strategy = tf.distribute.get_strategy()
    assert strategy.num_replicas_in_sync == 1
    replica = tf.distribute.get_replica_context()
    assert replica.strategy is strategy and replica.num_replicas_in_sync == 1
    seen = []

    def merge(found, x):
        seen.append((found, tf.distribute.in_cross_replica_context(), tf.distribute.get_replica_context()))
        return x + 1

    assert replica.merge_call(merge, args=(1,)) == 2
    assert seen == [(strategy, True, None)]
    assert strategy.experimental_run_v2(lambda x: 2 * x, args=(3,)) == 6
    assert strategy.reduce("SUM", 5.0) == 5.0
    variable = tf.Variable(1.0)
    with strategy.scope():
        update = strategy.extended.update(variable, lambda v, x: v.assign_add(x), args=(2.0,))
    with session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(update) == 3.0


def test_scope_is_a_cross_replica_context():
    strategy = mirrored()
    with strategy.scope() as entered:
        assert entered is strategy is tf.distribute.get_strategy()
        assert tf.distribute.has_strategy() and tf.distribute.in_cross_replica_context()
        assert tf.distribute.get_replica_context() is None
        with strategy.scope():  # again: nothing changes
            assert tf.distribute.get_strategy() is strategy
        with tf.Graph().as_default():
            assert not tf.distribute.has_strategy()
    assert not tf.distribute.has_strategy()


def test_replicas_know_their_number_and_device():
    strategy = mirrored()
    found = []

    def step():
        replica = tf.distribute.get_replica_context()
        found.append((tf.distribute.in_cross_replica_context(), replica.devices, replica.num_replicas_in_sync))
        found.append(tf.constant(1.0).device)
        return replica.replica_id_in_sync_group

    numbers = strategy.experimental_run_v2(step)
    places = [f"/replica:0/task:0/device:CPU:{index}" for index in range(2)]
    assert strategy.extended.worker_devices == strategy.extended.parameter_devices == tuple(places)
    assert found == [(False, (places[0],), 2), places[0], (False, (places[1],), 2), places[1]]
    with session() as sess:
        assert sess.run(strategy.experimental_local_results(numbers)) == (0, 1)


def test_results_of_replicas_are_grouped():
    strategy, shared = mirrored(), tf.constant(1.0)
    result = strategy.experimental_run_v2(
        lambda x: {"sum": x + 1, "shared": shared, "name": "a"},
        args=(PerReplica([tf.constant(1.0), tf.constant(5.0)]),),
    )
    assert result["shared"] is shared and result["name"] == "a" and isinstance(result["sum"], PerReplica)
    with session() as sess:
        assert sess.run(strategy.unwrap(result["sum"])) == (2.0, 6.0)
        with pytest.raises(ValueError, match="has one value per replica"):
            sess.run(result["sum"])
    with pytest.raises(ValueError, match="same structure"):
        strategy.experimental_run_v2(lambda n: [1] * n, args=(PerReplica([1, 2]),))


def test_replicas_meet_in_merge_calls():
    strategy = mirrored()
    calls = []

    def merge(found, x, y, key):
        assert found is strategy and tf.distribute.in_cross_replica_context()
        calls.append((threading.current_thread(), tf.get_default_graph().get_name_scope(), y, key))
        return found.reduce(tf.distribute.ReduceOp.MEAN, x), PerReplica(["first", "second"])

    def step(x):
        with tf.name_scope("inner"):
            mean, name = tf.distribute.get_replica_context().merge_call(merge, args=(x, 7), kwargs={"key": "k"})
        return mean, name, x - mean

    means, names, differences = strategy.experimental_run_v2(
        step, args=(PerReplica([tf.constant(1.0), tf.constant(5.0)]),)
    )
    assert calls == [(threading.current_thread(), "inner", 7, "k")]
    assert names.values == ("first", "second") and isinstance(means, tf.Tensor)
    with session() as sess:
        assert sess.run([means, *differences.values]) == [3.0, -2.0, 2.0]


def test_an_error_in_a_replica_ends_all_of_them():
    before = threading.active_count()

    def step():
        replica = tf.distribute.get_replica_context()
        replica.merge_call(lambda strategy: None)
        if replica.devices[0].endswith("CPU:1"):
            raise KeyError("of the second replica")
        replica.merge_call(lambda strategy: None)

    with pytest.raises(KeyError, match="of the second replica"):
        mirrored().experimental_run_v2(step)
    assert threading.active_count() == before
    assert not tf.distribute.has_strategy()
    tf.constant(1.0)  # the graph can be added to


def test_an_error_in_a_merge_call_ends_all_replicas():
    def fail(strategy):
        raise KeyError("in the merge call")

    before = threading.active_count()
    with pytest.raises(KeyError, match="in the merge call"):
        mirrored().experimental_run_v2(lambda: tf.distribute.get_replica_context().merge_call(fail))
    assert threading.active_count() == before


def test_replicas_must_make_the_same_merge_calls():
    def step():
        replica = tf.distribute.get_replica_context()
        if replica.devices[0].endswith("CPU:0"):
            replica.merge_call(lambda strategy: None)

    with pytest.raises(RuntimeError, match="fewer merge calls"):
        mirrored().experimental_run_v2(step)


def test_replicas_are_in_the_scopes_of_the_caller():
    strategy = mirrored()
    before = tf.constant(1.0)

    def step():
        x = tf.constant(2.0, name="x")
        return x.op.name, x.op.control_inputs, tf.get_variable("v", [])

    with strategy.scope(), tf.name_scope("outer"), tf.variable_scope("model"), tf.control_dependencies([before]):
        names, controls, variable = strategy.extended.call_for_each_replica(step)
    assert names.values == ("outer/model/x", "outer/model/replica_1/x")
    assert controls == [before.op] and variable.name == "model/v:0"


def test_all_reduce_is_differentiable():
    strategy = mirrored()

    def step(x):
        total, mean = tf.distribute.get_replica_context().all_reduce("SUM", [x, x * x])
        (gradient,) = tf.gradients(x * total, x)
        return total, mean, gradient

    total, squares, gradients = strategy.experimental_run_v2(
        step, args=(PerReplica([tf.constant(2.0), tf.constant(3.0)]),)
    )
    with session() as sess:
        assert sess.run(total.values) == (5.0, 5.0) and sess.run(squares.values) == (13.0, 13.0)
        # each loss is x * total: d/dx of both losses is total + the sum of all x
        assert sess.run(gradients.values) == (10.0, 10.0)


def test_reduce_of_replicas_and_an_axis():
    strategy = mirrored()
    parts = PerReplica([tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 4.0], [5.0, 9.0]])])
    scalars = PerReplica([tf.constant(1.0), tf.constant(3.0)])
    with session() as sess:
        assert sess.run([strategy.reduce(op, scalars) for op in ("SUM", "MEAN", "mean")]) == [4.0, 2.0, 2.0]
        np.testing.assert_array_equal(sess.run(strategy.reduce("MEAN", parts, axis=0)), [3.0, 5.0])
        np.testing.assert_array_equal(sess.run(strategy.reduce("SUM", parts, axis=0)), [9.0, 15.0])
        assert sess.run(strategy.reduce("MEAN", tf.constant(7.0))) == 7.0  # the same in all replicas
    with pytest.raises(ValueError, match="has no value per replica"):
        strategy.reduce("SUM", tf.constant(7.0))
    with pytest.raises(ValueError, match=r"ReduceOp.SUM or MEAN, received 'MAX'"):
        strategy.reduce("MAX", scalars)


def test_methods_say_where_they_must_be_called():
    strategy, other = mirrored(), one_device()
    with strategy.scope():
        variable = tf.Variable(1.0)
        with pytest.raises(RuntimeError, match="one strategy at a time"), other.scope():
            pass
        with pytest.raises(RuntimeError, match="in a cross-replica context"):
            tf.train.GradientDescentOptimizer(1.0).apply_gradients([(tf.constant(1.0), variable)])
    with pytest.raises(RuntimeError, match=r"outside of `with strategy.scope\(\):`"):
        strategy.extended.update(variable, lambda v: v.assign(2.0))
    outside = tf.Variable(2.0)
    with strategy.scope(), pytest.raises(ValueError, match="not created in the scope"):
        strategy.extended.update(outside, lambda v: v.assign(2.0))
    calls = {
        "scope": lambda: strategy.scope().__enter__(),
        "reduce": lambda: strategy.reduce("SUM", 1.0),
        "experimental_run_v2": lambda: strategy.experimental_run_v2(lambda: 1),
        "update": lambda: strategy.extended.update(variable, lambda v: v.assign(2.0)),
    }
    for name, call in calls.items():
        with pytest.raises(RuntimeError, match=f"{name}.* was called in a replica"):
            strategy.experimental_run_v2(call)
    replicas = []
    strategy.experimental_run_v2(lambda: replicas.append(tf.distribute.get_replica_context()))
    with pytest.raises(RuntimeError, match="outside of the scope"):
        replicas[0].merge_call(lambda strategy: None)


def test_a_strategy_can_be_set_for_the_rest_of_a_program():
    strategy = mirrored()
    tf.distribute.experimental_set_strategy(strategy)
    assert tf.distribute.get_strategy() is strategy and len(tf.Variable(1.0).values) == 2
    tf.distribute.experimental_set_strategy(None)
    assert not tf.distribute.has_strategy()
    with strategy.scope(), pytest.raises(RuntimeError, match="leave that first"):
        tf.distribute.experimental_set_strategy(strategy)


def test_broadcast_and_copies_of_values():
    strategy = mirrored()
    with strategy.scope():
        variable = tf.Variable(1.0)
        value = strategy.extended.broadcast_to(tf.constant(3.0), variable)
    assert isinstance(value, Mirrored) and [v.device for v in value.values] == list(strategy.extended.worker_devices)
    with session() as sess:
        assert sess.run(list(value.values)) == [3.0, 3.0]
        assert sess.run(value) == 3.0 and sess.run(value + 1) == 4.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tf.distribute.MirroredStrategy([]), "at least one device"),
        (lambda: tf.distribute.MirroredStrategy(["/cpu:0", "/device:CPU:0"]), "different devices"),
        (lambda: tf.distribute.MirroredStrategy(TWO, cross_device_ops="nccl"), "expected tf.distribute.CrossDeviceOps"),
        (lambda: tf.distribute.NcclAllReduce(num_packs=-1), "no negative number"),
        (lambda: tf.contrib.distribute.AllReduceCrossDeviceOps("ring"), "expected one of nccl, hierarchical_copy"),
        (lambda: tf.distribute.ReduceOp.from_variable_aggregation(tf.VariableAggregation.NONE), "expected SUM or MEAN"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_replicas_can_be_called_in_a_merge_call():
    strategy = mirrored()

    def merge(found, x):
        doubled = found.extended.call_for_each_replica(lambda part: part * 2, args=(x,))
        return found.reduce("SUM", doubled, axis=0)

    def step(x):
        return tf.distribute.get_replica_context().merge_call(merge, args=(x,))

    parts = PerReplica([tf.constant([1.0]), tf.constant([2.0, 3.0])])
    with session() as sess:
        assert sess.run(strategy.experimental_run_v2(step, args=(parts,))) == 12.0


def test_one_device_is_that_of_variables_and_replicas_not_of_what_is_made_in_the_scope():
    """So says TensorFlow 1.15: a data set that is made in the scope of a GPU stays on the host."""
    strategy = tf.distribute.OneDeviceStrategy("/gpu:0")
    with strategy.scope():
        outside, variable = tf.constant(1), tf.Variable(1.0)
        iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(3))
        inside = strategy.experimental_run_v2(lambda: tf.constant(2))
    gpu = "/replica:0/task:0/device:GPU:0"
    assert [outside.device, variable.device, iterator.initializer.device, inside.device] == ["", gpu, "", gpu]
