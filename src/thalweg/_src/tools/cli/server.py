"""`thalweg server`: a task of a cluster as a process of its own."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading

import click

from thalweg._src.base.errors import OpError
from thalweg._src.cluster.distributed.server import Server
from thalweg._src.runtime.session.device_lib import list_local_devices
from thalweg._src.tools.cli.cluster_config import ClusterConfig
from thalweg._src.tools.cli.signal_pipe import signal_pipe

_STOP_SECONDS = 10.0


def serve(config: ClusterConfig) -> int:
    """Serves a task until SIGTERM or SIGINT; returns the exit status of the process."""
    signals = signal_pipe(signal.SIGTERM, signal.SIGINT)
    try:
        server = Server(config.cluster, config.job, config.index)
    except (OpError, ValueError) as error:
        click.echo(f"thalweg: the server cannot start: {error}", err=True)
        return 1
    task = server.server_def
    devices = ", ".join(device.name.rpartition("device:")[2] for device in list_local_devices())
    address = config.cluster.task_address(task.job_name, task.task_index)
    click.echo(f"{task.job_name} {task.task_index} serves grpc://{address} (devices {devices})")
    sys.stdout.flush()
    select.select([signals], [], [])
    status = 128 + signal.SIGINT if os.read(signals, 1)[0] == signal.SIGINT else 0
    limit = threading.Timer(_STOP_SECONDS, os._exit, [status])  # calls that wait for other tasks cannot hold it
    limit.daemon = True
    limit.start()
    server.stop()
    return status
