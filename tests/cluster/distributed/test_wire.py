"""Frames and calls that are lost, repeated, delayed or broken on the way between tasks."""

import contextlib

import pytest

from tests.cluster.distributed.wire_faults import CLIENT, PS, WORKER, Tasks, main
from tests.cluster.distributed.wire_proxy import Fault
from thalweg._src.cluster.distributed.frames import FrameKind

QUICK = (
    Fault(FrameKind.RUN_PARTITIONS, "twice", "channel", WORKER),
    Fault(FrameKind.DONE, "lost", "channel", PS),
    Fault(FrameKind.DONE, "twice", "channel", PS),
    Fault(FrameKind.TENSOR, "lost", "link", WORKER),
    Fault("CreateSession", "twice", "call", CLIENT),
    Fault("ExtendSession", "twice", "call", CLIENT),
)


SYNCHRONOUS = (
    Fault(FrameKind.RUN_PARTITIONS, "twice", "channel", WORKER, 12),
    Fault(FrameKind.DONE, "lost", "channel", PS, 12),
)
COLLECTIVE = (
    *(Fault(name, "reset", "call", PS) for name in ("JoinGroup", "GetGroupValue", "SetGroupValue", "EndGroup")),
    Fault("SetGroupValue", "twice", "call", PS),
    Fault("EndGroup", "truncated", "call", PS),
)


def test_a_program_ends_as_it_should_whatever_happens_to_one_message():
    """It succeeds or names the task, applies no update twice, and leaves nothing behind."""
    with contextlib.closing(Tasks()) as tasks:
        outcomes = {f"{fault.what!r} {fault.action}": tasks.check(fault) for fault in QUICK}
        outcomes |= {f"{fault.what!r} {fault.action}, synchronous": tasks.check_sync(fault) for fault in SYNCHRONOUS}
        outcomes |= {f"{fault.what!r} {fault.action}, group": tasks.check_collectives(fault) for fault in COLLECTIVE}
    problems = {name: outcome.problems for name, outcome in outcomes.items() if outcome.problems}
    assert not problems
    assert all(fault.happened.is_set() for fault in (*QUICK, *SYNCHRONOUS, *COLLECTIVE))


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_all_faults_of_the_wire():
    assert main() == 0
