"""Training states: when a global step that was fetched says that variables were restored."""

import pytest

import thalweg as tf
from thalweg._src.training.training_state import TrainingState, fetched_step


@pytest.fixture
def lines(caplog):
    return lambda: [record.getMessage() for record in caplog.records if "the state was" in record.getMessage()]


def test_a_smaller_step_says_once_that_the_state_was_restored(lines):
    state = TrainingState()
    for step in (5, 6, 6, 9, 3, 4):
        state.saw(step, state.step)
    assert lines() == ["the state was restored: global step 9 -> 3"] and state.step == 4


def test_runs_of_several_threads_end_in_any_order(lines):
    state = TrainingState()
    state.saw(5, None)
    before = state.step  # three runs begin
    for step in (7, 6, 8):
        state.saw(step, before)
    assert state.step == 8 and not lines()
    before = state.step  # and three more, while variables are restored
    for step in (2, 4, 3):
        state.saw(step, before)
    assert lines() == ["the state was restored: global step 8 -> 2"]


def test_the_step_is_found_among_the_fetches_of_programs_and_hooks():
    step = tf.train.get_or_create_global_step()
    other = tf.constant(1)
    for fetches, values in (
        ({"caller": [other, step]}, {"caller": [1, 7]}),
        ({"caller": other, "hook": step}, {"caller": 1, "hook": 7}),
        ({"caller": {"loss": other}, "hook": {"step": step}}, {"caller": {"loss": 1}, "hook": {"step": 7}}),
    ):
        assert fetched_step(fetches, values, [step]) == 7
    assert fetched_step({"caller": [other, {"deep": step}]}, {"caller": [1, {"deep": 7}]}, [step]) is None


def test_monitored_sessions_of_this_process_say_what_was_restored(lines, tmp_path):
    class Failing(tf.train.SessionRunHook):
        left = 5

        def after_run(self, run_context, run_values):
            self.left -= 1
            if self.left == 0:
                raise tf.errors.AbortedError(None, None, "gone")

    count = tf.assign_add(tf.train.get_or_create_global_step(), 1)
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path), save_checkpoint_steps=3, save_summaries_steps=None, hooks=[Failing()]
    ) as session:
        assert [session.run(count) for _ in range(6)] == [1, 2, 3, 4, 4, 5]
    (line,) = lines()
    assert line.startswith(f"the state was restored from {tmp_path}/model.ckpt-3: global step 4 -> 3 (the variables of")
