"""The passes that lower collectives with other tasks and fuse reductions into buckets."""

from itertools import pairwise

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.base.config import ConfigProto
from thalweg._src.compiler.partition import all_reduce_buckets
from thalweg._src.compiler.partition.collectives import lower_collectives
from thalweg._src.graph.ir.lint import lint
from thalweg._src.graph.ops import collective
from thalweg._src.runtime.passes import STEP_PASSES, Compilation, run_passes
from thalweg._src.runtime.resources.containers import Containers
from thalweg._src.runtime.resources.devices import local_devices


def _lowered(fetches, devices=1):
    """Returns the partition of the first device, after both passes."""
    config = ConfigProto(device_count={"CPU": devices})
    c = Compilation((), fetches, (), config, local_devices(config, Containers()))
    run_passes(c, passes=STEP_PASSES)
    lower_collectives(c.partitions, is_connected=True)
    all_reduce_buckets.fuse_all_reduce(c.partitions)
    for graph in c.partitions.values():
        lint(graph, "fuse_all_reduce")
    return next(iter(c.partitions.values()))


def _starts(graph):
    return [node for node in graph.nodes if node.type == "_CollectiveStart"]


def _keys(graph):
    return [node.attrs["instance_keys"] for node in _starts(graph)]


def _reduced(tensors, **options):
    return [collective.all_reduce(tensor, 2, 1, key, **options) for key, tensor in enumerate(tensors)]


def test_gradients_are_reduced_in_the_order_of_the_backward_pass():
    x = tf.random_uniform([4, 8])
    weights = [tf.get_variable(f"w{index}", [8, 8]) for index in range(3)]
    for weight in weights:
        x = tf.nn.relu(tf.matmul(x, weight))
    graph = _lowered(_reduced(tf.gradients(x, weights), final_op="Div"))
    assert _keys(graph) == [[2, 1, 0]]
    begins = [node for node in graph.nodes if node.type == "_CollectiveBegin"]
    assert [node.attrs["count"] for node in begins] == [1] and graph.nodes.index(begins[0]) < 3
    assert begins[0].attrs["plan"] == (
        "reduce of instances 2, 1, 0: float32 [8, 8] [8, 8] [8, 8] by Add, Div in a group of 2"
    )
    waits = [node for node in graph.nodes if node.type == "_CollectiveWait"]
    assert [len(node.dtypes) for node in waits] == [3]


def test_buckets_are_closed_when_they_are_full(monkeypatch):
    monkeypatch.setattr(all_reduce_buckets, "FIRST_BYTES", 100)
    monkeypatch.setattr(all_reduce_buckets, "BUCKET_BYTES", 200)
    graph = _lowered(_reduced([tf.random_uniform([25]) for _ in range(6)]))
    assert _keys(graph) == [[0], [1, 2], [3, 4], [5]]
    starts = _starts(graph)
    for before, after in pairwise(starts):
        assert before in after.controls


def test_a_bucket_starts_before_what_the_next_one_needs():
    chain = [tf.random_uniform([300_000])]
    for _ in range(3):
        chain.append(tf.sin(chain[-1]))
    graph = _lowered(_reduced(chain))
    first, *_ = _starts(graph)
    sines = [node for node in graph.nodes if node.type == "Sin"]
    assert graph.nodes.index(first) < graph.nodes.index(sines[0]) < graph.nodes.index(_starts(graph)[-1])


@pytest.mark.parametrize(
    "make",
    [
        lambda: _reduced([tf.zeros([2]) + 1, tf.zeros([2], "float64") + 1]),
        lambda: [
            collective.all_reduce(tf.random_uniform([2]), 2, 1, 1, "Add"),
            collective.all_reduce(tf.random_uniform([2]), 2, 1, 2, "Max"),
        ],
        lambda: [collective.all_reduce(tf.random_uniform([2]), 2, key, 1) for key in (1, 2)],
        lambda: [collective.all_reduce(collective.all_reduce(tf.random_uniform([2]), 2, 1, 1) + 1, 2, 1, 2)],
        lambda: _reduced([tf.random_uniform([2]), tf.placeholder_with_default(np.zeros([2], "f"), [None])]),
    ],
    ids=["types", "reductions", "groups", "dependent", "unknown shape"],
)
def test_what_differs_is_not_fused(make):
    assert [len(keys) for keys in _keys(_lowered(make()))] == [1, 1]


def test_only_a_new_tensor_without_other_uses_is_overwritten(monkeypatch):
    monkeypatch.setattr(all_reduce_buckets, "FIRST_BYTES", 1)
    monkeypatch.setattr(all_reduce_buckets, "BUCKET_BYTES", 1)
    variable = tf.get_variable("v", [300], use_resource=True)
    used = tf.sin(tf.random_uniform([300]))
    values = [tf.cos(variable), variable, used, tf.reshape(tf.cos(variable + 1), [30, 10]), tf.zeros([300])]
    graph = _lowered([*_reduced(values), tf.exp(used)])
    owned = {node.attrs["instance_keys"][0]: node.attrs["is_owned"] for node in _starts(graph)}
    assert owned == {0: True, 1: False, 2: False, 3: False, 4: False}


def test_devices_of_one_task_have_one_participant():
    fetches = []
    for device in range(2):
        with tf.device(f"/cpu:{device}"):
            fetches.append(collective.all_reduce(tf.random_uniform([2]), 4, 1, 1, "Add", "Div"))
    (start,) = _starts(_lowered(fetches, devices=2))
    assert start.attrs["local_size"] == 2 and start.inputs[0][0].type == "AddN"


def test_values_of_other_devices_are_fused_if_they_do_not_depend_on_each_other():
    first, second, third = [], [], []
    for device in range(2):
        with tf.device(f"/cpu:{device}"):
            first.append(collective.all_reduce(tf.random_uniform([2]), 4, 1, 1))
            second.append(collective.all_reduce(tf.random_uniform([2]), 4, 1, 2))
            third.append(collective.all_reduce(first[-1] + 1, 4, 1, 3))
    assert _keys(_lowered([*first, *second, *third], devices=2)) == [[1, 2], [3]]
