"""Whole programs, written once, that train eagerly and in a session: from equal weights to equal losses."""

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.runtime.eager.mode import eager_mode

STEPS = 20


class Weights:
    """Variables that start with numbers which depend on nothing but their names and shapes."""

    def __init__(self):
        self.variables = {}

    def __call__(self, name, shape, scale=0.3):
        if name not in self.variables:
            size = int(np.prod(shape))
            values = np.sin(np.arange(size) * 1.7 + len(name)).reshape(shape) * scale
            self.variables[name] = tf.Variable(values.astype(np.float32), name=name, use_resource=True)
        return self.variables[name]

    def of(self, prefix):
        """Returns the variables whose names begin in a certain way."""
        return [variable for name, variable in self.variables.items() if name.startswith(prefix)]


def _batches(*shapes, seed=0):
    source = np.random.RandomState(seed)
    return [[source.randn(*shape).astype(np.float32) for shape in shapes] for _ in range(STEPS)]


def _regression(weights, x):
    y = tf.reduce_sum(x, 1, keepdims=True) + 0.5
    return tf.reduce_mean(tf.square(tf.matmul(x, weights("w", [5, 1])) + weights("b", [1]) - y))


def _classifier(weights, images):
    classes = tf.argmax(images[:, :10], axis=1)
    images += 4.0 * tf.one_hot(classes, 64)
    hidden = tf.nn.relu(tf.matmul(images, weights("w1", [64, 32])) + weights("b1", [32]))
    hidden = tf.nn.relu(tf.matmul(hidden, weights("w2", [32, 16])) + weights("b2", [16]))
    logits = tf.matmul(hidden, weights("w3", [16, 10])) + weights("b3", [10])
    return tf.losses.sparse_softmax_cross_entropy(classes, logits)


def _language_model(weights, ids):
    ids = tf.cast(tf.abs(ids) * 4.0, tf.int32) % 11  # 3 sentences of 7 words
    words = tf.nn.embedding_lookup(weights("embedding", [11, 6]), ids)
    kernel, bias = weights("kernel", [6 + 8, 4 * 8]), weights("bias", [4 * 8])
    c = h = tf.zeros([3, 8])
    losses = []
    for position in range(6):
        gates = tf.matmul(tf.concat([words[:, position], h], 1), kernel) + bias
        i, j, f, o = tf.split(gates, 4, axis=1)
        c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
        logits = tf.matmul(h, weights("softmax", [8, 11]))
        losses.append(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ids[:, position + 1], logits=logits))
    return tf.reduce_mean(tf.stack(losses))


