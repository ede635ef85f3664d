"""Answers of TensorFlow, kept in the repository for machines that have no TensorFlow.

`make conformance` asks TensorFlow and records what it answers; `make test` compares with the recorded answers.
"""

import gzip
import hashlib
import json
import os
from functools import cached_property
from pathlib import Path

from tests.conformance.tensorflow import PYTHON

RECORD = bool(PYTHON) and "THALWEG_RECORD" in os.environ
ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "fixtures" / "tensorflow_answers"
ADVICE = "run make conformance"


class Recording:
    """A file of named answers, each with a hash of its question, so that no answer outlives a change of the question.

    The hash leaves out the code that runs a question: it runs on both sides, so a change that matters shows as a
    difference.
    """

    def __init__(self, path, names):
        self.path, self.names = Path(path), set(names)
        self._new = {}

    def answer(self, name, question, ask):
        """Returns TensorFlow's answer to a question: what `ask` returns, or without TensorFlow what was recorded."""
        if not PYTHON:
            return self.replay(name, question)
        answer = ask()
        self.keep(name, question, answer)
        return answer

    def replay(self, name, question):
        asked, answer = self.lines.get(name, (None, None))
        assert asked == _hash(question), f"{self.path.name} has no answer to this question of {name}: {ADVICE}"
        return answer

    def keep(self, name, question, answer):
        """Keeps an answer to be written; one that differs in the words of errors alone stays as it was recorded.

        TensorFlow puts addresses, orders of hash tables and numbers from memory into its words.
        """
        new, old = (_hash(question), answer), self.lines.get(name)
        self._new[name] = old if old is not None and _json(_wordless(old)) == _json(_wordless(new)) else new

    @cached_property
    def lines(self):
        """The hash of the question and the answer, by name."""
        if not self.path.exists():
            return {}
        with gzip.open(self.path, "rt", encoding="utf-8") as file:
            return {name: (asked, answer) for name, asked, answer in map(json.loads, file)}

    def write(self):
        """Writes the new answers, and the old ones whose names are still in use; equal answers give equal bytes."""
        if self._new:
            lines = {name: line for name, line in {**self.lines, **self._new}.items() if name in self.names}
            text = "".join(_json([name, *lines[name]]) + "\n" for name in sorted(lines))
            self.path.parent.mkdir(exist_ok=True)
            self.path.write_bytes(gzip.compress(text.encode(), mtime=0))


RECORDINGS = []


def recording(topic, names):
    """Returns the recording of a topic, which is written at the end of `make conformance`."""
    RECORDINGS.append(Recording(FOLDER / f"{topic}.jsonl.gz", names))
    return RECORDINGS[-1]


def _hash(question):
    return hashlib.sha256(_json(question).encode()).hexdigest()[:16]


def _wordless(value):
    """Returns a value without the words of errors."""
    if isinstance(value, dict):
        return {key: _wordless(item) for key, item in value.items() if key != "text"}
    return [_wordless(item) for item in value] if isinstance(value, list | tuple) else value


def _json(value):
    """Returns a value as text that is the same wherever the repository lies."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":")).replace(str(ROOT), ".")
