"""MultiWorkerMirroredStrategy: workers with a graph each, kept in step by all-reduce of their gradients."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import dtypes, shapes
from thalweg._src.base.config import ConfigProto
from thalweg._src.base.export import export
from thalweg._src.cluster.distributed.server import GRPC, Server, find_server
from thalweg._src.cluster.resolvers.cluster_resolver import ClusterResolver
from thalweg._src.cluster.resolvers.tfconfig import TFConfigClusterResolver
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops.collective import broadcast_recv, broadcast_send
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.runtime.session.session import Session
from thalweg._src.training.distribute.all_reduce import CollectiveAllReduce, collective_keys
from thalweg._src.training.distribute.input_context import InputContext
from thalweg._src.training.distribute.mirrored import MirroredExtended, local_gpus
from thalweg._src.training.distribute.reduce_op import ReduceOp
from thalweg._src.training.distribute.strategy import Strategy
from thalweg._src.training.distribute.task import Task
from thalweg._src.training.distribute.values import DistributedValues, Mirrored, element

_SENT = (dtypes.bool, dtypes.float16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)


@export("distribute.experimental.CollectiveCommunication")
class CollectiveCommunication(enum.Enum):
    """How collective operations communicate."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


class MultiWorkerExtended(MirroredExtended):
    """One replica per device of each worker, each with a copy of every variable."""

    def __init__(
        self,
        container_strategy: Any,
        communication: CollectiveCommunication,
        task: Task | None,
        names: Sequence[str] | None = None,
    ) -> None:
        if not isinstance(communication, CollectiveCommunication):
            raise ValueError(f"communication: expected a CollectiveCommunication, received {communication!r}")
        self._communication = communication
        self._local_names = local_gpus() or ["/device:CPU:0"] if names is None else list(names)
        self._enter(container_strategy, task)

    def _enter(self, container_strategy: Any, task: Task | None) -> None:
        self._task = task
        names = self._local_names
        super().__init__(container_strategy, names if task is None else task.devices(names))
        self._cross_device_ops = CollectiveAllReduce(self.worker_devices, self._workers, self._communication.value)

    @property
    def _workers(self) -> int:
        return 1 if self._task is None else self._task.workers

    @property
    def _num_replicas_in_sync(self) -> int:
        return len(self.worker_devices) * self._workers

    @property
    def experimental_between_graph(self) -> bool:
        return True

    @property
    def should_checkpoint(self) -> bool:
        return self._task is None or self._task.is_chief

    @property
    def should_save_summary(self) -> bool:
        return self.should_checkpoint

    def _input_context(self) -> InputContext:
        number = 0 if self._task is None else self._task.number
        return InputContext(self._workers, number, self._num_replicas_in_sync)

    # -- variables ----------------------------------------------------------------------------------------------------

    def _create_variable(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        if self._workers > 1:
            kwargs["initial_value"] = self._of_chief(kwargs["initial_value"])
        return super()._create_variable(next_creator, **kwargs)

    def _of_chief(self, initial_value: TensorLike | Callable[[], TensorLike]) -> Callable[[], Any]:
        """Returns a function that creates the initial value of the chief, which all workers start from."""
        keys = collective_keys()
        group, instance = keys.group("initial values"), keys.instance()

        def create() -> Any:
            value = convert_to_tensor(initial_value() if callable(initial_value) else initial_value)
            dtype = value.dtype.base_dtype
            if dtype not in _SENT or not shapes.is_fully_defined(value.dims):
                return value
            settings = (value.shape, dtype, self._workers, group, instance)
            return broadcast_send(value, *settings) if self.should_checkpoint else broadcast_recv(*settings)

        return create

    # -- reductions ---------------------------------------------------------------------------------------------------

    def _must_reduce(self, reduce_op: ReduceOp, value: object) -> bool:
        if self._workers == 1 or isinstance(value, DistributedValues):
            return super()._must_reduce(reduce_op, value)
        return not isinstance(value, int | float) or super()._must_reduce(reduce_op, value)

    def _batch_reduce(self, reduce_op: ReduceOp, pairs: Sequence[tuple[Any, Any]]) -> list[Any]:
        return super()._batch_reduce(reduce_op, [(self._per_device(value), places) for value, places in pairs])

    def _per_device(self, value: object) -> Any:
        """Returns a value of all replicas of this process as one value per device."""
        return value if isinstance(value, DistributedValues) else Mirrored([element(value)] * len(self.worker_devices))

    def _reduce_copies(self, reduce_op: ReduceOp, values: Sequence[Tensor]) -> Tensor:
        if self._workers == 1:
            return super()._reduce_copies(reduce_op, values)
        return self._cross_device_ops.reduce(reduce_op, DistributedValues(values), self.worker_devices[0])  # type: ignore[no-any-return]

    # -- sessions -----------------------------------------------------------------------------------------------------

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
            config.isolate_session_state = True
            config.experimental.collective_group_leader = self._task.leader
            config.device_filters[:] = [self._task.device]
        return config

    def _new_session(self, graph: Graph) -> Session:
        if self._task is None:
            return super()._new_session(graph)
        return Session(_target(self._task), graph, self._update_config_proto(ConfigProto()))


_servers: list[Server] = []  # that were started for models of Keras; they serve until the process ends


def _target(task: Task) -> str:
    """Returns the target of the server of a task of this process, which is started unless the program has done so."""
    server = find_server(f"{GRPC}{task.cluster.task_address(task.job, task.index)}")
    if server is not None:
        return server.target
    _servers.append(Server(task.cluster, task.job, task.index))
    return _servers[-1].target


@export("distribute.experimental.MultiWorkerMirroredStrategy")
class MultiWorkerMirroredStrategy(Strategy):
    """Synchronous training on several workers: each builds its own graph, and has copies of all variables.

    The cluster and the task of this process come from a resolver, by default from the environment variable TF_CONFIG.
    Without a cluster the strategy mirrors variables over the devices of this process.
    """

    def __init__(
        self,
        communication: CollectiveCommunication = CollectiveCommunication.AUTO,
        cluster_resolver: ClusterResolver | None = None,
    ) -> None:
        task = Task.of_resolver(TFConfigClusterResolver() if cluster_resolver is None else cluster_resolver)
        super().__init__(MultiWorkerExtended(self, communication, task))
