"""The hooks, one by one; their order and errors are compared with TensorFlow's in tests/conformance."""

import json
from types import SimpleNamespace

import pytest

import thalweg as tf
from tests.training.conftest import events, train
from thalweg._src.training import timers


def logged(caplog):
    return [record.getMessage() for record in caplog.records]


@pytest.fixture
def info():
    tf.logging.set_verbosity(tf.logging.INFO)
    yield
    tf.logging.set_verbosity(tf.logging.WARN)


def test_stop_at_step_counts_from_where_training_resumes(counting, tmp_path):
    _step, count = counting
    for expected in ([1, 2, 3], [4, 5, 6]):
        hook = tf.train.StopAtStepHook(num_steps=3)
        with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), hooks=[hook]) as session:
            assert train(session, count) == expected


def test_stop_at_step_that_another_session_has_passed(counting):
    step, _count = counting
    many = tf.assign_add(step, 10)
    with tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(last_step=3)]) as session:
        assert train(session, many) == [10, 20]  # a step that counts by more than one is noticed one step late


def test_step_counter_measures(counting, tmp_path, caplog, info):
    _step, count = counting
    hooks = [tf.train.StepCounterHook(every_n_steps=5, output_dir=str(tmp_path)), tf.train.StopAtStepHook(12)]
    with tf.train.MonitoredSession(hooks=hooks) as session:
        train(session, count)
    found = [event for event in events(tmp_path) if event.HasField("summary")]
    assert [event.step for event in found] == [6, 11]
    assert all(event.summary.value[0].tag == "global_step/sec" for event in found)
    assert all(event.summary.value[0].simple_value > 0 for event in found)
    assert any(text.startswith("global_step/sec: ") for text in logged(caplog))


def test_step_counter_warns_if_the_step_does_not_increase(counting, caplog):
    still = tf.constant(1)
    with tf.train.MonitoredSession(hooks=[tf.train.StepCounterHook(every_n_steps=100)]) as session:
        for _ in range(30):
            session.run(still)
    assert sum("does not increase (it was 0 in 20 runs)" in text for text in logged(caplog)) == 1


def test_step_counter_does_not_warn_of_runs_that_do_not_train(counting, caplog):
    _step, count = counting
    still = tf.constant(1)
    with tf.train.MonitoredSession(hooks=[tf.train.StepCounterHook(every_n_steps=100)]) as session:
        for fetch in [still] * 5 + [count] + [still] * 30:
            session.run(fetch)
    assert not any("does not increase" in text for text in logged(caplog))


def test_seconds_as_an_interval(counting, tmp_path, monkeypatch):
    _step, count = counting
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(timers, "time", SimpleNamespace(time=lambda: clock.now))
    tf.summary.scalar("s", tf.constant(1.0))
    hook = tf.train.SummarySaverHook(save_secs=0.05, output_dir=str(tmp_path), summary_op=tf.summary.merge_all())
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        for _ in range(6):
            session.run(count)
            clock.now += 0.03
    steps = [event.step for event in events(tmp_path) if event.HasField("summary")]
    assert steps == [1, 3, 5]


def test_several_summary_operations_and_a_writer(counting, tmp_path):
    _step, count = counting
    summaries = [tf.summary.scalar("a", 1.0), tf.summary.scalar("b", 2.0)]
    writer = tf.summary.FileWriter(str(tmp_path))
    hook = tf.train.SummarySaverHook(save_steps=1, summary_writer=writer, summary_op=summaries)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        session.run(count)
    writer.close()
    tags = [value.tag for event in events(tmp_path) for value in event.summary.value]
    assert tags == ["a", "b"]


