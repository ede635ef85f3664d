"""Records what the real Keras computes for the calls of backend_cases.py and for recurrent loops.

It is run by the Python of an environment with TensorFlow 2.21 and tf_keras, in this folder:
    .venv-bench/tf/bin/python tests/keras/record_backend.py
"""

import gzip
import json
import os
import sys
from pathlib import Path

os.environ["TF_USE_LEGACY_KERAS"] = "1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
sys.path.insert(0, str(Path(__file__).parent))

import tensorflow as tf
import tf_keras
from backend_cases import ANSWERS, FAMILIES, called, encoded
from rnn_cases import CASES, run

K = tf_keras.backend


def answer(name, args, kwargs):
    """Returns the arrays that a function returns, in order."""
    result = called(getattr(K, name), args, kwargs, tf.constant)
    arrays = [each.numpy() if hasattr(each, "numpy") else each for each in tf.nest.flatten(result)]
    if name == "ctc_decode":  # TensorFlow 1.15 has no columns after the longest labels
        arrays = [each[:, (each >= 0).any(0)] if each.dtype.kind == "i" else each for each in arrays]
    return [encoded(each) for each in arrays]


def record():
    """Writes the answers of all calls."""
    recorded = {"rnn": [[encoded(each) for each in run(K, tf, **case)] for case in CASES]}
    for family, calls in FAMILIES.items():
        recorded[family] = [[name, args, kwargs, answer(name, args, kwargs)] for name, args, kwargs in calls()]
    with open(ANSWERS, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as file:
        file.write(json.dumps(recorded).encode())
    print({family: len(calls) for family, calls in recorded.items()}, ANSWERS.stat().st_size)


if __name__ == "__main__":
    record()
