"""tf.logging: Python's logging under TensorFlow 1's names, for Thalweg and for programs."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections import Counter
from typing import Any, TextIO

from thalweg._src.base.export import export, export_constants

DEBUG, INFO, WARN, ERROR, FATAL = logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.FATAL

_LETTERS = {DEBUG: "D", INFO: "I", WARN: "W", ERROR: "E", FATAL: "F"}
_calls: Counter[tuple[str, int]] = Counter()
_lock = threading.Lock()


class _LineFormatter(logging.Formatter):
    """Formats `W1115 12:30:01.250000 4711 train.py:31] text`: level, month and day, time, process, source line."""

    def format(self, record: logging.LogRecord) -> str:
        when = time.strftime("%m%d %H:%M:%S", time.localtime(record.created))
        letter = _LETTERS.get(record.levelno, "I")
        micros = int(record.created % 1 * 1e6)
        head = f"{letter}{when}.{micros:06d} {record.process} {record.filename}:{record.lineno}]"
        return f"{head} {super().format(record)}"


class _StderrHandler(logging.StreamHandler[TextIO]):
    """Writes to the current standard error, unless the program has configured Python's logging itself."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        return sys.stderr

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:  # the root's handlers receive the record too
            super().emit(record)


@export("get_logger", "logging.get_logger")
def get_logger() -> logging.Logger:
    """Returns the logger of this package, whose name is "thalweg"."""
    logger = logging.getLogger("thalweg")
    with _lock:
        if not any(isinstance(handler, _StderrHandler) for handler in logger.handlers):
            handler = _StderrHandler()
            handler.setFormatter(_LineFormatter())
            logger.addHandler(handler)
    return logger


@export("logging.get_verbosity")
def get_verbosity() -> int:
    """Returns the lowest level that is logged; WARN by default."""
    return get_logger().getEffectiveLevel()


@export("logging.set_verbosity")
def set_verbosity(v: int | str) -> None:
    """Sets the lowest level that is logged, by number or by name.

    Args:
        v: The lowest level that is written: a number or a name.
    """
    get_logger().setLevel(v.upper() if isinstance(v, str) else v)


@export("logging.log")
def log(level: int, msg: object, *args: object, **kwargs: Any) -> None:
    """Logs a message at a level."""
    get_logger().log(level, msg, *args, stacklevel=2, **kwargs)


@export("logging.vlog")
def vlog(level: int, msg: object, *args: object, **kwargs: Any) -> None:
    """Logs a message at a level; the same as `log`."""
    get_logger().log(level, msg, *args, stacklevel=2, **kwargs)


@export("logging.debug")
def debug(msg: object, *args: object, **kwargs: Any) -> None:
    """Logs a message at level DEBUG."""
    get_logger().debug(msg, *args, stacklevel=2, **kwargs)


@export("logging.info")
def info(msg: object, *args: object, **kwargs: Any) -> None:
    """Logs a message at level INFO."""
    get_logger().info(msg, *args, stacklevel=2, **kwargs)


@export("logging.warn", "logging.warning")
def warning(msg: object, *args: object, **kwargs: Any) -> None:
    """Logs a message at level WARN."""
    get_logger().warning(msg, *args, stacklevel=2, **kwargs)


warn = warning


@export("logging.error")
def error(msg: object, *args: object, **kwargs: Any) -> None:
    """Logs a message at level ERROR."""
    get_logger().error(msg, *args, stacklevel=2, **kwargs)


@export("logging.fatal")
def fatal(msg: object, *args: object, **kwargs: Any) -> None:
    """Logs a message at level FATAL; the program continues."""
    get_logger().critical(msg, *args, stacklevel=2, **kwargs)


@export("logging.TaskLevelStatusMessage")
def TaskLevelStatusMessage(msg: object) -> None:
    """Logs the status of this task as an error."""
    get_logger().error(msg, stacklevel=2)


@export("logging.flush")
def flush() -> None:
    """Flushes the handlers of the logger."""
    for handler in get_logger().handlers:
        handler.flush()


@export("logging.log_if")
def log_if(level: int, msg: object, condition: object, *args: object) -> None:
    """Logs a message if a condition holds.

    Args:
        condition: Whether the message is written.
    """
    if condition:
        get_logger().log(level, msg, *args, stacklevel=2)


@export("logging.log_every_n")
def log_every_n(level: int, msg: object, n: int, *args: object) -> None:
    """Logs the first and then every n-th message of the calling line.

    Args:
        n: Every n-th message is written.
    """
    if _times_before() % n == 0:
        get_logger().log(level, msg, *args, stacklevel=2)


@export("logging.log_first_n")
def log_first_n(level: int, msg: object, n: int, *args: object) -> None:
    """Logs the first n messages of the calling line.

    Args:
        n: The first n messages are written.
    """
    if _times_before() < n:
        get_logger().log(level, msg, *args, stacklevel=2)


def _times_before() -> int:
    """Returns how often the line that called the caller has done so before."""
    frame = sys._getframe(2)
    place = (os.path.abspath(frame.f_code.co_filename), frame.f_lineno)
    with _lock:
        _calls[place] += 1
        return _calls[place] - 1


export_constants(
    DEBUG="logging.DEBUG",
    ERROR="logging.ERROR",
    FATAL="logging.FATAL",
    INFO="logging.INFO",
    WARN="logging.WARN",
)
