"""Figures of a program: its shards and the computing time of its step."""

import pytest

import thalweg as tf
from thalweg._src.base.errors import InvalidArgumentError
from thalweg._src.compiler.place.cost import CostModel, Speed
from thalweg._src.tools.simulate.program import program_costs

COSTS = CostModel({"CPU": Speed(1e9, 1e18, 0.0)}, unknown=100)


def train(device=None):
    """Returns the update of a model of 3 x 5 + 5 parameters, and its variables."""
    with tf.device(device):
        x = tf.placeholder(tf.float32, [None, 3])
        weights = tf.get_variable("weights", [3, 5])
        bias = tf.get_variable("bias", [5])
        loss = tf.reduce_sum(tf.matmul(x, weights) + bias)
        step = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    return step, [weights.op, bias.op]


def test_variables_are_distributed_round_robin():
    step, variables = train()
    costs = program_costs(step, variables, 2, COSTS)
    assert costs.shards == (60.0, 20.0) and costs.update == 0.0
    assert program_costs(step, variables, 1, COSTS).shards == (80.0,)


def test_computing_time_is_that_of_the_cost_model():
    step, variables = train()
    once = program_costs(step, variables, 1, COSTS).compute
    assert once > 2 * 2 * 100 * 3 * 5 / 1e9  # two products
    fast = CostModel({"CPU": Speed(2e9, 1e18, 0.0)}, unknown=100)
    assert program_costs(step, variables, 1, fast).compute == pytest.approx(once / 2)


def test_placed_variables_stay_with_their_servers():
    cluster = {"ps": ["a:1", "b:1", "c:1"], "worker": ["d:1"]}
    step, variables = train(tf.train.replica_device_setter(cluster=cluster, worker_device="/job:worker/task:0"))
    costs = program_costs(step, variables, 3, COSTS)
    assert sorted(costs.shards) == [0.0, 20.0, 60.0]
    assert 0 < costs.update < costs.compute
    with pytest.raises(InvalidArgumentError, match="at parameter server 1\n  expected: one of 1"):
        program_costs(step, variables, 1, COSTS)


def test_a_graph_without_variables_is_refused():
    with pytest.raises(InvalidArgumentError, match="no trainable variables"):
        program_costs(tf.no_op(), [], 1, COSTS)
