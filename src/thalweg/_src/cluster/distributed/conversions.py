"""Options, clusters and devices as messages of the control plane, and the reverse."""

from __future__ import annotations

import json
from collections.abc import Iterable

from thalweg._src.base import determinism, errors
from thalweg._src.base.config import ClusterDef, ConfigProto, JobDef
from thalweg._src.cluster.distributed import control
from thalweg._src.runtime.backend import DeviceAttributes, attributes_of
from thalweg._src.runtime.resources.devices import Device


def config_to_json(config: ConfigProto) -> str:
    """Returns the options of a session for another process, which are deterministic operations if they are here."""
    if determinism.is_required():
        config = ConfigProto(**config.as_dict())
        config.experimental.deterministic_ops = True
        config.experimental.seeds_required = determinism.needs_seeds()
    return json.dumps(config.as_dict())


def config_from_json(text: str) -> ConfigProto:
    try:
        return ConfigProto.from_dict(json.loads(text)) if text else ConfigProto()
    except (ValueError, RecursionError) as error:
        raise errors.invalid(f"the options of a session cannot be read: {error}") from None


def cluster_to_message(cluster: ClusterDef) -> control.Cluster:
    return control.Cluster(job=[control.Cluster.Job(name=job.name, tasks=job.tasks) for job in cluster.job])


def cluster_from_message(message: control.Cluster) -> ClusterDef:
    return ClusterDef(job=[JobDef(name=job.name, tasks=dict(job.tasks)) for job in message.job])


def device_messages(devices: Iterable[Device]) -> list[control.Device]:
    return [attribute_message(attributes) for attributes in attributes_of(devices)]


def attribute_message(device: DeviceAttributes) -> control.Device:
    return control.Device(
        name=device.name,
        device_type=device.device_type,
        memory_limit=device.memory_limit_bytes,
        incarnation=device.incarnation,
    )


def device_attributes(devices: Iterable[control.Device]) -> list[DeviceAttributes]:
    return [DeviceAttributes(d.name, d.device_type, d.memory_limit, d.incarnation) for d in devices]
