"""Fixtures: clusters of servers, which leave nothing behind, and certificates for TLS, made by the openssl command."""

import contextlib
import gc
import os
import shutil
import threading
import time

import pytest

from tests import children
from tests.cluster.distributed.clusters import TRANSPORTS, Cluster
from tests.cluster.distributed.namespaces import HERE, THERE
from thalweg._src.cluster.distributed import client
from thalweg._src.cluster.distributed.credentials import Tls

_CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@pytest.fixture(params=TRANSPORTS)
def transport(request, monkeypatch):
    """How the tasks of a cluster are connected."""
    if request.param == "tcp":
        monkeypatch.setenv("THALWEG_CLUSTER_TRANSPORT", "tcp")
    return request.param


@pytest.fixture
def start_cluster(transport):
    """Starts clusters of servers in this process, and stops them after the test."""
    started = []

    def start(**jobs):
        started.append(Cluster(transport, **jobs))
        return started[-1]

    yield start
    for cluster in started:
        cluster.stop()


@pytest.fixture
def cluster(start_cluster):
    """A parameter server and a worker; sessions connect to the worker."""
    return start_cluster(ps=1, worker=1)


# The threads of pools end when they are idle for some seconds; that of finalizers is one, and stays.
_POOLS = ("thalweg", "thalweg data", "thalweg_finalizers")


def _descriptors():
    """Returns the sockets and the files in memory that are open; gRPC keeps files of other sorts."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found.append(os.readlink(f"/proc/self/fd/{name}"))
    found = [target for target in found if target.startswith(("socket:", "/memfd:"))]
    return set(found).difference(template.descriptor for template in children.templates())


@pytest.fixture(autouse=True)
def nothing_leaks():
    """Fails a test of the cluster that leaves threads or file descriptors behind."""
    threads, descriptors = set(threading.enumerate()), _descriptors()
    yield
    client.disconnect()
    until = time.monotonic() + 5
    while time.monotonic() < until:
        gc.collect()
        left = [t for t in threading.enumerate() if t not in threads and t.name not in _POOLS]
        files = _descriptors() - descriptors
        if not left and not files:
            return
        time.sleep(0.05)
    assert not left, f"threads are left: {[thread.name for thread in left]}"
    assert not files, f"file descriptors are left: {files}"


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """Returns a function that makes the files of a task, for 127.0.0.1 and localhost, of an authority by its name."""
    command = shutil.which("openssl")
    if command is None:
        pytest.skip("the command openssl, which makes certificates, is not installed")
    folder = tmp_path_factory.mktemp("certificates")
    made = {}

    def openssl(*arguments):
        children.run([command, *arguments], cwd=folder)

    def make(name, authority="authority"):
        if (name, authority) in made:
            return made[name, authority]
        if not (folder / f"{authority}.pem").exists():
            files = ("-keyout", f"{authority}.key", "-out", f"{authority}.pem")
            openssl("req", "-x509", *_CURVE, "-days", "2", "-subj", f"/CN={authority}", *files)
        file = f"{authority}-{name}"
        openssl("req", *_CURVE, "-subj", f"/CN={name}", "-keyout", f"{file}.key", "-out", f"{file}.csr")
        (folder / "names").write_text(f"subjectAltName=IP:127.0.0.1,DNS:localhost,IP:{HERE},IP:{THERE}\n")
        signing = ("-CA", f"{authority}.pem", "-CAkey", f"{authority}.key", "-CAcreateserial", "-extfile", "names")
        openssl("x509", "-req", "-in", f"{file}.csr", "-days", "2", *signing, "-out", f"{file}.pem")
        (folder / f"{file}.key").chmod(0o600)
        paths = (folder / f"{file}.pem", folder / f"{file}.key", folder / f"{authority}.pem")
        made[name, authority] = Tls(*map(str, paths))
        return made[name, authority]

    return make
