"""A linear model for tests of Estimators, whose numbers are easy to compute."""

import numpy as np

import thalweg as tf

XS = np.arange(12, dtype=np.float32).reshape(6, 2)
YS = (XS @ np.array([[1.0], [2.0]], np.float32)).astype(np.float32)


def linear(features, labels, mode, params):
    """Predicts x w with a variable of zeros at the start; the loss is the mean squared error."""
    x = features["x"]
    weights = tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer())
    predictions = tf.matmul(x, weights)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": predictions, "sum": tf.reduce_sum(x, axis=1)})
    loss = tf.losses.mean_squared_error(labels, predictions)
    update = tf.train.GradientDescentOptimizer(params["rate"]).minimize(loss, tf.train.get_global_step())
    metrics = {"mae": tf.metrics.mean_absolute_error(labels, predictions)}
    return tf.estimator.EstimatorSpec(
        mode, loss=loss, train_op=update, predictions=predictions, eval_metric_ops=metrics
    )


def rows(batch_size=3, epochs=None):
    """Returns an input function over the rows of XS and YS."""

    def read():
        dataset = tf.data.Dataset.from_tensor_slices(({"x": XS}, YS))
        return dataset.repeat(epochs).batch(batch_size)

    return read


def estimator(folder, rate=0.001, **options):
    """Returns an Estimator of the linear model in a folder."""
    config = tf.estimator.RunConfig(tf_random_seed=1, **options)
    return tf.estimator.Estimator(linear, str(folder), config, params={"rate": rate})


def descended(steps, rate=0.001, batch_size=3):
    """Returns the weights of the linear model after a number of steps, computed with NumPy."""
    weights = np.zeros((2, 1), np.float32)
    for step in range(steps):
        first = step * batch_size % len(XS)
        x, y = XS[first : first + batch_size], YS[first : first + batch_size]
        weights -= rate * 2 * x.T @ (x @ weights - y) / batch_size
    return weights


def events(folder):
    """Returns the events of a folder."""
    tf.summary.FileWriterCache.clear()
    return [event for path in sorted(folder.glob("events*")) for event in tf.train.summary_iterator(str(path))]


def numbers(folder, tag):
    """Returns the numbers of a tag in the events of a folder, by step."""
    return {
        event.step: value.simple_value for event in events(folder) for value in event.summary.value if value.tag == tag
    }
