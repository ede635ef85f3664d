"""Placement, without kernels or devices: a step graph, a list of names, and what each node can run on."""

import pytest

import thalweg as tf
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.compiler.place.place import place

CPU0, CPU1, GPU0, GPU1 = (
    f"/job:localhost/replica:0/task:0/device:{name}" for name in ("CPU:0", "CPU:1", "GPU:0", "GPU:1")
)
ALL = [CPU0, CPU1, GPU0, GPU1]


def anywhere(node):
    return {"CPU", "GPU"}


def host_only(*types):
    """Returns a function that knows of a GPU kernel for all ops but these."""
    return lambda node: {"CPU"} if node.type in types else {"CPU", "GPU"}


def placed(fetches, feeds=(), devices=ALL, types=anywhere, soft=False, targets=()):
    """Returns {node name: short device name} and the placement itself."""
    step = step_graph(list(feeds), list(fetches), list(targets))
    placement = place(step, devices, types, soft)
    assert set(placement.devices) == set(step.nodes)
    return {node.name: device.rpartition("device:")[2] for node, device in placement.devices.items()}, placement


def test_a_gpu_is_preferred():
    x = tf.random_uniform([2], name="x")
    where, placement = placed([tf.sin(x, name="y")])
    assert where["y"] == "GPU:0" and set(where.values()) == {"GPU:0"}
    assert placement.notes == []


def test_the_order_of_the_devices_does_not_matter():
    y = tf.sin(tf.random_uniform([2]), name="y")
    assert placed([y], devices=[CPU0, GPU0])[0]["y"] == placed([y], devices=[GPU0, CPU0])[0]["y"] == "GPU:0"


def test_nodes_without_a_gpu_kernel_stay_on_the_host():
    y = tf.cos(tf.sin(tf.random_uniform([2]), name="sin"), name="cos")
    where, _ = placed([y], types=host_only("Sin"))
    assert where["sin"] == "CPU:0" and where["cos"] == "GPU:0"


def test_one_device_needs_no_choice():
    y = tf.sin(tf.random_uniform([2]), name="y")
    where, _ = placed([y], devices=[CPU0], types=lambda node: pytest.fail("nothing to ask"))
    assert set(where.values()) == {"CPU:0"}


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ("/cpu:0", "CPU:0"),
        ("/cpu:1", "CPU:1"),
        ("/device:GPU:1", "GPU:1"),
        ("/gpu:*", "GPU:0"),
        ("/cpu:*", "CPU:0"),
        ("/job:localhost", "GPU:0"),
        ("/job:localhost/task:0/cpu:1", "CPU:1"),
        ("", "GPU:0"),
    ],
)
def test_requests(request_, expected):
    with tf.device(request_):
        y = tf.sin(tf.random_uniform([2]), name="y")
    assert placed([y])[0]["y"] == expected


# -- colocation --------------------------------------------------------------------------------------------------------


def test_colocation_follows_a_chain():
    with tf.device("/cpu:1"):
        a = tf.random_uniform([2], name="a")
    with tf.colocate_with(a.op):
        b = tf.sin(a, name="b")
    with tf.colocate_with(b.op):
        c = tf.cos(a, name="c")
    d = tf.cos(a, name="d")
    where, _ = placed([b, c, d])
    assert where["b"] == where["c"] == "CPU:1" and where["d"] == "GPU:0"


def test_a_group_is_placed_where_all_members_can_run():
    a = tf.sin(tf.random_uniform([2]), name="a")
    with tf.colocate_with(a.op):
        b = tf.cos(a, name="b")
    where, _ = placed([b], types=host_only("Cos"))
    assert where["a"] == where["b"] == "CPU:0"


def test_a_request_anywhere_in_a_group_counts_for_all():
    a = tf.sin(tf.random_uniform([2]), name="a")
    b = tf.cos(a, name="b")
    with tf.device("/gpu:1"):
        c = tf.tan(a, name="c")
    step = step_graph([], [b, c], [])
    by_name = {node.name: node for node in step.nodes}
    for name, other in (("b", "a"), ("c", "b")):
        by_name[name].attrs = {**by_name[name].attrs, "_class": [f"loc:@{other}"]}
    devices = place(step, ALL, anywhere, False).devices
    assert {devices[by_name[name]] for name in "abc"} == {GPU1}


def test_nodes_that_name_the_same_missing_node_stay_together():
    """What they were colocated with may not be part of the step."""
    gone = tf.random_uniform([2], name="gone")
    with tf.colocate_with(gone.op):
        a = tf.random_uniform([3], name="a")
        b = tf.random_normal([3], name="b")
    a_name, b_name = a.op.inputs[0].op.name, b.op.inputs[0].op.name
    where, _ = placed([a, b], types=host_only("RandomUniform"))
    assert "gone" not in where
    assert where[a.op.name] == where[b.op.name] and where[a_name] == where[b_name] == "CPU:0"


def test_partial_requests_of_a_group_are_merged():
    with tf.device("/job:localhost"):
        a = tf.sin(tf.random_uniform([2]), name="a")
    with tf.device("/cpu:1"), tf.colocate_with(a.op, ignore_existing=True):
        b = tf.cos(a, name="b")
    step = step_graph([], [b], [])
    b_node = next(node for node in step.nodes if node.name == "b")
    b_node.device = "/device:CPU:1"
    devices = place(step, ALL, anywhere, False).devices
    assert {d for n, d in devices.items() if n.name in "ab"} == {CPU1}


