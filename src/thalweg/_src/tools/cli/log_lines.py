"""Log lines: splits what a process writes into whole lines, each with the name of its task in front."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import IO

_LONGEST = 1 << 16  # bytes of a line that has not ended
_CHUNK = 1 << 16
_END = re.compile(rb"(\r?\n|\r(?=[^\n]))")  # a carriage return, as progress bars write it, ends a line too


class LogLines:
    """One stream of a process, standard output or standard error."""

    def __init__(self, source: IO[bytes], write: Callable[[list[bytes]], None]) -> None:
        """Reads a pipe without a buffer.

        write: is called with the lines, without their ends
        """
        os.set_blocking(source.fileno(), False)
        self.source = source
        self._write = write
        self._rest = b""

    def copy(self) -> bool:
        """Copies the whole lines of what can be read now; returns whether there was anything to read."""
        data = self.source.read(_CHUNK)
        self._add(data or b"")
        return bool(data)

    def finish(self) -> None:
        """Copies what is left in the pipe, which may have writers that outlive the process, and closes it."""
        while self.copy():
            pass
        if self._rest:
            self._add(b"\n")
        self.source.close()

    def _add(self, data: bytes) -> None:
        *pieces, self._rest = _END.split(self._rest + data)
        lines = [line for line, end in zip(pieces[::2], pieces[1::2]) if line or end != b"\r"]
        if len(self._rest) > _LONGEST:
            lines.append(self._rest)
            self._rest = b""
        if lines:
            self._write(lines)
