"""The compiling process ends with its parent, and with it all that it has started."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import children

# The copy of the program that a fork makes keeps the pipe to the compiling process open.
_PARENT = """
import os
import sys
import threading
import time
import thalweg as tf

def copy():
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.05)
    if os.fork() == 0:
        os.rename(sys.argv[1], sys.argv[1] + ".forked")
        time.sleep(1000)

threading.Thread(target=copy).start()
jit = tf.OptimizerOptions(global_jit_level=tf.OptimizerOptions.ON_1)
config = tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=jit), device_count={"GPU": 0})
x = tf.placeholder(tf.float32, [4])
y = tf.tanh(tf.sin(tf.exp(x) + 1.0))
with tf.Session(config=config) as session:
    session.run(y, {x: [0.0] * 4})
"""

# A compiler that starts another process and never ends, like one that has much to do.
_ENDLESS = """#!/bin/sh
sleep 1000 &
echo $PPID $$ $! >> {file}.part
mv {file}.part {file}
wait
"""


def _is_running(process):
    """Returns whether a process exists; a zombie has ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture
def compiling(tmp_path, start_child):
    """Starts a program whose first step is being compiled; returns it, and the processes that compile."""
    started, forked = tmp_path / "started", tmp_path / "started.forked"
    compiler = tmp_path / "compiler"
    compiler.write_text(_ENDLESS.format(file=started))
    compiler.chmod(0o755)
    environment = {**os.environ, "CXX": str(compiler), "THALWEG_CACHE": str(tmp_path / "cache")}
    program = start_child([sys.executable, "-c", _PARENT, started], env=environment, stderr=subprocess.DEVNULL)
    while not forked.exists():
        assert program.poll() is None
        time.sleep(0.05)
    return program, [int(number) for number in forked.read_text().split()]


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_all_ends_with_a_killed_parent(compiling, tmp_path):
    program, processes = compiling
    assert all(map(_is_running, processes)) and len(processes) == 3
    program.send_signal(signal.SIGKILL)
    program.wait()
    while any(map(_is_running, processes)):  # the time limit of the test ends this
        time.sleep(0.05)
    assert not list((tmp_path / "cache").glob("work-*/inductor"))


# What was registered first runs last.
_EXITING = """
import atexit, os, sys, threading, time
atexit.register(lambda: print("thalweg compiler" in [thread.name for thread in threading.enumerate()]))
import thalweg as tf

jit = tf.OptimizerOptions(global_jit_level=tf.OptimizerOptions.ON_1)
config = tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=jit), device_count={"GPU": 0})
x = tf.placeholder(tf.float32, [4])
session = tf.Session(config=config)
y = tf.tanh(tf.sin(tf.exp(x) + 1.0))
threading.Thread(target=session.run, args=(y, {x: [0.0] * 4}), daemon=True).start()
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
"""


def test_the_exit_interrupts_a_compilation_without_a_warning(tmp_path):
    started, compiler = tmp_path / "started", tmp_path / "compiler"
    compiler.write_text(_ENDLESS.format(file=started))
    compiler.chmod(0o755)
    environment = children.environment(CXX=str(compiler), THALWEG_CACHE=str(tmp_path / "cache"))
    done = children.run([sys.executable, "-c", _EXITING, started], env=environment)
    assert (done.stdout, done.stderr) == ("False\n", "")
