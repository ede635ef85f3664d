"""Saved models: graphs, variables, assets and signatures in a folder, and back."""

import os

import numpy as np
import pytest

import thalweg as tf

SERVE = tf.saved_model.tag_constants.SERVING
X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def _network():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    with tf.device("/cpu:0"):
        w = tf.get_variable("w", initializer=tf.constant([[1.0, 2], [3, 4], [5, 6]]))
    return x, tf.matmul(x, w, name="y"), w


def _signatures(x, y):
    return {"serving_default": tf.saved_model.signature_def_utils.predict_signature_def({"x": x}, {"y": y})}


def _call(session, message, feeds, scope=None, key="serving_default"):
    """Runs a signature as those who serve models do: everything by the names that the message gives."""
    signature = message.signature_def[key]
    named = {
        tf.saved_model.get_tensor_from_tensor_info(signature.inputs[name], session.graph, scope): value
        for name, value in feeds.items()
    }
    wanted = {
        name: tf.saved_model.get_tensor_from_tensor_info(info, session.graph, scope)
        for name, info in signature.outputs.items()
    }
    return session.run(wanted, named)


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("scope", [None, "served"])
def test_save_and_load(tmp_path, as_text, scope):
    folder = str(tmp_path / "model")
    x, y, w = _network()
    with tf.Session() as session:
        session.run(w.initializer)
        session.run(w.assign_add(tf.ones_like(w)))
        expected = session.run(y, {x: X})
        builder = tf.saved_model.builder.SavedModelBuilder(folder)
        builder.add_meta_graph_and_variables(session, [SERVE], _signatures(x, y))
        path = builder.save(as_text)
    assert os.path.basename(path) == ("saved_model.pbtxt" if as_text else "saved_model.pb")
    assert sorted(os.listdir(folder)) == [os.path.basename(path), "variables"]
    assert sorted(os.listdir(folder + "/variables")) == ["variables.data-00000-of-00001", "variables.index"]
    assert tf.saved_model.loader.maybe_saved_model_directory(folder) and tf.saved_model.contains_saved_model(folder)
    with tf.Graph().as_default(), tf.Session() as session:
        message = tf.saved_model.loader.load(session, [SERVE], folder, import_scope=scope)
        np.testing.assert_array_equal(_call(session, message, {"x": X}, scope)["y"], expected)
        assert [v.name for v in tf.trainable_variables()] == [f"{scope}/w:0" if scope else "w:0"]


def test_several_graphs_share_the_variables(tmp_path):
    folder = tmp_path / "model"
    w = _network()[2]
    builder = tf.saved_model.Builder(folder)
    with pytest.raises(AssertionError, match="comes first"):
        builder.add_meta_graph(["other"])
    with tf.Session() as session:
        session.run(w.initializer)
        builder.add_meta_graph_and_variables(session, ["train", "gpu"], strip_default_attrs=True)
        with pytest.raises(AssertionError, match="already been saved"):
            builder.add_meta_graph_and_variables(session, ["train"])
    with tf.Graph().as_default():
        other = tf.get_variable("w", [3, 2])
        tf.reduce_sum(other, name="total")
        builder.add_meta_graph(["sum"], clear_devices=True)
    builder.save()
    with tf.Graph().as_default(), tf.Session() as session:
        message = tf.saved_model.load(session, {"sum"}, folder)
        assert session.run("total:0") == 21 and not any(node.device for node in message.graph_def.node)
    with tf.Graph().as_default(), tf.Session() as session:
        message = tf.saved_model.load(session, ["gpu", "train"], folder)
        assert any(node.device for node in message.graph_def.node) and message.meta_info_def.stripped_default_attrs
        assert session.run("y:0", {"x:0": X}).shape == (2, 2)
    with pytest.raises(RuntimeError, match=r"\['serve'\] could not be found.*'gpu', 'train'"), tf.Session() as session:
        tf.saved_model.load(session, ["serve"], folder)


