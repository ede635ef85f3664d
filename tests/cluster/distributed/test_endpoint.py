"""Links of an endpoint: what the loss of one ends, and what it must not end."""

import contextlib
import os
import re
import socket
import threading
import time
from unittest.mock import ANY

import pytest

import thalweg as tf
from tests.cluster.distributed.clusters import addresses
from thalweg._src.cluster.distributed import control
from thalweg._src.cluster.distributed.endpoint import Endpoint
from thalweg._src.cluster.distributed.link import Link
from thalweg._src.cluster.distributed.rpc import Stub

WORKER = "/job:worker/replica:0/task:0"


class Task:
    """A task that has a link to another one, and no worker behind it."""

    def __init__(self, server, name=WORKER):
        task = server._require()
        self.endpoint = Endpoint(name, self, task._endpoint.credentials)
        self._info, self._address = task.service.info, task.address
        self._stub = Stub(self._address, self.endpoint.credentials)
        self.losses = []

    def connect(self):
        return self.endpoint.open_link(self._info, self._address)

    def create_session(self, name):
        request = control.CreateWorkerSessionRequest(session=name, master=self.endpoint.name, is_isolated=True)
        self._stub.call(request, control.DeviceList, timeout=20)

    def lost(self, link, why):
        self.losses.append(why)

    def tick(self):
        pass

    def close(self):
        self.endpoint.close()
        self._stub.close()


@pytest.fixture
def server():
    with tf.train.Server(addresses(ps=1, worker=1), "ps", 0) as started:
        yield started


@pytest.fixture
def task(server):
    with contextlib.ExitStack() as stack:

        def start():
            return stack.enter_context(contextlib.closing(Task(server)))

        yield start


def test_a_restarted_task_ends_what_its_last_incarnation_left_before_it_begins(server, task, monkeypatch):
    service, endpoint = server._require().service, server._require()._endpoint
    monkeypatch.setattr(endpoint._liveness, "limit", 0.5)
    old, new = task(), task()
    old.connect()
    old.create_session("old")
    monkeypatch.setattr(Link, "ping", lambda link: None)  # its machine was lost: nothing comes, and the link stays open
    new.connect()
    assert service.worker._sessions.keys() == set()
    new.create_session("new")
    assert endpoint.find(WORKER).incarnation == new.endpoint.incarnation
    old.close()
    assert service.worker._sessions.keys() == {"new"} and new.connect().is_open
    new.close()
    while service.worker._sessions:
        assert endpoint._stopped.wait(0.01) is False


def test_a_second_process_of_a_task_is_refused_while_the_first_one_lives(server, task):
    service, first, second = server._require().service, task(), task()
    first.connect()
    first.create_session("first")
    with pytest.raises(tf.errors.AlreadyExistsError) as caught:
        second.connect()
    processes = re.findall(r"process (\d+) of (\S+), started at (\S+ \S+),", caught.value.message)
    assert processes == 2 * [(str(os.getpid()), socket.gethostname(), ANY)]
    assert f"two processes are {WORKER}" in caught.value.message
    assert service.worker._sessions.keys() == {"first"} and first.connect().is_open
    first.close()
    assert second.connect().is_open


@pytest.mark.parametrize("is_restarted", [True, False])
def test_a_task_connects_again_after_its_loss_was_handled(server, task, monkeypatch, is_restarted):
    service = server._require().service
    lost, events, is_lost = service.lost, [], threading.Event()

    def late(link, why):
        is_lost.set()
        threading.Event().wait(0.2)  # in which a link that did not wait would be opened
        lost(link, why)
        events.append("lost")

    monkeypatch.setattr(service, "lost", late)
    first = task()
    link = first.connect()
    link.connection.shutdown()
    is_lost.wait()
    while link.is_open:  # until this end has noticed it too
        time.sleep(0.001)
    second = task() if is_restarted else first
    while not second.connect().is_open:
        pass
    events.append("connected")
    second.create_session("next")
    assert events == ["lost", "connected"]
    assert service.worker._sessions.keys() == {"next"}


def test_a_task_that_has_given_up_a_link_ends_what_it_left_there(server, task):
    """Its other end has not noticed the loss, although the task has."""
    service = server._require().service
    only = task()
    unnoticed = only.connect()
    only.create_session("before")
    only.endpoint.links.clear()
    only.connect()
    assert service.worker._sessions.keys() == set()
    only.create_session("after")
    unnoticed.close()
    assert service.worker._sessions.keys() == {"after"}
