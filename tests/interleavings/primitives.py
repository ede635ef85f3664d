"""Locks, conditions, events and queues whose operations are points of the schedule that runs."""

import queue
import sys
from _thread import get_ident
from collections import deque

from tests.interleavings import scheduler


def managing():
    """Returns the scheduler of the calling thread; None for a thread that it does not manage."""
    active = scheduler.active
    return active if active is not None and active.current.ident == get_ident() else None


class _Named:
    """A primitive, which reports name by the line that made it."""

    __slots__ = ("_waiters", "made_at")
    kind = ""

    def __init__(self):
        self._waiters = []
        if scheduler.active is not None and scheduler.active.log is not None:
            frame = sys._getframe(1)
            while frame.f_code.co_filename.rpartition("/")[2] in _INNER:
                frame = frame.f_back
            self.made_at = f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"
        else:
            self.made_at = ""

    def __str__(self):
        return f"{self.kind} of {self.made_at}" if self.made_at else self.kind

    def _wake_all(self, active):
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            active.wake(waiter)

    def _block(self, active, action, deadline):
        """Waits; a thread whose deadline came does not wait any more."""
        me = active.current
        self._waiters.append(me)
        if active.block(action, self, deadline):
            return True
        if me in self._waiters:
            self._waiters.remove(me)
        return False


_INNER = ("primitives.py", "patches.py", "threading.py", "queue.py", "_base.py", "thread.py", "scheduler.py")


def _deadline(active, timeout):
    return None if timeout is None else active.now + timeout


class Lock(_Named):
    """`threading.Lock`."""

    __slots__ = ("_is_locked", "holder")
    kind = "Lock"

    def __init__(self):
        super().__init__()
        self._is_locked = False
        self.holder = None

    def acquire(self, blocking=True, timeout=-1):
        active = managing()
        if active is None:
            return self._acquire_outside()
        active.point("acquires", self)
        if self._is_locked:
            if not blocking:
                return False
            deadline = _deadline(active, timeout if timeout >= 0 else None)
            while self._is_locked:
                if not self._block(active, "waits to acquire", deadline) and self._is_locked:
                    return False
        self._is_locked = True
        self.holder = active.current
        return True

    def _acquire_outside(self):
        """Outside of a schedule nobody else has the lock."""
        if self._is_locked and scheduler.active is not None:
            raise RuntimeError("a thread that the scheduler does not manage waits for a lock of its threads")
        self._is_locked = True
        return True

    def release(self):
        active = managing()
        if not self._is_locked:
            if active is not None and active.is_ending:
                return
            raise RuntimeError("release unlocked lock")
        self._is_locked = False
        self.holder = None
        if active is not None:
            self._wake_all(active)
            active.point("has released", self)

    def locked(self):
        active = managing()
        if active is not None:
            active.point("looks at", self)
        return self._is_locked

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *exc):
        self.release()

    def __str__(self):
        holder = "" if self.holder is None else f" (held by {self.holder})"
        return super().__str__() + holder


class RLock(Lock):
    """`threading.RLock`."""

    __slots__ = ("_count",)
    kind = "RLock"

    def __init__(self):
        super().__init__()
        self._count = 0

    def _is_owned(self):
        active = managing()
        return self._is_locked and (active is None or self.holder is active.current)

    def acquire(self, blocking=True, timeout=-1):
        if not self._is_owned() and not super().acquire(blocking, timeout):
            return False
        self._count += 1
        return True

    def release(self):
        active = managing()
        if not self._is_owned():
            if active is not None and active.is_ending:
                return
            raise RuntimeError("cannot release un-acquired lock")
        self._count -= 1
        if not self._count:
            super().release()

    __enter__ = acquire

    def _release_save(self):
        count, self._count = self._count, 0
        Lock.release(self)
        return count

    def _acquire_restore(self, count):
        Lock.acquire(self)
        self._count = count


class Condition(_Named):
    """`threading.Condition`."""

    __slots__ = ("_lock", "acquire", "release")
    kind = "Condition"

    def __init__(self, lock=None):
        super().__init__()
        self._lock = RLock() if lock is None else lock
        self.acquire = self._lock.acquire
        self.release = self._lock.release

    def __enter__(self):
        return self._lock.__enter__()

    def __exit__(self, *exc):
        return self._lock.__exit__(*exc)

    def _is_held(self):
        lock = self._lock
        return lock._is_owned() if isinstance(lock, RLock) else lock._is_locked

    def wait(self, timeout=None):
        active = managing()
        if not self._is_held():
            raise RuntimeError("cannot wait on un-acquired lock")
        lock = self._lock
        count = getattr(lock, "_count", 0)
        if count:
            lock._count = 0
        lock._is_locked, lock.holder = False, None
        lock._wake_all(active)  # no point in between: to others, releasing and waiting are one
        try:
            return self._block(active, "waits for", _deadline(active, timeout))
        finally:
            if not active.is_ending:
                Lock.acquire(lock)
            if count:
                lock._count = count

    def wait_for(self, predicate, timeout=None):
        active = managing()
        deadline = _deadline(active, timeout)
        while not (result := predicate()):
            left = None if deadline is None else deadline - active.now
            if left is not None and left <= 0:
                break
            self.wait(left)
        return result

    def notify(self, n=1):
        active = managing()
        if not self._is_held():
            if active is not None and active.is_ending:
                return
            raise RuntimeError("cannot notify on un-acquired lock")
        if active is not None:
            active.point("notifies", self)
        woken, self._waiters = self._waiters[:n], self._waiters[n:]
        for waiter in woken:
            active.wake(waiter)

    def notify_all(self):
        self.notify(len(self._waiters))


class Event(_Named):
    """`threading.Event`."""

    __slots__ = ("_flag",)
    kind = "Event"

    def __init__(self):
        super().__init__()
        self._flag = False

    def is_set(self):
        active = managing()
        if active is not None:
            active.point("looks at", self)
        return self._flag

    def set(self):
        active = managing()
        if active is None:
            self._flag = True
            return
        active.point("sets", self)
        self._flag = True
        self._wake_all(active)
        active.point("has set", self)

    def clear(self):
        active = managing()
        if active is not None:
            active.point("clears", self)
        self._flag = False

    def wait(self, timeout=None):
        active = managing()
        if active is None:
            return self._flag
        active.point("looks at", self)
        if not self._flag:
            self._block(active, "waits for", _deadline(active, timeout))
        return self._flag


class SimpleQueue(_Named):
    """`queue.SimpleQueue`."""

    __slots__ = ("_items",)
    kind = "SimpleQueue"

    def __init__(self):
        super().__init__()
        self._items = deque()

    def put(self, item, block=True, timeout=None):
        active = managing()
        if active is None:
            self._items.append(item)
            return
        active.point("puts into", self)
        self._items.append(item)
        if self._waiters:
            active.wake(self._waiters.pop(0))
        active.point("has put into", self)

    put_nowait = put

    def get(self, block=True, timeout=None):
        active = managing()
        if active is not None:
            active.point("gets from", self)
        deadline = None if active is None else _deadline(active, timeout)
        while not self._items:
            if not block or active is None or not self._block(active, "waits for", deadline):
                break
        if not self._items:
            raise queue.Empty
        return self._items.popleft()

    def get_nowait(self):
        return self.get(block=False)

    def empty(self):
        return not self.qsize()

    def qsize(self):
        active = managing()
        if active is not None:
            active.point("looks at", self)
        return len(self._items)