def test_summaries_without_a_folder_are_not_written(counting, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hook = tf.train.SummarySaverHook(save_steps=1, summary_op=tf.summary.scalar("a", 1.0))
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        session.run(counting[1])
    assert not list(tmp_path.iterdir())


def test_logging_tensors(counting, caplog, info):
    _step, count = counting
    x = tf.constant([0.00001, 2.0], name="x")
    hooks = [tf.train.LoggingTensorHook({"x": x, "again": "x:0"}, every_n_iter=2), tf.train.StopAtStepHook(4)]
    with tf.train.MonitoredSession(hooks=hooks) as session:
        train(session, count)
    lines = [text for text in logged(caplog) if text.startswith("x = ")]
    assert len(lines) == 2
    assert lines[0] == "x = [0.00001 2.     ], again = [0.00001 2.     ]"
    assert lines[1].startswith(lines[0]) and lines[1].endswith(" sec)")


def test_a_formatter_receives_the_values_of_tensors_named_by_their_operations(counting, caplog, info):
    tf.constant(2.5, name="x")
    received = []
    hook = tf.train.LoggingTensorHook({"tag": "x"}, every_n_iter=1, formatter=lambda d: received.append(d) or "text")
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        session.run(counting[1])
    assert received == [{"tag": 2.5}]
    assert "text" in logged(caplog)


def test_logging_refuses_ambiguous_names_and_tensors_of_other_graphs(counting):
    tf.split(tf.zeros([2]), 2, name="halves")
    with tf.Graph().as_default():
        foreign = tf.constant(1.0)
    for value, match in (("halves", "ambiguous"), (foreign, "not of the graph")):
        hook = tf.train.LoggingTensorHook([value], every_n_iter=1)
        with pytest.raises(ValueError, match=match):
            tf.train.MonitoredSession(hooks=[hook])


def test_logging_is_off_by_default(counting, caplog):
    with tf.train.MonitoredSession(hooks=[tf.train.LoggingTensorHook(["global_step:0"], every_n_iter=1)]) as session:
        session.run(counting[1])
    assert not logged(caplog)


def test_nan_stops_or_fails(counting):
    loss = tf.placeholder(tf.float32, [])
    with (
        pytest.raises(tf.train.NanLossDuringTrainingError, match="NaN loss during training"),
        tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(loss)]) as session,
    ):
        session.run(loss, {loss: 1.0})
        session.run(loss, {loss: float("nan")})
    with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(loss, fail_on_nan_loss=False)]) as session:
        session.run(loss, {loss: float("nan")})
        assert session.should_stop()


def test_final_operations_see_the_last_values(counting):
    step, count = counting
    final = tf.train.FinalOpsHook({"step": step})
    with tf.train.MonitoredSession(hooks=[final, tf.train.StopAtStepHook(5)]) as session:
        train(session, count)
    assert final.final_ops_values == {"step": 5}


def test_feed_function_is_called_in_each_step(counting):
    x = tf.placeholder(tf.int32, [])
    numbers = iter(range(10))
    with tf.train.MonitoredSession(hooks=[tf.train.FeedFnHook(lambda: {x: next(numbers)})]) as session:
        assert [session.run(x) for _ in range(3)] == [0, 1, 2]


def test_waiter_without_a_step_to_wait_for(counting):
    with tf.train.MonitoredSession(hooks=[tf.train.GlobalStepWaiterHook(0)]) as session:
        assert session.run(counting[1]) == 1


def test_profiler_writes_traces(counting, tmp_path):
    _step, count = counting
    a = tf.get_variable("a", [4, 4])
    with tf.control_dependencies([count]):
        product = tf.matmul(a, a, name="product")
    hooks = [tf.train.ProfilerHook(save_steps=3, output_dir=str(tmp_path)), tf.train.StopAtStepHook(7)]
    with tf.train.MonitoredSession(hooks=hooks) as session:
        train(session, product)
    assert sorted(path.name for path in tmp_path.glob("*.json")) == ["timeline-3.json", "timeline-6.json"]
    trace = json.loads((tmp_path / "timeline-3.json").read_text())["traceEvents"]
    assert "product" in {event["args"]["name"] for event in trace if event["ph"] == "X"}
    tags = [event.tagged_run_metadata.tag for event in events(tmp_path) if event.HasField("tagged_run_metadata")]
    assert tags == ["step_3", "step_6"]


def test_options_of_hooks_are_merged(counting):
    seen = []

    class Asking(tf.train.SessionRunHook):
        def __init__(self, **options):
            self._options = tf.RunOptions(**options)

        def before_run(self, run_context):
            return tf.train.SessionRunArgs(None, options=self._options)

        def after_run(self, run_context, run_values):
            seen.append(run_values.options)

    hooks = [Asking(timeout_in_ms=50_000), Asking(trace_level=3), Asking(timeout_in_ms=20_000)]
    metadata = tf.RunMetadata()
    with tf.train.MonitoredSession(hooks=hooks) as session:
        session.run(counting[1], run_metadata=metadata)
    assert (seen[0].timeout_in_ms, seen[0].trace_level) == (50_000, 3)
    assert metadata.step_stats.dev_stats
