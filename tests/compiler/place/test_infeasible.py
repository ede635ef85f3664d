"""Constraints that no device satisfies: one error lists the group, its requests, and the nearest device."""

import pytest

import thalweg as tf
from tests.compiler.place.problems import CPU, GPU
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.compiler.place.place import place

ALL = [*CPU[:2], *GPU]


def refused(fetches, types=lambda node: {"CPU", "GPU"}, devices=ALL, changed=None, soft=False):
    step = step_graph([], fetches, [])
    for node in step.nodes:
        for name, value in (changed or {}).get(node.name, {}).items():
            if name == "with":
                node.attrs = {**node.attrs, "_class": [f"loc:@{value}"]}
            else:
                node.device = value
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        place(step, devices, types, soft)
    return caught.value.message


def without(**kinds):
    return lambda node: kinds.get(node.type, {"CPU", "GPU"})


def test_an_unknown_device_alone():
    with tf.device("/gpu:7"):
        y = tf.sin(tf.random_uniform([2]), name="y")
    text = refused([y], changed={"random_uniform/RandomUniform": {"device": ""}})
    assert "was explicitly assigned to /device:GPU:7" in text
    assert f"nearest is {GPU[1]}, but '" in text and "requests /device:GPU:7" in text
    assert "colocated nodes" not in text  # the node is alone


def test_an_unknown_device_in_a_group():
    a = tf.random_uniform([2], name="a")
    with tf.colocate_with(a.op):
        b, c = tf.sin(a, name="b"), tf.cos(a, name="c")
    text = refused([b, c], changed={"b": {"device": "/device:GPU:9"}})
    assert "b was explicitly assigned to /device:GPU:9" in text
    assert "3 colocated nodes" in text
    assert "'b' (Sin) requests /device:GPU:9, has kernels for CPU, GPU, defined at test_infeasible.py:" in text
    assert "'c' (Cos) requests no device, has kernels for CPU, GPU, defined at test_infeasible.py:" in text
    assert f"nearest is {GPU[1]}, but 'b' requests /device:GPU:9; allow_soft_placement=True" in text
    assert text.index("'b' (Sin)") < text.index("'c' (Cos)")  # the conflicting member comes first
    assert f"expected: one of {', '.join(ALL)}" in text


def test_another_job_is_further_away_than_another_index():
    with tf.device("/job:ps/task:1/cpu:1"):
        y = tf.random_uniform([], name="y")
    places = [(job, task, i) for job in ("ps", "w") for task in (0, 2) for i in (0, 1)]
    devices = [f"/job:{job}/replica:0/task:{task}/device:CPU:{i}" for job, task, i in places]
    text = refused([y], devices=devices, changed={"y/shape": {"device": ""}})
    assert "nearest is /job:ps/replica:0/task:0/device:CPU:1, but 'y" in text
    assert "' requests /job:ps/task:1/device:CPU:1" in text


def test_no_kernel():
    with tf.device("/gpu:0"):
        y = tf.sin(tf.constant([1.0]), name="y")
    text = refused([y], without(Sin={"CPU"}))
    assert "operation y on '/device:GPU:0': Sin has no kernel for it" in text
    assert "kernels exist for CPU" in text
    assert f"nearest is {CPU[0]}, but 'y' requests /device:GPU:0; place the operation on a device that has one" in text
    assert "defined at: test_infeasible.py:" in text


def test_no_kernel_for_another_member_of_the_group():
    with tf.device("/gpu:1"):
        a = tf.random_uniform([2], name="a")
    with tf.colocate_with(a.op):
        b = tf.sin(a, name="b")
    text = refused([b], without(Sin={"CPU"}), changed={"b": {"device": ""}})
    assert "operation b on '/device:GPU:1': Sin has no kernel for it" in text
    assert "'a' (RandomUniform) requests /device:GPU:1, has kernels for CPU, GPU, defined at" in text
    assert "'b' (Sin) requests no device, has kernels for CPU, defined at" in text
    assert f"nearest is {CPU[0]}, but 'a' requests /device:GPU:1" in text or f"nearest is {CPU[1]}" in text


def test_no_device_type_has_all_kernels():
    a = tf.random_uniform([2], name="a")
    with tf.colocate_with(a.op):
        b = tf.sin(a, name="b")
    text = refused([b], without(Sin={"CPU"}, RandomUniform={"GPU"}), soft=True)
    assert "no device type has kernels for all nodes colocated with it" in text
    assert "kernels exist for no type" in text and "2 colocated nodes" in text
    assert "has no kernel for it; colocate fewer operations" in text


def test_members_that_contradict_each_other():
    with tf.device("/cpu:1"):
        a = tf.random_uniform([2], name="a")
    with tf.colocate_with(a.op):
        b = tf.sin(a, name="b")
    text = refused([b], changed={"b": {"device": "/device:GPU:0"}})
    assert "Cannot colocate nodes 'b' and 'a': /device:GPU:0 is not /device:CPU:1" in text
    assert "'a' (RandomUniform) requests /device:CPU:1" in text
    assert "'b' (Sin) requests /device:GPU:0" in text
    assert "nearest is " in text and "allow_soft_placement=True follows the first of them" in text


def test_long_member_lists_are_truncated():
    a = tf.random_uniform([2], name="a")
    with tf.colocate_with(a.op):
        others = [tf.sin(a, name=f"n{i}") for i in range(40)]
    text = refused(others, changed={"n33": {"device": "/device:CPU:5"}})
    assert "41 colocated nodes\n    'n33' (Sin) requests /device:CPU:5" in text
    assert "and 29 others" in text and text.count("defined at") == 13


def test_a_session_raises_the_error():
    with tf.device("/cpu:1"):
        a = tf.random_uniform([], name="a")
    with tf.colocate_with(a.op):
        b = tf.negative(a, name="b")
    b.op._set_device("/cpu:3")
    error = pytest.raises(
        tf.errors.InvalidArgumentError, match=r"(?s)Cannot colocate.*'b' \(Neg\) requests /device:CPU:3"
    )
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2, "GPU": 0})) as session, error:
        session.run(b)
