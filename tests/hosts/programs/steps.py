"""Runs another program with its arguments, with a line and a pause after each step of its monitored sessions.

python steps.py PROGRAM ARGUMENTS
"""

import os
import runpy
import sys
import time

import thalweg as tf

run = tf.train.MonitoredSession.run


def run_and_say(session, *args, **kwargs):
    values = run(session, *args, **kwargs)
    print("made a step", flush=True)
    time.sleep(0.03)
    return values


tf.train.MonitoredSession.run = run_and_say
sys.argv = sys.argv[1:]
sys.path[0] = os.path.dirname(sys.argv[0])
runpy.run_path(sys.argv[0], run_name="__main__")
