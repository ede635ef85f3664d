"""Versions come and go while requests are answered: they are loaded in the background, swapped, and drained."""

import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.deploy.serving import models
from tests.deploy.serving.recorded import recorded
from thalweg._src.base import errors
from thalweg._src.base.formats.records import framed
from thalweg._src.deploy.serving.client import Client
from thalweg._src.deploy.serving.config import Model
from thalweg._src.deploy.serving.manager import Manager, Spec, list_versions
from thalweg._src.deploy.serving.server import ModelServer
from thalweg._src.deploy.serving.versions import Policy, State


class FakeServable:
    def __init__(self, path):
        self.path, self.closed = path, threading.Event()

    def close(self):
        self.closed.set()


class Loader:
    """Loads versions, of which some are broken and some wait for an event."""

    def __init__(self):
        self.made, self.broken, self.gates = {}, set(), {}

    def __call__(self, name, version, path):
        if version in self.gates:
            self.gates[version].wait()
        if version in self.broken:
            raise OSError("no file")
        self.made[name, version] = FakeServable(path)
        return self.made[name, version]


@pytest.fixture
def loader():
    return Loader()


@pytest.fixture
def manager(loader):
    manager = Manager(loader)
    yield manager
    for gate in loader.gates.values():
        gate.set()
    manager.close()


def _folder(tmp_path, *versions):
    for version in versions:
        (tmp_path / version).mkdir(parents=True, exist_ok=True)
    return str(tmp_path)


def _until(condition):
    while not condition():
        time.sleep(0.001)


def test_versions_are_folders_with_numbers(tmp_path):
    _folder(tmp_path, "1", "007", "x", "-2", "٣", str(1 << 63), "9" * 200)
    (tmp_path / "5").touch()
    assert {number: found.folder for number, found in list_versions(str(tmp_path)).items()} == {1: "1", 7: "007"}


def test_requests_that_are_being_answered_keep_their_version(manager, loader, tmp_path):
    manager.configure([Model("m", _folder(tmp_path, "1"))])
    assert manager.wait()
    with manager.use(Spec("m")) as (version, servable):
        assert (version, servable.path) == (1, str(tmp_path / "1"))
        _folder(tmp_path, "2")
        manager.look()
        _until(lambda: manager.status(Spec("m"))[1].state == State.UNLOADING)
        with manager.use(Spec("m")) as (newer, _):
            assert newer == 2
        with pytest.raises(errors.NotFoundError), manager.use(Spec("m", 1)):
            pytest.fail("a version that is being unloaded takes no requests")
        assert not servable.closed.is_set()
    servable.closed.wait()
    _until(lambda: manager.status(Spec("m", 1))[1].state == State.END)


def test_a_broken_version_is_reported_and_the_last_good_one_stays(manager, loader, tmp_path):
    manager.configure([Model("m", _folder(tmp_path, "1"))])
    assert manager.wait()
    loader.broken.add(2)
    _folder(tmp_path, "2")
    manager.look()
    assert manager.wait()
    status = manager.status(Spec("m"))
    assert {number: each.state for number, each in status.items()} == {1: State.AVAILABLE, 2: State.END}
    assert status[2].error.message == "OSError: no file"
    assert manager.is_ready()


def test_requests_are_answered_while_another_version_is_loaded(manager, loader, tmp_path):
    manager.configure([Model("m", _folder(tmp_path, "1"))])
    assert manager.wait()
    loader.gates[2] = threading.Event()
    _folder(tmp_path, "2")
    manager.look()
    assert manager.status(Spec("m", 2))[2].state == State.LOADING
    with manager.use(Spec("m")) as (version, _):
        assert version == 1
    loader.gates[2].set()
    _until(lambda: manager.status(Spec("m", 2))[2].state == State.AVAILABLE)


def test_other_configurations(manager, loader, tmp_path):
    path = _folder(tmp_path, "1", "2")
    manager.configure([Model("m", path, Policy(latest=2), {"a": 1}), Model("n", str(tmp_path / "absent"))])
    assert not manager.wait() and not manager.is_ready()
    assert list(manager.status(Spec("m", label="a"))) == [1]
    manager.configure([Model("n", path)])
    loader.made["m", 1].closed.wait()
    loader.made["m", 2].closed.wait()
    assert manager.wait() and manager.models() == ["n"]
    for name in ("m", "o"):
        with pytest.raises(errors.NotFoundError), manager.use(Spec(name)):
            pytest.fail("the model is not served")


def _serves(manager, name):
    with manager.use(Spec(name)) as (version, _):
        return version


