"""Checkpoints of monitored sessions: how often, in the background, and when something goes wrong."""

import json
import math
import threading
from types import SimpleNamespace

import pytest

import thalweg as tf
from tests.training.conftest import events, train
from thalweg._src.base.formats import durable
from thalweg._src.training import checkpoint_hook
from thalweg._src.training.checkpoint_interval import LONGEST, SHORTEST, CheckpointInterval, best_interval

DAY = 24 * 3600


# -- the interval -----------------------------------------------------------------------------------------------------


def test_best_interval_follows_youngs_formula():
    assert best_interval(1.0, 20_000) == pytest.approx(math.sqrt(40_000))
    assert best_interval(1e-6, DAY) == SHORTEST
    assert best_interval(60.0, DAY) == LONGEST
    assert best_interval(0.0, DAY) == best_interval(-1.0, DAY) == SHORTEST


def test_best_interval_loses_least():
    cost, between = 2.0, 4000.0

    def lost(interval):
        return cost / interval + interval / 2 / between

    best = best_interval(cost, between)
    assert lost(best) <= min(lost(best * 0.9), lost(best * 1.1))


def test_failures_make_saves_more_frequent(tmp_path):
    seconds = []
    for _ in range(5):  # each of them dies
        interval = CheckpointInterval(str(tmp_path))
        interval.begin()
        interval.saved(1.0)
        seconds.append(interval.seconds)
    assert seconds == sorted(seconds, reverse=True)
    assert seconds[0] == pytest.approx(math.sqrt(2 * DAY), rel=0.01)
    assert seconds[4] == pytest.approx(math.sqrt(2 * DAY / 5), rel=0.01)


def test_runs_that_end_normally_are_not_failures(tmp_path):
    for _ in range(3):
        interval = CheckpointInterval(str(tmp_path))
        interval.begin()
        interval.saved(1.0)
        interval.end()
    history = json.loads((tmp_path / "run_history.json").read_text())
    assert history["failures"] == 0 and not history["running"]
    interval.begin()
    interval.begin()  # the session was lost and made anew
    interval.saved(1.0)
    assert json.loads((tmp_path / "run_history.json").read_text())["failures"] == 1


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"seconds": -1, "failures": 0, "running": true}', '{"seconds": "NaN"}']
)
def test_a_damaged_history_is_ignored(tmp_path, text):
    (tmp_path / "run_history.json").write_text(text)
    interval = CheckpointInterval(str(tmp_path))
    interval.begin()
    interval.saved(1.0)
    assert interval.seconds == pytest.approx(math.sqrt(2 * DAY), rel=0.01)


def test_a_history_that_cannot_be_written_does_not_matter(tmp_path):
    interval = CheckpointInterval(str(tmp_path / "missing" / "folder"))
    interval.begin()
    interval.saved(1.0)
    interval.end()


def test_training_session_chooses_the_interval(counting, tmp_path, monkeypatch):
    monkeypatch.setattr("thalweg._src.training.checkpoint_interval.SHORTEST", 0.0)
    _step, count = counting
    hook = tf.train.StopAtStepHook(200)
    with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), hooks=[hook]) as session:
        chosen = [h for h in session._hooks if isinstance(h, tf.train.CheckpointSaverHook)]
        cost = chosen[0]._interval._cost
        assert chosen[0]._timer._every_secs == pytest.approx(math.sqrt(2 * cost * DAY), rel=0.01)
        train(session, count)
    assert json.loads((tmp_path / "run_history.json").read_text())["running"] is False


@pytest.mark.parametrize(
    "arguments, secs, steps",
    [
        ({"save_checkpoint_secs": 7}, 7, None),
        ({"save_checkpoint_steps": 9}, None, 9),
        ({"save_checkpoint_secs": None, "save_checkpoint_steps": 9}, None, 9),
    ],
)
def test_intervals_that_are_given_are_kept(counting, tmp_path, arguments, secs, steps):
    with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), **arguments) as session:
        hook = next(h for h in session._hooks if isinstance(h, tf.train.CheckpointSaverHook))
        assert (hook._timer._every_secs, hook._timer._every_steps) == (secs, steps)
    assert not (tmp_path / "run_history.json").exists()


@pytest.mark.parametrize("arguments", [{"save_checkpoint_secs": None}, {"save_checkpoint_secs": 0}])
def test_no_checkpoints(counting, tmp_path, arguments):
    with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), **arguments) as session:
        session.run(counting[1])
    assert tf.train.latest_checkpoint(str(tmp_path)) is None


# -- in the background ------------------------------------------------------------------------------------------------


class Listener(tf.train.CheckpointSaverListener):
    """Records its calls, and whether the checkpoint exists."""

    def __init__(self, folder):
        self.calls = []
        self._folder = folder

    def before_save(self, session, global_step_value):
        self.calls.append(("before", global_step_value))

    def after_save(self, session, global_step_value):
        there = (self._folder / f"model.ckpt-{global_step_value}.index").exists()
        self.calls.append(("after", global_step_value, there))

    def end(self, session, global_step_value):
        self.calls.append(("end", global_step_value))


