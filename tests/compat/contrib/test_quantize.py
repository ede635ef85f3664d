"""tf.contrib.quantize: graphs that round weights and activations, in training and in evaluation."""

import numpy as np
import pytest

import thalweg as tf

quantize = tf.contrib.quantize
IMAGE = np.random.RandomState(0).normal(size=(4, 6, 6, 3)).astype(np.float32)


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        tf.placeholder(tf.float32, [None, 6, 6, 3], name="x")
        yield graph


def network(graph, training, fused_norm=True):
    x = graph.get_tensor_by_name("x:0")
    hidden = tf.layers.conv2d(x, 4, 3, padding="same", use_bias=not fused_norm, name="conv1")
    if fused_norm:
        hidden = tf.layers.batch_normalization(hidden, training=training, name="norm1", epsilon=0.01)
    hidden = tf.nn.relu(hidden, name="relu1")
    hidden = tf.layers.separable_conv2d(hidden, 4, 3, padding="same", activation=tf.nn.relu6, name="conv2")
    return tf.layers.dense(tf.layers.flatten(hidden), 5, name="logits")


def quantizers(graph):
    """Returns the operations that round, by name."""
    return {op.name: op for op in graph.get_operations() if op.type == "FakeQuantWithMinMaxVars"}


def test_weights_and_activations_of_each_layer_are_rounded(graph):
    logits = network(graph, training=False, fused_norm=False)
    loss = tf.identity(logits, name="used")
    quantize.create_training_graph()
    found = quantizers(graph)
    scopes = "conv1", "conv2", "conv2/separable_conv2d", "logits"
    names = [f"{scope}/{what}" for scope in scopes for what in ("weights_quant", "act_quant")]
    assert sorted(found) == sorted(f"{name}/FakeQuantWithMinMaxVars" for name in names)
    assert all(op.get_attr("num_bits") == 8 for op in found.values())
    assert {name for name, op in found.items() if op.get_attr("narrow_range")} == {n for n in found if "weights" in n}
    conv = graph.get_operation_by_name("conv1/Conv2D")
    assert conv.inputs[1].op is found["conv1/weights_quant/FakeQuantWithMinMaxVars"]
    activation = found["conv1/act_quant/FakeQuantWithMinMaxVars"]
    assert activation.inputs[0].name == "relu1:0"
    assert loss.op.inputs[0].op is found["logits/act_quant/FakeQuantWithMinMaxVars"]
    saved = {variable.op.name for variable in tf.global_variables()}
    assert {"conv1/act_quant/min", "conv1/act_quant/max", "logits/weights_quant/max"} <= saved
    assert not [v.op.name for v in tf.trainable_variables() if "quant" in v.op.name]


def test_an_evaluation_graph_has_the_same_variables_and_changes_none(graph):
    network(graph, training=False)
    quantize.create_eval_graph()
    names = {variable.op.name for variable in tf.global_variables()}
    with tf.Graph().as_default() as other:
        tf.placeholder(tf.float32, [None, 6, 6, 3], name="x")
        network(other, training=True)
        quantize.create_training_graph()
        trained = {variable.op.name for variable in tf.global_variables()}
    assert names <= trained
    fake = list(quantizers(graph).values())
    reads = [tensor.op.type for op in fake for tensor in op.inputs[1:]]
    assert fake and not {"Assign", "AssignSub", "Min", "Max"} & set(reads)


@pytest.mark.parametrize("training", [False, True])
def test_folded_normalization_computes_the_same_but_for_rounding(graph, training):
    logits = network(graph, training)
    expected = tf.identity(logits)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for variable in tf.global_variables("norm1"):
            variable.load(np.random.RandomState(1).uniform(0.5, 1.5, variable.shape.as_list()), session)
        before = session.run(expected, {"x:0": IMAGE})
        values = {variable.op.name: session.run(variable) for variable in tf.global_variables()}
    # 16 bits: what differs is not the rounding
    (quantize.experimental_create_training_graph if training else quantize.experimental_create_eval_graph)(
        weight_bits=16, activation_bits=16
    )
    assert "conv1/Conv2D_Fold" in {op.name for op in graph.get_operations()}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for variable in tf.global_variables():
            if variable.op.name in values:
                variable.load(values[variable.op.name], session)
        after = session.run(expected, {"x:0": IMAGE})
    np.testing.assert_allclose(after, before, atol=2e-2 if training else 2e-3)


