"""Servers on two hosts: the tests of servers run over two network namespaces, with a token and with mutual TLS."""

import os
import sys
from pathlib import Path

import pytest

import thalweg as tf
from tests import children
from tests.cluster.distributed import namespaces
from thalweg._src.cluster.distributed import credentials

if namespaces.OTHER in os.environ:
    pytest.skip("this is inside of a namespace", allow_module_level=True)

FILES = ("test_server.py", "equivalence/test_values.py", "equivalence/test_control_flow.py")
SLOW = pytest.mark.slow
NAMES = ("TOKEN", "TOKEN_FILE", "TLS_CERT", "TLS_KEY", "TLS_CA", "INSECURE")
TOKEN = {credentials.TOKEN: "a token of tests only"}


def without_credentials():
    return dict.fromkeys((getattr(credentials, name) for name in NAMES), "")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no network namespaces")
@pytest.mark.parametrize("proof", ["token", "tls"])
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("files", "chosen"), [(FILES[:1], "large_values"), pytest.param(FILES, "test", marks=SLOW)])
def test_servers_of_two_hosts(files, chosen, proof, request, tmp_path):
    if reason := namespaces.missing():
        pytest.skip(reason)
    variables = TOKEN
    if proof == "tls":
        tls = request.getfixturevalue("certificates")("task")
        variables = {
            credentials.TLS_CERT: tls.certificate,
            credentials.TLS_KEY: tls.key,
            credentials.TLS_CA: tls.authority,
        }
    # The placement of a step, which one of the tests asks for, is not sent to clients in other processes.
    chosen = f"namespaces and {chosen} and not without_a_device"
    paths = [Path(__file__).parent / file for file in files]
    tests = [*paths, "-q", "-n0", "-x", "-k", chosen, "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'inside'}"]
    command = [*namespaces.outside(), sys.executable]
    environment = children.environment(**{**without_credentials(), **variables})
    done = children.run([*command, "-m", "tests.cluster.distributed.namespaces", *tests], check=False, env=environment)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-3000:]


def test_without_credentials_a_server_off_loopback_does_not_start(monkeypatch):
    for name, value in without_credentials().items():
        monkeypatch.setenv(name, value)
    with pytest.raises(tf.errors.FailedPreconditionError, match=r"10\.77\.0\.1 is not loopback[\s\S]*CLUSTER_TOKEN"):
        tf.train.Server({"worker": [f"{namespaces.HERE}:2222"]})
