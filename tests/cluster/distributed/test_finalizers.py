"""Finalizers: their calls may wait for locks, so they run on another thread, once."""

import threading

from thalweg._src.cluster.distributed.finalizers import Finalizer


class Owner:
    """An object that dies when it is deleted."""


def test_a_call_may_wait_for_a_lock_that_is_held_when_the_object_dies():
    lock, called = threading.Lock(), threading.Event()

    def call():
        with lock:
            called.set()

    owner = Owner()
    Finalizer(owner, call)
    with lock:
        del owner
        assert not called.is_set()
    assert called.wait(10)


def test_an_explicit_call_is_made_at_once_and_only_once():
    calls, later = [], threading.Event()
    owner, other = Owner(), Owner()
    finalizer = Finalizer(owner, lambda: calls.append(threading.current_thread()))
    finalizer()
    finalizer()
    del owner
    Finalizer(other, later.set)
    del other
    assert later.wait(10)
    assert calls == [threading.current_thread()]


def test_an_error_does_not_end_the_thread():
    called = threading.Event()
    for call in (lambda: 1 / 0, called.set):
        owner = Owner()
        Finalizer(owner, call)
        del owner
    assert called.wait(10)
