"""Timelines of traced steps."""

import json

import pytest
from thalweg.python.client import timeline

import thalweg as tf
from thalweg._src.base.config import DeviceStepStats, NodeExecStats, StepStats


def trace(stats, **options):
    return json.loads(timeline.Timeline(stats).generate_chrome_trace_format(**options))["traceEvents"]


def node(name, start, duration, label=None, bytes_held=0):
    stats = NodeExecStats(
        node_name=name,
        all_start_micros=start,
        op_start_rel_micros=1,
        op_end_rel_micros=duration - 1,
        all_end_rel_micros=duration,
        timeline_label=label or "",
    )
    if bytes_held:
        held = {"requested_bytes": bytes_held, "allocator_name": "cpu"}
        stats.output.add(slot=0, tensor_description={"allocation_description": held})
    return stats


@pytest.fixture
def stats():
    nodes = [
        node("a", 100, 10, "a = Const()", 40),
        node("b", 105, 20, "b = Const()", 60),
        node("c/d", 130, 5, "c/d = MatMul(a, b:0)", 8),
    ]
    return StepStats(dev_stats=[DeviceStepStats(device="/cpu:0", node_stats=nodes)])


def test_overlapping_nodes_get_separate_lanes(stats):
    regions = {event["args"]["name"]: event for event in trace(stats) if event["ph"] == "X"}
    assert [(r["ts"], r["dur"], r["tid"]) for r in regions.values()] == [(100, 10, 0), (105, 20, 1), (130, 5, 0)]
    assert regions["c/d"]["name"] == "MatMul"
    assert regions["c/d"]["args"] == {"name": "c/d", "op": "MatMul", "input0": "a", "input1": "b:0"}


def test_devices_are_processes(stats):
    names = [event["args"]["name"] for event in trace(stats) if event["ph"] == "M"]
    assert names == ["/cpu:0 Compute"]


def test_arrows_go_from_outputs_to_inputs(stats):
    arrows = [event for event in trace(stats) if event["ph"] in "st"]
    assert [(e["ph"], e["ts"], e["id"]) for e in arrows] == [("s", 110, 0), ("t", 130, 0), ("s", 125, 1), ("t", 130, 1)]
    assert not [event for event in trace(stats, show_dataflow=False) if event["ph"] in "st"]


def test_memory_rises_and_falls(stats):
    counters = [event["args"]["cpu"] for event in trace(stats, show_memory=True) if event["ph"] == "C"]
    assert counters[-1] == 0 and max(counters) == 108
    best = timeline.Timeline(stats).analyze_step_stats().allocator_maximums["cpu"]
    assert (best.num_bytes, best.tensors) == (108, {"a:0", "b:0", "c/d:0"})


def test_op_time_of_kernels(stats):
    starts = [event["ts"] for event in trace(stats, op_time="all") if event["ph"] == "X"]
    assert starts == [101, 106, 131]
    with pytest.raises(ValueError, match="op_time"):
        trace(stats, op_time="never")


def test_an_empty_trace():
    assert trace(StepStats()) == []


def test_a_real_step():
    x = tf.get_variable("x", [8, 8])
    y = tf.reduce_sum(tf.matmul(x, x, name="product"), name="total")
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(y, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    regions = {event["args"]["name"]: event for event in trace(metadata.step_stats) if event["ph"] == "X"}
    assert regions["product"]["name"] == "MatMul" and regions["total"]["args"]["input0"] == "product"
    assert regions["total"]["ts"] >= regions["product"]["ts"] + regions["product"]["dur"]
