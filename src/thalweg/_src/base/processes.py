"""Processes of this machine: the cores that they may use, and how they end."""

from __future__ import annotations

import os
import signal
import subprocess


def usable_cores() -> int:
    """Returns how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def end_of(process: subprocess.Popen[bytes]) -> str:
    """Returns how a process has ended, in words."""
    code = process.returncode
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "unknown"
    return f"was killed by signal {-code} ({name})"
