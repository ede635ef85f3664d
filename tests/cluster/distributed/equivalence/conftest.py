"""Fixtures: a cluster of two parameter servers and two workers over each transport."""

import pytest

from tests.cluster.distributed.clusters import TRANSPORTS

# The tests in the folder above run over TCP too; here that is only repeated.
_REPEATED = [pytest.param(name, marks=pytest.mark.slow) if name == "tcp" else name for name in TRANSPORTS]


@pytest.fixture(params=[*_REPEATED, "client"])
def transport(request, monkeypatch):
    """How the tasks are connected; "client": by sockets, with sessions as of another process."""
    if request.param == "tcp":
        monkeypatch.setenv("THALWEG_CLUSTER_TRANSPORT", "tcp")
    return request.param


@pytest.fixture
def cluster(start_cluster):
    return start_cluster(ps=2, worker=2)
