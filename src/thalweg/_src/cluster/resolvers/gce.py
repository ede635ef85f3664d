"""GCEClusterResolver: a cluster of the running machines in an instance group of Google Compute Engine."""

from __future__ import annotations

from typing import Any

from thalweg._src.base.export import export
from thalweg._src.cluster.distributed.cluster_spec import ClusterSpec
from thalweg._src.cluster.resolvers.cluster_resolver import ClusterResolver


@export("distribute.cluster_resolver.GCEClusterResolver", "contrib.cluster_resolver.GCEClusterResolver")
class GCEClusterResolver(ClusterResolver):
    """Asks Compute Engine for the machines of an instance group, which are the tasks of one job."""

    def __init__(
        self,
        project: str,
        zone: str,
        instance_group: str,
        port: int,
        task_type: str = "worker",
        task_id: int = 0,
        rpc_layer: str | None = "grpc",
        credentials: Any = "default",
        service: Any = None,
    ) -> None:
        self._project = project
        self._zone = zone
        self._instance_group = instance_group
        self._port = port
        self._job = task_type
        self._task_id = task_id
        self._rpc_layer = rpc_layer
        self._service = _service(None if credentials == "default" else credentials) if service is None else service

    def cluster_spec(self) -> ClusterSpec:
        """Returns the running machines, sorted by address."""
        groups = self._service.instanceGroups()
        place = {"project": self._project, "zone": self._zone}
        request = groups.listInstances(
            **place, instanceGroup=self._instance_group, body={"instanceState": "RUNNING"}, orderBy="name"
        )
        addresses = []
        while request is not None:
            response = request.execute()
            for item in response.get("items", ()):
                name = item["instance"].rpartition("/")[2]
                machine = self._service.instances().get(**place, instance=name).execute()
                addresses.append(f"{machine['networkInterfaces'][0]['networkIP']}:{self._port}")
            request = groups.listInstances_next(previous_request=request, previous_response=response)
        return ClusterSpec({self._job: sorted(addresses)})

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Returns the target of a task, by default that of this process."""
        return self._task_master(task_type, task_id, rpc_layer)

    @property
    def task_type(self) -> str | None:
        """The job of all machines of the group, which cannot be changed."""
        return self._job

    @task_type.setter
    def task_type(self, task_type: str | None) -> None:
        raise RuntimeError("task_type of a GCEClusterResolver cannot be changed; create another one.")


def _service(credentials: Any) -> Any:
    """Returns a client of Compute Engine, by default with the application's default credentials."""
    try:
        from googleapiclient import discovery
    except ImportError as error:
        raise ImportError(
            "GCEClusterResolver needs google-api-python-client: pip install google-api-python-client, or pass service."
        ) from error
    return discovery.build("compute", "v1", credentials=credentials)
