"""Containers: state by container, type and name."""

import threading

import pytest

from thalweg._src.runtime.resources.containers import Containers, SharedContainers


class Resource:
    def __init__(self):
        self.destroyed = 0

    def destroy(self):
        self.destroyed += 1


def test_a_resource_is_created_once():
    containers, made = Containers(), []
    first = containers.lookup_or_create("", "variable", "v", lambda: made.append(1) or Resource())
    assert containers.lookup_or_create("", "variable", "v", lambda: made.append(1) or Resource()) is first
    assert made == [1]


def test_type_name_and_container_identify_a_resource():
    containers = Containers(SharedContainers())
    places = [("", "variable", "a"), ("", "queue", "a"), ("", "variable", "b"), ("test c", "variable", "a")]
    found = [containers.lookup_or_create(*place, Resource) for place in places]
    assert len({id(resource) for resource in found}) == 4
    assert [containers.lookup_or_create(*place, Resource) for place in places] == found


def test_the_default_container_is_per_session_and_others_are_shared():
    shared = SharedContainers()
    one, two = Containers(shared), Containers(shared)
    assert one.lookup_or_create("", "v", "x", Resource) is not two.lookup_or_create("", "v", "x", Resource)
    assert one.lookup_or_create("test c", "v", "x", Resource) is two.lookup_or_create("test c", "v", "x", Resource)


def test_clear_destroys_the_default_container():
    containers = Containers(SharedContainers())
    own = containers.lookup_or_create("", "v", "x", Resource)
    shared = containers.lookup_or_create("test c", "v", "x", Resource)
    containers.lookup_or_create("", "v", "plain", object)  # not everything can be destroyed
    containers.clear()
    containers.clear()
    assert own.destroyed == 1 and shared.destroyed == 0
    assert containers.lookup_or_create("", "v", "x", Resource) is not own
    assert containers.lookup_or_create("test c", "v", "x", Resource) is shared


def test_reset_destroys_the_named_containers():
    shared = SharedContainers()
    containers = Containers(shared)
    gone = containers.lookup_or_create("test gone", "v", "x", Resource)
    kept = containers.lookup_or_create("test kept", "v", "x", Resource)
    shared.reset(["test gone", "test unheard of"])
    assert gone.destroyed == 1 and kept.destroyed == 0
    assert containers.lookup_or_create("test gone", "v", "x", Resource) is not gone
    assert containers.lookup_or_create("test kept", "v", "x", Resource) is kept


def test_reset_without_names_destroys_all_containers():
    shared, other = SharedContainers(), SharedContainers()
    gone = [Containers(shared).lookup_or_create(name, "v", "x", Resource) for name in ("a", "b")]
    kept = Containers(other).lookup_or_create("a", "v", "x", Resource)
    shared.reset()
    assert [resource.destroyed for resource in gone] == [1, 1] and kept.destroyed == 0


def test_a_failed_creation_leaves_nothing():
    containers = Containers()

    def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        containers.lookup_or_create("", "v", "x", fail)
    assert isinstance(containers.lookup_or_create("", "v", "x", Resource), Resource)


def test_threads_share_one_resource():
    containers, found = Containers(), []
    start = threading.Barrier(8)

    def work():
        start.wait()
        found.append(containers.lookup_or_create("", "v", "x", Resource))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len({id(r) for r in found}) == 1
