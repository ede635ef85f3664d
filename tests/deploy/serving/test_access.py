"""Who may call a server: all programs on loopback, elsewhere those with the token or a certificate."""

import numpy as np
import pytest

from tests.cluster.distributed.conftest import certificates  # noqa: F401
from thalweg._src.base import errors
from thalweg._src.deploy.serving.access import Access
from thalweg._src.deploy.serving.client import Client
from thalweg._src.deploy.serving.server import ModelServer

TOKEN = "0123456789abcdef"


def test_loopback_is_open_and_other_addresses_need_credentials():
    assert Access.find("127.0.0.1:0", {}) == Access()
    assert Access.find("0.0.0.0:0", {"THALWEG_SERVING_TOKEN": TOKEN}).token == TOKEN.encode()
    assert Access.find("0.0.0.0:0", {"THALWEG_SERVING_INSECURE": "1"}) == Access()
    with pytest.raises(errors.FailedPreconditionError) as caught:
        Access.find("0.0.0.0:0", {"THALWEG_CLUSTER_TOKEN": TOKEN})
    assert "THALWEG_SERVING_TOKEN" in caught.value.message and "THALWEG_CLUSTER" not in caught.value.message


@pytest.mark.parametrize("protocol", ["grpc", "rest"])
def test_mutual_tls(saved, certificates, monkeypatch, protocol):  # noqa: F811
    def use(tls):
        for name, path in (("CERT", tls.certificate), ("KEY", tls.key), ("CA", tls.authority)):
            monkeypatch.setenv(f"THALWEG_SERVING_TLS_{name}", path)

    use(certificates("server"))
    with ModelServer({"m": str(saved)}, port=0, rest_api_port=0) as server:
        address = f"localhost:{server.port}" if protocol == "grpc" else f"https://localhost:{server.rest_api_port}"
        use(certificates("client"))
        with Client(address, timeout=60) as client:
            assert client.predict("m", {"x": np.ones((1, 3), np.float32)})["y"].tolist() == [[9, 12]]
        use(certificates("client", "stranger"))
        with Client(address, timeout=5) as client, pytest.raises(errors.OpError):
            client.status("m")
        for name in ("CERT", "KEY", "CA"):
            monkeypatch.delenv(f"THALWEG_SERVING_TLS_{name}")
        with Client(address.replace("https", "http"), timeout=5) as client, pytest.raises(errors.OpError):
            client.status("m")
