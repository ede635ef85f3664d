"""tf.logging: what is written, at which level, by which line."""

import logging
import re
import sys

import pytest

import thalweg as tf
from tests import children


def run(program):
    """Runs a program that pytest's own handlers cannot see, and returns what it writes to standard error."""
    return children.run([sys.executable, "-c", program], forked=True).stderr.splitlines()


def test_log_lines_have_level_time_process_and_source_line():
    (line,) = run("import thalweg as tf\ntf.logging.warn('loss %.1f', 0.5)\ntf.logging.info('not shown')")
    assert re.fullmatch(r"W\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ <string>:2\] loss 0\.5", line)


def test_configured_logging_gets_each_message_once():
    lines = run(
        "import logging, thalweg as tf\nlogging.basicConfig(format='%(name)s|%(message)s')\ntf.logging.error('x')"
    )
    assert lines == ["thalweg|x"]


@pytest.fixture
def verbosity():
    before = tf.logging.get_logger().level
    yield
    tf.logging.get_logger().setLevel(before)


def test_levels(verbosity, caplog):
    assert tf.logging.get_verbosity() == tf.logging.WARN == logging.WARNING
    tf.logging.set_verbosity(tf.logging.DEBUG)
    for name in ("debug", "info", "warn", "warning", "error", "fatal"):
        getattr(tf.logging, name)("to %s", name)
    tf.logging.log(tf.logging.INFO, "log")
    tf.logging.vlog(tf.logging.INFO, "vlog")
    tf.logging.TaskLevelStatusMessage("status")
    levels = [record.levelno for record in caplog.records]
    assert levels == [10, 20, 30, 30, 40, 50, 20, 20, 40]
    assert {record.filename for record in caplog.records} == {"test_logging.py"}
    tf.logging.set_verbosity("error")
    assert tf.logging.get_verbosity() == tf.logging.ERROR
    tf.logging.flush()


def test_message_counts_are_per_calling_line(verbosity, caplog):
    for i in range(5):
        tf.logging.log_every_n(tf.logging.ERROR, "every %d", 2, i)
        tf.logging.log_first_n(tf.logging.ERROR, "first %d", 2, i)
        tf.logging.log_if(tf.logging.ERROR, "if %d", i == 3, i)
    assert [r.getMessage() for r in caplog.records] == [
        "every 0", "first 0", "first 1", "every 2", "if 3", "every 4",
    ]  # fmt: skip
