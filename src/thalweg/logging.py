"""tf.logging: Logging, on Python's logging module."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.base.logging import (
    DEBUG as DEBUG,
    ERROR as ERROR,
    FATAL as FATAL,
    INFO as INFO,
    TaskLevelStatusMessage as TaskLevelStatusMessage,
    WARN as WARN,
    debug as debug,
    error as error,
    fatal as fatal,
    flush as flush,
    get_logger as get_logger,
    get_verbosity as get_verbosity,
    info as info,
    log as log,
    log_every_n as log_every_n,
    log_first_n as log_first_n,
    log_if as log_if,
    set_verbosity as set_verbosity,
    vlog as vlog,
    warning as warn,
    warning as warning,
)

__all__ = [
    "DEBUG", "ERROR", "FATAL", "INFO", "TaskLevelStatusMessage", "WARN", "debug", "error", "fatal", "flush",
    "get_logger", "get_verbosity", "info", "log", "log_every_n", "log_first_n", "log_if", "set_verbosity", "vlog",
    "warn", "warning",
]
