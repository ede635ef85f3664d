"""Threads of a schedule: functions that run at the same time, and what must not be left of them at its end."""

import threading
import time

from tests.interleavings import scheduler

_SECONDS = 10  # of virtual time, in which idle threads of pools end
_TIMES = 30  # that time may pass before a thread runs
_SERVES = ("thalweg_finalizers",)  # the thread that serves the whole program


def run_all(*functions):
    """Runs functions on a thread each, and waits for all."""
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def nothing_is_left():
    """Fails if a thread other than this one neither ends nor gets work in time: it waits for what never comes."""
    active = scheduler.active
    for _ in range(_TIMES):
        time.sleep(_SECONDS)
        left = [thread for thread in active.threads if not thread.is_over and thread is not active.current]
        left = [thread for thread in left if thread.thread.name not in _SERVES]
        if not left:
            return
    raise AssertionError("\n".join(f"{thread} is left:\n{scheduler.stack(thread.ident)}" for thread in left))
