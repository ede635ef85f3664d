"""TF_CONFIG, as users and launchers write it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import thalweg as tf

KUBEFLOW = {
    "cluster": {
        "chief": ["dist-mnist-chief-0.kubeflow.svc:2222"],
        "ps": ["dist-mnist-ps-0.kubeflow.svc:2222", "dist-mnist-ps-1.kubeflow.svc:2222"],
        "worker": ["dist-mnist-worker-0.kubeflow.svc:2222"],
    },
    "task": {"type": "ps", "index": 1},
    "environment": "cloud",
}
SPARSE = {
    "sparseCluster": {"worker": {"1": "dist-mnist-worker-1.kubeflow.svc:2222"}, "ps": ["ps-0:2222"], "chief": None},
    "task": {"type": "worker", "index": 1},
}
SAGEMAKER = {
    "cluster": {"master": ["algo-1:2222"], "ps": ["algo-1:2223", "algo-2:2223"], "worker": ["algo-2:2222"]},
    "environment": "cloud",
    "task": {"type": "master", "index": 0},
}
ML_ENGINE = {
    "environment": "cloud",
    "cluster": {"master": ["m-0:2222"], "worker": ["w-0:2222", "w-1:2222"]},
    "job": {"scale_tier": "CUSTOM", "region": "us-east1"},
    "task": {"type": "worker", "index": "1", "trial": "3", "cloud": "abc"},
}
EVALUATOR_OUTSIDE = {
    "cluster": {"chief": ["c:2222"], "worker": ["w:2222"]},
    "task": {"type": "evaluator", "index": 0},
    "rpc_layer": "grpc",
}
EVALUATOR_INSIDE = {
    "cluster": {"chief": ["c:2222"], "worker": ["w:2222"], "evaluator": ["e:2222"]},
    "task": {"type": "evaluator", "index": 0},
    "rpc_layer": "grpc",
}


@pytest.fixture
def resolve(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns a resolver in an environment with a TF_CONFIG."""

    def resolve(config: Any, **options: Any) -> Any:
        monkeypatch.setenv("TF_CONFIG", config if isinstance(config, str) else json.dumps(config))
        return tf.distribute.cluster_resolver.TFConfigClusterResolver(**options)

    return resolve


@pytest.mark.parametrize(
    ("config", "jobs", "task", "master"),
    [
        (KUBEFLOW, {"chief": 1, "ps": 2, "worker": 1}, ("ps", 1), "dist-mnist-ps-1.kubeflow.svc:2222"),
        (SPARSE, {"worker": 1, "ps": 1}, ("worker", 1), "dist-mnist-worker-1.kubeflow.svc:2222"),
        (SAGEMAKER, {"master": 1, "ps": 2, "worker": 1}, ("master", 0), "algo-1:2222"),
        (ML_ENGINE, {"master": 1, "worker": 2}, ("worker", 1), "w-1:2222"),
        (EVALUATOR_OUTSIDE, {"chief": 1, "worker": 1}, ("evaluator", 0), ""),
        (EVALUATOR_INSIDE, {"chief": 1, "worker": 1, "evaluator": 1}, ("evaluator", 0), "grpc://e:2222"),
    ],
)
def test_launchers(resolve: Any, config: Any, jobs: dict[str, int], task: tuple[str, int], master: str) -> None:
    resolver = resolve(config)
    cluster = resolver.cluster_spec()
    assert {job: cluster.num_tasks(job) for job in cluster.jobs} == jobs
    assert (resolver.task_type, resolver.task_id) == task
    assert resolver.environment == config.get("environment", "")
    assert resolver.rpc_layer == config.get("rpc_layer")
    assert resolver.master() == master


def test_a_sparse_job_keeps_its_numbers(resolve: Any) -> None:
    resolver = resolve({"cluster": {"worker": {"1": "b:1"}, "ps": ["a:1"]}, "task": {"type": "worker", "index": "1"}})
    assert resolver.cluster_spec().as_dict() == {"worker": {1: "b:1"}, "ps": ["a:1"]}
    assert resolver.master(rpc_layer="grpc") == "grpc://b:1"


@pytest.mark.parametrize("config", ["", " ", "{}", '{"cluster": null, "task": null}', '{"cluster": {}, "task": {}}'])
def test_without_a_cluster_the_process_is_its_own_master(resolve: Any, config: str) -> None:
    resolver = resolve(config)
    assert not resolver.cluster_spec()
    assert (resolver.task_type, resolver.task_id, resolver.rpc_layer, resolver.environment) == (None, None, None, "")
    assert resolver.master() == ""
    assert resolver.num_accelerators(config_proto=tf.ConfigProto(device_count={"CPU": 2}))["CPU"] == 2


def test_an_unset_variable_is_an_empty_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TF_CONFIG", raising=False)
    assert not tf.contrib.cluster_resolver.TFConfigClusterResolver().cluster_spec()


def test_a_cluster_of_one_task_is_its_own_master(resolve: Any) -> None:
    config = {"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}, "rpc_layer": "grpc"}
    assert resolve(config).master() == ""
    assert resolve({**config, "session_master": "grpc://b:1"}).master() == "grpc://b:1"


def test_arguments_and_attributes_override_the_variable(resolve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    resolver = resolve(KUBEFLOW, task_type="worker", task_id="0", rpc_layer="grpc", environment="here")
    assert (resolver.task_type, resolver.task_id, resolver.environment) == ("worker", 0, "here")
    assert resolver.master() == "grpc://dist-mnist-worker-0.kubeflow.svc:2222"
    assert resolver.master("ps", 0, "tcp") == "tcp://dist-mnist-ps-0.kubeflow.svc:2222"
    resolver.task_type, resolver.task_id, resolver.rpc_layer = "ps", 1, None
    assert resolver.master() == "dist-mnist-ps-1.kubeflow.svc:2222"
    resolver.task_type = resolver.task_id = None
    monkeypatch.setenv("TF_CONFIG", json.dumps(SAGEMAKER))
    assert (resolver.task_type, resolver.task_id, resolver.master()) == ("master", 0, "algo-1:2222")


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("{", "TF_CONFIG is not JSON: "),
        ("[1]", r"TF_CONFIG must be a JSON object, got \[1\]"),
        ({"cluster": {"w": ["a:1", "b:1"]}, "task": "w"}, "\"task\" of TF_CONFIG must be a JSON object, got 'w'"),
        ({"cluster": {"w": ["a:1", "b:1"]}}, 'not both of "type" and "index"'),
        ({"cluster": {"w": ["a:1", "b:1"]}, "task": {"type": "w"}}, 'not both of "type" and "index"'),
        ({"cluster": {"w": ["a:1", "b:1"]}, "task": {"type": "chief", "index": 0}}, "No such job in cluster: 'chief'"),
        ({"cluster": {"w": ["a:1", "b:1"]}, "task": {"type": "w", "index": 2}}, "No task with index 2 in job 'w'"),
    ],
)
def test_errors_name_what_is_wrong(resolve: Any, config: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        resolve(config).master()
