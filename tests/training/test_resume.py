"""Killed training resumes exactly: global step, optimizer slots, position in the data."""

import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import thalweg as tf
from tests import children
from tests.training.training_worker import model

WORKER = Path(__file__).with_name("training_worker.py")
STEPS = 60


def losses_of(path):
    """Returns the loss of each step; one that was taken again after a crash must have had the same."""
    found = {}
    for line in path.read_text().splitlines():
        step, value = line.split()
        assert found.setdefault(int(step), value) == value, f"step {step} had another loss the second time"
    return [found[step] for step in range(STEPS)]


def training(folder, losses, kind):
    return [sys.executable, WORKER, folder, losses, kind, STEPS]


def run_to_end(folder, losses, kind):
    assert children.run(training(folder, losses, kind), forked=True).stdout.strip() == "done"


def kill_after(start_child, folder, losses, kind, lines):
    """Starts training and kills it as soon as so many more steps are written down."""
    before = len(losses.read_text().splitlines()) if losses.exists() else 0
    process = start_child(training(folder, losses, kind), forked=True)
    while not losses.exists() or len(losses.read_text().splitlines()) < before + lines:
        assert process.poll() is None, "it ended by itself"
        time.sleep(0.001)
    children.end(process)
    assert process.returncode == -signal.SIGKILL


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    run_to_end(folder / "model", folder / "losses", "plain")
    return losses_of(folder / "losses")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["plain", "asynchronous"])
def test_killed_training_resumes_with_the_same_losses(undisturbed, start_child, kind, tmp_path):
    losses = tmp_path / "losses"
    for lines in (3, 16, 11):
        kill_after(start_child, tmp_path / "model", losses, kind, lines)
    run_to_end(tmp_path / "model", losses, kind)
    assert losses_of(losses) == undisturbed
    assert float.fromhex(undisturbed[-1]) < 0.5 * float.fromhex(undisturbed[0])


def _trained(folder, steps, hooks=(), **arguments):
    with tf.Graph().as_default():
        loss, train_op = model()
        values = []
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=folder, hooks=[tf.train.StopAtStepHook(last_step=steps), *hooks], **arguments
        ) as session:
            while not session.should_stop():
                values.append(session.run([loss, train_op])[0])
    return values


def test_stopping_and_resuming_changes_nothing(tmp_path):
    whole = _trained(str(tmp_path / "whole"), 30)
    parts = [loss for last in (11, 12, 30) for loss in _trained(str(tmp_path / "parts"), last)]
    np.testing.assert_array_equal(whole, parts)


def test_a_lost_session_continues_from_the_checkpoint(tmp_path):
    class Losing(tf.train.SessionRunHook):
        lost = False

        def after_run(self, run_context, run_values):
            if not self.lost and run_context.session.run("global_step:0") == 10:
                self.lost = True
                raise tf.errors.UnavailableError(None, None, "gone")

    whole = _trained(str(tmp_path / "whole"), 20)
    values = _trained(str(tmp_path / "lossy"), 20, hooks=[Losing()], save_checkpoint_steps=4)
    np.testing.assert_array_equal(whole[:9], values[:9])
    np.testing.assert_array_equal(whole[-11:], values[-11:])  # from step 9, after those from 8 were taken again
    assert len(values) in (20, 21)


def test_an_iterator_that_is_initialized_twice_restarts(tmp_path):
    """A position that was restored holds for one initialization: the next one starts over."""
    iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(10))
    saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
    element = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        assert [session.run(element) for _ in range(3)] == [0, 1, 2]
        path = saver.save(session, str(tmp_path / "position"))
    with tf.Session() as session:
        saver.restore(session, path)
        with pytest.raises(tf.errors.FailedPreconditionError, match="not been initialized"):
            session.run(element)
        session.run(iterator.initializer)
        assert session.run(element) == 3
        session.run(iterator.initializer)
        assert session.run(element) == 0


def test_a_one_shot_iterator_resumes(tmp_path):
    def run(last):
        with tf.Graph().as_default():
            step = tf.train.get_or_create_global_step()
            iterator = tf.data.make_one_shot_iterator(tf.data.Dataset.range(100).shuffle(20, seed=3))
            tf.add_to_collection(
                tf.GraphKeys.SAVEABLE_OBJECTS, tf.data.experimental.make_saveable_from_iterator(iterator)
            )
            fetches = [iterator.get_next(), tf.assign_add(step, 1)]
            seen = []
            hooks = [tf.train.StopAtStepHook(last_step=last)]
            with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), hooks=hooks) as session:
                while not session.should_stop():
                    seen.append(int(session.run(fetches)[0]))
            return seen

    seen = run(30) + run(70) + run(100)
    assert sorted(seen) == list(range(100))
