import pytest

from tests.hosts.network import missing


@pytest.fixture(autouse=True, scope="session")
def hosts_can_be_made():
    if reason := missing():
        pytest.skip(reason)