def test_assets_are_relative_to_the_model(tmp_path):
    for part, words in (("a", "zero\none\n"), ("b", "other\n"), ("c", "other\n")):
        (tmp_path / part).mkdir()
        (tmp_path / part / "words.txt").write_text(words)
    table = tf.lookup.StaticVocabularyTable(
        tf.lookup.TextFileInitializer(
            str(tmp_path / "a" / "words.txt"),
            tf.string,
            tf.lookup.TextFileIndex.WHOLE_LINE,
            tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
        ),
        1,
    )
    words = tf.placeholder(tf.string, [None])
    numbers = table.lookup(words)
    more = [tf.constant(str(tmp_path / part / "words.txt")) for part in "bc"]
    for tensor in more:
        tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, tensor)
    initialize = tf.group(
        tf.tables_initializer(), tf.get_variable("content", initializer="").assign(tf.read_file(more[1]))
    )
    with tf.Session() as session:
        session.run([initialize, tf.global_variables_initializer()])
        tf.saved_model.simple_save(session, str(tmp_path / "model"), {"w": words}, {"n": numbers}, initialize)
    assert sorted(os.listdir(tmp_path / "model" / "assets")) == ["words.txt", "words.txt_1"]
    for part in "abc":
        (tmp_path / part / "words.txt").unlink()
    os.rename(tmp_path / "model", tmp_path / "moved")
    with tf.Graph().as_default(), tf.Session() as session:
        message = tf.saved_model.load(session, [SERVE], str(tmp_path / "moved"))
        assert _call(session, message, {"w": ["one", "zero", "none"]})["n"].tolist() == [1, 0, 2]
        assert session.run(tf.global_variables()[0]) == b"other\n"
        again = tf.train.export_meta_graph()
        assert len(again.collection_def["saved_model_assets"].any_list.value) == 3


def test_a_model_without_variables(tmp_path):
    x = tf.placeholder(tf.float32, [2])
    with tf.Session() as session:
        tf.saved_model.simple_save(session, str(tmp_path / "model"), {"x": x}, {"y": x + 1})
    with tf.Graph().as_default(), tf.Session() as session:
        message = tf.saved_model.load(session, [SERVE], str(tmp_path / "model"))
        assert _call(session, message, {"x": [1, 2]})["y"].tolist() == [2, 3]


def test_main_op_initializes_everything(tmp_path):
    _network()
    local = tf.get_variable("local", initializer=3, collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False)
    with tf.Session() as session:
        main = tf.saved_model.main_op.main_op()
        session.run(main)
        assert session.run(local) == 3
        builder = tf.saved_model.Builder(str(tmp_path / "model"))
        with pytest.raises(TypeError, match="expected an Operation"):
            builder.add_meta_graph_and_variables(session, [SERVE], main_op="main")
        builder.add_meta_graph_and_variables(session, SERVE, main_op=main)
        with pytest.raises(ValueError, match="already contains"):
            builder.add_meta_graph([SERVE], main_op=main)
        builder.save()
        restore = tf.saved_model.main_op_with_restore("save/restore_all")
        assert restore.control_inputs
    with tf.Graph().as_default(), tf.Session() as session:
        tf.saved_model.load(session, [SERVE], str(tmp_path / "model"))
        assert session.run(tf.local_variables()) == [3]


def test_signatures():
    examples, classes = tf.placeholder(tf.string, [None]), tf.constant(["a"])
    scores = tf.constant([1.0])
    utils = tf.saved_model.signature_def_utils
    classify = utils.classification_signature_def(examples, classes, scores)
    assert classify.method_name == tf.saved_model.CLASSIFY_METHOD_NAME and utils.is_valid_signature(classify)
    assert utils.is_valid_signature(utils.classification_signature_def(examples, None, scores))
    regress = utils.regression_signature_def(examples, scores)
    assert set(regress.outputs) == {"outputs"} and utils.is_valid_signature(regress)
    regress.outputs["more"].CopyFrom(tf.saved_model.build_tensor_info(scores))
    assert not utils.is_valid_signature(regress) and not utils.is_valid_signature(None)
    assert not utils.is_valid_signature(utils.build_signature_def(method_name=tf.saved_model.PREDICT_METHOD_NAME))
    assert not utils.is_valid_signature(utils.build_signature_def(classify.inputs, classify.outputs, "own"))
    for wrong in (
        lambda: utils.predict_signature_def({}, {"y": scores}),
        lambda: utils.predict_signature_def({"x": scores}, {}),
        lambda: utils.regression_signature_def(scores, scores),
        lambda: utils.regression_signature_def(examples, classes),
        lambda: utils.regression_signature_def(None, scores),
        lambda: utils.regression_signature_def("x", scores),
        lambda: utils.regression_signature_def(examples, None),
        lambda: utils.classification_signature_def(examples, None, None),
        lambda: utils.classification_signature_def(None, classes, None),
        lambda: utils.classification_signature_def("x", classes, None),
        lambda: utils.classification_signature_def(examples, scores, None),
        lambda: utils.classification_signature_def(examples, None, classes),
    ):
        with pytest.raises(ValueError, match=r"must be|cannot"):
            wrong()


