"""Placement reports of a session: text, Graphviz, image."""

import re

import numpy as np
import pytest

import thalweg as tf
from tests.compiler.place.problems import CPU
from thalweg._src.compiler.place.picture import device_colours, dot, drawn


def two_towers():
    x = tf.placeholder(tf.float32, [256, 256], name="x")
    with tf.device("/cpu:1"):
        asked = tf.matmul(x, x, name="asked")
    v = tf.get_variable("v", [256, 256])
    free = tf.matmul(tf.matmul(x, v, name="one"), v, name="two")
    other = tf.matmul(tf.matmul(x, x, name="four"), x, name="five")
    return x, tf.add_n([free, tf.tanh(asked, name="three"), other], name="y")


def session_with(placer):
    config = tf.ConfigProto(device_count={"CPU": 2, "GPU": 0})
    config.experimental.placer = placer
    return tf.Session(config=config)


def rows(text):
    return {line.split()[0]: line for line in text.split("\n\n")[0].splitlines()[1:]}


def test_each_node_has_its_feasible_devices_and_a_reason():
    x, y = two_towers()
    with session_with("greedy") as session:
        text = session.show_placement(y, [x])
    lines = rows(text)
    assert text.split()[:5] == ["node", "op", "device", "feasible", "why"]
    assert lines["asked"].split(maxsplit=4)[1:] == ["MatMul", "CPU:1", "CPU:1", "requested /device:CPU:1"]
    assert re.search(r"MatMul +CPU:[01] +CPU:0, CPU:1 +greedy$", lines["one"])
    assert re.search(r"ReadVariableOp +CPU:[01] .* with 'v' \(greedy\)$", "\n".join(lines.values()), re.MULTILINE)
    assert "on the device of its first consumer" in lines["_arg_x_0"]
    assert re.search(r"step: \d+\.\d{3} ms simulated, \d+ transfers of", text)
    assert len(re.findall(r"device:CPU:\d: busy \d+\.\d+ ms \(\d+%\), at most \d", text)) == 2


def test_the_default_placer_and_a_single_device_are_explained():
    x, y = two_towers()
    with session_with("") as session:
        assert rows(session.show_placement(y, [x]))["one"].endswith("CPU:0, CPU:1  first of the best type")
    z = tf.sin(x, name="z")
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 1, "GPU": 0})) as session:
        assert rows(session.show_placement(z, [x]))["z"].endswith("CPU:0   CPU:0     the only device")


def test_an_unknown_placer_is_an_error_that_lists_the_registered_ones():
    x, y = two_towers()
    error = pytest.raises(tf.errors.InvalidArgumentError, match=r"(?s)'gready'.*one of first, single")
    with session_with("gready") as session, error:
        session.run(y, {x: np.eye(256)})


def test_dot_has_one_box_per_device_and_shows_transfers():
    x, y = two_towers()
    with tf.device("/cpu:1"):
        before = tf.get_variable("m", [], use_resource=True).assign_add(1.0, name="before")
    with tf.control_dependencies([before]):
        after = tf.get_variable("n", [], use_resource=True).assign_add(1.0, name="after")
    with session_with("first") as session:
        placement = session._plan([y, after], (x,)).executable.placement
    text = dot(placement)
    assert text.startswith("digraph placement {") and text.count("{") == text.count("}")
    assert text.count("subgraph cluster_") == 2 and all(name in text for name in CPU[:2])
    nodes, edges = drawn(placement)
    assert not {"_Send", "_Recv"} & {node.type for node in nodes}
    crossing = {(edge.source.name, edge.target.name): edge.label for edge in edges if edge.crosses}
    assert crossing["asked", "three"] == "float32[256, 256]"
    assert "" in crossing.values()  # after waits for before
    assert len(set(device_colours(placement).values())) == 2
    for name in ("asked", "one", "y"):
        assert f'label="{name}\\n' in text


def test_names_are_quoted():
    from thalweg._src.compiler.place.picture import _quoted

    assert _quoted('a"b\\c', "d") == '"a\\"b\\\\c\\nd"'


def test_pictures_are_written(tmp_path):
    x, y = two_towers()
    with session_with("greedy") as session:
        session.show_placement(y, [x], picture=tmp_path / "placed.dot")
        assert "digraph" in (tmp_path / "placed.dot").read_text()
        with pytest.raises(ValueError, match=r"ends in \.dot, \.png, .*\.pbtxt"):
            session.show_placement(y, [x], picture=tmp_path / "placed.txt")
        pytest.importorskip("matplotlib")
        session.show_placement(y, [x], picture=str(tmp_path / "placed.png"))
    assert (tmp_path / "placed.png").read_bytes().startswith(b"\x89PNG")


def test_tensorboard_gets_the_graph_with_devices(tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    x, y = two_towers()
    z = tf.nn.relu(tf.nn.bias_add(tf.matmul(y, y, name="product"), tf.get_variable("b", [256])), name="fused")
    outside = tf.cos(z, name="outside")
    with session_with("round_robin") as session:
        writer = tf.summary.FileWriter(str(tmp_path))
        session.show_placement(z, [x], picture=writer)
        session.show_placement(z, [x], picture=tmp_path / "placed.pbtxt")
        writer.close()
        placement = session._plan(z, (x,)).executable.placement
    events = accumulator.EventAccumulator(str(tmp_path))
    events.Reload()
    devices = {node.name: node.device for node in events.Graph().node}
    assert set(devices) == {op.name for op in tf.get_default_graph().get_operations()}
    for node, device in placement.devices.items():
        if node.name in devices:
            assert devices[node.name] == device
    assert devices["asked"] == CPU[1] and devices["x"] in CPU[:2]
    assert devices["product"] == devices["fused"] != ""
    assert devices[outside.op.name] == ""  # no part of the step
    assert f'device: "{CPU[1]}"' in (tmp_path / "placed.pbtxt").read_text()


def test_a_traced_step_in_tensorboard_names_devices(tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    x, y = two_towers()
    metadata = tf.RunMetadata()
    with session_with("round_robin") as session, tf.summary.FileWriter(str(tmp_path), session.graph) as writer:
        session.run(tf.global_variables_initializer())
        session.run(y, {x: np.eye(256)}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
        writer.add_run_metadata(metadata, "step 1", 1)
    events = accumulator.EventAccumulator(str(tmp_path))
    events.Reload()
    all_stats = {
        device_stats.device: {n.node_name for n in device_stats.node_stats}
        for device_stats in events.RunMetadata("step 1").step_stats.dev_stats
    }
    assert set(all_stats) == set(CPU[:2]) and "asked" in all_stats[CPU[1]]


def test_a_large_graph_is_drawn_without_names(tmp_path):
    pytest.importorskip("matplotlib")
    x = tf.placeholder(tf.float32, [2], name="x")
    y = x
    for i in range(100):
        with tf.device(f"/cpu:{i % 2}"):
            y = tf.sin(y)
    with session_with("first") as session:
        session.show_placement(y, [x], picture=tmp_path / "placed.png")
    assert (tmp_path / "placed.png").stat().st_size > 1000