def test_training_continues_while_a_checkpoint_is_written(counting, tmp_path, monkeypatch):
    _step, count = counting
    go, original = threading.Event(), durable.write_all

    def write_all(file, data):
        if threading.current_thread().name == "checkpoints":
            assert go.wait(30)
        original(file, data)

    monkeypatch.setattr(durable, "write_all", write_all)
    listener = Listener(tmp_path)
    hook = tf.train.CheckpointSaverHook(
        tmp_path, save_steps=100, saver=tf.train.Saver(), listeners=[listener], asynchronous=True
    )
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        for _ in range(10):
            session.run(count)
        assert listener.calls == [("before", 0)]
        go.set()
        hook._saver.wait()
        session.run(count)
        assert listener.calls == [("before", 0), ("after", 0, True)]
    assert listener.calls[2:] == [("before", 11), ("after", 11, True), ("end", 11)]
    logs = [event.step for event in events(tmp_path) if event.HasField("session_log")]
    assert logs == [0, 11]


class SlowSaver:
    """Takes two seconds for a snapshot and writes for twenty more; waiting for it takes three."""

    is_writing = False

    def __init__(self):
        self.now = 100.0

    def make_asynchronous(self):
        pass

    def save(self, *args, **kwargs):
        self.now += 2
        self.is_writing = True

    def wait(self):
        self.now += 3 * self.is_writing
        self.is_writing = False


def test_the_cost_of_a_background_save_is_lost_training_time(counting, tmp_path, monkeypatch):
    costs, saver = [], SlowSaver()
    monkeypatch.setattr(CheckpointInterval, "saved", lambda self, cost: costs.append(cost))
    monkeypatch.setattr(checkpoint_hook, "time", SimpleNamespace(monotonic=lambda: saver.now))
    hook = tf.train.CheckpointSaverHook(tmp_path, save_secs="auto", saver=saver, asynchronous=True)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        saver.now += 20
        session.run(counting[1])
        assert costs == []
        saver.is_writing = False
        session.run(counting[1])
        assert costs == pytest.approx([2 + 0.1 * 20])  # once for each save
    assert costs[1:] == pytest.approx([2 + 3])  # the last is waited for


def test_asynchronous_training_session_resumes(counting, tmp_path):
    _step, count = counting
    for expected in ([1, 2, 3, 4], [5, 6, 7, 8]):
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=str(tmp_path),
            hooks=[tf.train.StopAtStepHook(num_steps=4)],
            save_checkpoint_steps=1,
            asynchronous_checkpoints=True,
        ) as session:
            assert train(session, count) == expected


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_full_disk_is_an_error_and_the_old_checkpoint_stays(counting, tmp_path, monkeypatch, asynchronous):
    _step, count = counting
    full = []
    original = durable.write_all

    def write_all(file, data):
        if full:
            raise OSError(28, "No space left on device")
        original(file, data)

    monkeypatch.setattr(durable, "write_all", write_all)

    def run():
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=str(tmp_path), save_checkpoint_steps=2, asynchronous_checkpoints=asynchronous
        ) as session:
            for _ in range(4):
                session.run(count)
            full.append(True)
            for _ in range(10):
                session.run(count)

    with pytest.raises(tf.errors.ResourceExhaustedError):
        run()
    full.clear()
    with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path)) as session:
        assert session.run(count) > 2


# -- damage -----------------------------------------------------------------------------------------------------------


def _two_checkpoints(folder, count):
    with tf.train.MonitoredTrainingSession(checkpoint_dir=str(folder), save_checkpoint_steps=5) as session:
        for _ in range(10):
            session.run(count)


def test_a_damaged_checkpoint_is_skipped(counting, tmp_path, caplog):
    _step, count = counting
    _two_checkpoints(tmp_path, count)
    newest = next(tmp_path.glob("model.ckpt-10.data*"))
    data = bytearray(newest.read_bytes())
    data[0] ^= 255
    newest.write_bytes(data)
    with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path)) as session:
        assert session.run(count) < 10
    assert any("cannot be" in record.getMessage() for record in caplog.records)


def test_a_missing_checkpoint_is_skipped(counting, tmp_path):
    _step, count = counting
    _two_checkpoints(tmp_path, count)
    (tmp_path / "model.ckpt-10.index").unlink()
    with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path)) as session:
        assert 1 < session.run(count) < 10


def test_without_an_intact_checkpoint_training_does_not_restart(counting, tmp_path):
    _step, count = counting
    _two_checkpoints(tmp_path, count)
    for path in tmp_path.glob("model.ckpt-*.data*"):
        path.write_bytes(b"")
    with pytest.raises((tf.errors.OpError, ValueError)):
        tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path))


def test_a_checkpoint_of_another_model_is_an_error(counting, tmp_path):
    _two_checkpoints(tmp_path, counting[1])
    with tf.Graph().as_default():
        tf.train.get_or_create_global_step()
        tf.get_variable("other", [2])
        with pytest.raises((tf.errors.OpError, ValueError), match="other"):
            tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path))
