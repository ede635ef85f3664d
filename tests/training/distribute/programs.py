"""A training program for all strategies, and the devices that tests run it on."""

import numpy as np

import thalweg as tf

TWO = ["/cpu:0", "/cpu:1"]
ROWS = 8  # of a batch of all replicas
_numbers = np.random.RandomState(0)
X = _numbers.randn(40, 3).astype(np.float32)
Y = _numbers.randn(40, 1).astype(np.float32)


def session(target="", config=None):
    config = tf.ConfigProto() if config is None else config
    config.device_count["CPU"] = 2
    return tf.Session(target, config=config)


def mirrored(**settings):
    return tf.distribute.MirroredStrategy(TWO, **settings)


def one_device():
    return tf.distribute.OneDeviceStrategy("/cpu:0")


def loss_of(x, y):
    hidden = tf.layers.dense(x, 4, tf.tanh, kernel_initializer=tf.constant_initializer(np.linspace(-1, 1, 12)))
    offset = tf.Variable(np.float32(0.1), name="offset")
    outputs = tf.layers.dense(hidden, 1, kernel_initializer=tf.ones_initializer()) + offset
    return tf.reduce_sum((outputs - y) ** 2) / ROWS


def train(strategy, optimizer, steps=5, loss_of=loss_of, prefix=None, target="", config=None, data=(X, Y)):
    """Returns the losses of some steps, and the variables after them by name; saves them under a prefix."""
    with tf.Graph().as_default(), strategy.scope():
        iterator = strategy.make_dataset_iterator(tf.data.Dataset.from_tensor_slices(data).batch(ROWS).repeat())
        global_step = tf.train.get_or_create_global_step()
        chosen = optimizer()

        def step(inputs):
            loss = loss_of(*inputs)
            with tf.control_dependencies([chosen.minimize(loss, global_step)]):
                return tf.identity(loss)

        loss = strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.experimental_run(step, iterator))
        saver, init = tf.train.Saver(), tf.global_variables_initializer()
        with session(target, config) as sess:
            sess.run([init, iterator.initializer])
            losses = [sess.run(loss) for _ in range(steps)]
            if prefix is not None:
                saver.save(sess, prefix)
            variables = {v.op.name: sess.run(v) for v in tf.global_variables()}
            for variable in tf.trainable_variables():
                first, *others = [sess.run(copy) for copy in variable.values]
                assert all(np.array_equal(first, other) for other in others), variable
            return losses, variables


def assert_equal(received, expected):
    np.testing.assert_allclose(received[0], expected[0], rtol=1e-5)
    assert received[1].keys() == expected[1].keys()
    for name, value in expected[1].items():
        np.testing.assert_allclose(received[1][name], value, rtol=1e-4, atol=1e-6, err_msg=name)
