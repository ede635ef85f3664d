"""The real TensorFlow, in a Python of its own that the environment variable THALWEG_TENSORFLOW names."""

import os
import subprocess

import pytest

PYTHON = os.environ.get("THALWEG_TENSORFLOW")

needs_tensorflow = pytest.mark.skipif(not PYTHON, reason="THALWEG_TENSORFLOW names no Python with TensorFlow")

_START = """
import sys
import numpy as np
import tensorflow as tensorflow_2
tf = tensorflow_2.compat.v1
tf.disable_v2_behavior()
"""


def run_tensorflow(code, *arguments):
    """Runs code in TensorFlow's Python, with `tf` and `np` ready and arguments in sys.argv[1:]; returns its output."""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0"}
    environment.pop("PYTHONPATH", None)
    process = subprocess.run(
        [PYTHON, "-c", _START + code, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=110,
        check=False,
    )
    assert process.returncode == 0, process.stderr[-4000:]
    return process.stdout
