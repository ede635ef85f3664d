"""The cluster, the task and the addresses that TF_CONFIG gives to a RunConfig."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

from thalweg._src.cluster.distributed.cluster_spec import ClusterSpec

MASTER, PS, WORKER, CHIEF, EVALUATOR = "master", "ps", "worker", "chief", "evaluator"
_ORDER = (CHIEF, MASTER, WORKER, PS)


@dataclass(frozen=True, slots=True)
class Environment:
    """The place of this process in training.

    global_id: its number among all tasks of the cluster; None for an evaluator
    """

    cluster_spec: ClusterSpec
    task_type: str
    task_id: int
    master: str
    evaluation_master: str
    is_chief: bool
    num_ps_replicas: int
    num_worker_replicas: int
    global_id: int | None
    service: Any
    model_dir: str | None


def tf_config() -> dict[str, Any]:
    """Returns the contents of the environment variable TF_CONFIG."""
    text = os.environ.get("TF_CONFIG", "")
    try:
        content = json.loads(text) if text.strip() else {}
    except json.JSONDecodeError as error:
        raise ValueError(f"TF_CONFIG is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise ValueError(f"TF_CONFIG must be a JSON object, got {content!r}")
    return content


def environment(config: dict[str, Any]) -> Environment:
    """Returns the place of this process, as TF_CONFIG gives it; without a cluster, it is the only worker."""
    cluster = ClusterSpec(config.get("cluster") or {})
    task = config.get("task") or {}
    rest = {
        "evaluation_master": config.get("eval_session_master") or "",
        "service": _service(config.get("service")),
        "model_dir": _model_dir(config),
    }
    session_master = config.get("session_master")
    if not cluster:
        return _alone(task, session_master, rest)
    job, index = _task(cluster, task)
    if job == EVALUATOR:
        return Environment(ClusterSpec({}), job, index, "", **_counts(0, 0), is_chief=False, global_id=None, **rest)
    if session_master is None:
        session_master = _target(cluster, job, index)
    ps, workers = _count(cluster, PS), _count(cluster, WORKER) + _count(cluster, CHIEF) + _count(cluster, MASTER)
    return Environment(
        cluster,
        job,
        index,
        session_master,
        is_chief=job in (CHIEF, MASTER),
        global_id=_global_id(cluster, job, index),
        **_counts(ps, workers),
        **rest,
    )


def _counts(ps: int, workers: int) -> dict[str, Any]:
    return {"num_ps_replicas": ps, "num_worker_replicas": workers}


def _service(service: object) -> Any:
    if service is not None and not isinstance(service, dict):
        raise TypeError(f'If "service" is set in TF_CONFIG, it must be a dict. Given {type(service)}')
    return service


def _model_dir(config: dict[str, Any]) -> str | None:
    if "model_dir" not in config:
        return None
    if not config["model_dir"]:
        raise ValueError("model_dir in TF_CONFIG should be non-empty.")
    return str(config["model_dir"])


def _alone(task: dict[str, Any], master: Any, rest: dict[str, Any]) -> Environment:
    job, index = task.get("type", WORKER), int(task.get("index", 0))
    if job == EVALUATOR:
        return Environment(ClusterSpec({}), job, index, "", **_counts(0, 0), is_chief=False, global_id=None, **rest)
    if job not in (WORKER, CHIEF, MASTER):
        raise ValueError(f'If "cluster" is not set in TF_CONFIG, task type must be WORKER, not {job!r}.')
    if index != 0:
        raise ValueError(f'If "cluster" is not set in TF_CONFIG, task index must be 0, not {index}.')
    return Environment(ClusterSpec({}), job, 0, master or "", **_counts(0, 1), is_chief=True, global_id=0, **rest)


def _task(cluster: ClusterSpec, task: dict[str, Any]) -> tuple[str, int]:
    """Returns the job and the number of this process, after the checks of the cluster."""
    leaders = [job for job in (CHIEF, MASTER) if job in cluster.jobs]
    if not leaders:
        raise ValueError(f'If "cluster" is set in TF_CONFIG, it must have one "chief" node. Given {cluster}')
    if len(leaders) > 1:
        raise ValueError(f'"cluster" in TF_CONFIG has both "chief" and "master": it must have one of them. {cluster}')
    if _count(cluster, leaders[0]) != 1:
        raise ValueError(f'"cluster" in TF_CONFIG must have only one {leaders[0]!r} node. Given {cluster}')
    job, index = task.get("type"), task.get("index")
    if not job:
        raise ValueError('If "cluster" is set in TF_CONFIG, task type must be set.')
    if index is None:
        raise ValueError('If "cluster" is set in TF_CONFIG, task index must be set.')
    index = int(index)
    if index < 0:
        raise ValueError(f"Task index must be non-negative number, not {index}.")
    if job == EVALUATOR:
        if leaders == [MASTER]:
            raise ValueError('a cluster with a "master" has no evaluator: the master evaluates')
        return job, index
    if job not in cluster.jobs:
        raise ValueError(f"{job!r} is not a valid task_type in the cluster_spec: {cluster}")
    if index >= _count(cluster, job):
        raise ValueError(f"{index} is not a valid task_id for task_type {job!r} in the cluster_spec: {cluster}")
    return job, index


def _count(cluster: ClusterSpec, job: str) -> int:
    return cluster.num_tasks(job) if job in cluster.jobs else 0


def _target(cluster: ClusterSpec, job: str, index: int) -> str:
    """Returns the target of sessions; empty in a cluster of one task."""
    if sum(_count(cluster, other_job) for other_job in cluster.jobs) == 1:
        return ""
    return f"grpc://{cluster.task_address(job, index)}"


def _global_id(cluster: ClusterSpec, job: str, index: int) -> int:
    """Returns the number of a task among all: the chief is first, then workers, then parameter servers."""
    order = [*_ORDER, *sorted(set(cluster.jobs) - {*_ORDER})]
    return sum(_count(cluster, earlier_job) for earlier_job in order[: order.index(job)]) + index
