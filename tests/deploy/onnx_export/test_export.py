"""Models of sessions, SavedModels and frozen graphs: their names, shapes, files and errors."""

import tarfile

import numpy as np
import onnx
import pytest

import thalweg as tf
from tests.deploy.onnx_export import test_arrays, test_control_flow, test_elementwise, test_images, test_tables
from tests.deploy.onnx_export.running import compare, equal, nodes, random, run, types
from tests.deploy.saved_model.tensorflow_2 import FIXTURES, MODELS
from thalweg._src.deploy.onnx_export.registry import CONVERTERS

FORWARDING = {"Identity", "StopGradient", "PreventGradient", "Snapshot", "NoOp"}  # which simplification removes
BELOW = {"RandomUniform", "RandomStandardNormal", "MutableHashTableV2"}  # with tests of their own


def test_every_converter_is_tested():
    tested = {
        each.op
        for module in (test_arrays, test_control_flow, test_elementwise, test_images, test_tables)
        for each in module.CASES
    }
    assert set(CONVERTERS) - tested == FORWARDING | BELOW


@pytest.fixture
def session():
    """Yields a session with x, its product with a variable y, and their sum z."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3], "x")
        y = tf.multiply(x, tf.get_variable("w", initializer=2.0), "y")
        tf.add(x, y, "z")
        session.run(tf.global_variables_initializer())
        yield session


def _infos(values):
    return {
        info.name: [size.dim_value or size.dim_param for size in info.type.tensor_type.shape.dim] for info in values
    }


@pytest.mark.parametrize(
    ("inputs", "outputs", "names"),
    [
        (["x"], ["y:0", "z"], (["x"], ["y", "z"])),
        ({"given": "x:0"}, {"first": "y", "second": "z:0"}, (["given"], ["first", "second"])),
        (["x", "y"], ["z"], (["x", "y"], ["z"])),
    ],
)
def test_inputs_and_outputs_have_the_names_that_are_given(session, inputs, outputs, names):
    model = tf.onnx.from_session(session, inputs, outputs)
    assert ([info.name for info in model.graph.input], [info.name for info in model.graph.output]) == names


def test_an_input_may_be_an_output_and_an_output_may_have_two_names(session):
    model = tf.onnx.from_session(session, ["x"], {"same": "x", "one": "y", "two": "y"})
    x = random(2, 3)
    for found, expected in zip(run(model, {"x": x}), (x, 2 * x, 2 * x)):
        equal("", expected, found)


def test_sizes_are_symbolic_until_they_are_given(session):
    model = tf.onnx.from_session(session, ["x"], ["y"])
    assert (_infos(model.graph.input), _infos(model.graph.output)) == ({"x": ["x_dim_0", 3]}, {"y": ["y_dim_0", 3]})
    model = tf.onnx.from_session(session, ["x"], ["y"], input_shapes={"x": [5, None]})
    assert (_infos(model.graph.input), _infos(model.graph.output)) == ({"x": [5, 3]}, {"y": [5, 3]})


def test_models_have_the_opset_and_the_format_that_are_documented(session):
    model = tf.onnx.from_session(session, ["x"], ["y"])
    assert [(each.domain, each.version) for each in model.opset_import] == [("", 18)]
    assert (model.ir_version, model.producer_name) == (8, "thalweg")


def test_a_model_is_written_to_a_file(session, tmp_path):
    model = tf.onnx.from_session(session, ["x"], ["y"], tmp_path / "model.onnx")
    assert onnx.load(tmp_path / "model.onnx") == model
    with pytest.raises(tf.errors.NotFoundError, match="cannot write"):
        tf.onnx.from_session(session, ["x"], ["y"], tmp_path / "nowhere" / "model.onnx")


def test_casts_keep_what_they_cut_off():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.int64, [2], "x")
        y = tf.cast(tf.cast(x, tf.int32), tf.int64)
        compare(session, [x], [y], [np.array([2**40 + 3, 5])])


def test_weights_that_are_used_twice_are_stored_once():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2, 40], "x")
        w = tf.get_variable("w", [40, 40])
        y = tf.matmul(tf.tanh(tf.matmul(x, w)), w)
        session.run(tf.global_variables_initializer())
        model = compare(session, [x], [y], [random(2, 40)])
    assert [tuple(each.dims) for each in model.graph.initializer] == [(40, 40)]


def test_variables_of_all_kinds_are_frozen():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.int32, [None], "x")
        old, new = (tf.get_variable(name, [5, 3], use_resource=is_new) for name, is_new in (("a", False), ("b", True)))
        shards = tf.get_variable("c", [4, 3], partitioner=tf.fixed_size_partitioner(2))
        y = tf.gather(old, x) + tf.gather(new, x) + tf.nn.embedding_lookup(shards, x % 4)
        z = tf.cond(x[0] > 0, lambda: new.read_value() * 2, lambda: old + 1.0)
        counted = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t + new), [0, z])[1]
        session.run(tf.global_variables_initializer())
        compare(session, [x], [y, z, counted], [np.array([4, 0, 2], np.int32)])


def test_checks_are_dropped():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], "x")
        with tf.control_dependencies([tf.assert_positive(x), tf.print(x)]):
            y = x + 1.0
        assert types(compare(session, [x], [y], [np.float32([1, 2])])) == ["Add"]


def test_dropout_is_left_out_where_nothing_is_dropped():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2, 3], "x")
        kept = tf.placeholder_with_default(1.0, [])
        training = tf.placeholder_with_default(False, [])
        y = tf.layers.dropout(tf.nn.dropout(x, kept), 0.5, training=training)
        assert "If" not in types(compare(session, [x], [y], [random(2, 3)]))


def test_random_numbers_have_their_distribution():
    with tf.Graph().as_default(), tf.Session() as session:
        n = tf.placeholder(tf.int32, [2], "n")
        outputs = {"uniform": tf.random_uniform(n), "normal": tf.random_normal(n, 3.0, 2.0)}
        model = tf.onnx.from_session(session, [n], outputs)
    uniform, normal = run(model, {"n": np.array([200, 50], np.int32)})
    assert 0 <= uniform.min() < 0.01 and 0.99 < uniform.max() < 1 and abs(uniform.mean() - 0.5) < 0.02
    assert abs(normal.mean() - 3) < 0.1 and abs(normal.std() - 2) < 0.1


def test_a_table_that_changes_has_its_entries_of_now():
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
        session.run(table.insert(["a", "b"], tf.constant([1, 2], tf.int64)))
        x = tf.placeholder(tf.string, [None], "x")
        compare(session, [x], [table.lookup(x)], [np.array(["b", "c"], object)])


def test_a_finalized_graph_is_exported(session):
    session.graph.finalize()
    assert types(tf.onnx.from_session(session, ["x"], ["y"])) == ["Mul"]


def test_frozen_graphs(session):
    frozen = tf.graph_util.convert_variables_to_constants(session, session.graph.as_graph_def(), ["z"])
    model = tf.onnx.from_graph_def(frozen, ["x"], ["z"])
    equal("z", 3 * random(2, 3), run(model, {"x": random(2, 3)})[0])


def test_saved_models_have_the_names_of_their_signatures(session, tmp_path):
    tensor = session.graph.get_tensor_by_name
    tf.saved_model.simple_save(session, str(tmp_path / "model"), {"a": tensor("x:0")}, {"b": tensor("z:0")})
    model = tf.onnx.from_saved_model(tmp_path / "model")
    equal("b", 3 * random(2, 3), run(model, {"a": random(2, 3)}, ["b"])[0])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"signature: .* \(serving_default\), received 'other'"):
        tf.onnx.from_saved_model(tmp_path / "model", "other")


def _extracted(name, folder):
    with tarfile.open(FIXTURES / f"{name}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder / name


UPDATING = ("affine", "branches")  # which count their calls


@pytest.mark.parametrize("name", UPDATING)
def test_models_that_update_variables_cannot_go(name, tmp_path):
    with pytest.raises(tf.errors.UnimplementedError, match="updates a variable"):
        tf.onnx.from_saved_model(_extracted(name, tmp_path))


@pytest.mark.parametrize("name", [name for name in MODELS if name not in UPDATING])
def test_models_that_tensorflow_2_saved(name, tmp_path):
    model = tf.onnx.from_saved_model(_extracted(name, tmp_path))
    kept = np.load(tmp_path / f"{name}.npz")
    for number in sorted({key.partition("/")[0] for key in kept}):
        given, expected = (
            {key.removeprefix(start): kept[key] for key in kept if key.startswith(start)}
            for start in (f"{number}/in/", f"{number}/out/")
        )
        for key, found in zip(expected, run(model, given, list(expected))):
            equal(key, expected[key], found)


# -- errors -----------------------------------------------------------------------------------------------------------


def _counted():
    return tf.assign_add(tf.get_variable("calls", [], tf.float32, use_resource=True), 1.0)


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda x: tf.math.lgamma(x), r"Lgamma 'Lgamma' has no equivalent in ONNX\n  hint: replace it by other ops"),
        (lambda x: tf.py_func(np.sin, [x], tf.float32), r"PyFunc 'PyFunc' .*\n  hint: feed what it returns"),
        (lambda x: tf.gradients(tf.nn.max_pool(x, 2, 2, "SAME"), x), r"Grad.*\n  hint: export the graph of inference"),
        (lambda x: tf.random.truncated_normal([4]) + x, r"TruncatedNormal .*\n  hint: feed random values"),
        (
            lambda x: tf.transpose(x, tf.cast(x[:4, 0, 0, 0], tf.int32)),
            r"Transpose 'transpose' has a permutation that is computed",
        ),
        (lambda x: tf.argmax(x, tf.cast(x[0, 0, 0, 0], tf.int32)), "ArgMax 'ArgMax' has an axis that is computed"),
        (lambda x: tf.nn.max_pool(x, [1, 1, 1, 2], [1, 1, 1, 2], "SAME"), "MaxPool 'MaxPool' pools over"),
        (
            lambda x: tf.image.non_max_suppression_with_scores(x[0, 0], x[0, 0, :, 0], 3, soft_nms_sigma=0.5)[0],
            "reduces scores instead of removing boxes\n  hint: use soft_nms_sigma=0.0",
        ),
        (
            lambda x: tf.assign(tf.get_variable("w", [], tf.float32), 1.0) + x,
            "updates a variable\n  hint: export the graph of inference",
        ),
        (
            lambda x: tf.while_loop(lambda i: i < 2, lambda i: i + tf.cast(_counted(), tf.int32), [0])
            + tf.cast(x, tf.int32),
            "updates a variable",
        ),
        (lambda x: tf.complex(x, x), "no kernel takes elements of type complex64|has no equivalent"),
    ],
)
def test_what_onnx_lacks_is_named_with_its_line(build, text):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [4, 4, 4, 4], "x")
        y = build(x)
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.UnimplementedError, match=f"ONNX export: .*{text}") as raised:
            tf.onnx.from_session(session, [x], {"out": y[0] if isinstance(y, list) else y})
    assert "defined at: test_export.py:" in str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((["x"], "y"), TypeError, "outputs: expected a list of tensors"),
        (
            (["a"], ["y"]),
            tf.errors.InvalidArgumentError,
            "inputs: expected tensors of the graph or their names, received 'a:0'",
        ),
        (
            ({"y": "x"}, {"y": "y"}),
            tf.errors.InvalidArgumentError,
            "outputs: expected names other than those of the inputs",
        ),
        ((["x"], ["y"], None, {"x": [2]}), tf.errors.InvalidArgumentError, r"agrees with \[\?, 3\], received \[2\]"),
        ((["x"], ["y"], None, {"a": [2]}), tf.errors.InvalidArgumentError, r"names of inputs \(x\), received a"),
    ],
)
def test_bad_arguments_are_named(session, arguments, error, text):
    with pytest.raises(error, match=text):
        tf.onnx.from_session(session, *arguments)


def test_an_input_of_unknown_rank_needs_a_shape():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, name="x")
        y = tf.nn.relu(x)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"number of axes of 'x'.*input_shapes"):
            tf.onnx.from_session(session, [x], {"y": y})
        compare(session, [x], [y], [random(2, 3)], input_shapes={"x": [None, 3]})


def test_a_variable_without_a_value_is_named():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2], "x")
        y = x * tf.get_variable("w", [2])
        with pytest.raises(tf.errors.FailedPreconditionError, match="w"):
            tf.onnx.from_session(session, [x], {"y": y})


def test_every_node_has_a_name_of_its_own():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2, 8, 8, 3], "x")
        y = tf.cond(x[0, 0, 0, 0] > 0, lambda: tf.layers.conv2d(x, 2, 3), lambda: tf.layers.conv2d(-x, 2, 3))
        session.run(tf.global_variables_initializer())
        names = [node.name for node in nodes(tf.onnx.from_session(session, [x], {"y": y}).graph)]
    assert len(set(names)) == len(names)
