"""Cluster resolvers that are given a cluster, join others, or ask Kubernetes or Compute Engine."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

import thalweg as tf
from thalweg.distribute import cluster_resolver as resolvers

PS = tf.train.ClusterSpec({"ps": ["ps0:2222", "ps1:2222"]})
WORKERS = tf.train.ClusterSpec({"worker": ["w0:2222", "w1:2222"]})
SPARSE = tf.train.ClusterSpec({"worker": {2: "w2:2222"}})


class Fixed(resolvers.ClusterResolver):
    """The least that a user's own resolver defines."""

    def cluster_spec(self) -> Any:
        return WORKERS

    def master(self, task_type: Any = None, task_id: Any = None, rpc_layer: Any = None) -> str:
        return ""


def test_a_resolver_defines_its_cluster_and_its_master() -> None:
    with pytest.raises(TypeError, match="abstract"):
        resolvers.ClusterResolver()  # type: ignore[abstract]
    resolver = Fixed()
    assert (resolver.task_type, resolver.task_id, resolver.rpc_layer, resolver.environment) == (None, None, None, "")
    resolver.task_type, resolver.task_id, resolver.rpc_layer = "worker", 0, "grpc"
    assert (resolver.task_type, resolver.task_id, resolver.rpc_layer) == ("worker", 0, "grpc")
    assert Fixed().task_type is None


def test_devices_are_counted_by_type() -> None:
    config = tf.ConfigProto(device_count={"CPU": 3})
    for task in ((), ("worker", 0)):
        found = Fixed().num_accelerators(*task, config_proto=config)
        assert found["CPU"] == 3 and found["TPU"] == 0


def test_devices_of_a_task_are_counted_at_its_server() -> None:
    class AtServer(Fixed):
        def master(self, task_type: Any = None, task_id: Any = None, rpc_layer: Any = None) -> str:
            return server.target

    config = tf.ConfigProto(device_count={"CPU": 2, "GPU": 0})
    with tf.train.Server({"worker": ["localhost:0"]}, config=config) as server:
        assert AtServer().num_accelerators() == {"CPU": 2} == AtServer().num_accelerators("worker", 0)
        assert AtServer().num_accelerators("worker", 1) == {} == AtServer().num_accelerators("ps", 0)


def test_a_simple_resolver_returns_what_it_is_given() -> None:
    resolver = resolvers.SimpleClusterResolver(WORKERS, "chief:1", "worker", 1, "cloud", {"GPU": 2}, "grpc")
    assert resolver.cluster_spec() is WORKERS
    assert (resolver.task_type, resolver.task_id, resolver.environment) == ("worker", 1, "cloud")
    assert resolver.num_accelerators("worker", 0) == {"GPU": 2}
    assert resolver.master() == resolver.master("worker") == "grpc://chief:1"
    assert resolver.master("worker", 0) == "grpc://w0:2222"
    assert resolver.master("worker", 0, rpc_layer="tcp") == "tcp://w0:2222"
    resolver.rpc_layer, resolver.task_id = None, 0
    assert resolver.master("worker", 0) == "w0:2222" and resolver.task_id == 0
    plain = resolvers.SimpleClusterResolver(WORKERS, rpc_layer="grpc")
    assert plain.master() == "" and plain.num_accelerators() == {}
    with pytest.raises(TypeError, match="cluster_spec must be a ClusterSpec, got dict"):
        resolvers.SimpleClusterResolver({"worker": ["w0:2222"]})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="master must be a string"):
        resolvers.SimpleClusterResolver(WORKERS, master=None)  # type: ignore[arg-type]


def test_a_union_joins_clusters() -> None:
    first = resolvers.SimpleClusterResolver(PS, "m:1", "ps", 1, "cloud", {"GPU": 1}, "grpc")
    union = resolvers.UnionResolver(first, Fixed(), Fixed())
    assert union.cluster_spec().as_dict() == {
        "ps": ["ps0:2222", "ps1:2222"],
        "worker": ["w0:2222", "w1:2222", "w0:2222", "w1:2222"],
    }
    assert (union.task_type, union.task_id, union.environment, union.rpc_layer) == ("ps", 1, "cloud", "grpc")
    assert union.num_accelerators() == {"GPU": 1}
    assert union.master() == "grpc://m:1"
    assert union.master("worker", 1) == "grpc://w1:2222"
    other = resolvers.UnionResolver(first, task_type="worker", task_id=0, rpc_layer="tcp")
    assert (other.task_type, other.task_id, other.rpc_layer, other.master()) == ("worker", 0, "tcp", "tcp://m:1")
    other.task_type, other.task_id, other.rpc_layer = "chief", 3, None
    assert (other.task_type, other.task_id, other.rpc_layer) == ("chief", 3, "grpc")
    assert tf.contrib.cluster_resolver.UnionClusterResolver is resolvers.UnionResolver


