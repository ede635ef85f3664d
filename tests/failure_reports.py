"""What a report of a failed test shows beside the failure: seeds, events of state machines, and where threads are."""

import sys
import threading
import traceback
import zlib

import pytest

from tests import state_machines

_FRAMES = 8


def seed_of(test):
    """Returns the seed of all random numbers of a test, by its name."""
    return zlib.crc32(test.encode())


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        seeds = f"random, numpy.random and entropy.source start with {seed_of(item.nodeid)}, of the test's name"
        report.sections.append(("Seeds", seeds))
        if events := state_machines.report():
            report.sections.append(("Events of state machines", events))
        if threads := _threads():
            report.sections.append(("Other threads", threads))


def _threads():
    """Returns the stacks of the other threads of this process."""
    frames = sys._current_frames()
    others = [t for t in threading.enumerate() if t is not threading.current_thread() and t.ident in frames]
    stacks = [(t.name, traceback.extract_stack(frames[t.ident])[-_FRAMES:]) for t in others]
    return "\n".join(f"{name}:\n{''.join(traceback.format_list(stack))}" for name, stack in stacks)


@pytest.fixture(autouse=True)
def state_machines_hold():
    """Fails a test in which a state machine was in a state that must not be."""
    state_machines.forget()
    yield
    assert not state_machines.broken()
