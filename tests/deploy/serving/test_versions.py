"""The state machine of versions: what is loaded and unloaded, and which version a request gets."""

import pytest
from hypothesis import given, strategies as st

from thalweg._src.base import errors
from thalweg._src.deploy.serving.versions import Contents, Instruction, Policy, State, Versions

BROKEN = errors.DataLossError(None, None, "broken")


def _found(*versions, time=0):
    return {version: Contents(str(version), time) for version in versions}


def _load(*versions):
    return [Instruction(version, True) for version in versions]


def _unload(*versions):
    return [Instruction(version, False) for version in versions]


def _serving(*versions, **options):
    machine = Versions("m", **options)
    for instruction in machine.listed(_found(*versions)):
        machine.loaded(instruction.version)
    return machine


@pytest.mark.parametrize(
    "policy, chosen",
    [
        (Policy(), {9}),
        (Policy(latest=2), {9, 3}),
        (Policy(latest=None), {9, 3, 1}),
        (Policy(specific=frozenset({1, 7})), {1}),
    ],
)
def test_policies(policy, chosen):
    assert policy.choose([3, 9, 1]) == chosen
    assert policy.choose([]) == set()


def test_a_newer_version_replaces_the_older_one_once_it_is_available():
    machine = _serving(1)
    assert machine.listed(_found(1, 2)) == _load(2)
    assert machine.available() == [1]
    assert machine.loaded(2) == _unload(1)
    assert machine.available() == [2] and machine.status[1].state == State.UNLOADING
    assert machine.unloaded(1) == [] and machine.status[1].state == State.END


def test_a_broken_version_leaves_the_last_good_one():
    machine = _serving(1)
    assert machine.listed(_found(1, 2)) == _load(2)
    assert machine.failed(2, BROKEN) == []
    assert machine.available() == [1] and machine.status[2].error is BROKEN
    assert machine.listed(_found(1, 2)) == []  # it is not tried again and again,
    assert machine.listed({**_found(1), **_found(2, time=5)}) == _load(2)  # but once it was replaced
    assert machine.status[2].error is None and machine.loaded(2) == _unload(1)


def test_a_version_that_is_removed_gives_way_to_the_one_before():
    machine = _serving(1, 2)
    assert machine.available() == [2]
    assert machine.listed(_found(1)) == _load(1)
    assert machine.available() == [2]
    assert machine.loaded(1) == _unload(2)


def test_an_empty_folder_ends_the_service():
    machine = _serving(1)
    assert machine.listed({}) == _unload(1)


def test_a_version_that_is_no_longer_wanted_when_it_is_loaded():
    machine = Versions("m")
    machine.listed(_found(1))
    assert machine.listed(_found(1, 2)) == _load(2)
    assert machine.loaded(2) == []
    assert machine.loaded(1) == _unload(1)


def test_another_configuration():
    machine = _serving(1, 2, policy=Policy(latest=None))
    assert machine.configure(Policy(specific=frozenset({1})), {"a": 1}) == _unload(2)
    machine.unloaded(2)
    assert machine.configure(Policy(latest=2), {}) == _load(2)
    machine.loaded(2)
    assert machine.remove() == _unload(1, 2) and not machine.is_over()
    machine.unloaded(1)
    machine.unloaded(2)
    assert machine.is_over()
    assert machine.configure(Policy(), {}) == _load(2)


def test_requests_find_versions_by_number_label_or_as_the_latest():
    machine = _serving(1, 2, policy=Policy(latest=2), labels={"stable": 1, "canary": 3})
    assert machine.find(None, None) == 2
    assert machine.find(1, None) == machine.find(None, "stable") == 1
    for wrong, words in (((7, None), r"Specific\(m, 7\)"), ((None, "canary"), r"Specific\(m, 3\)")):
        with pytest.raises(errors.NotFoundError, match=words):
            machine.find(*wrong)
    with pytest.raises(errors.InvalidArgumentError, match="Unrecognized servable version label: other"):
        machine.find(None, "other")
    with pytest.raises(errors.NotFoundError, match=r"Latest\(m\)"):
        Versions("m").find(None, None)


@given(st.lists(st.tuples(st.sampled_from("lsfu"), st.sets(st.integers(1, 4)), st.integers(0, 9)), max_size=40))
def test_a_model_that_was_available_stays_so_while_its_folder_has_versions(events):
    """Drives the machine at random: listings, and the ends of what it asked for, in any order."""
    machine, asked, served = Versions("m"), [], False
    for kind, versions, number in events:
        if kind == "l":
            found = _found(*versions)
            asked += machine.listed(found)
            served = served and bool(found)
        elif asked:
            instruction = asked.pop(number % len(asked))
            version = instruction.version
            if not instruction.is_load:
                asked += machine.unloaded(version)
            elif kind == "f":
                asked += machine.failed(version, BROKEN)
            else:
                asked += machine.loaded(version)
        served = served or bool(machine.available())
        assert bool(machine.available()) >= served or not machine._contents
        served = bool(machine.available())
        loading = [v for v, status in machine.status.items() if status.state == State.LOADING]
        assert sorted(loading) == sorted(each.version for each in asked if each.is_load)
