"""Attributes by which programs ask for consistent reads and updates of variables, which a pass obeys."""

from __future__ import annotations

LOCK_DEVICE = "_lock_device"  # of the handles of variables whose updates are whole: where their lock is
ONE_STATE = "_one_state"  # of the same: whether all reads of a step see one state
READ_FIRST = "_read_first"  # of a read that all other reads of a step wait for
SHARED = "_shared"  # of a lock that several steps may hold
