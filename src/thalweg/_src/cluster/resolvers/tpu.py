"""TPUClusterResolver: the cluster of a program for TPUs that runs on this machine alone."""

from __future__ import annotations

import os
from typing import Any

from thalweg._src.base.config import ConfigProto
from thalweg._src.base.export import export
from thalweg._src.cluster.distributed.cluster_spec import ClusterSpec
from thalweg._src.cluster.resolvers.cluster_resolver import ClusterResolver

_LOCAL = ("", "local")


@export("distribute.cluster_resolver.TPUClusterResolver", "contrib.cluster_resolver.TPUClusterResolver")
class TPUClusterResolver(ClusterResolver):
    """Finds no TPUs: a program that was written for them runs on the devices of this machine.

    Args:
        tpu: Name of the TPU, by default the environment variable TPU_NAME; "" and "local" are this machine.
        zone: Zone of the TPU; it has no effect.
        project: Project of the TPU; it has no effect.
        job_name: Name of the job of the TPU.
        coordinator_name: Name of the job of this process, or None.
        coordinator_address: Address of this process, or None.
        credentials: Credentials of the cloud; they have no effect.
        service: Client of the cloud; it has no effect.
        discovery_url: Address of the description of the cloud; it has no effect.
    """

    def __init__(
        self,
        tpu: str | bytes | None = None,
        zone: str | None = None,
        project: str | None = None,
        job_name: str = "worker",
        coordinator_name: str | None = None,
        coordinator_address: str | None = None,
        credentials: Any = "default",
        service: Any = None,
        discovery_url: str | None = None,
    ) -> None:
        name = os.environ.get("TPU_NAME") if tpu is None else os.fsdecode(tpu)
        if name is None:
            raise ValueError(
                "Please provide a TPU Name to connect to: tpu='local' is this machine, which has no TPUs, but runs the "
                "program with TPUEstimator(use_tpu=False)"
            )
        if name not in _LOCAL:
            raise ValueError(
                f"tpu: expected one of {_LOCAL}, since there are no TPUs among the devices, received {name!r}; train "
                "with TPUEstimator(use_tpu=False) and cluster=None, or with tf.distribute.MirroredStrategy on GPUs"
            )
        self._tpu = name
        self._job_name = job_name
        self._coordinator_name = coordinator_name
        self._coordinator_address = coordinator_address

    def cluster_spec(self) -> ClusterSpec:
        """Returns the cluster, which has the coordinator alone, if there is one."""
        if self._coordinator_name is None or self._coordinator_address is None:
            return ClusterSpec({})
        return ClusterSpec({self._coordinator_name: [self._coordinator_address]})

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Returns the target of sessions, which is this process."""
        return ""

    def get_master(self) -> str:
        """Returns the target of sessions, which is this process."""
        return self.master()

    def get_job_name(self) -> str:
        """Returns the name of the job of the TPU."""
        return self._job_name

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: ConfigProto | None = None
    ) -> dict[str, int]:
        """Returns the number of cores of TPUs, which is 0."""
        return {"TPU": 0}
