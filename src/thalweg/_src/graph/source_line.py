"""Source locations: the user's line that created an operation."""

from __future__ import annotations

import os
import sys
from types import CodeType, FrameType

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_MAX_FRAMES = 6

Stack = tuple[tuple[CodeType, int], ...]


def user_stack() -> Stack:
    """Returns the innermost few frames outside this package, innermost first; they are formatted on access."""
    # A few code objects and line numbers per operation cost little to take and keep; text is made of them only for an
    # error or a message. Frames of this package say nothing to a user, wherever the call came from.
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    frames: list[tuple[CodeType, int]] = []
    while frame is not None and len(frames) < _MAX_FRAMES:
        frames.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    return tuple(frames)


def with_line(text: str, stack: Stack) -> str:
    """Returns the text of an error with the user's line, unless it has one."""
    line = made_at(stack)
    return text if line is None or "defined at:" in text else f"{text}\n  defined at: {line}"


def made_at(stack: Stack) -> str | None:
    """Returns the innermost user line, as `train.py:31 in model`."""
    if not stack:
        return None
    code, line = stack[0]
    return f"{os.path.basename(code.co_filename)}:{line} in {code.co_name}"
