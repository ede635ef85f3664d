"""Cluster specifications: every form they are made from, and what they answer."""

from __future__ import annotations

from typing import Any

import pytest

import thalweg as tf

CLUSTER = {"ps": ["ps0:2222", "ps1:2222"], "worker": {1: "worker1:2222", 3: "worker3:2222"}}
TASKS = {"ps": {0: "ps0:2222", 1: "ps1:2222"}, "worker": {1: "worker1:2222", 3: "worker3:2222"}}


def definition() -> Any:
    found = tf.train.ClusterDef()
    for name, tasks in TASKS.items():
        found.job.add(name=name).tasks.update(tasks)
    return found


def protobuf_definition() -> Any:
    from tensorboard.compat.proto import cluster_pb2

    found = cluster_pb2.ClusterDef()
    for name, tasks in TASKS.items():
        found.job.add(name=name).tasks.update(tasks)
    return found


@pytest.mark.parametrize(
    "form",
    [
        lambda: CLUSTER,
        lambda: {"worker": {"3": b"worker3:2222", "1": "worker1:2222"}, b"ps": ("ps0:2222", "ps1:2222")},
        definition,
        protobuf_definition,
        lambda: tf.train.ClusterSpec(CLUSTER),
    ],
)
def test_every_form_of_a_cluster_is_the_same_specification(form: Any) -> None:
    spec = tf.train.ClusterSpec(form())
    assert spec == tf.train.ClusterSpec(CLUSTER)
    assert spec == TASKS
    assert spec != tf.train.ClusterSpec({"ps": ["ps0:2222", "ps1:2222"]})
    assert spec.as_dict() == CLUSTER
    assert spec.as_cluster_def() == definition()
    assert sorted(spec.jobs) == ["ps", "worker"]
    assert [spec.num_tasks(job) for job in ("ps", "worker")] == [2, 2]
    assert [spec.task_indices(job) for job in ("ps", "worker")] == [[0, 1], [1, 3]]
    assert spec.task_address("worker", 3) == "worker3:2222"
    assert spec.job_tasks("ps") == ["ps0:2222", "ps1:2222"]
    assert spec.job_tasks("worker") == [None, "worker1:2222", None, "worker3:2222"]
    assert repr(spec) == (
        "ClusterSpec({'ps': ['ps0:2222', 'ps1:2222'], 'worker': {1: 'worker1:2222', 3: 'worker3:2222'}})"
    )


def test_a_specification_does_not_share_its_tasks() -> None:
    spec = tf.train.ClusterSpec(CLUSTER)
    again = tf.train.ClusterSpec(spec)
    spec.as_dict()["ps"].append("ps2:2222")
    spec.as_cluster_def().job.add(name="other")
    assert again == spec == tf.train.ClusterSpec(CLUSTER)


def test_empty_clusters_and_jobs() -> None:
    assert not tf.train.ClusterSpec({}) and tf.train.ClusterSpec(CLUSTER)
    assert tf.train.ClusterSpec({}).jobs == []
    empty = tf.train.ClusterSpec({"worker": []})
    assert empty.as_dict() == {"worker": {}} and empty.job_tasks("worker") == [] and empty.num_tasks("worker") == 0
    assert empty != tf.train.ClusterSpec({})


def test_unknown_jobs_and_tasks() -> None:
    spec = tf.train.ClusterSpec(CLUSTER)
    for question in (spec.num_tasks, spec.task_indices, spec.job_tasks, lambda job: spec.task_address(job, 0)):
        with pytest.raises(ValueError, match="No such job in cluster: 'chief'"):
            question("chief")
    with pytest.raises(ValueError, match="No task with index 2 in job 'worker'"):
        spec.task_address("worker", 2)


@pytest.mark.parametrize(
    ("cluster", "error", "words"),
    [
        ("worker:2222", TypeError, "`cluster` must be a dictionary mapping one or more job names"),
        (["worker:2222"], TypeError, "`cluster` must be a dictionary mapping one or more job names"),
        ({"worker": "worker:2222"}, TypeError, "The tasks for job 'worker' must be a list or a dictionary from"),
        ({"worker": [2222]}, TypeError, "Task address 2222 must be bytes or unicode"),
        ({1: ["worker:2222"]}, TypeError, "Job name 1 must be bytes or unicode"),
        ({"worker": {"first": "worker:2222"}}, ValueError, "'first'"),
        ({"worker": {-1: "worker:2222"}}, ValueError, "must not have negative numbers, got -1"),
    ],
)
def test_other_values_are_refused(cluster: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        tf.train.ClusterSpec(cluster)
