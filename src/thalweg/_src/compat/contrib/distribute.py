"""tf.contrib.distribute: strategies whose batches are those of a replica, training steps, and a server of TF_CONFIG.

What tf.distribute calls the batch of all replicas is that of one replica here: `make_dataset_iterator` gives each
replica an element of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from thalweg._src.base.config import ConfigProto
from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.cluster.distributed.server import Server
from thalweg._src.cluster.resolvers.tfconfig import TFConfigClusterResolver
from thalweg._src.graph.operation import Operation
from thalweg._src.training.distribute.input import DistributedDataset, TurnIterator
from thalweg._src.training.distribute.mirrored import MirroredExtended
from thalweg._src.training.distribute.multi_worker import CollectiveCommunication, MultiWorkerExtended
from thalweg._src.training.distribute.parameter_server import ParameterServerExtended
from thalweg._src.training.distribute.strategy import Strategy
from thalweg._src.training.variables.variables import global_variables_initializer


class _PerReplicaBatches:
    """The input of a strategy whose replicas take elements of a dataset in turn."""

    _shares: Callable[[], Any]

    def _make_dataset_iterator(self, dataset: Any) -> TurnIterator:
        return TurnIterator(self._shares(), dataset)

    def _distribute_dataset(self, dataset: Any) -> DistributedDataset:
        return DistributedDataset(self._shares(), dataset, TurnIterator)


class _Mirrored(_PerReplicaBatches, MirroredExtended): ...


class _MultiWorker(_PerReplicaBatches, MultiWorkerExtended): ...


class _ParameterServer(_PerReplicaBatches, ParameterServerExtended): ...


def _gpus(count: int) -> list[str] | None:
    return [f"/device:GPU:{index}" for index in range(count)] or None


@export("contrib.distribute.MirroredStrategy")
class MirroredStrategy(Strategy):
    """Synchronous training on several devices of a process, with batches per replica.

    Args:
        devices: Names of the devices of replicas; by default all GPUs, or the CPU.
    """

    def __init__(
        self,
        devices: Sequence[str] | None = None,
        num_gpus: int | None = None,
        num_gpus_per_worker: int | None = None,
        cross_device_ops: Any = None,
        auto_shard_dataset: bool = False,
        cross_tower_ops: Any = None,
    ) -> None:
        if num_gpus is not None and num_gpus_per_worker is not None:
            raise ValueError("expected one of num_gpus and num_gpus_per_worker, received both")
        count = num_gpus_per_worker if num_gpus is None else num_gpus
        if count is not None:
            if devices is not None:
                raise ValueError("expected one of devices and a number of GPUs, received both")
            devices = _gpus(count) or ["/device:CPU:0"]
        super().__init__(_Mirrored(self, devices, cross_device_ops or cross_tower_ops))


@export("contrib.distribute.CollectiveAllReduceStrategy")
class CollectiveAllReduceStrategy(Strategy):
    """Synchronous training on several workers, with batches per replica; `configure` sets the cluster."""

    def __init__(
        self,
        num_gpus_per_worker: int = 0,
        communication: CollectiveCommunication = CollectiveCommunication.AUTO,
    ) -> None:
        super().__init__(_MultiWorker(self, communication, None, _gpus(num_gpus_per_worker) or ["/device:CPU:0"]))


@export("contrib.distribute.ParameterServerStrategy")
class ParameterServerStrategy(Strategy):
    """Asynchronous training on several workers, with batches per replica; `configure` sets the cluster."""

    def __init__(self, num_gpus_per_worker: int = 0) -> None:
        super().__init__(_ParameterServer(self, None, _gpus(num_gpus_per_worker) or ["/device:CPU:0"]))


@export("contrib.distribute.DistributeConfig")
class DistributeConfig(NamedTuple):
    """The strategies of an Estimator, and the cluster that it trains in from outside.

    Args:
        train_distribute: The strategy of training.
        eval_distribute: The strategy of evaluation.
    """

    train_distribute: Any = None
    eval_distribute: Any = None
    remote_cluster: Any = None


# -- steps ------------------------------------------------------------------------------------------------------------


@export("contrib.distribute.Step")
class Step:
    """Base class of training steps; calling one adds its operations and returns the one to run."""

    distribution = ReadOnly[Strategy]("The strategy of the step.")

    def __init__(self, distribution: Strategy) -> None:
        self._distribution = distribution

    def initialize(self) -> list[Operation]:
        """Returns the operations that run before the first step."""
        return []

    def __call__(self) -> Any:
        """Returns the operation of a step; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} defines no __call__")