PROGRAMS = {
    "regression": (_regression, lambda: tf.train.GradientDescentOptimizer(0.1), _batches((8, 5))),
    "classifier": (_classifier, lambda: tf.train.AdamOptimizer(0.01), _batches((16, 64))),
    "language model": (_language_model, lambda: tf.train.MomentumOptimizer(0.2, 0.9), _batches((3, 7))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_eager_training_equals_that_of_a_session(name):
    program, make_optimizer, batches = PROGRAMS[name]
    with tf.Graph().as_default(), tf.Session() as session:
        feeds = [tf.placeholder(tf.float32, array.shape) for array in batches[0]]
        loss = program(Weights(), *feeds)
        with tf.control_dependencies([loss]):
            train = make_optimizer().minimize(loss)
        session.run(tf.global_variables_initializer())
        expected = [session.run([loss, train], dict(zip(feeds, batch)))[0] for batch in batches]
    with eager_mode():
        weights, optimizer, losses = Weights(), make_optimizer(), []
        for batch in batches:
            with tf.GradientTape() as tape:
                loss = program(weights, *map(tf.constant, batch))
            variables = list(weights.variables.values())
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
            losses.append(loss.numpy())
    np.testing.assert_allclose(losses, expected, rtol=1e-6, atol=1e-6)
    assert losses[-1] < losses[0]


def _discriminate(weights, x):
    hidden = tf.nn.leaky_relu(tf.matmul(x, weights("d/w1", [4, 8])) + weights("d/b1", [8]))
    return tf.matmul(hidden, weights("d/w2", [8, 1]))


def _adversaries(weights, noise, real):
    """Returns the losses of a discriminator and of a generator."""
    made = tf.matmul(tf.nn.relu(tf.matmul(noise, weights("g/w1", [3, 8]))), weights("g/w2", [8, 4]))
    of_real, of_made = _discriminate(weights, real), _discriminate(weights, made)
    right = tf.losses.sigmoid_cross_entropy(tf.ones_like(of_real), of_real, label_smoothing=0.1)
    wrong = tf.losses.sigmoid_cross_entropy(tf.zeros_like(of_made), of_made)
    return right + wrong, tf.losses.sigmoid_cross_entropy(tf.ones_like(of_made), of_made)


def test_two_models_that_train_against_each_other():
    batches = _batches((8, 3), (8, 4))
    with tf.Graph().as_default(), tf.Session() as session:
        feeds = [tf.placeholder(tf.float32, array.shape) for array in batches[0]]
        weights = Weights()
        losses = _adversaries(weights, *feeds)
        pairs = [
            tf.train.AdamOptimizer(0.05).compute_gradients(loss, weights.of(prefix))
            for loss, prefix in zip(losses, ("d/", "g/"))
        ]
        with tf.control_dependencies([*losses, *(grad for found in pairs for grad, _ in found)]):
            train = [tf.train.AdamOptimizer(0.05).apply_gradients(found) for found in pairs]
        session.run(tf.global_variables_initializer())
        expected = [session.run([losses, train], dict(zip(feeds, batch)))[0] for batch in batches]
    with eager_mode():
        weights, found = Weights(), []
        optimizers = {"d/": tf.train.AdamOptimizer(0.05), "g/": tf.train.AdamOptimizer(0.05)}
        for batch in batches:
            with tf.GradientTape(persistent=True) as tape:
                losses = dict(zip(optimizers, _adversaries(weights, *map(tf.constant, batch))))
            grads = {prefix: tape.gradient(losses[prefix], weights.of(prefix)) for prefix in optimizers}
            for prefix, optimizer in optimizers.items():
                optimizer.apply_gradients(zip(grads[prefix], weights.of(prefix)))
            found.append([loss.numpy() for loss in losses.values()])
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


class Convolutional:
    """A network of layer objects."""

    def __init__(self):
        self.layers = [
            tf.layers.Conv2D(4, 3, activation=tf.nn.relu, kernel_initializer=_wave, name="conv"),
            tf.layers.BatchNormalization(momentum=0.9, name="norm"),
            tf.layers.MaxPooling2D(2, 2),
            tf.layers.Flatten(),
            tf.layers.Dense(3, kernel_initializer=_wave, kernel_regularizer=tf.contrib.layers.l2_regularizer(0.01)),
        ]

    def __call__(self, x, training):
        for layer in self.layers:
            normalizes = isinstance(layer, tf.layers.BatchNormalization)
            x = layer(x, training=training) if normalizes else layer(x)
        return x

    def loss(self, x, y):
        value = tf.losses.softmax_cross_entropy(tf.nn.softmax(y), self(x, training=True))
        return tf.add_n([value, *(loss for layer in self.layers for loss in layer.losses)])


def _wave(shape, dtype=None, partition_info=None):
    return tf.constant(np.sin(np.arange(np.prod(shape)) * 0.7).reshape(shape) * 0.2, tf.float32)


@pytest.mark.parametrize("traced", [False, True])
def test_layers_train_and_evaluate_alike(traced):
    batches = _batches((4, 8, 8, 2), (4, 3))
    with tf.Graph().as_default(), tf.Session() as session:
        feeds = [tf.placeholder(tf.float32, array.shape) for array in batches[0]]
        model = Convolutional()
        loss = model.loss(*feeds)
        outputs = model(feeds[0], training=False)
        with tf.control_dependencies([loss, *tf.get_collection(tf.GraphKeys.UPDATE_OPS)]):
            train = tf.train.RMSPropOptimizer(0.01).minimize(loss)
        session.run(tf.global_variables_initializer())
        expected = [session.run([loss, train], dict(zip(feeds, batch)))[0] for batch in batches]
        evaluated = session.run(outputs, {feeds[0]: batches[0][0]})
    with eager_mode():
        model, optimizer, losses = Convolutional(), tf.train.RMSPropOptimizer(0.01), []

        def step(x, y):
            with tf.GradientTape() as tape:
                loss = model.loss(x, y)
            variables = [variable for layer in model.layers for variable in layer.trainable_variables]
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
            return loss

        train = tf.function(step) if traced else step
        for batch in batches:
            losses.append(train(*map(tf.constant, batch)))
        np.testing.assert_allclose([each.numpy() for each in losses], expected, rtol=2e-6, atol=1e-6)
        np.testing.assert_allclose(model(tf.constant(batches[0][0]), training=False).numpy(), evaluated, atol=1e-5)