def test_the_averages_of_a_normalization_are_still_trained_and_used_after_the_delay(graph):
    network(graph, training=True)
    quantize.experimental_create_training_graph(freeze_bn_delay=2)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    (step,) = tf.global_variables("fake_quantization_step")
    out = graph.get_tensor_by_name("conv1/add_fold:0")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(updates, {"x:0": IMAGE + 5.0})
        (mean,) = (v for v in tf.global_variables() if v.op.name == "norm1/moving_mean")
        assert np.abs(session.run(mean)).max() > 0
        spread = session.run(out, {"x:0": IMAGE * 100}).std()
        step.load(2, session)
        assert session.run(out, {"x:0": IMAGE * 100}).std() > 10 * spread  # no longer that of the batch


def test_gradients_pass_the_rounding(graph):
    logits = network(graph, training=True)
    labels = tf.one_hot([0, 1, 2, 3], 5)
    loss = tf.losses.softmax_cross_entropy(labels, logits)
    quantize.create_training_graph()
    variables = tf.trainable_variables()
    gradients = tf.gradients(loss, variables)
    assert None not in gradients
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run(gradients, {"x:0": IMAGE})
    assert all(np.abs(each).max() > 0 for each in found)


def test_rounding_begins_after_the_delay(graph):
    network(graph, training=False, fused_norm=False)
    weights = graph.get_operation_by_name("conv1/Conv2D").inputs[1]
    quantize.experimental_create_training_graph(weight_bits=2, quant_delay=5)
    used = graph.get_operation_by_name("conv1/Conv2D").inputs[1]
    (step,) = tf.global_variables("fake_quantization_step")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first, exact = session.run([used, weights])
        np.testing.assert_array_equal(first, exact)
        assert session.run(step) == 1
        step.load(5, session)
        assert len(np.unique(session.run(used))) == 3


def test_ranges_follow_the_data(graph):
    network(graph, training=False, fused_norm=False)
    quantize.experimental_create_training_graph(symmetric=True)
    low, high = (graph.get_tensor_by_name(f"logits/act_quant/{end}:0") for end in ("min", "max"))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([low, high]) == [-6.0, 6.0]
        logits = graph.get_operation_by_name("logits/act_quant/FakeQuantWithMinMaxVars")
        rounded, values = session.run([logits.outputs[0], logits.inputs[0]], {"x:0": IMAGE})
        largest = np.abs(values).max()
        found = session.run([low, high])
    np.testing.assert_allclose(found, [-largest, largest], rtol=1e-4)
    assert np.abs(rounded - values).max() <= largest / 127


def test_connections_around_layers_are_rounded(graph):
    x = graph.get_tensor_by_name("x:0")
    with tf.variable_scope("block"):
        inner = tf.layers.conv2d(x, 3, 3, padding="same", name="conv")
        joined = tf.nn.relu(inner + x, name="joined")
    tf.negative(joined, name="used")
    quantize.create_eval_graph()
    names = {name.removesuffix("/FakeQuantWithMinMaxVars") for name in quantizers(graph)}
    assert names == {"block/conv/weights_quant", "block/conv/act_quant", "block/add_quant"}
    assert graph.get_operation_by_name("used").inputs[0].op.name == "block/add_quant/FakeQuantWithMinMaxVars"


def test_a_scope_limits_the_rewrite(graph):
    network(graph, training=False)
    quantize.experimental_create_eval_graph(scope="conv2")
    assert quantizers(graph) and all(name.startswith("conv2/") for name in quantizers(graph))