def test_operations_on_a_resource_run_where_it_is():
    with tf.device("/cpu:1"):
        queue = tf.FIFOQueue(2, [tf.float32], name="queue")
        sparse = tf.SparseConditionalAccumulator(tf.float32, [None, 2], name="sparse")
    with tf.device("/cpu:0"):
        size = queue.size(name="size")
    where, _ = placed([size, sparse.num_accumulated(name="count")])
    assert where["size"] == where["queue"] == "CPU:1"
    assert where["count"] == where["sparse"] == "CPU:1"


def test_contradicting_requests_in_a_group():
    with tf.device("/cpu:0"):
        a = tf.sin(tf.random_uniform([2]), name="a")
    b = tf.cos(a, name="b")

    def contradicting():
        step = step_graph([], [b], [])
        node = next(node for node in step.nodes if node.name == "b")
        node.device, node.attrs = "/device:CPU:1", {**node.attrs, "_class": ["loc:@a"]}
        return step

    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        place(contradicting(), ALL, anywhere, False)
    text = caught.value.message
    assert "Cannot colocate nodes 'b' and 'a'" in text
    assert "/device:CPU:1 is not /device:CPU:0" in text
    assert "defined at: test_place.py" in text
    placement = place(contradicting(), ALL, anywhere, True)
    assert {d for n, d in placement.devices.items() if n.name in "ab"} == {CPU0}
    assert placement.notes == ["b: requested /device:CPU:1, colocated with a node on /device:CPU:0"]


def test_users_of_a_variable_are_colocated_with_it():
    with tf.device("/cpu:1"):
        v = tf.Variable([1.0, 2.0], name="v")
    read = v.read_value()
    update = tf.assign_add(v, tf.random_uniform([2], name="amount"))
    where, placement = placed([read], targets=[update.op, v.initializer])
    touching = {
        node.name: where[node.name]
        for node in placement.devices
        if node.type in ("VarHandleOp", "ReadVariableOp", "AssignAddVariableOp", "AssignVariableOp")
    }
    assert len(touching) >= 4 and set(touching.values()) == {"CPU:1"}
    assert where["amount"] == "GPU:0"


def test_a_variable_without_a_gpu_kernel_for_one_of_its_updates():
    v = tf.Variable([1.0, 2.0], name="v")
    update = tf.assign_add(v, [1.0, 1.0])
    where, _ = placed([v.read_value()], targets=[update.op], types=host_only("AssignAddVariableOp"))
    assert where["v"] == "CPU:0"


# -- feeds -------------------------------------------------------------------------------------------------------------


def test_feeds_are_placed_with_their_first_consumer():
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.device("/cpu:1"):
        first = tf.sin(x, name="first")
    with tf.device("/gpu:1"):
        second = tf.cos(x, name="second")
    where, _ = placed([first, second], feeds=[x])
    assert where["_arg_x_0"] == "CPU:1"


def test_a_feed_that_is_only_fetched_is_on_the_first_device():
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.device("/gpu:0"):
        other = tf.random_uniform([2])
    assert placed([x, other], feeds=[x])[0]["_arg_x_0"] == "CPU:0"


# -- what cannot be ----------------------------------------------------------------------------------------------------


def test_a_missing_device():
    with tf.device("/gpu:7"):
        y = tf.sin(tf.random_uniform([2]), name="y")
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        placed([y])
    text = caught.value.message
    assert "was explicitly assigned to /device:GPU:7" in text
    assert f"one of {CPU0}, {CPU1}, {GPU0}, {GPU1}" in text
    assert "allow_soft_placement" in text and "defined at: test_place.py" in text


def test_a_missing_kernel():
    with tf.device("/gpu:0"):
        y = tf.sin(tf.constant([1.0]), name="y")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"(?s)operation y.*Sin has no kernel.*exist for CPU"):
        placed([y], types=host_only("Sin"))


def test_what_has_no_kernel_at_all_is_refused_when_it_is_bound():
    y = tf.realdiv(tf.placeholder(tf.int32, [2]), 2, name="y")
    session = tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}))
    with session, pytest.raises(tf.errors.UnimplementedError, match=r"T=int32.*no kernel for device type CPU"):
        session.run(y, {y.op.inputs[0]: [1, 2]})


def test_another_job():
    with tf.device("/job:worker/task:3"):
        y = tf.sin(tf.random_uniform([2]), name="y")
    with pytest.raises(tf.errors.InvalidArgumentError, match="assigned to /job:worker/task:3"):
        placed([y])


def test_soft_placement_reports_its_changes():
    with tf.device("/gpu:7"):
        x = tf.random_uniform([2], name="x")
        y = tf.sin(x, name="y")
    where, placement = placed([y], soft=True, types=host_only("Sin"))
    assert where["y"] == "CPU:0"
    assert f"y: requested /device:GPU:7, soft placement chose {CPU0}" in placement.notes
    assert placement.report().endswith("\n".join(placement.notes))
    assert f"y: (Sin): {CPU0}" in placement.report().splitlines()


def test_soft_placement_keeps_feasible_requests():
    with tf.device("/cpu:1"):
        y = tf.sin(tf.constant([1.0]), name="y")
    where, placement = placed([y], soft=True)
    assert where["y"] == "CPU:1" and placement.notes == []
