"""The state machine of a cluster's tasks, without Ray."""

import pytest

from thalweg._src.tools.ray.membership import Membership, Stage


@pytest.fixture
def members():
    """A parameter server and two workers, which run."""
    members = Membership()
    for job in ("ps", "worker", "worker"):
        members.add(job, is_awaited=True)
    for number, member in enumerate(members):
        members.locate(member, f"host:{number}")
    members.start()
    return members


def _find(members, name):
    return next(member for member in members if str(member) == name)


def test_no_task_starts_before_all_have_addresses():
    members = Membership()
    ps, worker = members.add("ps", is_awaited=True), members.add("worker", is_awaited=True)
    assert members.locate(worker, "host:1") == [] and members.start() == []
    members.locate(ps, "host:2")
    assert members.start() == [ps, worker] and members.start() == []
    assert members.spec() == {"ps": {0: "host:2"}, "worker": {0: "host:1"}}


def test_a_lost_task_that_comes_back_disturbs_no_other(members):
    ps = _find(members, "ps 0")
    assert members.lose(ps) and ps.restarts == 1
    assert members.start() == [] and members.spec().task_address("ps", 0) == "host:0"
    assert members.locate(ps, "host:0") == [] and members.start() == [ps]


def test_a_lost_task_that_has_moved_replaces_those_that_run(members):
    ps, first, second = members
    members.end(second, "result")
    members.lose(ps)
    assert members.locate(ps, "other:5") == [first] and members.start() == [ps]
    assert not members.lose(first) and first.restarts == 0  # its process was ended on purpose
    assert members.locate(first, first.address) == [] and members.start() == [first]
    assert members.spec().task_address("ps", 0) == "other:5"


def test_added_tasks_delay_no_other_and_have_new_numbers(members):
    members.remove("worker", 1)
    added = members.add("worker", is_awaited=False)
    assert added.index == 2 and members.spec().task_indices("worker") == [0]
    ps = _find(members, "ps 0")
    members.lose(ps)
    members.locate(ps, ps.address)
    assert members.start() == [ps]
    members.locate(added, "host:7")
    assert members.start() == [added]
    assert members.spec().as_dict() == {"ps": ["host:0"], "worker": {0: "host:1", 2: "host:7"}}


def test_a_worker_that_does_not_exist_is_not_removed(members):
    with pytest.raises(ValueError, match="the cluster has no worker 7; it has worker 0, worker 1"):
        members.remove("worker", 7)


def test_a_cluster_without_workers_has_no_results(members):
    for index in (0, 1):
        members.remove("worker", index)
    assert members.results() is None


def test_results_are_those_of_all_tasks_that_train(members):
    ps, first, second = members
    members.end(first, 1)
    assert members.results() is None
    members.end(second, None)
    assert members.results() == {"worker": {0: 1, 1: None}}
    assert ps.stage is Stage.RUNNING
