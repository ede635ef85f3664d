"""RunConfig and TPUConfig: how a TPUEstimator runs; what concerns TPUs alone is kept, and has no effect."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.estimator.run_config import RunConfig as BaseRunConfig
from thalweg._src.estimator.tf_config import EVALUATOR


@export("contrib.tpu.InputPipelineConfig", "estimator.tpu.InputPipelineConfig")
class InputPipelineConfig:
    """Where the input function of training is called: once for each core, for each host, or for all of them."""

    PER_SHARD_V1 = 1
    PER_HOST_V1 = 2
    PER_HOST_V2 = 3
    BROADCAST = 4
    SLICED = 5


class _Fields(NamedTuple):
    iterations_per_loop: int
    num_shards: int | None
    num_cores_per_replica: int | None
    per_host_input_for_training: Any
    tpu_job_name: str | None
    initial_infeed_sleep_secs: int | None
    input_partition_dims: Any
    eval_training_input_configuration: int
    experimental_host_call_every_n_steps: int


@export("contrib.tpu.TPUConfig", "estimator.tpu.TPUConfig")
class TPUConfig(_Fields):
    """Settings of TPUs, which are checked and kept; without TPUs they have no effect.

    Args:
        iterations_per_loop: Number of steps between two looks of the host.
        num_shards: Number of replicas, or None.
        num_cores_per_replica: Number of cores of a replica: 1, 2, 4, 8 or 16, or None.
        per_host_input_for_training: A constant of `InputPipelineConfig`, or True for one call for each host.
        tpu_job_name: Name of the job of the TPU, or None.
        initial_infeed_sleep_secs: Seconds before the first input, or None.
        input_partition_dims: How inputs are split over the cores of a replica, or None.
        eval_training_input_configuration: Where the input function of evaluation is called.
        experimental_host_call_every_n_steps: Number of steps between calls of the host function.
    """

    __slots__ = ()

    def __new__(
        cls,
        iterations_per_loop: int = 2,
        num_shards: int | None = None,
        num_cores_per_replica: int | None = None,
        per_host_input_for_training: object = True,
        tpu_job_name: str | None = None,
        initial_infeed_sleep_secs: int | None = None,
        input_partition_dims: object = None,
        eval_training_input_configuration: int = InputPipelineConfig.PER_HOST_V1,
        experimental_host_call_every_n_steps: int = 1,
    ) -> TPUConfig:
        _require_positive("iterations_per_loop", iterations_per_loop)
        for name, value in (("num_shards", num_shards), ("initial_infeed_sleep_secs", initial_infeed_sleep_secs)):
            if value is not None:
                _require_positive(name, value)
        if num_cores_per_replica not in (None, 1, 2, 4, 8, 16):
            raise ValueError(f"num_cores_per_replica: expected 1, 2, 4, 8 or 16, received {num_cores_per_replica!r}")
        if input_partition_dims is not None:
            _check_partitions(input_partition_dims, num_cores_per_replica, per_host_input_for_training)
        if isinstance(per_host_input_for_training, bool):
            per_host_input_for_training = (
                InputPipelineConfig.PER_HOST_V1 if per_host_input_for_training else InputPipelineConfig.PER_SHARD_V1
            )
        return super().__new__(
            cls,
            iterations_per_loop,
            num_shards,
            num_cores_per_replica,
            per_host_input_for_training,
            tpu_job_name,
            initial_infeed_sleep_secs,
            input_partition_dims,
            eval_training_input_configuration,
            experimental_host_call_every_n_steps,
        )


def _require_positive(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise ValueError(f"{name}: expected a positive integer, received {value!r}")


def _check_partitions(dims: object, cores: int | None, place: object) -> None:
    if not isinstance(dims, list) or len(dims) > 2:
        raise ValueError(
            f"input_partition_dims: expected a list of the partitions of features and labels, received {dims!r}"
        )
    if cores is None:
        raise ValueError("input_partition_dims needs num_cores_per_replica")
    if place is not InputPipelineConfig.PER_HOST_V2:
        raise ValueError("input_partition_dims needs per_host_input_for_training=InputPipelineConfig.PER_HOST_V2")


@export("contrib.tpu.RunConfig", "estimator.tpu.RunConfig")
class RunConfig(BaseRunConfig):
    """How a TPUEstimator runs: a `tf.estimator.RunConfig` with the targets of sessions, and settings of TPUs.

    Args:
        tpu_config: A `TPUConfig`; by default one with the defaults.
        evaluation_master: Target of sessions of evaluation; by default that of training.
        master: Target of sessions; give this or `cluster`.
        cluster: A `ClusterResolver` with the target and the cluster, or None.
        **kwargs: Options of `tf.estimator.RunConfig`.
    """

    tpu_config = ReadOnly[TPUConfig]("The settings of TPUs.")
    cluster = ReadOnly[Any]("The cluster resolver, or None.")

    def __init__(
        self,
        tpu_config: TPUConfig | None = None,
        evaluation_master: str | None = None,
        master: str | None = None,
        cluster: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._tpu_config = tpu_config or TPUConfig()
        self._cluster = cluster
        if master is not None and cluster is not None:
            raise ValueError("master and cluster are both given: a cluster resolver has the target of sessions too")
        place = self._environment
        if cluster is not None:
            require_members("cluster", cluster, "a ClusterResolver or None", "master", "cluster_spec")
            place = dataclasses.replace(place, master=cluster.master(), cluster_spec=cluster.cluster_spec())
        elif master is not None:
            place = dataclasses.replace(place, master=master)
        if evaluation_master is not None:
            place = dataclasses.replace(place, evaluation_master=evaluation_master)
        elif not place.evaluation_master and place.task_type != EVALUATOR:
            place = dataclasses.replace(place, evaluation_master=place.master)
        self._environment = place

    def replace(self, **kwargs: Any) -> RunConfig:
        """Returns a copy with other values of some of its options, `tpu_config` among them."""
        replaced = super().replace(**{name: value for name, value in kwargs.items() if name != "tpu_config"})
        assert isinstance(replaced, RunConfig)
        replaced._tpu_config = kwargs.get("tpu_config", self._tpu_config)
        return replaced
