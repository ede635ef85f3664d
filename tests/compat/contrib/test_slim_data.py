"""The input side of slim: records decoded to items, read by queues, prefetched."""

import io

import numpy as np
import pytest
from PIL import Image

import thalweg as tf

slim = tf.contrib.slim
decoder = slim.tfexample_decoder


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def _png(color):
    file = io.BytesIO()
    Image.new("RGB", (4, 3), color).save(file, "PNG")
    return file.getvalue()


def _example(**features):
    example = tf.train.Example()
    for name, values in features.items():
        feature, first = example.features.feature[name.replace("__", "/")], values[0]
        kind = "bytes_list" if isinstance(first, bytes) else "int64_list" if isinstance(first, int) else "float_list"
        getattr(feature, kind).value.extend(values)
    return example.SerializeToString()


def _decoded(features, handlers, serialized, items=None):
    found = decoder.TFExampleDecoder(features, handlers).decode(tf.constant(serialized), items)
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        return session.run(found)


def test_handlers():
    features = {
        "n": tf.FixedLenFeature([2, 2], tf.int64),
        "v": tf.VarLenFeature(tf.float32),
        "size": tf.FixedLenFeature([], tf.int64),
        **{f"box/{side}": tf.VarLenFeature(tf.float32) for side in ("ymin", "xmin", "ymax", "xmax")},
        "at": tf.VarLenFeature(tf.int64),
        "none": tf.VarLenFeature(tf.float32),
    }
    words = tf.contrib.lookup.index_table_from_tensor(["a", "b"])
    features["word"] = tf.FixedLenFeature([2], tf.string)
    handlers = {
        "n": decoder.Tensor("n"),
        "flat": decoder.Tensor("n", shape=[4]),
        "v": decoder.Tensor("v"),
        "square": decoder.Tensor("v", shape_keys=["size", "size"]),
        "box": decoder.BoundingBox(prefix="box/"),
        "sparse": decoder.SparseTensor("at", "v", shape=[6], densify=True),
        "backup": decoder.BackupHandler(decoder.Tensor("none"), decoder.Tensor("v")),
        "index": decoder.LookupTensor("word", words),
        "sum": decoder.ItemHandlerCallback(["n"], lambda tensors: tf.reduce_sum(tensors["n"])),
    }
    sides = {f"box__{side}": [0.5 * i, 1.0] for i, side in enumerate(("ymin", "xmin", "ymax", "xmax"))}
    serialized = _example(n=[1, 2, 3, 4], v=[0.5, 1.5, 2.5, 3.5], size=[2], at=[0, 2, 3, 5], word=[b"b", b"a"], **sides)
    found = dict(zip(handlers, _decoded(features, handlers, serialized), strict=True))
    assert found["n"].tolist() == [[1, 2], [3, 4]] and found["flat"].tolist() == [1, 2, 3, 4]
    assert found["v"].tolist() == found["backup"].tolist() == [0.5, 1.5, 2.5, 3.5]
    assert found["square"].tolist() == [[0.5, 1.5], [2.5, 3.5]]
    assert found["box"].tolist() == [[0.0, 0.5, 1.0, 1.5], [1.0] * 4]
    assert found["sparse"].tolist() == [0.5, 0, 1.5, 2.5, 0, 3.5]
    assert found["index"].tolist() == [1, 0] and found["sum"] == 10
    with pytest.raises(ValueError, match="4 keys"):
        decoder.BoundingBox(["a"])
    with pytest.raises(ValueError, match="both"):
        decoder.Tensor("a", shape_keys="b", shape=[1])


def test_images():
    features = {
        "image/encoded": tf.FixedLenFeature([], tf.string),
        "image/format": tf.FixedLenFeature([], tf.string, default_value="png"),
    }
    [image] = _decoded(features, {"image": decoder.Image()}, _example(image__encoded=[_png((9, 8, 7))]))
    assert image.shape == (3, 4, 3) and image[0, 0].tolist() == [9, 8, 7]
    raw = np.arange(12, dtype=np.uint8)
    serialized = _example(image__encoded=[raw.tobytes()], image__format=[b"raw"])
    [image] = _decoded(features, {"image": decoder.Image(shape=[2, 2, 3])}, serialized)
    assert image.ravel().tolist() == raw.tolist()


@pytest.fixture
def dataset(tmp_path):
    for part in range(3):
        with tf.python_io.TFRecordWriter(str(tmp_path / f"data-{part}")) as writer:
            for n in range(4):
                writer.write(_example(label=[part * 4 + n]))
    features = {"label": tf.FixedLenFeature([], tf.int64)}
    return slim.dataset.Dataset(
        data_sources=str(tmp_path / "data-*"),
        reader=tf.TFRecordReader,
        decoder=decoder.TFExampleDecoder(features, {"label": decoder.Tensor("label")}),
        num_samples=12,
        items_to_descriptions={"label": "a number"},
        num_classes=12,
    )


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_dataset_is_read_by_queues(dataset, shuffle):
    provider = slim.dataset_data_provider.DatasetDataProvider(
        dataset, num_readers=2, shuffle=shuffle, num_epochs=1, common_queue_capacity=20, common_queue_min=2, seed=1
    )
    assert provider.list_items() == ["label", "record_key"] and provider.num_samples() == 12
    assert dataset.num_classes == 12
    [label] = provider.get(["label"])
    with pytest.raises(ValueError, match="not provided"):
        provider.get(["image"])
    batches = tf.train.batch({"label": label}, 4)
    queue = slim.prefetch_queue.prefetch_queue(batches, capacity=2)
    found = []
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        element = queue.dequeue()
        with slim.queues.QueueRunners(session), pytest.raises(tf.errors.OutOfRangeError):
            while True:
                found += session.run(element)["label"].tolist()
    assert sorted(found) == list(range(12))


def test_reading_without_a_dataset(dataset, tmp_path):
    key, value = slim.parallel_reader.single_pass_read([dataset.data_sources], tf.TFRecordReader)
    found = []
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        with slim.queues.QueueRunners(session), pytest.raises(tf.errors.OutOfRangeError):
            while True:
                found.append(session.run(key).decode().rsplit("/", 1)[1])
    assert len(found) == 12 and found[0] == "data-0:0" and value.dtype is tf.string
    with pytest.raises(ValueError, match="No data files"):
        slim.parallel_reader.get_data_files(str(tmp_path / "nothing*"))
    with pytest.raises(ValueError, match="record_key"):
        slim.dataset_data_provider.DatasetDataProvider(dataset, record_key="label")
