"""KubernetesClusterResolver: a cluster of the running pods that label selectors find."""

from __future__ import annotations

import enum
import os
from collections.abc import Mapping, Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.cluster.distributed.cluster_spec import ClusterSpec
from thalweg._src.cluster.resolvers.cluster_resolver import ClusterResolver


@export("distribute.cluster_resolver.KubernetesExecutableLocation")
class ExecutableLocation(enum.Enum):
    """Where a program runs that asks Kubernetes for pods: in one of them, or elsewhere."""

    WITHIN_CLUSTER = 0
    OFF_CLUSTER = 1


@export("distribute.cluster_resolver.KubernetesClusterResolver", "contrib.cluster_resolver.KubernetesClusterResolver")
class KubernetesClusterResolver(ClusterResolver):
    """Asks Kubernetes for the pods of each job; the caller sets `task_type` and `task_id`."""

    def __init__(
        self,
        job_to_label_mapping: Mapping[str, Sequence[str]] | None = None,
        tf_server_port: int = 8470,
        rpc_layer: str | None = "grpc",
        override_client: Any = None,
        executable_location: ExecutableLocation | None = None,
    ) -> None:
        self._selectors = job_to_label_mapping or {"worker": ["job-name=tensorflow"]}
        self._port = tf_server_port
        self._rpc_layer = rpc_layer
        self._client = override_client or _client(executable_location)

    def cluster_spec(self) -> ClusterSpec:
        """Returns the pods of each job, those of each selector sorted by name; all of them must be running."""
        return ClusterSpec(
            {
                job: [address for selector in selectors for address in self._addresses(selector)]
                for job, selectors in self._selectors.items()
            }
        )

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Returns the target of a task, by default that of this process; empty if that is not set."""
        return self._task_master(task_type, task_id, rpc_layer)

    def _addresses(self, selector: str) -> list[str]:
        pods = self._client.list_pod_for_all_namespaces(label_selector=selector).items
        for pod in pods:
            if pod.status.phase != "Running":
                raise RuntimeError(f'Pod "{pod.metadata.name}" is not running; phase: "{pod.status.phase}"')
        return [f"{pod.status.host_ip}:{self._port}" for pod in sorted(pods, key=lambda pod: pod.metadata.name)]


def _client(location: ExecutableLocation | None) -> Any:
    """Returns a client with the credentials of the pod or, elsewhere, of the user's configuration."""
    try:
        from kubernetes import client, config
    except ImportError as error:
        raise ImportError(
            "KubernetesClusterResolver needs the package kubernetes: pip install kubernetes, or pass override_client."
        ) from error
    if location is None:
        within = "KUBERNETES_SERVICE_HOST" in os.environ  # set in every pod
    else:
        within = ExecutableLocation(location) is ExecutableLocation.WITHIN_CLUSTER
    (config.load_incluster_config if within else config.load_kube_config)()
    return client.CoreV1Api()
