"""tf.contrib.summary: summaries that a step writes to an event file itself."""

import glob

import numpy as np
import pytest
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.graph_pb2 import GraphDef

import thalweg as tf

summary = tf.contrib.summary


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def written(folder):
    """The events of the one file in a folder, without the file's version."""
    (path,) = glob.glob(f"{folder}/*")
    return [*tf.train.summary_iterator(path)][1:]


def values(folder):
    return [(event.step, value.tag) for event in written(folder) for value in event.summary.value]


def test_summaries_are_written_by_the_steps_that_run_them(tmp_path):
    step = tf.train.get_or_create_global_step()
    x = tf.placeholder(tf.float32)
    with summary.create_file_writer(str(tmp_path)).as_default(), summary.always_record_summaries():
        with tf.name_scope("net"):
            summary.scalar("loss", x)
        summary.scalar("rate", 0.5, family="train", step=7)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            summary.initialize(graph=session.graph)
            for value in (1.0, 2.0):
                with tf.control_dependencies(summary.all_summary_ops()):
                    advance = tf.assign_add(step, 1)
                session.run(advance, {x: value})
    first, *rest = written(tmp_path)
    assert "net/loss" in {node.name for node in GraphDef.FromString(first.graph_def).node}
    found = {(event.step, v.tag, v.simple_value) for event in rest for v in event.summary.value}
    assert found == {
        (0, "net/loss", 1.0),
        (1, "net/loss", 2.0),
        (7, "train/train/rate", 0.5),
    }


def test_only_every_nth_step_is_recorded(tmp_path):
    step = tf.train.get_or_create_global_step()
    with (
        summary.create_file_writer(str(tmp_path), flush_millis=10000).as_default(),
        summary.record_summaries_every_n_global_steps(3),
    ):
        summary.scalar("loss", 1.0)
        advance = tf.assign_add(step, 1)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            summary.initialize()
            for _ in range(7):
                session.run(summary.all_summary_ops())
                session.run(advance)
    assert values(tmp_path) == [(0, "loss"), (3, "loss"), (6, "loss")]


def test_nothing_is_recorded_without_a_writer_or_a_condition(tmp_path):
    writer = summary.create_file_writer(str(tmp_path))
    with summary.always_record_summaries():
        assert summary.scalar("a", 1.0, step=0).type == "NoOp"
    with writer.as_default():
        assert summary.should_record_summaries() is False
        off = summary.scalar("b", 1.0, step=0)
        with summary.always_record_summaries(), summary.never_record_summaries():
            summary.scalar("c", 1.0, step=0)
    with tf.Session() as session:
        session.run(writer.init())
        assert session.run(off) is np.False_ and session.run(summary.all_summary_ops()) == [False, False]
        session.run(writer.flush())
        assert written(tmp_path) == []


def test_every_kind_of_summary(tmp_path):
    with summary.create_file_writer(str(tmp_path), name="all").as_default(), summary.always_record_summaries():
        step = tf.constant(4, tf.int64)
        summary.histogram("h", [1.0, 2.0, 2.0], step=step)
        summary.image("i", np.full([2, 2, 3, 1], np.nan, np.float32), bad_color=[9], max_images=1, step=step)
        summary.audio("a", np.zeros([1, 8], np.float32), 100.0, 1, step=step)
        summary.generic("g", tf.constant([1, 2]), step=step)
        event = Event(step=9, wall_time=5.0)
        summary.import_event(event.SerializeToString(), name="imported")
        with tf.Session() as session:
            summary.initialize()
            session.run([*summary.all_summary_ops(), "imported"])
            session.run(summary.flush())
    events = written(tmp_path)
    by_tag = {v.tag: v for e in events for v in e.summary.value if e.step == 4}
    assert by_tag.keys() == {"h", "i/image", "a/audio", "g"}
    assert by_tag["h"].histo.num == 3 and by_tag["h"].histo.sum == 5
    picture = tf.image.decode_png(by_tag["i/image"].image.encoded_image_string)
    with tf.Session() as session:
        assert session.run(picture).tolist() == [[[9]] * 3] * 2
    assert by_tag["a/audio"].audio.sample_rate == 100
    assert by_tag["g"].tensor.tensor_content == np.array([1, 2], np.int32).tobytes()
    assert event in events


def test_a_writer_must_be_opened_before_use(tmp_path):
    with summary.create_file_writer(str(tmp_path)).as_default() as writer, summary.always_record_summaries():
        op = summary.scalar("a", 1.0, step=0)
    close = writer.close()
    with tf.Session() as session:
        with pytest.raises(tf.errors.NotFoundError, match="is not open"):
            session.run(op)
        session.run(writer.init())
        session.run(op)
        session.run(close)
        assert values(tmp_path) == [(0, "a")]
        with pytest.raises(tf.errors.NotFoundError, match="is not open"):
            session.run(op)


def test_wrong_use_is_refused(tmp_path):
    with pytest.raises(RuntimeError, match="no default summary writer"):
        summary.initialize()
    with summary.create_file_writer(str(tmp_path)).as_default():
        with pytest.raises(ValueError, match="no default session"):
            summary.initialize()
        with pytest.raises(TypeError, match="serialized GraphDef"):
            summary.graph(tf.get_default_graph())
    blocked = tmp_path / "file"
    blocked.write_text("")
    writer = summary.create_file_writer(str(blocked / "logs"))
    with tf.Session() as session, pytest.raises(tf.errors.OpError, match="file"):
        session.run(writer.init())


def test_a_writer_without_a_folder_writes_nothing():
    with summary.create_file_writer(None).as_default() as writer, summary.always_record_summaries():
        assert summary.scalar("a", 1.0, step=0).type == "NoOp"
        assert {writer.init().type, writer.flush().type, writer.close().type} == {"NoOp"}
    assert summary.eval_dir("m") == "m/eval" and summary.eval_dir("m", "x") == "m/eval_x"
