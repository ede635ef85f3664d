"""Recorded answers go with the questions that are asked today."""

from importlib import import_module
from pathlib import Path

import pytest

from tests.conformance.recorded import ADVICE, FOLDER, RECORD, RECORDINGS, ROOT, Recording


@pytest.mark.skipif(RECORD, reason="answers are written at the end")
def test_nothing_else_is_recorded():
    for path in Path(__file__).parent.glob("test_*.py"):
        import_module(f"{__package__}.{path.stem}")
    assert {recording.path for recording in RECORDINGS} == set(FOLDER.iterdir())
    for recording in RECORDINGS:
        assert recording.lines.keys() == recording.names, f"{recording.path.name}: {ADVICE}"


def _written(path, names, **answers):
    recording = Recording(path, names)
    for name, (question, answer) in answers.items():
        recording.keep(name, question, answer)
    recording.write()
    return Recording(path, names)


def test_an_answer_is_for_one_question(tmp_path):
    recording = _written(tmp_path / "r.gz", ["a"], a=([1, "text"], {"é": [0.1, float("inf"), None]}))
    assert recording.replay("a", [1, "text"]) == {"é": [0.1, float("inf"), None]}
    for name, question in (("a", [1, "other"]), ("b", [1, "text"])):
        with pytest.raises(AssertionError, match="run make conformance"):
            recording.replay(name, question)


def test_answers_without_a_name_are_dropped_and_others_stay(tmp_path):
    _written(tmp_path / "r.gz", ["a", "b"], a=(1, 10), b=(2, 20))
    recording = _written(tmp_path / "r.gz", ["b", "c"], c=(3, 30))
    assert recording.lines.keys() == {"b", "c"}
    assert recording.replay("b", 2) == 20


def test_equal_answers_give_equal_bytes(tmp_path):
    _written(tmp_path / "1.gz", ["a", "b"], a=(1, {"x": 1, "y": 2}), b=(2, 20))
    _written(tmp_path / "2.gz", ["a", "b"], b=(2, 20), a=(1, {"y": 2, "x": 1}))
    assert (tmp_path / "1.gz").read_bytes() == (tmp_path / "2.gz").read_bytes()


def test_other_words_of_an_error_change_nothing(tmp_path):
    def recorded(kind, text):
        answer = {"building": {"class": kind, "text": text}}
        return _written(tmp_path / "r.gz", ["a"], a=(1, answer)).replay("a", 1)["building"]["text"]

    assert recorded("ValueError", "at 0x1") == "at 0x1"
    assert recorded("ValueError", "at 0x2") == "at 0x1"
    assert recorded("TypeError", "at 0x3") == "at 0x3"


def test_the_place_of_the_repository_is_not_recorded(tmp_path):
    recording = _written(tmp_path / "r.gz", ["a"], a=([str(ROOT / "tests")], f"no file {ROOT}/x"))
    assert recording.replay("a", [str(ROOT / "tests")]) == "no file ./x"
    assert recording.replay("a", ["./tests"])
