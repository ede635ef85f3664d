"""What managed threads use in place of threads, locks, queues and clocks.

The names of `threading`, `queue` and `time` are replaced while schedules run, by ones that look at the calling thread:
one that no scheduler manages gets the real thing. So are the locks that modules of thalweg and their objects already
hold, and those that dataclasses create as default values.
"""

import concurrent.futures.thread
import contextlib
import copy
import itertools
import queue
import sys
import threading
import time

from tests.interleavings import primitives, scheduler
from tests.interleavings.primitives import managing
from thalweg._src.cluster.distributed import finalizers
from thalweg._src.runtime.resources.workers import Workers

_WALL = 1_600_000_000.0  # the wall clock when the virtual clock shows 0
_ADOPTED = ("thalweg._src.", "tests.")
_DEPTH = 4


def _dispatching(real, managed):
    """Returns what makes a primitive for the calling thread."""

    def make(*args):
        return real(*args) if managing() is None else managed(*args)

    return make


class _Kind(type):
    """Makes instances of the replaced classes pass as those of the real ones, and the other way round."""

    def __instancecheck__(cls, instance):
        return isinstance(instance, (cls.real, cls.managed))

    def __call__(cls, *args):
        return cls.real(*args) if managing() is None else cls.managed(*args)


def _kind(name, real, managed):
    return _Kind(name, (), {"real": real, "managed": managed})


_LOCK, _RLOCK = type(threading.Lock()), type(threading.RLock())
_MANAGED = {
    _LOCK: primitives.Lock,
    _RLOCK: primitives.RLock,
    threading.Condition: primitives.Condition,
    threading.Event: primitives.Event,
    queue.SimpleQueue: primitives.SimpleQueue,
}
_lock = _dispatching(threading.Lock, primitives.Lock)
_rlock = _dispatching(threading.RLock, primitives.RLock)
_FACTORIES = {threading.Lock: _lock, threading.RLock: _rlock}
_Condition = _kind("Condition", threading.Condition, primitives.Condition)
_Event = _kind("Event", threading.Event, primitives.Event)
_SimpleQueue = _kind("SimpleQueue", queue.SimpleQueue, primitives.SimpleQueue)
_FACTORIES |= {threading.Condition: _Condition, threading.Event: _Event}
_start, _join, _is_alive = threading.Thread.start, threading.Thread.join, threading.Thread.is_alive
_sleep = time.sleep


def _start_thread(thread):
    active = managing()
    if active is None:
        return _start(thread)
    if thread._started._flag:
        raise RuntimeError("threads can only be started once")
    active.start(thread)


def _join_thread(thread, timeout=None):
    active = managing()
    managed = None if active is None else active.managed(thread)
    if managed is None:
        return _join(thread, timeout)
    if managed is active.current:
        raise RuntimeError("cannot join current thread")
    active.point("joins", thread)
    if not managed.is_over:
        managed.joiners.append(active.current)
        active.block("joins", thread, None if timeout is None else active.now + timeout)


def _thread_is_alive(thread):
    active = scheduler.active
    managed = None if active is None else active.managed(thread)
    if managed is None:
        return _is_alive(thread)
    return not managed.is_over


def _sleep_for(seconds):
    active = managing()
    if active is None:
        return _sleep(seconds)
    active.block("sleeps until", f"{active.now + seconds:g}", active.now + seconds)


def _clock(real, zero=0.0, unit=1):
    def read():
        active = managing()
        return real() if active is None else type(unit)((zero + active.now) * unit)

    return read


def _clocks():
    for name in ("monotonic", "perf_counter", "thread_time", "process_time", "time"):
        zero = _WALL if name == "time" else 0.0
        yield name, _clock(getattr(time, name), zero, 1.0)
        yield f"{name}_ns", _clock(getattr(time, f"{name}_ns"), zero, 1_000_000_000)


_NAMES = [
    (threading, "Lock", _lock),
    (threading, "RLock", _rlock),
    (threading, "_allocate_lock", _lock),
    (threading, "Condition", _Condition),
    (threading, "Event", _Event),
    (threading, "_time", _clock(time.monotonic)),
    (threading.Thread, "start", _start_thread),
    (threading.Thread, "join", _join_thread),
    (threading.Thread, "is_alive", _thread_is_alive),
    (queue, "SimpleQueue", _SimpleQueue),
    (queue, "time", _clock(time.monotonic)),
    (time, "sleep", _sleep_for),
    *((time, name, read) for name, read in _clocks()),
]


class Patches(contextlib.AbstractContextManager):
    """Replaces the names and the locks while schedules run."""

    def __init__(self):
        self._undo = []
        self.workers = []

    def __enter__(self):
        for owner, name, value in _NAMES:
            self._set(owner, name, value)
        modules = [m for name, m in sorted(sys.modules.items()) if name.startswith(_ADOPTED) and m is not None]
        modules.append(concurrent.futures.thread)
        pools = {}
        visited = set()
        for module in modules:
            if not module.__name__.startswith("tests.interleavings."):
                self._adopt(module, vars(module), pools, visited, 0)
        self._set(threading, "_counter", None)
        self._set(finalizers, "_thread", None)
        self._set(finalizers, "_is_exiting", False)
        self.workers = list(pools.values())
        return self

    def _set(self, owner, name, value):
        before = getattr(owner, name)
        setattr(owner, name, value)
        self._undo.append(lambda: setattr(owner, name, before))

    def _adopt(self, owner, attributes, pools, visited, depth):
        """Replaces the primitives that a module or an object holds, and thread pools, whose threads stay outside."""
        for name, value in list(attributes.items()):
            kind = type(value)
            if kind in _MANAGED:
                self._set(owner, name, _MANAGED[kind]())
            elif kind is Workers:
                if id(value) not in pools:
                    pools[id(value)] = copy.copy(value)
                self._set(owner, name, pools[id(value)])
            elif isinstance(value, type):
                if "__dataclass_fields__" in value.__dict__ and value not in visited:
                    visited.add(value)
                    self._adopt_defaults(value)
            elif depth < _DEPTH and getattr(kind, "__module__", "").startswith(_ADOPTED) and id(value) not in visited:
                visited.add(id(value))
                if type(getattr(value, "__dict__", None)) is dict:
                    self._adopt(value, vars(value), pools, visited, depth + 1)

    def _adopt_defaults(self, cls):
        """Replaces the functions that a dataclass calls for default values."""
        for cell in getattr(cls.__init__, "__closure__", None) or ():
            with contextlib.suppress(TypeError, ValueError):  # unhashable, or empty
                factory = _FACTORIES.get(cell.cell_contents)
                if factory is not None:
                    self._set(cell, "cell_contents", factory)

    def begin(self):
        """Forgets the threads of the last schedule, so that each begins alike."""
        threading._counter = itertools.count(1).__next__
        for pool in self.workers:
            pool._lock = primitives.Lock()
            pool._idle, pool._busy = [], 0
        finalizers._thread = None
        finalizers._pending = primitives.SimpleQueue()

    def __exit__(self, *exc):
        while self._undo:
            self._undo.pop()()
