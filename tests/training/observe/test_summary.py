"""Summaries: what TensorBoard reads back of what is written, tags, collections and errors."""

from __future__ import annotations

import io
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import crc32c as tensorboard_crc32c
from tensorboard.util.tensor_util import make_ndarray

import thalweg as tf
from thalweg._src.base.formats.crc32c import crc32c
from thalweg._src.base.formats.events import EventFileWriter, summary_iterator
from thalweg._src.base.formats.records import framed, read_records


@pytest.fixture(autouse=True)
def session() -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def _read(logdir: Path) -> EventAccumulator:
    accumulator = EventAccumulator(
        str(logdir), size_guidance=dict.fromkeys(("tensors", "histograms", "images", "audio"), 0)
    )
    accumulator.Reload()
    return accumulator


def _values(session: Any, summary: Any) -> Any:
    return tf.summary.Summary.FromString(session.run(summary)).value


def test_tensorboard_reads_what_a_run_writes(session: Any, tmp_path: Path) -> None:
    x = tf.placeholder(tf.float32, [3], name="x")
    tf.summary.scalar("loss", tf.reduce_sum(x))
    tf.summary.histogram("weights", x)
    tf.summary.image("picture", tf.reshape(x, [1, 1, 3, 1]), max_outputs=1)
    tf.summary.audio("sound", tf.reshape(x / 8, [1, 3]), 8000.0, max_outputs=1)
    tf.summary.text("note", tf.constant("hello"))
    merged = tf.summary.merge_all()
    with tf.summary.FileWriter(tmp_path, session.graph) as writer:
        for step in range(3):
            writer.add_summary(session.run(merged, {x: [step, 2.0, 4.0]}), step)
    found = _read(tmp_path)
    assert [(event.step, event.value) for event in found.Scalars("loss")] == [(0, 6.0), (1, 7.0), (2, 8.0)]
    histogram = found.Histograms("weights")[2].histogram_value
    assert (histogram.min, histogram.max, histogram.num, histogram.sum) == (2.0, 4.0, 3, 8.0)
    picture = found.Images("picture/image")[1]
    pixels = np.asarray(Image.open(io.BytesIO(picture.encoded_image_string)))
    assert (picture.height, picture.width) == (1, 3) and pixels.tolist() == [[63, 127, 255]]
    assert found.Audio("sound/audio")[0].length_frames == 3
    assert [make_ndarray(event.tensor_proto).item() for event in found.Tensors("note")] == [b"hello"] * 3
    assert found.SummaryMetadata("note").plugin_data.plugin_name == "text"
    assert [node.name for node in found.Graph().node] == [op.name for op in session.graph.get_operations()]
    assert found.Graph().node[0].attr["_output_shapes"].list.shape[0].dim[0].size == 3


def test_run_metadata_session_logs_and_events(session: Any, tmp_path: Path) -> None:
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    x = tf.placeholder(tf.float32)
    session.run(tf.tanh(x), {x: 1.0}, options=options, run_metadata=metadata)
    writer = tf.summary.FileWriter(str(tmp_path), filename_suffix=".test")
    writer.add_run_metadata(metadata, "step 1", 1)
    with pytest.raises(ValueError, match="tag"):
        writer.add_run_metadata(metadata, "step 1", 2)
    writer.add_session_log(tf.summary.SessionLog(status=tf.summary.SessionLog.START), 5)
    writer.add_event(tf.summary.Event(wall_time=7.0, step=9))
    writer.add_graph(session.graph.as_graph_def())
    writer.flush()
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("events.out.tfevents.") and path.name.endswith(".test")
    events = list(summary_iterator(str(path)))
    assert [event.WhichOneof("what") for event in events] == [
        *("file_version", "tagged_run_metadata", "session_log", None, "graph_def")
    ]
    assert [event.step for event in events] == [0, 1, 5, 9, 0] and events[3].wall_time == 7.0
    stats = _read(tmp_path).RunMetadata("step 1").step_stats.dev_stats
    assert "Tanh" in [node.node_name for node in stats[0].node_stats]
    writer.close()