def test_tasks_with_gaps_keep_their_numbers_in_a_union() -> None:
    sparse = resolvers.SimpleClusterResolver(SPARSE)
    for order in ((Fixed(), sparse), (sparse, Fixed())):
        union = resolvers.UnionResolver(*order)
        assert union.cluster_spec() == {"worker": {0: "w0:2222", 1: "w1:2222", 2: "w2:2222"}}
    with pytest.raises(KeyError, match=r"Duplicate keys detected when merging two ClusterSpecs: \[2\] of job 'worker'"):
        resolvers.UnionResolver(sparse, sparse).cluster_spec()
    with pytest.raises(ValueError, match="At least one ClusterResolver is required"):
        resolvers.UnionResolver()
    with pytest.raises(TypeError, match="must be a sub-class of `ClusterResolver`"):
        resolvers.UnionResolver(WORKERS)  # type: ignore[arg-type]


class Pods:
    """The one call of kubernetes.client.CoreV1Api that is made."""

    def __init__(self, **pods: list[tuple[str, str, str]]) -> None:
        self.pods = pods

    def list_pod_for_all_namespaces(self, label_selector: str) -> Any:
        return SimpleNamespace(
            items=[
                SimpleNamespace(metadata=SimpleNamespace(name=name), status=SimpleNamespace(phase=phase, host_ip=ip))
                for name, phase, ip in self.pods[label_selector.removeprefix("job-name=")]
            ]
        )


def test_pods_are_the_tasks_of_jobs() -> None:
    client = Pods(
        tensorflow=[("t-0", "Running", "10.0.0.1")],
        a=[("a-1", "Running", "10.1.2.4"), ("a-0", "Running", "10.1.2.3")],
        b=[("b-0", "Running", "10.1.2.5")],
    )
    resolver = resolvers.KubernetesClusterResolver(override_client=client)
    assert resolver.cluster_spec().as_dict() == {"worker": ["10.0.0.1:8470"]}
    mapping = {"worker": ["job-name=a", "job-name=b"], "ps": ["job-name=b"]}
    resolver = resolvers.KubernetesClusterResolver(mapping, tf_server_port=2222, override_client=client)
    assert resolver.cluster_spec().as_dict() == {
        "worker": ["10.1.2.3:2222", "10.1.2.4:2222", "10.1.2.5:2222"],
        "ps": ["10.1.2.5:2222"],
    }
    assert resolver.master() == "" and resolver.master("ps", 0) == "grpc://10.1.2.5:2222"
    resolver.task_type, resolver.task_id = "worker", 1
    assert resolver.master() == "grpc://10.1.2.4:2222"
    client.pods["b"].append(("b-1", "Pending", ""))
    with pytest.raises(RuntimeError, match='Pod "b-1" is not running; phase: "Pending"'):
        resolver.cluster_spec()


def test_packages_of_providers_are_named_when_they_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    monkeypatch.setitem(sys.modules, "googleapiclient", None)
    with pytest.raises(ImportError, match="pip install kubernetes"):
        resolvers.KubernetesClusterResolver()
    with pytest.raises(ImportError, match="pip install google-api-python-client"):
        resolvers.GCEClusterResolver("p", "z", "g", 8470)


class ComputeEngine:
    """The calls of Compute Engine's API that are made, for a group that is listed in two pages."""

    def instanceGroups(self) -> Any:
        return self

    def instances(self) -> Any:
        return self

    def listInstances(self, project: str, zone: str, instanceGroup: str, body: Any, orderBy: str) -> Any:
        assert (project, zone, instanceGroup, body) == ("p", "z", "g", {"instanceState": "RUNNING"})
        return self._page("b", "a")

    def listInstances_next(self, previous_request: Any, previous_response: Any) -> Any:
        return self._page("c") if len(previous_response["items"]) == 2 else None

    def get(self, project: str, zone: str, instance: str) -> Any:
        return SimpleNamespace(execute=lambda: {"networkInterfaces": [{"networkIP": f"10.0.0.{ord(instance) - 96}"}]})

    def _page(self, *names: str) -> Any:
        items = [{"instance": f"https://compute/v1/projects/p/zones/z/instances/{name}"} for name in names]
        return SimpleNamespace(execute=lambda: {"items": items})


def test_machines_of_an_instance_group_are_the_tasks_of_a_job() -> None:
    resolver = resolvers.GCEClusterResolver("p", "z", "g", 8470, task_id=2, service=ComputeEngine())
    assert resolver.cluster_spec().as_dict() == {"worker": ["10.0.0.1:8470", "10.0.0.2:8470", "10.0.0.3:8470"]}
    assert resolver.master() == "grpc://10.0.0.3:8470"
    resolver.task_id = 0
    assert resolver.master(rpc_layer="tcp") == "tcp://10.0.0.1:8470"
    with pytest.raises(RuntimeError, match="task_type of a GCEClusterResolver cannot be changed"):
        resolver.task_type = "ps"