def test_tensors_from_tensor_info():
    info = tf.saved_model.utils.build_tensor_info(tf.placeholder(tf.int64, [None, 3], name="p"))
    assert info.name == "p:0" and info.dtype == 9 and [d.size for d in info.tensor_shape.dim] == [-1, 3]
    assert tf.saved_model.utils.get_tensor_from_tensor_info(info).name == "p:0"
    sparse = tf.sparse_placeholder(tf.float32, [4, 5])
    found = tf.saved_model.get_tensor_from_tensor_info(tf.saved_model.build_tensor_info(sparse))
    assert found.values is sparse.values and found.indices is sparse.indices
    v = tf.Variable(2.0, name="v")
    value = tf.saved_model.get_tensor_from_tensor_info(tf.saved_model.build_tensor_info(v))
    assert value.dtype.base_dtype == tf.float32
    with pytest.raises(ValueError, match="tensor_info"):
        tf.saved_model.get_tensor_from_tensor_info(tf.TensorInfo())
    with pytest.raises(KeyError):
        tf.saved_model.get_tensor_from_tensor_info(info, import_scope="nowhere")


def test_methods_may_be_renamed(tmp_path):
    folder = str(tmp_path / "model")
    x, y, w = _network()
    with tf.Session() as session:
        session.run(w.initializer)
        tf.saved_model.simple_save(session, folder, {"x": x}, {"y": y})
    updater = tf.saved_model.signature_def_utils.MethodNameUpdater(folder)
    updater.replace_method_name("serving_default", "mine", tags=[SERVE])
    with pytest.raises(ValueError, match="no signature"):
        updater.replace_method_name("none", "mine")
    updater.save()
    with tf.Graph().as_default(), tf.Session() as session:
        assert tf.saved_model.load(session, [SERVE], folder).signature_def["serving_default"].method_name == "mine"


def test_invalid_arguments(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    with pytest.raises(AssertionError, match="isn't empty"):
        tf.saved_model.Builder(tmp_path / "full")
    builder = tf.saved_model.Builder(tmp_path / "model")
    x = tf.placeholder(tf.float32)
    with tf.Session() as session:
        for info in (tf.TensorInfo(dtype=1), tf.TensorInfo(name="x:0")):
            signature = tf.saved_model.build_signature_def({"x": info}, {}, "m")
            with pytest.raises(AssertionError, match="has no"):
                builder.add_meta_graph_and_variables(session, [SERVE], {"s": signature})
        signature = tf.saved_model.predict_signature_def({"x": x}, {"x": x})
        with pytest.raises(KeyError, match="reserved"):
            builder.add_meta_graph_and_variables(session, [SERVE], {"__saved_model_init_op": signature})
        for asset in ("path", x, tf.constant(["a", "b"])):
            with pytest.raises(TypeError, match="assets_collection"):
                builder.add_meta_graph_and_variables(session, [SERVE], assets_collection=[asset])
        with pytest.raises(tf.errors.NotFoundError):
            builder.add_meta_graph_and_variables(
                session, [SERVE], assets_collection=[tf.constant(str(tmp_path / "none"))]
            )


def test_damaged_models(tmp_path):
    with tf.Session() as session:
        with pytest.raises(OSError, match="does not exist"):
            tf.saved_model.load(session, [SERVE], str(tmp_path))
        assert not tf.saved_model.contains_saved_model(tmp_path)
        (tmp_path / "saved_model.pbtxt").write_bytes(b"nothing known \xff")
        with pytest.raises(OSError, match="Cannot parse"):
            tf.saved_model.load(session, [SERVE], str(tmp_path))
        (tmp_path / "saved_model.pb").write_bytes(b"\x12\xff\xff")
        with pytest.raises(OSError, match="Cannot parse"):
            tf.saved_model.load(session, [SERVE], str(tmp_path))


def test_assets_outside_of_the_folder(tmp_path):
    name = tf.constant("file", name="name")
    (tmp_path / "file").write_text("")
    message = tf.train.export_meta_graph()
    message.meta_info_def.tags.append(SERVE)
    message.asset_file_def.add(filename="../file", tensor_info=tf.saved_model.build_tensor_info(name))
    from thalweg._src.deploy.saved_model.files import new_saved_model, write_saved_model

    model = new_saved_model()
    model.meta_graphs.add().CopyFrom(message)
    write_saved_model(model, str(tmp_path / "model"), as_text=False)
    with tf.Graph().as_default(), tf.Session() as session, pytest.raises(ValueError, match="not in the folder"):
        tf.saved_model.load(session, [SERVE], tmp_path / "model")
