"""tf.contrib.learn.RunConfig: a RunConfig whose options describe the session too."""

from __future__ import annotations

import dataclasses
from typing import Any

from thalweg._src.base.config import ConfigProto, GPUOptions
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.estimator.run_config import RunConfig as BaseRunConfig

_DEFAULT_SECONDS = 600


@export("contrib.learn.RunConfig")
class RunConfig(BaseRunConfig):
    """How an Estimator runs; the environment variable TF_CONFIG gives the place of this process in a cluster.

    Args:
        master: Target of sessions; by default that of TF_CONFIG.
        num_cores: Number of threads of sessions; 0 leaves it to the system.
        log_device_placement: Whether sessions log the device of each operation.
        gpu_memory_fraction: Fraction of a GPU's memory that sessions may use.
        tf_random_seed: Seed of the graphs; None makes each run different.
        save_summary_steps: Steps between summaries.
        save_checkpoints_secs: Seconds between checkpoints; 600 if neither interval is given.
        save_checkpoints_steps: Steps between checkpoints; give this or `save_checkpoints_secs`.
        keep_checkpoint_max: Number of checkpoints to keep.
        keep_checkpoint_every_n_hours: Interval of checkpoints that are never deleted, in hours.
        log_step_count_steps: Steps between reports of the loss and the speed.
        protocol: Protocol of the servers: "grpc", or None for the default.
        evaluation_master: Target of sessions of evaluation.
        model_dir: Folder of checkpoints and summaries.
        session_config: A `tf.ConfigProto` for sessions, in place of the options above.
    """

    def __init__(
        self,
        master: str | None = None,
        num_cores: int = 0,
        log_device_placement: bool = False,
        gpu_memory_fraction: float = 1,
        tf_random_seed: int | None = None,
        save_summary_steps: int | None = 100,
        save_checkpoints_secs: float | None = None,
        save_checkpoints_steps: int | None = None,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: int | None = 100,
        protocol: str | None = None,
        evaluation_master: str = "",
        model_dir: PathLike | None = None,
        session_config: Any = None,
    ) -> None:
        if save_checkpoints_secs is None and save_checkpoints_steps is None:
            save_checkpoints_secs = _DEFAULT_SECONDS
        self.tf_config = ConfigProto(
            log_device_placement=log_device_placement,
            inter_op_parallelism_threads=num_cores,
            intra_op_parallelism_threads=num_cores,
            gpu_options=GPUOptions(per_process_gpu_memory_fraction=gpu_memory_fraction),
            allow_soft_placement=True,
        )
        super().__init__(
            model_dir,
            tf_random_seed,
            save_summary_steps,
            save_checkpoints_steps,
            save_checkpoints_secs,
            session_config or self.tf_config,
            keep_checkpoint_max,
            keep_checkpoint_every_n_hours,
            log_step_count_steps,
            protocol=protocol,
        )
        place = self._environment
        self._environment = dataclasses.replace(
            place,
            master=place.master if master is None else master,
            evaluation_master=evaluation_master or place.evaluation_master,
        )

    @property
    def environment(self) -> str:
        """The environment of the process: "local" without a cluster, otherwise "cloud"."""
        return "cloud" if self.cluster_spec else "local"
