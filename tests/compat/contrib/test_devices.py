"""tf.contrib.nccl, memory_stats, input_pipeline and the embedding projector."""

import numpy as np
import pytest
from google.protobuf import text_format

import thalweg as tf

contrib = tf.contrib
TWO = tf.ConfigProto(device_count={"CPU": 2})


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def on_two_devices():
    tensors = []
    for index, value in enumerate(([1.0, 5.0], [3.0, 2.0])):
        with tf.device(f"/cpu:{index}"):
            tensors.append(tf.constant(value))
    return tensors


@pytest.mark.parametrize(("name", "wanted"), [("sum", [4, 7]), ("prod", [3, 10]), ("min", [1, 2]), ("max", [3, 5])])
def test_a_reduction_is_on_each_device(name, wanted):
    tensors = on_two_devices()
    reduced = getattr(contrib.nccl, f"all_{name}")(tensors)
    assert [t.device for t in reduced] == [t.device for t in tensors] == ["/device:CPU:0", "/device:CPU:1"]
    with tf.Session(config=TWO) as session:
        assert [value.tolist() for value in session.run(reduced)] == [wanted, wanted]


def test_sums_have_gradients():
    a, b = on_two_devices()
    first, second = contrib.nccl.all_sum([a, b])
    grads = tf.gradients([2.0 * first, 3.0 * second], [a, b])
    with tf.device("/cpu:1"):
        total = contrib.nccl.reduce_sum([a, b])
    with tf.Session(config=TWO) as session:
        assert [g.tolist() for g in session.run(grads)] == [[5, 5], [5, 5]]
        assert session.run(total).tolist() == [4, 7] and total.device == "/device:CPU:1"
        assert session.run(contrib.nccl.broadcast(b)).tolist() == [3, 2]


def test_collectives_need_devices():
    with pytest.raises(ValueError, match="Device assignment required"):
        contrib.nccl.all_sum([tf.constant(1.0)])
    with pytest.raises(ValueError, match=">0 tensors"):
        contrib.nccl.all_sum([])


def test_memory_statistics():
    stats = contrib.memory_stats
    with tf.device("/cpu:0"):
        fetches = [stats.BytesInUse(), stats.MaxBytesInUse(), stats.BytesLimit()]
    with tf.Session() as session:
        used, peak, limit = session.run(fetches)
    assert used.dtype == np.int64 and 0 < used <= peak < limit


def test_strings_in_turn():
    name = contrib.input_pipeline.seek_next(["a", "b", "c"])
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert [session.run(name) for _ in range(5)] == [b"a", b"b", b"c", b"a", b"b"]


def test_strings_for_a_number_of_epochs():
    name = contrib.input_pipeline.seek_next(["a", "b", "c"], shuffle=True, seed=3, num_epochs=2)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        found = [session.run(name) for _ in range(6)]
        assert found[:3] == found[3:] and sorted(found[:3]) == [b"a", b"b", b"c"]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(name)


def test_the_projector_is_configured_in_the_folder_of_a_writer(tmp_path):
    projector = contrib.tensorboard.plugins.projector
    config = projector.ProjectorConfig()
    embedding = config.embeddings.add()
    embedding.tensor_name, embedding.metadata_path = "words:0", "words.tsv"
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        projector.visualize_embeddings(writer, config)
    text = (tmp_path / "projector_config.pbtxt").read_text()
    assert text_format.Parse(text, projector.ProjectorConfig()) == config
