"""Saved models travel: TensorFlow loads and serves ours, we load and serve TensorFlow's."""

import numpy as np
import pytest

import thalweg as tf
from tests.conformance.tensorflow import needs_tensorflow, run_tensorflow

pytestmark = [needs_tensorflow, pytest.mark.timeout(300)]

# One program for both sides: a vocabulary from an asset, an embedding, a softmax, three signatures.
MODEL = """
def build(tf, vocabulary):
    rng = np.random.RandomState(3)
    index = tf.lookup.TextFileIndex
    words = tf.placeholder(tf.string, [None, 4], name="words")
    source = tf.lookup.TextFileInitializer(vocabulary, tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER)
    table = tf.lookup.StaticHashTable(source, 0)
    with tf.variable_scope("net", use_resource=RESOURCE):
        embedding = tf.get_variable("embedding", initializer=tf.constant(rng.normal(size=(5, 6)).astype(np.float32)))
        w = tf.get_variable("w", initializer=tf.constant(rng.normal(size=(6, 3)).astype(np.float32)))
    hidden = tf.reduce_mean(tf.nn.embedding_lookup(embedding, table.lookup(words)), 1)
    scores = tf.nn.softmax(tf.matmul(tf.tanh(hidden), w), name="scores")
    best = tf.argmax(scores, 1, name="best")
    examples = tf.placeholder(tf.string, [None], name="examples")
    parsed = tf.parse_example(examples, {"v": tf.FixedLenFeature([6], tf.float32)})
    regression = tf.reduce_sum(tf.matmul(parsed["v"], w), 1)
    utils = tf.saved_model.signature_def_utils
    return {
        "serving_default": utils.predict_signature_def({"words": words}, {"scores": scores, "best": best}),
        "regress": utils.regression_signature_def(examples, regression),
        "classify": utils.classification_signature_def(examples, None, tf.matmul(parsed["v"], w)),
    }

def save(tf, folder, as_text, strip):
    signatures = build(tf, folder + "/words.txt")
    init = tf.tables_initializer()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(init)
        builder = tf.saved_model.builder.SavedModelBuilder(folder + "/model")
        builder.add_meta_graph_and_variables(
            session, ["serve"], signatures, tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS), main_op=init,
            strip_default_attrs=strip)
        builder.save(as_text=as_text)
        return serve(tf, session, signatures)

def serve(tf, session, signatures):
    example = tf.train.Example()
    example.features.feature["v"].float_list.value.extend([1, 2, 3, 4, 5, 6])
    feeds = {"words": np.array([["a", "b", "c", "a"], ["d", "none", "b", "e"]]),
             "inputs": [example.SerializeToString()]}
    found = {}
    for key in ("serving_default", "regress", "classify"):
        signature = signatures[key]
        assert tf.saved_model.signature_def_utils.is_valid_signature(signature)
        fed = {info.name: feeds[name] for name, info in signature.inputs.items()}
        for name, info in signature.outputs.items():
            found[key + "/" + name] = session.run(info.name, fed)
    return found

def load(tf, folder):
    with tf.Session(graph=tf.Graph()) as session:
        message = tf.saved_model.loader.load(session, ["serve"], folder + "/model")
        return serve(tf, session, message.signature_def)
"""


def _program(resource=True):
    defined: dict = {"np": np, "RESOURCE": resource}
    exec(MODEL, defined)
    return defined["save"], defined["load"]


def _same(ours, theirs):
    assert set(ours) == set(theirs)
    for key, value in ours.items():
        np.testing.assert_allclose(value, theirs[key], rtol=1e-5, atol=1e-6, err_msg=key)


def _write_words(tmp_path):
    (tmp_path / "words.txt").write_text("a\nb\nc\nd\ne\n")


@pytest.mark.parametrize(("as_text", "strip"), [(False, False), (True, False), (False, True)])
def test_tensorflow_serves_ours(tmp_path, as_text, strip):
    _write_words(tmp_path)
    save, load = _program()
    with tf.Graph().as_default():
        expected = save(tf, str(tmp_path), as_text, strip)
    (tmp_path / "words.txt").unlink()
    _same(load(tf, str(tmp_path)), expected)
    run_tensorflow(
        "RESOURCE = True\n" + MODEL + "np.savez(sys.argv[1] + '/theirs.npz', **load(tf, sys.argv[1]))\n", tmp_path
    )
    _same(expected, np.load(tmp_path / "theirs.npz"))


def test_tensorflow_2_serves_ours(tmp_path):
    """The newer loader, which makes functions of the signatures."""
    _write_words(tmp_path)
    save, _ = _program()
    with tf.Graph().as_default():
        expected = save(tf, str(tmp_path), False, False)
    (tmp_path / "words.txt").unlink()
    run_tensorflow(
        """
tf.enable_v2_behavior()
model = tensorflow_2.saved_model.load(sys.argv[1] + "/model", tags=["serve"])
words = tensorflow_2.constant([["a", "b", "c", "a"], ["d", "none", "b", "e"]])
found = model.signatures["serving_default"](words=words)
np.savez(sys.argv[1] + "/theirs.npz", **{key: value.numpy() for key, value in found.items()})
""",
        tmp_path,
    )
    theirs = np.load(tmp_path / "theirs.npz")
    _same({key: expected[f"serving_default/{key}"] for key in ("scores", "best")}, theirs)


@pytest.mark.parametrize(("as_text", "resource"), [(False, True), (True, True), (False, False)])
def test_we_serve_tensorflows(tmp_path, as_text, resource):
    _write_words(tmp_path)
    run_tensorflow(
        f"RESOURCE = {resource}\n"
        + MODEL
        + f"""
if not RESOURCE:
    tf.disable_resource_variables()
np.savez(sys.argv[1] + "/theirs.npz", **save(tf, sys.argv[1], {as_text}, False))
""",
        tmp_path,
    )
    (tmp_path / "words.txt").unlink()
    _, load = _program()
    _same(load(tf, str(tmp_path)), np.load(tmp_path / "theirs.npz"))
