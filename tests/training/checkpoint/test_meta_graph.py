"""MetaGraphs: a graph with its variables and collections in a file, and back."""

import numpy as np
import pytest

import thalweg as tf


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def _network():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    with tf.device("/cpu:0"):
        w = tf.get_variable("w", [3, 2], initializer=tf.ones_initializer())
    p = tf.get_variable("p", [4, 2], partitioner=tf.fixed_size_partitioner(2), initializer=tf.ones_initializer())
    local = tf.get_variable("local", initializer=3, collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False)
    average = tf.train.ExponentialMovingAverage(0.5)
    y = tf.add(tf.matmul(x, w), tf.reduce_sum(p.as_tensor()), name="y")
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(y), tf.train.get_or_create_global_step())
    with tf.control_dependencies([train]):
        tf.group(average.apply([w]), name="train")
    for value in (y, train, "text", 7):
        tf.add_to_collection({str: "texts", int: "numbers"}.get(type(value), "nodes"), value)
    tf.add_to_collection("strange", object())
    return local


FEEDS = {"x:0": np.ones((2, 3), np.float32)}


@pytest.mark.parametrize("as_text", [False, True])
def test_export_and_import(tmp_path, as_text):
    _network()
    saver = tf.train.Saver()
    tf.add_to_collection(tf.GraphKeys.SAVERS, saver)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        session.run("train", FEEDS)
        saver.save(session, str(tmp_path / "model"))
        expected = session.run("y:0", FEEDS)
    names = {key: [v.name for v in tf.get_collection(key)] for key in ("variables", "trainable_variables", "nodes")}
    tf.train.export_meta_graph(str(tmp_path / "graph.meta"), saver_def=saver.as_saver_def(), as_text=as_text)
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(str(tmp_path / "graph.meta"))
        for key, expected_names in names.items():
            assert [v.name for v in tf.get_collection(key)] == expected_names
        assert tf.get_collection("texts") == [b"text"] and tf.get_collection("numbers") == [7]
        assert "strange" not in tf.get_default_graph().get_all_collection_keys()
        assert isinstance(tf.get_collection(tf.GraphKeys.SAVERS)[0], tf.train.Saver)
        assert all(isinstance(v, tf.Variable) for v in tf.global_variables())
        assert all(v in tf.global_variables() for v in tf.trainable_variables())
        parts = [v for v in tf.global_variables() if v.name.startswith("p/part") and "Momentum" not in v.name]
        assert [v._get_save_slice_info().spec for v in parts] == ["4 2 0,2:0,2", "4 2 2,2:0,2"]
        saver.restore(session, str(tmp_path / "model"))
        session.run(tf.local_variables_initializer())
        np.testing.assert_array_equal(session.run("y:0", FEEDS), expected)
        assert session.run(tf.train.get_global_step()) == 1 and session.run(tf.local_variables()) == [3]
        session.run("train", FEEDS)
        w = tf.trainable_variables()[0]
        session.run(w.assign(w * 0))
        assert session.run(w).tolist() == [[0, 0]] * 3
        session.run(w.initializer)
        assert session.run(w + 1).tolist() == [[2, 2]] * 3
        tf.train.Saver().save(session, str(tmp_path / "again"))
        assert tf.train.list_variables(str(tmp_path / "again")) == tf.train.list_variables(str(tmp_path / "model"))


def test_under_a_scope_and_without_devices(tmp_path):
    _network()
    tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(tmp_path / "model"))
    with tf.Graph().as_default() as graph, tf.Session() as session:
        saver = tf.train.import_meta_graph(str(tmp_path / "model.meta"), clear_devices=True, import_scope="old")
        assert graph.get_operation_by_name("old/w").device == ""
        assert tf.trainable_variables()[0].name == "old/w:0"
        assert tf.get_collection("nodes")[0].name == "old/y:0"
        saver.restore(session, str(tmp_path / "model"))
        assert session.run("old/y:0", {"old/x:0": FEEDS["x:0"]}).shape == (2, 2)
        with pytest.raises(ValueError, match="taken"):
            tf.train.import_meta_graph(str(tmp_path / "model.meta"), import_scope="old")


