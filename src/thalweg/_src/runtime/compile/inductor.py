"""Inductor in another process: compiles fusion clusters into shared libraries, which the cache keeps.

The running process only sends requests and loads files: tracing and compiling hold the GIL for seconds, which would
block steps. `python -m thalweg._src.runtime.compile.inductor` is the compiler process, which runs at low priority.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib
import json
import logging
import os
import pickle
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, BinaryIO

from thalweg._src.runtime.compile.aot_inductor import load
from thalweg._src.runtime.compile.cache import folder, restore, store, work
from thalweg._src.runtime.compile.index_checks import checked
from thalweg._src.runtime.compile.lowering import Request, build, build_here
from thalweg._src.runtime.compile.orphan import end_with_parent

Library = Callable[[list[Any]], Sequence[Any]]
_NICE = 19  # lowest priority; running steps leave one core to it (runtime/cpu_contention.py)
_IDLE = 60.0  # seconds after which a compiler without work ends
_LIBRARY, _CHECKS = "library.so", "index_checks.json"
_log = logging.getLogger("thalweg")


def find(request: Request) -> Library | None:
    """Returns the library of a cluster if it was compiled before, by any process."""
    copy = restore(request.digest())
    if copy is None:
        return None
    try:
        if request.device[1] != "cpu":
            return build_here(request, str(copy))  # from its compiled kernels, which may be loaded later
        library = checked(load(str(copy / _LIBRARY)), json.loads((copy / _CHECKS).read_text()))
    except (OSError, RuntimeError) as error:
        warn(_first_line(error))
        return None
    shutil.rmtree(copy)  # it is mapped
    return library


def compile_now(request: Request) -> Library | None:
    """Compiles a cluster and puts the result into the cache; for an accelerator, the function is there at once."""
    if request.device[1] == "cpu":
        file, checks = build(request, str(work() / "inductor"))
        with tempfile.NamedTemporaryFile("w", dir=work()) as listed:
            json.dump(checks, listed)
            listed.flush()
            store(request.digest(), {_LIBRARY: Path(file), _CHECKS: Path(listed.name)})
        return None
    target = Path(tempfile.mkdtemp(dir=work()))
    library = build_here(request, str(target))
    files = {str(path.relative_to(target)): path for path in sorted(target.rglob("*")) if path.is_file()}
    store(request.digest(), files)
    return library


def _compile_here(request: Request) -> Library | None:
    """Compiles a cluster for an accelerator in this process, where its kernels are loaded anyway."""
    try:
        return compile_now(request)
    except Exception as error:
        warn(_first_line(error))
        return None


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"[:500]


class Compiler:
    """A process that compiles one cluster after another, started on demand."""

    def __init__(self, low_priority: bool) -> None:
        self._low_priority = low_priority
        self._requests: SimpleQueue[tuple[Request, Callable[[Library | None], None]] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._is_over = False
        self.is_busy = False

    def ask(self, request: Request, done: Callable[[Library | None], None]) -> None:
        """Requests the compilation of a cluster; calls `done` with its library, or None, on another thread."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="thalweg compiler", daemon=True)
                self._thread.start()
                with contextlib.suppress(OSError):
                    work()  # whose removal at exit follows the end of the thread, being registered before it
                atexit.register(self._stop, self._thread)
        self._requests.put((request, done))

    def wait_for(self, request: Request) -> Library | None:
        """Compiles a cluster and waits for its library."""
        if request.device[1] != "cpu":
            return _compile_here(request)
        answers: SimpleQueue[Library | None] = SimpleQueue()
        self.ask(request, answers.put)
        return answers.get()

    def _serve(self) -> None:
        while not self._is_over:
            try:
                asked = self._requests.get(timeout=_IDLE)
            except Empty:
                self._end()
                continue
            if asked is None:
                return
            request, done = asked
            # Another process may have compiled the same cluster meanwhile: the cache is asked again here, not only when
            # the request was made.
            try:
                done(find(request) or self._compile(request))
            except Exception as error:
                if self._is_over:
                    return
                warn(_first_line(error))
                done(None)
            self.is_busy = not self._requests.empty()

    def _end(self) -> None:
        """Ends the process: one that is told to, rather than ends by itself, leaves no zombie."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None

    def _stop(self, thread: threading.Thread) -> None:
        """Ends the process and the thread when the program exits; the compilation that this interrupts is no failure.

        What the thread has begun in this process is waited for: a thread that is inside torch when the interpreter
        shuts down aborts the program.
        """
        self._is_over = True
        if self._process is not None:
            self._process.terminate()
        self._requests.put(None)
        thread.join()

    def _compile(self, request: Request) -> Library | None:
        self.is_busy = True
        failure = self._answer(request)
        if failure:
            warn(failure)
            return None
        return find(request)

    def _answer(self, request: Request) -> Any:
        process = self._started()
        assert process.stdin is not None and process.stdout is not None
        try:
            _send(process.stdin, request)
            return _receive(process.stdout)
        except (OSError, EOFError):
            self._end()
            raise

    def _started(self) -> subprocess.Popen[bytes]:
        # Started on first use, after an idle time, and after a crash: the request that crashed it fails, the next one
        # gets a new process.
        if self._process is None or self._process.poll() is not None:
            paths = [str(Path(__file__).parents[4]), *sys.path]  # for the modules of users' ops
            path = os.pathsep.join(filter(None, paths))
            self._process = subprocess.Popen(
                [sys.executable, "-m", "thalweg._src.runtime.compile.inductor", str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path, "THALWEG_CACHE": str(folder())},
            )
            if self._low_priority:
                os.setpriority(os.PRIO_PROCESS, self._process.pid, _NICE)  # from here, so that it starts up so too
            if self._is_over:  # too late for `_stop` to see this process
                self._process.terminate()
        return self._process


BACKGROUND, FOREGROUND = Compiler(low_priority=True), Compiler(low_priority=False)


@functools.cache
def warn(text: str) -> None:
    """Warns once that something runs uncompiled."""
    _log.warning("a part of a step runs uncompiled: %s", text)


def _send(stream: BinaryIO | Any, value: object) -> None:
    data = pickle.dumps(value)
    stream.write(struct.pack("<Q", len(data)) + data)
    stream.flush()


def _receive(stream: BinaryIO | Any) -> Any:
    header = stream.read(8)
    if len(header) < 8:
        raise EOFError("the compiler's process ended")
    return pickle.loads(stream.read(*struct.unpack("<Q", header)))


def main() -> None:
    """Compiles what comes on standard input, and answers each request with an error's text or nothing."""
    end_with_parent(int(sys.argv[1]), lambda: shutil.rmtree(work(), ignore_errors=True))
    os.environ["TMPDIR"] = str(work())
    tempfile.tempdir = None
    # The protocol keeps the original standard output for itself. A compiler that prints goes to standard error, where
    # it cannot be mistaken for an answer.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # compilers print to it
    while True:
        try:
            request: Request = _receive(sys.stdin.buffer)
        except EOFError:
            return
        try:
            for module in request.modules:
                importlib.import_module(module)
            compile_now(request)
            _send(answers, "")
        except Exception as error:
            _send(answers, _first_line(error))


if __name__ == "__main__":
    main()