def test_closed_and_reopened(tmp_path: Path) -> None:
    writer = tf.summary.FileWriter(tmp_path / "new" / "folder")
    assert writer.get_logdir() == str(tmp_path / "new" / "folder")
    summary = tf.summary.Summary(value=[tf.summary.Summary.Value(tag="a", simple_value=1.0)])
    writer.add_summary(summary, 1)
    writer.close()
    with pytest.warns(UserWarning, match="closed"):
        writer.add_summary(summary, 2)
    writer.reopen()
    writer.add_summary(summary, 3)
    writer.close()
    writer.close()
    files = sorted((tmp_path / "new" / "folder").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    assert [[event.step for event in summary_iterator(str(path))] for path in files] == [[0, 1], [0, 3]]
    with pytest.raises(TypeError, match="Graph"):
        tf.summary.FileWriter(tmp_path, "graph")
    with pytest.raises(TypeError, match="MetaGraphDef"):
        writer.add_meta_graph(tf.get_default_graph().as_graph_def())


def test_metadata_of_a_tag_is_written_once(session: Any, tmp_path: Path) -> None:
    note = tf.summary.text("note", tf.constant("hello"))
    writer = tf.summary.FileWriter(tmp_path)
    for _ in range(2):
        writer.add_summary(session.run(note))
    writer.close()
    (path,) = tmp_path.iterdir()
    values = [event.summary.value[0] for event in summary_iterator(str(path)) if event.HasField("summary")]
    assert [value.HasField("metadata") for value in values] == [True, False]


def test_writer_of_a_folder_is_shared(tmp_path: Path) -> None:
    first = tf.summary.FileWriterCache.get(str(tmp_path))
    assert tf.summary.FileWriterCache.get(str(tmp_path)) is first
    tf.summary.FileWriterCache.clear()
    assert tf.summary.FileWriterCache.get(str(tmp_path)) is not first
    tf.summary.FileWriterCache.clear()


def test_events_of_many_threads(tmp_path: Path) -> None:
    writer = EventFileWriter(tmp_path, max_queue=2)
    events = [[tf.summary.Event(step=100 * t + i) for i in range(50)] for t in range(4)]

    def add(batch: Any) -> None:
        for event in batch:
            writer.add_event(event)

    threads = [threading.Thread(target=add, args=(batch,)) for batch in events]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    steps = [event.step for event in summary_iterator(writer.path)][1:]
    assert sorted(steps) == sorted(event.step for batch in events for event in batch)
    for t in range(4):
        assert [step for step in steps if step // 100 == t] == list(range(100 * t, 100 * t + 50))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_is_reported(tmp_path: Path) -> None:
    writer = EventFileWriter(tmp_path)
    writer._worker._file.close()
    writer._worker._file = open("/dev/full", "wb", buffering=0)  # noqa: SIM115 - the writer closes it
    writer.add_event(tf.summary.Event(step=1))
    with pytest.raises(OSError, match="space"):
        writer.flush()
    with pytest.raises(OSError, match="space"):
        for _ in range(100):  # more than the queue holds: writers must not block forever
            writer.add_event(tf.summary.Event(step=2))
    with pytest.raises(OSError, match="space"):
        writer.close()


def test_records_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "records"
    whole = framed(b"first") + framed(b"") + framed(b"x" * 100_000)
    path.write_bytes(whole)
    assert list(read_records(str(path))) == [b"first", b"", b"x" * 100_000]
    for content, what in (
        (whole[:-1], "truncated"),
        (whole[:5], "truncated"),
        (whole[:-2] + b"??", "corrupted"),
        (b"?" + whole[1:], "corrupted"),
    ):
        path.write_bytes(content)
        with pytest.raises(tf.errors.DataLossError, match=what):
            list(read_records(str(path)))
    with pytest.raises(tf.errors.NotFoundError):
        list(read_records(str(tmp_path / "nothing")))


@pytest.mark.parametrize("size", [0, 1, 9, 1 << 14, (1 << 14) + 1, 50_001, (1 << 20) + 7])
def test_checksum(size: int) -> None:
    data = bytes(np.random.default_rng(size).integers(0, 256, size, np.uint8))
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(data) == tensorboard_crc32c(data)


def test_tags_and_collections(session: Any) -> None:
    with tf.name_scope("outer"):
        first, second = tf.summary.scalar("a", 1.0), tf.summary.scalar("a", 2.0)
        third = tf.summary.scalar("a b:c", 3.0, family="family", collections=["own"])
    tags = [_values(session, summary)[0].tag for summary in (first, second, third)]
    assert tags == ["outer/a", "outer/a_1", "family/outer/family/a_b_c"]
    assert tf.get_collection(tf.GraphKeys.SUMMARIES) == [first, second]
    assert tf.get_collection("own") == [third] and tf.summary.merge_all("nothing") is None
    assert [value.simple_value for value in _values(session, tf.summary.merge_all())] == [1.0, 2.0]
    assert len(_values(session, tf.summary.merge([first, third], collections=["own"]))) == 2


def test_tensors(session: Any) -> None:
    values = tf.constant([[1, 2, 3]], tf.int16)
    (value,) = _values(session, tf.summary.tensor_summary("t", values, summary_description="said", display_name="T"))
    np.testing.assert_array_equal(tf.make_ndarray(value.tensor), [[1, 2, 3]])
    assert (value.metadata.summary_description, value.metadata.display_name) == ("said", "T")
    with pytest.raises(ValueError, match="string"):
        tf.summary.text("t", values)


def test_description_of_a_node() -> None:
    from thalweg._src.graph.ops.summary import tensor_summary_op

    node = tensor_summary_op(1.0, description='{"typeHint": "scalar"}').op.node_def
    assert tf.summary.get_summary_description(node) == tf.summary.SummaryDescription(type_hint="scalar")
    with pytest.raises(ValueError, match="NoOp"):
        tf.summary.get_summary_description(tf.no_op().node_def)


def test_invalid_summaries(session: Any) -> None:
    x = tf.placeholder(tf.float32)
    for summary, value, what in (
        (tf.summary.histogram("h", x), [1.0, np.nan], "Nan in summary histogram for: h"),
        (tf.summary.histogram("h", x), [1.0, np.inf], "Infinity"),
        (tf.summary.scalar("s", x), [1.0], "differ in shape"),
        (tf.summary.image("i", x), np.zeros((2, 3, 4)), "rank 3"),
        (tf.summary.image("i", x), np.zeros((1, 2, 3, 2)), "2 channels"),
        (tf.summary.audio("a", x, 1.0), np.zeros(3), "rank 2, or 3"),
        (tf.summary.audio("a", np.zeros((1, 3), np.float32), x), 0.0, "sample_rate"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=what):
            session.run(summary, {x: value})
    same = tf.summary.scalar("s", 1.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Duplicate tag"):
        session.run(tf.summary.merge([same, same]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="serialized"):
        session.run(tf.summary.merge([tf.constant(b"\xff\xff")]))
    with pytest.raises(ValueError, match="max_images"):
        tf.summary.image("i", np.zeros((1, 2, 3, 1), np.float32), max_outputs=0)


def test_bad_pixels_have_their_color(session: Any) -> None:
    image = np.array([[[[0.0, 0.5, 1.0], [np.nan, 0.5, 1.0], [-1.0, 0.0, 1.0]]]], np.float32)
    (value,) = _values(session, tf.summary.image("i", image, max_outputs=1))
    pixels = np.asarray(Image.open(io.BytesIO(value.image.encoded_image_string)))
    assert pixels.tolist() == [[[128, 191, 255], [255, 0, 0], [1, 128, 255]]]
