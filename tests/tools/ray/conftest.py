"""Fixtures: Ray on this machine, with nodes in processes that end with the tests."""

import contextlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests import children

NODES = Path(__file__).with_name("nodes.py")


@pytest.fixture
def node():
    """Connects this process to a Ray of one node."""
    with _connected(1) as ray:
        yield ray


@pytest.fixture(scope="module")
def nodes():
    """Connects this process to a Ray of four nodes, the first of which has Ray's own services alone."""
    with _connected(0, 2, 2, 2) as ray:
        yield ray


@contextlib.contextmanager
def _connected(*cpus):
    """Starts nodes with so many CPUs, and yields the module ray, connected to them."""
    ray = pytest.importorskip("ray", reason="the extra ray is not installed")
    folder = tempfile.mkdtemp(prefix="ray", dir="/tmp")  # names of sockets have 107 characters at most
    environment = children.environment(RAY_TMPDIR=folder, RAY_USAGE_STATS_ENABLED="0", OMP_NUM_THREADS="1")
    command = [sys.executable, NODES, *map(str, cpus)]
    process = children.start(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().strip()
        assert address, "Ray has not started"
        ray.init(address=address)
        yield ray
        ray.shutdown()
        process.stdin.close()
        process.wait(60)
    finally:
        children.end(process)
        shutil.rmtree(folder, ignore_errors=True)
