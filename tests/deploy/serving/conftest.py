"""Fixtures: a saved model, and a server of it that a module shares."""

import json
import urllib.error
import urllib.request

import pytest

from tests.deploy.serving import models
from thalweg._src.deploy.serving.server import ModelServer


@pytest.fixture(scope="package")
def saved(tmp_path_factory):
    """The folder of a model with one version."""
    folder = tmp_path_factory.mktemp("serving") / "model"
    models.save(folder / "1")
    return folder


@pytest.fixture(scope="package")
def server(saved):
    with ModelServer({"m": str(saved)}, port=0, rest_api_port=0, poll_seconds=0.05) as server:
        yield server


@pytest.fixture(scope="package")
def ask(server):
    return asking(server)


def asking(server):
    """Returns a function that makes a REST request and returns status and answer."""

    def ask(path, body=None, headers=(), raw=False):
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{server.rest_api_port}{path}", data, dict(headers))
        try:
            with urllib.request.urlopen(request) as response:
                status, content = response.status, response.read()
        except urllib.error.HTTPError as error:
            with error:
                status, content = error.code, error.read()
        return status, content.decode() if raw else json.loads(content)

    return ask
