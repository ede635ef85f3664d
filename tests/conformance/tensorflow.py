"""The real TensorFlow, in a Python of its own that the environment variable THALWEG_TENSORFLOW names."""

import json
import os
import select
import subprocess
import time
from pathlib import Path

import pytest

from tests import children

PYTHON = os.environ.get("THALWEG_TENSORFLOW")

needs_tensorflow = pytest.mark.skipif(not PYTHON, reason="THALWEG_TENSORFLOW names no Python with TensorFlow")

_SECONDS = 30  # an answer takes milliseconds; a machine may be busy

_START = """
import sys
import numpy as np
import tensorflow as tensorflow_2
tf = tensorflow_2.compat.v1
tf.disable_v2_behavior()
"""


def environment():
    """Returns the environment of a process of TensorFlow's."""
    variables = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0"}
    variables.pop("PYTHONPATH", None)
    return variables


def run_tensorflow(code, *arguments, seconds=110):
    """Runs code in TensorFlow's Python, with `tf` and `np` ready and arguments in sys.argv[1:]; returns its output."""
    return children.run([PYTHON, "-c", _START + code, *arguments], timeout=seconds, env=environment()).stdout


class Server:
    """A TensorFlow process that answers many questions; one that a question killed is started again."""

    def __init__(self, folder):
        self._folder = Path(folder)
        self._process = None
        self._asked = 0

    def ask(self, questions):
        """Sends questions, which are plain JSON values; `answers` gives what came of them."""
        self._asked += 1
        self._questions = questions
        self._answers = self._folder / f"answers{self._asked}.jsonl"
        self._answers.touch()
        self._send(questions)

    def answers(self):
        """Returns an answer for each question, or None for one that TensorFlow did not survive."""
        while True:
            done = self._wait()
            lines = self._answers.read_text().splitlines()
            if done:
                assert len(lines) == len(self._questions)
                return [json.loads(line) for line in lines]
            self._kill()
            with self._answers.open("a") as file:
                file.write("null\n")
            self._send(self._questions[len(lines) + 1 :])

    def answer(self, question):
        """Returns the answer to one question."""
        self.ask([question])
        (answer,) = self.answers()
        return answer

    def _wait(self):
        """Waits for the last answer; says whether it came, and none took too long."""
        size, until = 0, time.monotonic() + _SECONDS
        while not select.select([self._process.stdout], [], [], 0.5)[0]:
            if (now := self._answers.stat().st_size) > size:
                size, until = now, time.monotonic() + _SECONDS
            elif time.monotonic() > until:
                return False
        return self._process.stdout.readline().strip() == "done"

    def _send(self, questions):
        asked = self._folder / f"asked{self._asked}.jsonl"
        asked.write_text("".join(json.dumps(question) + "\n" for question in questions))
        if self._process is None:
            self._start()
        self._process.stdin.write(json.dumps([str(asked), str(self._answers)]) + "\n")
        self._process.stdin.flush()

    def _start(self):
        with (self._folder / "stderr.txt").open("a") as errors:
            self._process = children.start(
                [PYTHON, "-P", Path(__file__).with_name("serve.py")],  # -P: this file, too, is called tensorflow
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=self._folder,
                text=True,
                env={**environment(), "TMPDIR": str(self._folder)},  # it is killed, and leaves files there
            )
        while self._process.stdout.readline().strip() != "ready":
            assert self._process.poll() is None, "TensorFlow does not start"

    def _kill(self):
        children.end(self._process)
        self._process = None

    def close(self):
        if self._process is not None:
            self._kill()
