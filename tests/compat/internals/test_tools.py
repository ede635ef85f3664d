"""tensorflow.python.tools, and the writers and readers of pywrap_tensorflow and file_io."""

import glob

import pytest
from thalweg.python.lib.io import file_io
from thalweg.python.tools import freeze_graph, inspect_checkpoint, optimize_for_inference_lib, strip_unused_lib

import thalweg as tf
from thalweg.python import pywrap_tensorflow


@pytest.fixture
def trained(tmp_path):
    """Returns the paths of a graph, of its meta graph and of a checkpoint in which w is 3."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        w = tf.get_variable("w", initializer=3.0)
        tf.identity(x * w, name="y")
        session.run(tf.global_variables_initializer())
        prefix = tf.train.Saver().save(session, str(tmp_path / "model"))
        path = tf.train.write_graph(graph.as_graph_def(), str(tmp_path), "graph.pbtxt")
    return path, f"{prefix}.meta", prefix


def outputs_of(graph_def):
    assert not [node.op for node in graph_def.node if "Var" in node.op]
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        return session.run("y:0", {"x:0": [1.0, 2.0]}).tolist()


def test_a_graph_is_frozen_with_the_values_of_a_checkpoint(trained, tmp_path):
    path, _, prefix = trained
    output = str(tmp_path / "frozen.pb")
    freeze_graph.freeze_graph(path, "", False, prefix, "y", "save/restore_all", "save/Const:0", output, True, "")
    frozen = tf.GraphDef.FromString((tmp_path / "frozen.pb").read_bytes())
    assert outputs_of(frozen) == [3.0, 6.0]


def test_a_meta_graph_is_frozen(trained):
    _, meta, prefix = trained
    frozen = freeze_graph.freeze_graph("", "", True, prefix, "y", None, None, "", False, "", input_meta_graph=meta)
    assert outputs_of(frozen) == [3.0, 6.0]


def test_a_graph_is_frozen_after_its_initializers(trained):
    path, _, _ = trained
    frozen = freeze_graph.freeze_graph(path, "", False, "", "y", None, None, "", True, "w/Assign")
    assert outputs_of(frozen) == [3.0, 6.0]


def test_a_saved_model_is_frozen(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        y = tf.identity(x * tf.get_variable("w", initializer=3.0), name="y")
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(tmp_path / "saved"), {"x": x}, {"y": y})
    folder = str(tmp_path / "saved")
    frozen = freeze_graph.freeze_graph("", "", True, "", "y", None, None, "", True, "", input_saved_model_dir=folder)
    assert outputs_of(frozen) == [3.0, 6.0]


def test_output_nodes_are_required(trained):
    with pytest.raises(ValueError, match="output_node_names"):
        freeze_graph.freeze_graph(trained[0], "", False, trained[2], "", None, None, "", True, "")


def test_a_checkpoint_is_printed(trained, capsys):
    inspect_checkpoint.print_tensors_in_checkpoint_file(trained[2], None, all_tensors=True)
    text = capsys.readouterr().out
    assert "tensor_name:  w\n3.0\n" in text and "Total number of params: 1" in text
    inspect_checkpoint.print_tensors_in_checkpoint_file(trained[2], None, False)
    assert "w (DT_FLOAT32) []" in capsys.readouterr().out


def test_graphs_are_stripped_for_inference():
    with tf.Graph().as_default() as graph:
        queue = tf.FIFOQueue(1, [tf.float32], [[2]])
        x = tf.identity(queue.dequeue(), name="x")
        checked = tf.check_numerics(x + 1.0, "", name="checked")
        tf.identity(tf.identity(checked) * 2.0, name="y")
    part = strip_unused_lib.strip_unused(graph.as_graph_def(), ["x"], ["y"], tf.float32.as_datatype_enum)
    assert {node.op for node in part.node if node.name == "x"} == {"Placeholder"}
    small = optimize_for_inference_lib.optimize_for_inference(
        graph.as_graph_def(), ["x"], ["y"], tf.float32.as_datatype_enum
    )
    assert "CheckNumerics" not in {node.op for node in small.node} and len(small.node) < len(part.node)
    assert outputs_of(small) == [4.0, 6.0]
    with pytest.raises(KeyError, match="nothing"):
        strip_unused_lib.strip_unused(graph.as_graph_def(), ["nothing"], ["y"], 1)


def test_batch_normalization_is_folded_for_inference():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2], name="x")
        image = tf.reshape(x, [1, 1, 2, 1])
        hidden = tf.layers.batch_normalization(tf.layers.conv2d(image, 1, 1, kernel_initializer=tf.ones_initializer()))
        tf.reshape(hidden * 3.0, [2], name="y")
        session.run(tf.global_variables_initializer())
        session.run([v.assign([8.0]) for v in tf.global_variables() if v.op.name.endswith("moving_variance")])
        expected = session.run("y:0", {"x:0": [1.0, 2.0]})
        frozen = tf.graph_util.convert_variables_to_constants(session, session.graph_def, ["y"])
    small = optimize_for_inference_lib.optimize_for_inference(frozen, ["x"], ["y"], tf.float32.as_datatype_enum)
    assert not [node.op for node in small.node if "BatchNorm" in node.op]
    assert outputs_of(small) == pytest.approx(expected.tolist())


def test_events_are_written(tmp_path):
    writer = pywrap_tensorflow.EventsWriter(tf.compat.as_bytes(str(tmp_path / "run")))
    writer.WriteEvent(tf.Event(step=3))
    writer.WriteSerializedEvent(tf.Event(step=4).SerializeToString())
    assert writer.Flush() and writer.Close()
    (path,) = glob.glob(str(tmp_path / "run.out.tfevents.*"))
    assert path == writer.FileName() and [event.step for event in tf.train.summary_iterator(path)] == [0, 3, 4]


def test_files_are_written_whole(tmp_path):
    path = str(tmp_path / "a")
    file_io.write_string_to_file(path, "text")
    file_io.atomic_write_string_to_file(path, "more")
    assert file_io.read_file_to_string(path) == "more" and file_io.file_exists(path)
    assert file_io.read_file_to_string(path, binary_mode=True) == b"more"
    with pytest.raises(tf.errors.AlreadyExistsError):
        file_io.atomic_write_string_to_file(path, "x", overwrite=False)
