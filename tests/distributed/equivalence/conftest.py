"""Fixtures: a cluster of two parameter servers and two workers over each transport."""

import pytest

from tests.distributed.clusters import TRANSPORTS


@pytest.fixture(params=[*TRANSPORTS, "client"])
def transport(request, monkeypatch):
    """How the tasks are connected; "client": by sockets, with sessions as of another process."""
    if request.param == "tcp":
        monkeypatch.setenv("THALWEG_CLUSTER_TRANSPORT", "tcp")
    return request.param


@pytest.fixture
def cluster(start_cluster):
    return start_cluster(ps=2, worker=2)
