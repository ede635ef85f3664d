"""`thalweg show` and `thalweg predict`: SavedModels with several graphs and signatures."""

import builtins
import shutil

import numpy as np
import pytest
from click.testing import CliRunner

import thalweg as tf
from thalweg._src.deploy.saved_model.files import read_saved_model
from thalweg._src.tools.cli.main import commands


def invoke(*arguments):
    """Returns the exit status and the output of a command."""
    done = CliRunner().invoke(commands, [str(argument) for argument in arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Returns the folder of a SavedModel with two graphs and three signatures."""
    folder = tmp_path_factory.mktemp("models") / "saved"
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        shift = tf.placeholder_with_default(1.0, [], name="shift")
        w = tf.get_variable("w", initializer=[[1.0], [2.0], [3.0]])
        y = tf.add(x @ w, shift, name="y")
        examples = tf.placeholder(tf.string, [None], name="examples")
        spec = {"age": tf.FixedLenFeature([1], tf.float32), "city": tf.FixedLenFeature([1], tf.string)}
        parsed = tf.parse_example(examples, spec)
        score = tf.multiply(parsed["age"], 2.0, name="score")
        sparse = tf.sparse_placeholder(tf.float32, [None, 3], name="sparse")
        session.run(tf.global_variables_initializer())
        signatures = {
            "serving_default": tf.saved_model.predict_signature_def({"x": x, "shift": shift}, {"y": y}),
            "regress": tf.saved_model.regression_signature_def(examples, score),
            "sparse": tf.saved_model.predict_signature_def({"s": sparse}, {"sum": tf.sparse.reduce_sum(sparse)}),
        }
        builder = tf.saved_model.Builder(str(folder))
        builder.add_meta_graph_and_variables(session, ["serve"], signatures)
        builder.add_meta_graph(["serve", "gpu"], {"only": signatures["serving_default"]})
        builder.save()
    return folder


def test_tags_signatures_and_tensors_are_shown(saved):
    assert invoke("show", saved) == (0, "Tag sets of the SavedModel:\n'serve'\n'gpu', 'serve'\n")
    status, output = invoke("show", saved, "--tag_set", "serve")
    keys = [f'SignatureDef key: "{key}"' for key in ("regress", "serving_default", "sparse")]
    assert status == 0 and output.splitlines()[1:] == keys
    status, output = invoke("show", saved, "--tag_set", "gpu,serve", "--signature_def", "only")
    assert status == 0
    lines = output.splitlines()
    assert lines[4:8] == ["inputs['x'] tensor_info:", "    dtype: DT_FLOAT", "    shape: (-1, 3)", "    name: x:0"]
    assert lines[-1] == "Method name: tensorflow/serving/predict"


def test_everything_is_shown(saved):
    status, output = invoke("show", saved, "--all")
    assert status == 0
    assert output.count("Graph with tag set: ") == 2 and output.count("signature_def['") == 4
    assert "indices: sparse/indices:0" in output and "shape: ()" in output


def test_a_graph_is_summarized(saved, tmp_path):
    assert invoke("freeze", saved, tmp_path / "frozen.pb")[0] == 0
    status, output = invoke("show", tmp_path / "frozen.pb")
    assert status == 0
    assert "input x: float32 (?, 3)\n" in output and "output y: AddV2\n" in output
    assert "0 variables, 4 elements of constants\n" in output and "      2 Const\n" in output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--tag_set", "tpu"), "could not be found in SavedModel; it has ['serve'], ['gpu', 'serve']"),
        (("--tag_set", "serve", "--signature_def", "none"), "expected one of regress, serving_default, sparse"),
        (("--signature_def", "regress"), "--signature_def needs --tag_set"),
    ],
)
def test_what_is_not_there_is_explained(saved, options, words):
    status, output = invoke("show", saved, *options)
    assert status != 0 and words in output.replace("\n", " ")


def test_predictions_are_printed(saved):
    assert invoke("predict", saved, "--input_exprs", "x=[[0, 0, 1]]") == (0, "y:\n[[4.]]\n")  # shift has a default
    status, output = invoke("predict", saved, "--input_exprs", "x=np.eye(3);shift=0.5")
    assert (status, output) == (0, "y:\n[[1.5]\n [2.5]\n [3.5]]\n")
    status, output = invoke(
        "predict", saved, "--tag_set", "serve,gpu", "--signature_def", "only", "--input_exprs", "x=[[1,0,0]];shift=0"
    )
    assert (status, output) == (0, "y:\n[[1.]]\n")


def test_arrays_are_read_and_saved(saved, tmp_path):
    np.save(tmp_path / "x.npy", np.eye(3))
    np.savez(tmp_path / "more.npz", shift=np.float32(2.0), other=1)
    given = f"x={tmp_path / 'x.npy'};shift={tmp_path / 'more.npz'}[shift]"
    command = ("predict", saved, "--inputs", given, "--outdir", tmp_path / "out")
    assert invoke(*command)[0] == 0
    assert np.load(tmp_path / "out" / "y.npy").ravel().tolist() == [3.0, 4.0, 5.0]
    status, output = invoke(*command)
    assert status == 1 and "--overwrite" in output
    assert invoke(*command, "--overwrite")[0] == 0


def test_examples_are_serialized(saved):
    rows = 'inputs=[{"age": [22.0], "city": ["Bonn"]}, {"age": [1.5], "city": [b"Ulm"]}]'
    status, output = invoke("predict", saved, "--signature_def", "regress", "--input_examples", rows)
    assert (status, output) == (0, "outputs:\n[[44.]\n [ 3.]]\n")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "expected values by --inputs"),
        (("--input_exprs", "np.ones(3)"), "expected name=value"),
        (("--input_exprs", "x=1;x=2"), "'x' was given twice"),
        (("--input_exprs", "shift=1"), "You must feed a value for placeholder tensor 'x'"),
        (("--input_exprs", "x=eye(3)"), "cannot evaluate 'eye(3)'"),
        (("--input_exprs", "x=np.eye(3);shift=1;z=1"), "unexpected keys in input_dict: ['z']"),
        (("--input_exprs", "x=np.eye(2);shift=1"), "x:0"),
        (("--inputs", "x=none.npy"), "none.npy"),
        (("--signature_def", "regress", "--input_examples", "inputs={}"), "expected a list of dictionaries"),
        (("--signature_def", "regress", "--input_examples", "inputs=[{'age': 1}]"), "'age': expected a list"),
        (("--signature_def", "regress", "--input_examples", "inputs=[{'age': [None]}]"), "expected numbers or strings"),
        (("--signature_def", "none", "--input_exprs", "x=1"), "no signature 'none'"),
    ],
)
def test_bad_inputs_are_explained(saved, options, words):
    status, output = invoke("predict", saved, *options)
    assert status != 0 and words in output.replace("\n", " "), output


def test_the_array_of_an_archive_must_be_named(saved, tmp_path):
    np.savez(tmp_path / "more.npz", a=np.eye(3), b=np.eye(3))
    status, output = invoke("predict", saved, "--inputs", f"x={tmp_path / 'more.npz'}")
    assert status == 1 and "has the arrays a, b" in output


# -- models made to harm ----------------------------------------------------------------------------------------------


def renamed(saved, folder, key):
    """Writes the model with another name for an output."""
    message = read_saved_model(saved)
    for meta_graph in message.meta_graphs:
        outputs = meta_graph.signature_def["serving_default"].outputs
        outputs[key].CopyFrom(outputs["y"])
        del outputs["y"]
    shutil.copytree(saved, folder)
    (folder / "saved_model.pb").write_bytes(message.SerializeToString())
    return folder


@pytest.mark.parametrize("key", ["../y", "a/../../y", "{tmp_path}/y", ".."])
def test_an_output_is_not_saved_outside_of_the_folder(key, saved, tmp_path):
    model = renamed(saved, tmp_path / "model", key.format(tmp_path=tmp_path))
    arguments = ("predict", model, "--input_exprs", "x=np.ones((1, 3));shift=0.0", "--overwrite", "--outdir")
    status, output = invoke(*arguments, tmp_path / "out")
    if key == "..":
        assert status == 0 and [each.name for each in (tmp_path / "out").iterdir()] == ["...npy"]
    else:
        assert status == 1 and "leads out of the folder" in output
        assert sorted(each.name for each in tmp_path.iterdir()) == ["model"]


def test_an_output_may_have_a_folder_of_its_own(saved, tmp_path):
    model = renamed(saved, tmp_path / "model", "head/y")
    exprs = "x=np.ones((1, 3));shift=0.0"
    assert invoke("predict", model, "--input_exprs", exprs, "--outdir", tmp_path / "out")[0] == 0
    assert np.load(tmp_path / "out" / "head" / "y.npy").tolist() == [[6]]


def test_names_of_a_model_do_not_control_the_terminal(saved, tmp_path):
    model = renamed(saved, tmp_path / "model", "\x1b]0;title\x07y")
    exprs = "x=np.ones((1, 3));shift=0.0"
    for arguments in (("show", model, "--all"), ("predict", model, "--input_exprs", exprs)):
        status, output = invoke(*arguments)
        assert status == 0 and "\\x1b]0;title\\x07y" in output and "\x1b" not in output


def test_examples_are_values_and_no_code(saved, monkeypatch):
    called = []
    monkeypatch.setattr(builtins, "thalweg_canary", lambda: called.append(1), raising=False)
    for text in ("[{'age': [__import__('builtins').thalweg_canary()]}]", "thalweg_canary()", "[" * 5000):
        arguments = ("--signature_def", "regress", "--input_examples", f"inputs={text}")
        status, output = invoke("predict", saved, *arguments)
        assert status == 1 and "expected plain values" in output
    assert called == []
