"""Supervisor: runs the tasks of a cluster on this machine, merges their logs, and ends all of them together."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import click

from thalweg._src.base.processes import end_of
from thalweg._src.tools.cli import reaper
from thalweg._src.tools.cli.log_lines import LogLines
from thalweg._src.tools.cli.signal_pipe import signal_pipe

_TERMINATE_SECONDS = 5.0  # between the signal that ends a task and SIGKILL
_EVALUATE_SECONDS = 60.0  # for the last evaluation, after the end of the training
_REPEATED_LINES = 20  # of a task that failed
_COLOURS = ("cyan", "yellow", "green", "magenta", "blue", "bright_cyan", "bright_yellow", "bright_green")
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class Command:
    """The process of a task, as it is started."""

    job: str
    index: int
    arguments: Sequence[str]
    environment: dict[str, str]

    @property
    def task(self) -> str:
        return f"{self.job} {self.index}"


@dataclass(slots=True, eq=False)
class _Task:
    command: Command
    process: subprocess.Popen[bytes]
    logs: list[LogLines] = field(default_factory=list)
    last: deque[bytes] = field(default_factory=lambda: deque(maxlen=_REPEATED_LINES))


class Supervisor:
    """Runs processes until those that train have ended, or one has failed more often than it may."""

    def __init__(self, commands: Sequence[Command], restarts: int = 0) -> None:
        """restarts: how many times a task that has failed is started again."""
        self._commands = commands
        self._colours = {c.task: _COLOURS[number % len(_COLOURS)] for number, c in enumerate(commands)}
        self._restarts = {command.task: restarts for command in commands}  # that are left
        self._width = max(len(command.task) for command in commands)
        self._tasks: list[_Task] = []  # those that run
        self._selector = selectors.DefaultSelector()
        self._planned: list[tuple[float, int]] = []  # when to send which signal to all tasks
        self._status: int | None = None  # of the cluster, from when its end has begun
        self._failed: _Task | None = None

    def run(self) -> int:
        """Runs all tasks; returns the exit status: 0, that of the first task to fail, or 128 and a received signal."""
        signals = signal_pipe(*_STOPS, signal.SIGCHLD)
        self._selector.register(signals, selectors.EVENT_READ)
        script = [sys.executable, "-IS", reaper.__file__]
        with subprocess.Popen(script, stdin=subprocess.PIPE, process_group=0, bufsize=0) as self._reaper:
            try:
                for command in self._commands:
                    self._start(command)
                while self._tasks:
                    self._wait(signals)
            finally:
                self._send(signal.SIGKILL)  # after an error of this process; else all have ended
                for task in self._tasks:
                    task.process.wait()
        if self._failed is not None:
            self._say(f"{self._failed.command.task} {end_of(self._failed.process)}; its last lines:")
            self._write(sys.stderr.fileno(), b"".join(b"  %b\n" % line for line in self._failed.last))
        return self._status or 0

    def _start(self, command: Command) -> None:
        process = subprocess.Popen(
            command.arguments,
            env=command.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            process_group=0,  # with all that the task starts; Ctrl-C reaches this process alone
        )
        task = _Task(command, process)
        self._tasks.append(task)
        self._tell_reaper(process)
        label = f"{command.task:<{self._width}} | "
        for source, target in (process.stdout, sys.stdout), (process.stderr, sys.stderr):
            assert source is not None
            text = click.style(label, fg=self._colours[command.task]) if target.isatty() else label
            log = LogLines(source, partial(self._log, task.last, target.fileno(), text.encode()))
            task.logs.append(log)
            self._selector.register(source, selectors.EVENT_READ, log)

    def _wait(self, signals: int) -> None:
        """Waits for the next events and handles them."""
        timeout = max(0.0, self._planned[0][0] - time.monotonic()) if self._planned else None
        for key, _ in self._selector.select(timeout):
            if key.data is None:
                for number in os.read(signals, 256):
                    self._receive(number)
            elif not key.data.copy():
                self._selector.unregister(key.fileobj)
        for task in list(self._tasks):
            if task.process.poll() is not None:
                self._end(task)
        if self._planned and time.monotonic() >= self._planned[0][0]:
            self._status = self._status or 0
            self._send(self._planned.pop(0)[1])

    def _receive(self, number: int) -> None:
        if number not in _STOPS:
            return
        if self._status is None:
            self._say(f"{signal.Signals(number).name}: stopping {len(self._tasks)} tasks; a second signal kills them")
            self._stop(128 + number, number)
        else:
            self._planned = [(time.monotonic(), signal.SIGKILL)]

    def _end(self, task: _Task) -> None:
        """Handles the end of a task; what it has started and left running ends with it."""
        self._tasks.remove(task)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(task.process.pid, signal.SIGKILL)
        self._tell_reaper(task.process)
        for log in task.logs:
            if log.source in self._selector.get_map():
                self._selector.unregister(log.source)
            log.finish()
        if self._status is not None:
            return
        running = {other.command.job for other in self._tasks}
        code = task.process.returncode
        if code and self._restarts[task.command.task]:
            self._restarts[task.command.task] -= 1
            left = self._restarts[task.command.task]
            self._say(f"{task.command.task} {end_of(task.process)}; starting it again (restarts left: {left})")
            self._start(task.command)
        elif code:
            self._failed = task
            self._say(f"{task.command.task} {end_of(task.process)}; stopping the other tasks")
            self._stop(code if code > 0 else 128 - code, signal.SIGTERM)
        elif running <= {"ps"}:
            self._stop(0, signal.SIGTERM)
        elif running <= {"ps", "evaluator"} and not self._planned:
            self._say(f"the training has ended; the evaluator has {_EVALUATE_SECONDS:.0f} s to finish")
            self._plan(signal.SIGTERM, time.monotonic() + _EVALUATE_SECONDS)

    # -- signals ------------------------------------------------------------------------------------------------------

    def _stop(self, status: int, number: int) -> None:
        """Ends all tasks."""
        if self._status is None:
            self._status = status
            self._plan(number, time.monotonic())

    def _plan(self, number: int, when: float) -> None:
        self._planned = [(when, number), (when + _TERMINATE_SECONDS, signal.SIGKILL)]

    def _send(self, number: int) -> None:
        for task in self._tasks:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(task.process.pid, number)

    def _tell_reaper(self, process: subprocess.Popen[bytes]) -> None:
        assert self._reaper.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._reaper.stdin.write(b"%d\n" % process.pid)

    # -- the log ------------------------------------------------------------------------------------------------------

    def _log(self, last: deque[bytes], target: int, label: bytes, lines: list[bytes]) -> None:
        last.extend(lines)
        self._write(target, b"".join(b"%b%b\n" % (label, line) for line in lines))

    def _say(self, text: str) -> None:
        self._write(sys.stderr.fileno(), f"thalweg: {text}\n".encode())

    def _write(self, target: int, data: bytes) -> None:
        """Writes to a stream of this process; if its reader has gone, the cluster ends."""
        try:
            while data:
                data = data[os.write(target, data) :]
        except BrokenPipeError:
            self._stop(128 + signal.SIGPIPE, signal.SIGTERM)