@export("contrib.distribute.StandardInputStep")
class StandardInputStep(Step):
    """A step with the input of a function that returns a dataset."""

    def __init__(self, dataset_fn: Callable[[], Any], distribution: Strategy) -> None:
        super().__init__(distribution)
        require_members("distribution", distribution, "a tf.distribute.Strategy", "make_input_fn_iterator")
        self._iterator = distribution.make_input_fn_iterator(lambda _: dataset_fn())

    def initialize(self) -> list[Operation]:
        """Returns the initializer of the input."""
        return [self._iterator.initialize()]


@export("contrib.distribute.StandardSingleLossStep")
class StandardSingleLossStep(StandardInputStep):
    """Steps that minimize `loss_fn(context, inputs)` of each replica, several of them in one step of a session.

    Args:
        loss_fn: Function from a context and the inputs of a replica to its loss.
    """

    def __init__(
        self,
        dataset_fn: Callable[[], Any],
        loss_fn: Callable[[Any, Any], Any],
        optimizer: Any,
        distribution: Strategy,
        iterations_per_step: int = 1,
    ) -> None:
        super().__init__(dataset_fn, distribution)
        self._loss_fn = loss_fn
        self._optimizer = optimizer
        self._iterations_per_step = iterations_per_step

    def __call__(self) -> Operation:
        """Returns the operation that runs the steps."""
        with self._distribution.scope():
            extended = self._distribution.extended

            def step(context: Any, inputs: Any) -> Any:
                def minimize(*tensors: Any) -> Any:
                    loss = self._loss_fn(context, tensors[0] if len(tensors) == 1 else tensors)
                    return self._optimizer.minimize(loss)

                replica_inputs = inputs if isinstance(inputs, tuple) else (inputs,)
                return self._distribution.group(extended.call_for_each_replica(minimize, args=replica_inputs))

            context = extended.experimental_run_steps_on_iterator(step, self._iterator, self._iterations_per_step)
            return context.run_op  # type: ignore[no-any-return]


@export("contrib.distribute.Monitor")
class Monitor:
    """Runs training steps in a session."""

    def __init__(self, step_callable: Step, session: Any = None) -> None:
        if session is None:
            raise ValueError("session: expected a session in which steps run, received None")
        operation = step_callable()
        session.run(step_callable.initialize())
        session.run(global_variables_initializer())
        self._run_step = session.make_callable(operation)

    def run_steps(self, num_steps: int | None = None) -> None:
        """Runs steps: as many as given, or until the input ends."""
        step = 0
        while num_steps is None or step < num_steps:
            self._run_step()
            step += 1


@export("contrib.distribute.run_standard_tensorflow_server")
def run_standard_tensorflow_server(session_config: Any = None) -> Server:
    """Starts the server of the task that TF_CONFIG describes and returns it; the caller joins it."""
    resolver = TFConfigClusterResolver()
    cluster, job, index = resolver.cluster_spec(), resolver.task_type, resolver.task_id
    if not cluster:
        raise ValueError("TF_CONFIG: expected a cluster, found none")
    if job is None or index is None:
        raise ValueError("TF_CONFIG: expected the type and the index of a task, found none")
    config = ConfigProto() if session_config is None else session_config
    server = Server(cluster, job_name=job, task_index=index, config=config, start=False)
    server.start()
    return server
