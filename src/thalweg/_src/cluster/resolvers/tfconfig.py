"""TFConfigClusterResolver: the cluster that a launcher describes in the environment variable TF_CONFIG."""

from __future__ import annotations

import json
import os
from typing import Any

from thalweg._src.base.config import ConfigProto
from thalweg._src.base.export import export
from thalweg._src.cluster.distributed.cluster_spec import ClusterSpec
from thalweg._src.cluster.resolvers.cluster_resolver import ClusterResolver, target


@export("distribute.cluster_resolver.TFConfigClusterResolver", "contrib.cluster_resolver.TFConfigClusterResolver")
class TFConfigClusterResolver(ClusterResolver):
    """Reads the cluster and the task of this process from the environment variable TF_CONFIG at each call.

    What it is created with overrides what TF_CONFIG says. An evaluator need not be in the cluster: its sessions are
    in its own process then.
    """

    def __init__(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
    ) -> None:
        self._task_type = task_type
        self._task_id = task_id
        self._rpc_layer = rpc_layer
        self._environment = environment

    def cluster_spec(self) -> ClusterSpec:
        """Returns the cluster of TF_CONFIG, which is empty if there is none."""
        config = _tf_config()
        # Kubeflow's operator writes "sparseCluster" where workers may come and go. A list that is nil in Go is null.
        jobs = config.get("cluster") or config.get("sparseCluster") or {}
        if isinstance(jobs, dict):
            jobs = {job: tasks for job, tasks in jobs.items() if tasks is not None}
        return ClusterSpec(jobs)

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Returns the target of a task, by default that of this process; empty in a cluster of one task."""
        if (session_master := _tf_config().get("session_master")) is not None:
            return str(session_master)
        cluster = self.cluster_spec()
        if sum(len(cluster.job_tasks(job)) for job in cluster.jobs) <= 1:
            return ""
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        if task_type is None or task_id is None:
            raise ValueError(
                'No task is given: TF_CONFIG has a cluster, but not both of "type" and "index" in "task"; add them, or '
                "pass task_type and task_id."
            )
        if task_type == "evaluator" and task_type not in cluster.jobs:
            return ""
        return target(cluster.task_address(task_type, task_id), rpc_layer or self.rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: ConfigProto | None = None
    ) -> dict[str, int]:
        """Returns the number of devices of a task by type, by default of this process."""
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        return super().num_accelerators(task_type, task_id, config_proto)

    @property
    def environment(self) -> str:
        """The environment of the process, such as "cloud"; empty if TF_CONFIG names none."""
        return str(_tf_config().get("environment") or "") if self._environment is None else self._environment

    @property
    def task_type(self) -> str | None:
        """The job of this process; None if TF_CONFIG names none."""
        job = _task().get("type") if self._task_type is None else self._task_type
        return None if job is None else str(job)

    @task_type.setter
    def task_type(self, task_type: str | None) -> None:
        self._task_type = task_type

    @property
    def task_id(self) -> int | None:
        """The number of this process among the tasks of its job; None if TF_CONFIG names none."""
        number = _task().get("index") if self._task_id is None else self._task_id
        return None if number is None else int(number)

    @task_id.setter
    def task_id(self, task_id: int | None) -> None:
        self._task_id = task_id

    @property
    def rpc_layer(self) -> str | None:
        """The protocol that targets begin with; None if TF_CONFIG names none."""
        return _tf_config().get("rpc_layer") if self._rpc_layer is None else self._rpc_layer

    @rpc_layer.setter
    def rpc_layer(self, rpc_layer: str | None) -> None:
        self._rpc_layer = rpc_layer


def _tf_config() -> dict[str, Any]:
    text = os.environ.get("TF_CONFIG", "")
    try:
        return _object(json.loads(text) if text.strip() else {}, "TF_CONFIG")
    except json.JSONDecodeError as error:
        raise ValueError(f"TF_CONFIG is not JSON: {error}") from None


def _task() -> dict[str, Any]:
    return _object(_tf_config().get("task") or {}, '"task" of TF_CONFIG')


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} must be a JSON object, got {value!r}")
    return value
