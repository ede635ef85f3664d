"""Valid calls of memory statistics."""

from __future__ import annotations

from tests.valid_calls.values import Call

VALID: dict[str, Call] = {"_MemoryStatistic": ((), {"statistic": "in use"})}
