"""Strategies with variables in one place: on parameter servers, or on one device of the process."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base.config import ConfigProto
from thalweg._src.base.export import export
from thalweg._src.cluster.resolvers.cluster_resolver import ClusterResolver
from thalweg._src.cluster.resolvers.tfconfig import TFConfigClusterResolver
from thalweg._src.graph.scopes import GraphKeys, device
from thalweg._src.training.device_setter import replica_device_setter
from thalweg._src.training.distribute.cross_device_ops import ReductionToOneDevice
from thalweg._src.training.distribute.input_context import InputContext
from thalweg._src.training.distribute.mirrored import MirroredExtended, canonical_device, local_gpus
from thalweg._src.training.distribute.strategy import Strategy
from thalweg._src.training.distribute.task import Task
from thalweg._src.training.distribute.variables import create_copies


class CentralStorageExtended(MirroredExtended):
    """Replicas on the devices of this process that read and update variables in one place."""

    def __init__(self, container_strategy: Any, devices: Sequence[str] | None, parameter_device: Any) -> None:
        super().__init__(container_strategy, devices)
        self._parameter_device = parameter_device
        self._cross_device_ops = ReductionToOneDevice(reduce_to_device=self.worker_devices[0])

    @property
    def parameter_devices(self) -> tuple[Any, ...]:
        return (self._parameter_device,)

    def non_slot_devices(self, var_list: Sequence[Any]) -> Any:
        """Returns the variable that an optimizer's own variables are placed with."""
        return min(var_list, key=lambda variable: variable.name)

    def _create_variable(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        if GraphKeys.LOCAL_VARIABLES in (kwargs.get("collections") or ()):
            kwargs.pop("colocate_with", None)
            return create_copies(self._container_strategy(), self.worker_devices, next_creator, kwargs)
        beside = kwargs.pop("colocate_with", None)
        place = self._parameter_device if beside is None else beside.device
        return create_copies(self._container_strategy(), [place], next_creator, kwargs, shared=True)


@export("distribute.experimental.CentralStorageStrategy")
class CentralStorageStrategy(Strategy):
    """Synchronous training on several devices of a process, with the variables on one of them.

    By default replicas are on all GPUs and the variables on the CPU, or on the GPU if there is one.
    """

    def __init__(self, compute_devices: Sequence[str] | None = None, parameter_device: str | None = None) -> None:
        if compute_devices is not None and parameter_device is None:
            parameter_device = "/device:CPU:0"
        devices, place = local_places() if compute_devices is None else (list(compute_devices), parameter_device)
        place = canonical_device(parameter_device or place or "/device:CPU:0")
        super().__init__(CentralStorageExtended(self, devices, place))


def local_places() -> tuple[list[str], str]:
    """Returns the devices of replicas in a process without a cluster, and that of the variables."""
    gpus = local_gpus()
    return gpus or ["/device:CPU:0"], gpus[0] if len(gpus) == 1 else "/device:CPU:0"


class ParameterServerExtended(CentralStorageExtended):
    """Replicas on the devices of a worker, with the variables on parameter servers."""

    def __init__(self, container_strategy: Any, task: Task | None, names: Sequence[str] | None = None) -> None:
        self._names = names
        self._enter(container_strategy, task)

    def _enter(self, container_strategy: Any, task: Task | None) -> None:
        self._task = task
        names, place = local_places()
        names = list(names if self._names is None else self._names)
        if task is None:
            super().__init__(container_strategy, names, canonical_device(place))
            return
        if "ps" not in task.cluster.jobs:
            raise ValueError(f"the cluster has no job 'ps' for the variables: {task.cluster}")
        chosen = replica_device_setter(worker_device=task.device, cluster=task.cluster)
        super().__init__(container_strategy, task.devices(names), chosen)

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        if self._task is None:
            return super().parameter_devices
        tasks = self._task.cluster.task_indices("ps")
        return tuple(f"/job:ps/replica:0/task:{index}/device:CPU:0" for index in tasks)

    def _default_device(self) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext() if self._task is None else device(self._task.device)

    @property
    def experimental_between_graph(self) -> bool:
        return True

    @property
    def experimental_should_init(self) -> bool:
        return self._task is None or self._task.is_chief

    @property
    def should_checkpoint(self) -> bool:
        return self.experimental_should_init

    @property
    def should_save_summary(self) -> bool:
        return self.experimental_should_init

    def _input_context(self) -> InputContext:
        if self._task is None:
            return super()._input_context()
        return InputContext(self._task.workers, self._task.number, self._num_replicas_in_sync)

    def _first_replica_id(self) -> int:
        return 0  # the replicas of each worker are in step with each other alone

    def _configure(
        self, session_config: ConfigProto | None, cluster_spec: Any, task_type: str | None, task_id: int | None
    ) -> None:
        if cluster_spec:
            self._enter(self._container_strategy(), Task.of(cluster_spec, task_type, task_id))
        if session_config is not None:
            session_config.CopyFrom(self._update_config_proto(session_config))

    def _update_config_proto(self, config_proto: ConfigProto) -> ConfigProto:
        config: ConfigProto = super()._update_config_proto(config_proto)
        if self._task is not None:
            config.isolate_session_state = False
            config.device_filters[:] = [self._task.device, "/job:ps"]
        return config


@export("distribute.experimental.ParameterServerStrategy")
class ParameterServerStrategy(Strategy):
    """Asynchronous training on several workers, with the variables on parameter servers.

    Each worker builds its own graph; the gradients of its devices are summed before they update the variables. The
    cluster and the task of this process come from a resolver, by default from the environment variable TF_CONFIG.
    """

    def __init__(self, cluster_resolver: ClusterResolver | None = None) -> None:
        task = Task.of_resolver(TFConfigClusterResolver() if cluster_resolver is None else cluster_resolver)
        super().__init__(ParameterServerExtended(self, task))