def test_clients_reload_models_below_the_folders_of_the_configuration(loader, tmp_path):
    for name in ("m", "m/inner", "m-other", "more/n"):
        _folder(tmp_path / name, "1")
    (tmp_path / "m" / "link").symlink_to(tmp_path / "m-other")
    manager = Manager(loader, reload_below=[str(tmp_path / "more")])
    manager.configure([Model("m", str(tmp_path / "m"))])
    assert manager.wait()
    for path in ("m-other", "m/../m-other", "m/link", "", "/", "../m"):
        with pytest.raises(errors.PermissionDeniedError, match="--reload-below FOLDER"):
            manager.reload([Model("m", str(tmp_path / "m")), Model("other", str(tmp_path / path))])
        assert manager.models() == ["m"]
    for path in ("m/inner", "more/n", "m/./inner/../", "m"):  # a reload takes no folder from the next one
        assert manager.reload([Model(path, str(tmp_path / path))])
        assert manager.models() == [path] and _serves(manager, path) == 1
    manager.close()


def test_a_failed_reload_leaves_what_was_served(manager, loader, tmp_path):
    _folder(tmp_path / "n", "2")
    (tmp_path / "empty").mkdir()
    manager.configure([Model("m", _folder(tmp_path, "1"))])
    assert manager.wait()
    loader.broken.add(2)
    for wanted, words in (
        ([Model("n", str(tmp_path / "n"))], "1 of 1 models .* n version 2: OSError: no file"),
        ([Model("m", str(tmp_path / "n"))], "1 of 1 models .* m version 2: OSError: no file"),
        ([Model("m", str(tmp_path)), Model("n", str(tmp_path / "n"))], "1 of 2 models"),
        ([Model("n", str(tmp_path / "empty"))], "n has no versions in"),
    ):
        with pytest.raises(errors.UnknownError, match=f"{words}[^$]*what was served before stays"):
            manager.reload(wanted)
        assert manager.models() == ["m"] and _serves(manager, "m") == 1
    with pytest.raises(errors.UnknownError, match="m did not become available: its folder cannot be listed"):
        manager.reload([Model("m", str(tmp_path / "absent"))])
    assert isinstance(manager.status(Spec("n"))[2].error, errors.UnknownError)
    assert not loader.made["m", 1].closed.is_set()


def test_a_reload_goes_on_after_the_deadline_of_its_caller(manager, loader, tmp_path):
    _folder(tmp_path / "n", "2")
    manager.configure([Model("m", _folder(tmp_path, "1"))])
    assert manager.wait()
    loader.gates[2] = threading.Event()
    assert not manager.reload([Model("n", str(tmp_path / "n"))], 0)
    assert _serves(manager, "m") == 1
    loader.gates[2].set()
    _until(lambda: manager.models() == ["n"])
    assert _serves(manager, "n") == 2
    loader.made["m", 1].closed.wait()


def test_a_configuration_takes_the_place_of_a_reload(manager, loader, tmp_path):
    _folder(tmp_path / "n", "2")
    manager.configure([Model("m", _folder(tmp_path, "1"))])
    assert manager.wait()
    loader.gates[2] = threading.Event()
    with ThreadPoolExecutor(1, thread_name_prefix="thalweg test") as pool:
        reload = pool.submit(manager.reload, [Model("n", str(tmp_path / "n"))])
        _until(lambda: "n" in manager.models())
        manager.configure([Model("other", str(tmp_path))])
        loader.gates[2].set()
        with pytest.raises(errors.AbortedError, match="another configuration"):
            reload.result()
    assert manager.models() == ["other"]


def test_models_on_disk_are_swapped_under_load(tmp_path):
    models.save(tmp_path / "m" / "1", 1)
    models.save(tmp_path / "2", 2)
    request = {"x": np.ones((1, 3), np.float32)}
    with (
        ModelServer({"m": str(tmp_path / "m")}, port=0, rest_api_port=None, poll_seconds=0.02) as server,
        Client(f"127.0.0.1:{server.port}") as client,
    ):
        assert client.predict("m", request)["y"].tolist() == [[9, 12]]
        (tmp_path / "m" / "3").mkdir()  # broken: there is no graph in it
        (tmp_path / "2").rename(tmp_path / "m" / "2")
        while client.status("m").get(3) != "END":
            assert client.predict("m", request)["y"].tolist() == [[9, 12]]
        shutil.rmtree(tmp_path / "m" / "3")
        while client.predict("m", request)["y"].tolist() != [[18, 24]]:
            pass
        assert client.status("m")[2] == "AVAILABLE"


def test_stored_requests_warm_a_model_up_and_a_wrong_one_breaks_it(tmp_path):
    for name in ("good", "bad"):
        models.save(tmp_path / name / "1")
        extra = tmp_path / name / "1" / "assets.extra"
        extra.mkdir()
        log = recorded()[4] if name == "good" else b"\xff"
        (extra / "tf_serving_warmup_requests").write_bytes(framed(log))
    paths = {name: str(tmp_path / name) for name in ("good", "bad")}
    with ModelServer(paths, port=None, rest_api_port=None) as server:
        with server.manager.use(Spec("good")) as (_, servable):
            assert servable.signature("")._callable.cache_info().currsize == 1
        status = server.manager.status(Spec("bad"))[1]
        assert status.state == State.END and "Failed to parse warmup record 0" in status.error.message
