"""tf.contrib.eager.metrics: batches that add up, in eager execution and in graphs, and networks of layers."""

import numpy as np
import pytest

import thalweg as tf

tfe = tf.contrib.eager
METRICS = tfe.metrics
LABELS = np.array([0, 1, 1, 2])
SCORES = np.array([[3, 1, 1], [1, 0, 4], [0, 2, 1], [0, 1, 2]], np.float32)
CASES = {
    "Accuracy": (METRICS.Accuracy, LABELS, np.array([0, 1, 2, 2]), 0.75),
    "CategoricalAccuracy": (METRICS.CategoricalAccuracy, np.eye(3, dtype=np.float32)[LABELS], SCORES, 0.75),
    "SparseAccuracy": (METRICS.SparseAccuracy, LABELS.astype(np.int32), SCORES, 0.75),
    "BinaryAccuracy": (
        lambda: METRICS.BinaryAccuracy(0.5),
        np.array([0, 1, 1, 0]),
        np.array([0.5, 0.6, 0.1, 0.2], np.float32),
        0.75,
    ),
}


@pytest.mark.usefixtures("fresh")
def test_a_mean():
    mean = METRICS.Mean("some mean")
    assert mean.variables == [] and mean.name == "some mean"
    assert mean([1.0, 3.0]) == [1.0, 3.0]
    assert [v.name for v in mean.variables] == ["some_mean/numer:0", "some_mean/denom:0"]
    mean([[8.0]])
    assert mean.result().numpy() == 4 and mean.result().dtype is tf.float64 and mean.value()().numpy() == 4
    mean.init_variables()
    values, weights = mean([1.0, 5.0], weights=[3.0, 1.0])
    assert mean.result().numpy() == 2 and len(values) == 2 and weights.numpy().tolist() == [3, 1]
    assert METRICS.Mean(dtype=tf.float32).name == "Mean"
    with pytest.raises(RuntimeError, match=r"except in build\(\)"):
        mean.add_variable("more", [])


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("name", CASES)
def test_accuracies(name):
    make, labels, predictions, expected = CASES[name]
    metric = make()
    metric(labels[:2], predictions[:2])
    metric(labels[2:], predictions[2:])
    assert metric.result().numpy() == expected
    metric.init_variables()
    found = metric(labels, predictions, weights=[1.0, 1.0, 0.0, 0.0])
    assert len(found) == 3
    right = METRICS.Accuracy.result(metric).numpy()
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match="Shapes of labels and predictions"):
        metric(labels[:1], predictions)
    with tf.Graph().as_default(), tf.Session() as session:
        other = make()
        update = other(tf.constant(labels), tf.constant(predictions), weights=[1.0, 1.0, 0.0, 0.0])
        session.run(other.init_variables())
        session.run(update)
        session.run(update)
        assert session.run(other.value()) == right
        assert tf.local_variables() == other.variables and tf.global_variables() == []


@pytest.mark.usefixtures("fresh")
def test_a_metric_writes_its_result(tmp_path):
    writer = tf.contrib.summary.create_file_writer(str(tmp_path))
    mean = METRICS.Mean("loss")
    with writer.as_default(), tf.contrib.summary.always_record_summaries():
        mean([2.0])
        mean.result()
        mean.result(write_summary=False)
        tf.contrib.summary.flush()
    (path,) = tmp_path.glob("events*")
    values = [v.simple_value for e in tf.train.summary_iterator(str(path)) for v in e.summary.value]
    assert values == [2]


class Perceptron(tfe.Network):
    """A network of two layers."""

    def __init__(self):
        super().__init__(name="perceptron")
        self.hidden = self.track_layer(tf.layers.Dense(4, activation=tf.nn.relu, name="hidden"))
        self.top = self.track_layer(tf.layers.Dense(1, name="top"))

    def call(self, inputs):
        return self.top(self.hidden(inputs))


@pytest.mark.usefixtures("fresh")
def test_a_network():
    tf.set_random_seed(1)
    network = Perceptron()
    x, y = tf.ones([2, 3]), tf.zeros([2, 1])
    optimizer = tf.train.GradientDescentOptimizer(0.01)
    losses = []
    for _ in range(3):
        grads = tfe.implicit_value_and_gradients(lambda: tf.losses.mean_squared_error(y, network(x)))
        loss, pairs = grads()
        optimizer.apply_gradients(pairs)
        losses.append(loss.numpy())
    assert losses[2] < losses[0]
    assert [v.name for v in network.variables] == [
        *("perceptron/hidden/kernel:0", "perceptron/hidden/bias:0"),
        *("perceptron/top/kernel:0", "perceptron/top/bias:0"),
    ]
    assert network.get_layer("top") is network.get_layer(index=1) is network.top
    assert network.layers == [network.hidden, network.top] and network.track_layer(network.top) is network.top
    network.top.trainable = False
    assert network.trainable_variables == network.hidden.variables
    assert network.non_trainable_variables == network.top.variables
    with pytest.raises(TypeError, match=r"not a tf\.layers\.Layer"):
        network.track_layer(tf.nn.relu)
    with pytest.raises(ValueError, match="two Layers with the name 'top'"):
        network.track_layer(tf.layers.Dense(1, name="top"))
    with pytest.raises(ValueError, match="No such layer"):
        network.get_layer("bottom")
