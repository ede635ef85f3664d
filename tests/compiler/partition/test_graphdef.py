"""Partition graphs: what each device of a step ran, as RunMetadata reports it."""

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import thalweg as tf
from tests.compiler.partition.graph_programs import (
    FEEDS,
    PROGRAMS,
    as_user_graphs,
    partitions_of,
    plain,
    several_devices,
)

CPU = [f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(3)]


def by_name(graph):
    assert len({node.name for node in graph.node}) == len(graph.node)
    return {node.name: node for node in graph.node}


def test_each_partition_has_its_device_and_its_transfers():
    _, graphs = partitions_of(several_devices, FEEDS[0])
    assert len(graphs) == 3
    sent, received = {}, {}
    for graph in graphs:
        (device,) = {node.device for node in graph.node}
        assert device in CPU
        for node in by_name(graph).values():
            if node.op not in ("_Send", "_Recv"):
                continue
            attrs = {key: node.attr[key].s.decode() for key in ("tensor_name", "send_device", "recv_device")}
            assert node.attr["send_device_incarnation"].i == 1 and "client_terminated" in node.attr
            (sent if node.op == "_Send" else received)[tuple(attrs.values())] = device
            assert node.attr["T" if node.op == "_Send" else "tensor_type"].type in (1, 10)
    assert sent.keys() == received.keys()
    assert all(key[1] == device for key, device in sent.items())
    assert all(key[2] == device for key, device in received.items())
    assert ("Sin:0", CPU[0], CPU[1]) in sent and ("Sin:0", CPU[0], CPU[2]) in sent


def test_nodes_inputs_feeds_and_fetches():
    _, graphs = partitions_of(plain, FEEDS[0])
    (graph,) = graphs
    nodes = by_name(graph)
    assert nodes["_arg_x_0"].op == "_Arg" and nodes["_arg_x_0"].attr["index"].i == 0
    assert nodes["Softmax"].op == "Softmax" and list(nodes["Softmax"].input) == ["mul"]
    assert [dim.size for dim in nodes["Softmax"].attr["_output_shapes"].list.shape[0].dim] == [3]
    (fetched,) = (node for node in graph.node if node.op == "_Retval")
    assert fetched.input[0] in nodes and fetched.attr["index"].i == 0
    assert graph.versions.producer > 0


@pytest.mark.parametrize("value", FEEDS, ids=["positive", "negative"])
@pytest.mark.parametrize("build", PROGRAMS, ids=lambda build: build.__name__)
def test_imported_partitions_give_the_same_results(build, value):
    values, graphs = partitions_of(build, value)
    graph_defs, fetches, feeds, _ = as_user_graphs(graphs)
    if len(graph_defs) > 1:  # a _Recv of a user's graph would wait for ever; conformance tests run these
        assert all(by_name(graph_def) for graph_def in graph_defs)
        return
    tf.import_graph_def(graph_defs[0], name="part0")
    with tf.Session(config=tf.ConfigProto(device_count={"GPU": 0})) as session:
        again = session.run(fetches, dict.fromkeys(feeds, value))
    for a, b in zip(values, again):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_a_loop_across_devices_shares_one_frame_name():
    def build(x):
        def turn(i, s):
            with tf.device("/cpu:1"):
                a = tf.sin(s)
            with tf.device("/cpu:0"):
                return i + 1, a * 2.0

        with tf.device("/cpu:0"):
            return [tf.while_loop(lambda i, s: i < 3, turn, [0, x])[1]]

    _, graphs = partitions_of(build, FEEDS[0])
    assert len(graphs) == 2
    frames = [{node.attr["frame_name"].s for node in graph.node if node.op == "Enter"} for graph in graphs]
    assert frames[0] == frames[1] and len(frames[0]) == 1
    for graph in graphs:
        nodes = by_name(graph)
        kinds = [node.op for node in graph.node]
        assert kinds.count("LoopCond") == 1 and kinds.count("NextIteration") == kinds.count("Exit") >= 1
        assert all(name.lstrip("^").partition(":")[0] in nodes for node in graph.node for name in node.input)


def test_partition_graphs_are_returned_on_request():
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.sin(x)
    asked, traced = tf.RunOptions(output_partition_graphs=True), tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        for _ in range(2):
            session.run(y, {x: [1, 2]}, asked, metadata)
            assert len(metadata.partition_graphs) == 1 and not metadata.step_stats.dev_stats
        for _ in range(2):
            session.run(y, {x: [1, 2]}, traced, metadata)
            assert not metadata.partition_graphs and len(metadata.step_stats.dev_stats) == 1
        session.make_callable(y, [x], accept_options=True)([1, 2], options=asked, run_metadata=metadata)
        assert len(metadata.partition_graphs) == 1
        session.run(y, {x: [1, 2]}, run_metadata=metadata)
        assert metadata == tf.RunMetadata()
        session.run(y, {x: [1, 2]}, asked)  # without consumers


def test_tensorboard_reads_partition_graphs(tmp_path):
    _, graphs = partitions_of(several_devices, FEEDS[0])
    metadata = tf.RunMetadata()
    metadata.partition_graphs.extend(graphs)
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        writer.add_run_metadata(metadata, "step 1", 1)
        writer.add_graph(graphs[1])
    events = EventAccumulator(str(tmp_path)).Reload()
    assert [len(graph.node) for graph in events.RunMetadata("step 1").partition_graphs] == [
        len(graph.node) for graph in graphs
    ]
    assert events.Graph() == graphs[1]