def test_export_of_one_scope():
    with tf.variable_scope("inner"):
        v = tf.get_variable("v", initializer=2.0)
        tf.square(v, name="square")
    outside = tf.constant(1.0)
    message = tf.train.export_meta_graph(export_scope="inner")
    with tf.Graph().as_default(), tf.Session() as session:
        assert isinstance(tf.train.import_meta_graph(message), tf.train.Saver)
        session.run(tf.global_variables_initializer())
        assert [v.name for v in tf.global_variables()] == ["v:0"] and session.run("square:0") == 4.0
    with tf.name_scope("other"):
        tf.negative(outside)
    with pytest.raises(ValueError, match="from outside"):
        tf.train.export_meta_graph(export_scope="other")


def test_export_options():
    _network()
    every = tf.train.export_meta_graph()
    some = tf.train.export_meta_graph(collection_list=["nodes"], clear_devices=True, strip_default_attrs=True)
    assert set(some.collection_def) == {"nodes"} and "variables" in every.collection_def
    assert any(node.device for node in every.graph_def.node) and not any(node.device for node in some.graph_def.node)
    assert some.ByteSize() < every.ByteSize() and some.meta_info_def.stripped_default_attrs
    with tf.Graph().as_default():
        assert tf.train.import_meta_graph(some) is None
    with pytest.raises(TypeError, match="unexpected keyword"):
        tf.train.export_meta_graph(nothing=1)


def test_invalid_meta_graph_files(tmp_path):
    with pytest.raises(OSError, match="does not exist"):
        tf.train.import_meta_graph(str(tmp_path / "nothing"))
    (tmp_path / "wrong").write_bytes(b"\xff\xfe neither")
    with pytest.raises(OSError, match="Cannot parse"):
        tf.train.import_meta_graph(str(tmp_path / "wrong"))


@pytest.mark.parametrize("scope", [None, "old"])
def test_queue_runners_are_exported(scope):
    queue = tf.io.FIFOQueue(4, tf.int32, shapes=[()], name="queue")
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(7)] * 2))
    tf.identity(queue.dequeue(), name="taken")
    message = tf.train.export_meta_graph()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(message, import_scope=scope)
        (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
        assert isinstance(runner, tf.train.QueueRunner) and len(runner.enqueue_ops) == 2
        assert runner.queue_closed_exception_types == (tf.errors.OutOfRangeError,)
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        assert session.run(f"{scope}/taken:0" if scope else "taken:0") == 7
        coordinator.request_stop()
        coordinator.join(threads)


def test_variables_in_collections_of_ones_own_are_nodes():
    kept = tf.get_variable("kept", initializer=2.5)
    resource = tf.get_variable("resource", initializer=3.5, use_resource=True)
    for variable in (kept, resource):
        tf.add_to_collection("own", variable)
    message = tf.train.export_meta_graph()
    assert list(message.collection_def["own"].node_list.value) == ["kept:0", "resource:0"]
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(message, import_scope="old")
        own = tf.get_collection("own")
        assert [member.name for member in own] == ["old/kept:0", "old/resource:0"]
        assert own[1] is tf.global_variables()[1]
        session.run(tf.global_variables_initializer())
        assert session.run(own) == [2.5, 3.5]


def test_a_collection_of_several_kinds_is_left_out_with_a_warning(caplog):
    tf.add_to_collection("mixed", tf.constant(1.0))
    tf.add_to_collection("mixed", "text")
    message = tf.train.export_meta_graph()
    assert "mixed" not in message.collection_def
    assert "the collection mixed is left out" in caplog.text


def test_errors_of_imported_collections_are_raised():
    tf.add_to_collection("nodes", tf.constant(1.0, name="x"))
    message = tf.train.export_meta_graph()
    message.collection_def["nodes"].node_list.value[0] = "nothing:0"
    with tf.Graph().as_default(), pytest.raises(KeyError, match="nothing") as caught:
        tf.train.import_meta_graph(message)
    assert caught.value.__notes__ == ["in the collection 'nodes' of the MetaGraph"]
