"""Descriptions of a cluster: `--cluster` of the command line, and the environment variable TF_CONFIG."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import click

from thalweg._src.cluster.distributed.cluster_spec import ClusterSpec
from thalweg._src.cluster.resolvers.tfconfig import TFConfigClusterResolver

TF_CONFIG = "TF_CONFIG"


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """A cluster, and the task of it that is meant, where one is named."""

    cluster: ClusterSpec
    job: str | None = None
    index: int | None = None


def find_config(option: str | None) -> ClusterConfig:
    """Returns the cluster of an option `--cluster`, or else that of TF_CONFIG.

    option: a JSON object such as {"ps": ["localhost:2222"]}, the path of a file with one, or None
    """
    try:
        config = _from_tf_config() if option is None else _from_option(option)
    except (OSError, ValueError, TypeError, RecursionError) as error:
        origin = TF_CONFIG if option is None else "--cluster"
        raise click.UsageError(f"{origin} does not describe a cluster: {error}") from None
    if not config.cluster:
        raise click.UsageError(f"No cluster: give --cluster, or set {TF_CONFIG}.")
    return config


def _from_option(option: str) -> ClusterConfig:
    text = option if option.lstrip().startswith("{") else Path(option).read_text()
    return ClusterConfig(ClusterSpec(json.loads(text)))


def _from_tf_config() -> ClusterConfig:
    resolver = TFConfigClusterResolver()
    return ClusterConfig(resolver.cluster_spec(), resolver.task_type, resolver.task_id)


def write_tf_config(cluster: dict[str, list[str]], job: str, index: int) -> str:
    """Returns the TF_CONFIG of one task."""
    return json.dumps({"cluster": cluster, "task": {"type": job, "index": index}})