def test_branches_loops_and_constants_are_left_alone(graph):
    x = graph.get_tensor_by_name("x:0")
    w = tf.get_variable("w", [1, 1, 3, 3])
    tf.cond(tf.reduce_sum(x) > 0, lambda: tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"), lambda: x)
    tf.nn.conv2d(x, np.ones([1, 1, 3, 3], np.float32), [1, 1, 1, 1], "SAME")
    quantize.create_training_graph()
    assert not quantizers(graph)


def test_bits_are_checked(graph):
    with pytest.raises(ValueError, match="weight_bits: expected 2 to 16, received 1"):
        quantize.experimental_create_training_graph(weight_bits=1)


def digits():
    data = pytest.importorskip("sklearn.datasets").load_digits()
    order = np.random.RandomState(0).permutation(len(data.target))
    images = (data.images[order, ..., None] / 16.0).astype(np.float32)
    return images[:1400], data.target[order][:1400], images[1400:], data.target[order][1400:]


def convnet(x, training):
    hidden = tf.layers.conv2d(x, 16, 3, padding="same", use_bias=False, name="conv1")
    hidden = tf.nn.relu(tf.layers.batch_normalization(hidden, training=training, name="norm1"))
    hidden = tf.layers.conv2d(tf.layers.max_pooling2d(hidden, 2, 2), 24, 3, padding="same", name="conv2")
    hidden = tf.layers.max_pooling2d(tf.nn.relu(hidden), 2, 2)
    return tf.layers.dense(tf.layers.flatten(hidden), 10, name="logits")


def accuracy_of(images, labels, rewrite, path):
    """Returns the accuracy of a network that is restored into a graph for evaluation, and its frozen graph."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 8, 8, 1], name="x")
        logits = convnet(x, training=False)
        tf.identity(logits, name="y")
        rewrite(graph)
        tf.train.Saver().restore(session, path)
        frozen = tf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(frozen, name="")
        found = session.run("y:0", {"x:0": images}).argmax(1)
    return float(np.mean(found == labels)), frozen


def trained(images, labels, rewrite, path, steps):
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.set_random_seed(1)
        x, y = tf.placeholder(tf.float32, [None, 8, 8, 1]), tf.placeholder(tf.int64, [None])
        loss = tf.losses.sparse_softmax_cross_entropy(y, convnet(x, training=True))
        rewrite(graph)
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        step = tf.train.get_or_create_global_step()
        with tf.control_dependencies(updates):
            train = tf.train.AdamOptimizer(0.005).minimize(loss, step)
        session.run(tf.global_variables_initializer())
        random = np.random.RandomState(0)
        for _ in range(steps):
            chosen = random.randint(0, len(images), 64)
            session.run(train, {x: images[chosen], y: labels[chosen]})
        tf.train.Saver().save(session, path)


def test_a_network_that_learns_with_rounding_is_as_accurate_as_one_without(tmp_path):
    images, labels, others, wanted = digits()
    rewrites = {
        "float": (lambda graph: None, lambda graph: None),
        "quantized": (lambda graph: quantize.create_training_graph(graph, quant_delay=60), quantize.create_eval_graph),
    }
    accuracy, frozen = {}, {}
    for name, (training, evaluation) in rewrites.items():
        path = str(tmp_path / name)
        trained(images, labels, training, path, steps=240)
        accuracy[name], frozen[name] = accuracy_of(others, wanted, evaluation, path)
    assert accuracy["float"] > 0.95 and accuracy["quantized"] >= accuracy["float"] - 0.01, accuracy
    rounding = [node for node in frozen["quantized"].node if node.op == "FakeQuantWithMinMaxVars"]
    kinds = {node.name: node.op for node in frozen["quantized"].node}
    assert len(rounding) == 6 and "FusedBatchNormV3" not in kinds.values()
    assert {kinds[name.removesuffix("/read")] for node in rounding for name in node.input[1:]} == {"Const"}
