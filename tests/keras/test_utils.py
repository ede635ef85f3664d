"""Arrays of classes, and progress bars as Keras prints them."""

import numpy as np
import pytest

from thalweg._src.keras.utils import generic
from thalweg._src.keras.utils.arrays import normalize, to_categorical
from thalweg._src.keras.utils.generic import Progbar

_ROW = [[0, 0, 1], [1, 0, 0]]


@pytest.mark.parametrize(
    "y, expected",
    [
        ([2, 0], _ROW),
        ([[2], [0]], _ROW),
        ([[2, 0], [0, 2]], [_ROW, _ROW[::-1]]),
        (np.array([2.0, 0.0]), _ROW),
        (2, _ROW[0]),
        ([2], _ROW[:1]),
        ([[[2], [0]]], [_ROW]),
    ],
)
def test_classes_become_rows_of_zeros_and_a_one(y, expected):
    value = to_categorical(y)
    assert value.dtype == np.float32
    np.testing.assert_array_equal(value, expected)


def test_the_number_of_classes_and_the_type_may_be_given():
    value = to_categorical([1, 0], num_classes=4, dtype="int8")
    assert value.dtype == np.int8
    np.testing.assert_array_equal(value, [[0, 1, 0, 0], [1, 0, 0, 0]])
    with pytest.raises(IndexError):
        to_categorical([4], num_classes=4)


def test_normalized_rows_have_norm_one_unless_they_are_zero():
    x = np.array([[3.0, -4.0], [0.0, 0.0]])
    np.testing.assert_allclose(normalize(x), [[0.6, -0.8], [0.0, 0.0]])
    np.testing.assert_allclose(normalize(x, axis=0), [[1.0, -1.0], [0.0, 0.0]])
    np.testing.assert_allclose(normalize(x, order=1), [[3 / 7, -4 / 7], [0.0, 0.0]])
    np.testing.assert_allclose(normalize(x[0]), [[0.6, -0.8]])  # a row, as in Keras


@pytest.fixture
def clock(monkeypatch):
    """The time that a progress bar sees, which passes when a test says so."""

    class Clock:
        now = 1000.0

        def time(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(generic, "time", clock)
    return clock


def _lines(capsys):
    """Returns what a terminal shows after each update: the line is written over, with backspaces before."""
    return [line.rstrip("\b") for line in capsys.readouterr().out.split("\r")[1:]]


def test_a_bar_shows_steps_remaining_time_and_averages(clock, capsys):
    bar = Progbar(100)
    for current, loss in ((32, 0.1234), (64, 0.2), (100, 0.3)):
        clock.now += 1
        bar.update(current, [("loss", loss)])
    assert _lines(capsys) == [
        " 32/100 [========>.....................] - ETA: 2s - loss: 0.1234",
        " 64/100 [==================>...........] - ETA: 1s - loss: 0.1617",
        "100/100 [==============================] - 3s 30ms/step - loss: 0.2115\n",
    ]


def test_a_bar_goes_back_over_its_line_and_blanks_what_is_left_of_it(clock, capsys):
    bar = Progbar(2, interval=0)
    clock.now += 1
    bar.update(1, [("long", 100000.0)])
    bar.update(1, [("long", 0.0)])
    first = "1/2 [==============>...............] - ETA: 1s - long: 100000.0000"
    second = "1/2 [==============>...............] - ETA: 1s - long: 50000.0000 "
    assert capsys.readouterr().out == "\r" + first + "\b" * len(first) + "\r" + second


def test_lines_follow_each_other_where_the_output_is_no_terminal(clock, capsys, monkeypatch):
    monkeypatch.setattr(generic, "_may_be_terminal", lambda: False)
    bar = Progbar(2, width=4, interval=0)
    bar.update(1)
    bar.update(2)
    assert capsys.readouterr().out == "\n1/2 [=>..] - ETA: 0s\n2/2 [====] - 0s 0us/step\n"


def test_updates_that_follow_too_soon_are_not_shown_but_the_last(clock, capsys):
    bar = Progbar(100)
    for current in (32, 64, 100):
        clock.now += 0.01
        bar.update(current, [("loss", 1.0)])
    assert [line[:7] for line in _lines(capsys)] == [" 32/100", "100/100"]


def test_stateful_values_are_shown_as_they_are(clock, capsys):
    bar = Progbar(5, interval=0, stateful_metrics=["acc"])
    for steps, loss, acc in ((1, 1e-5, 0.5), (1, 1.0, 0.75), (3, 2.0, 1.0)):
        clock.now += 100
        bar.add(steps, [("loss", loss), ("acc", acc)])
    assert _lines(capsys) == [
        "1/5 [=====>........................] - ETA: 6:40 - loss: 1.0000e-05 - acc: 0.5000",
        "2/5 [===========>..................] - ETA: 5:00 - loss: 0.5000 - acc: 0.7500    ",
        "5/5 [==============================] - 300s 60s/step - loss: 1.4000 - acc: 1.0000\n",
    ]


def test_hours_remain(clock, capsys):
    bar = Progbar(3, interval=0)
    for loss in (-1e-5, 1.0):
        clock.now += 4000
        bar.add(1, [("loss", loss)])
    assert _lines(capsys) == [
        "1/3 [=========>....................] - ETA: 2:13:20 - loss: -1.0000e-05",
        "2/3 [===================>..........] - ETA: 1:06:40 - loss: 0.5000     ",
    ]


def test_a_bar_without_target_counts(clock, capsys):
    bar = Progbar(None)
    for loss in (1.0, 3.0):
        clock.now += 1
        bar.add(1, [("loss", loss)])
    assert _lines(capsys) == [
        "      1/Unknown - 1s 1s/step - loss: 1.0000",
        "      2/Unknown - 2s 1s/step - loss: 2.0000",
    ]


def test_a_value_that_is_reported_twice_for_one_step_counts(clock, capsys):
    bar = Progbar(None)
    bar.update(1, [("loss", 1.0)])
    bar.update(1, [("val_loss", 3.0)])
    assert _lines(capsys)[-1].endswith(" - loss: 1.0000 - val_loss: 3.0000")


def test_the_bar_begins_empty_and_names_its_unit(clock, capsys):
    bar = Progbar(10, width=10, interval=0, unit_name="sample")
    for current in (0, 1, 2, 10):
        clock.now += 0.0005
        bar.update(current)
    assert _lines(capsys) == [
        " 0/10 [..........] - ETA: 0s",
        " 1/10 [>.........] - ETA: 0s",
        " 2/10 [=>........] - ETA: 0s",
        "10/10 [==========] - 0s 200us/sample\n",
    ]


def test_one_line_at_the_end(clock, capsys):
    bar = Progbar(10, verbose=2)
    for current, loss in ((5, 1.0), (10, -3.0)):
        clock.now += 1
        bar.update(current, [("loss", loss), ("b", 1e-4), ("c", 0.5)])
    assert capsys.readouterr().out == "10/10 - 2s - loss: -1.0000e+00 - b: 1.0000e-04 - c: 0.5000\n"


def test_nothing_is_shown_without_verbosity(clock, capsys):
    bar = Progbar(10, verbose=0)
    bar.add(10, [("loss", 1.0)])
    assert capsys.readouterr().out == ""
