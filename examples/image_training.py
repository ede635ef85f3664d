"""Shared by alexnet.py, resnet18.py and inception_v3.py: digits enlarged to any size, the training loop, the report.

A network here is a function `network(images, classes, width, training)` that returns logits, or logits and those of an
auxiliary head; batch normalization leaves its updates in `tf.GraphKeys.UPDATE_OPS`.
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import trange

import thalweg as tf


def parse(argv, name, size, width, steps, rate, least_size):
    """Parses the options of an image network."""
    parser = argparse.ArgumentParser(description=f"{name} on handwritten digits, enlarged.")
    parser.add_argument("--size", type=int, default=size, help=f"pixels a side, at least {least_size} (%(default)s)")
    parser.add_argument("--width", type=float, default=width, help="1 is the published number of filters (%(default)s)")
    parser.add_argument(
        "--classes", type=int, default=10, choices=range(2, 11), metavar="2-10", help="digits to tell apart"
    )
    parser.add_argument("--steps", type=int, default=steps, help="training steps (%(default)s)")
    parser.add_argument("--batch", type=int, default=32, help="images in a step (%(default)s)")
    parser.add_argument("--rate", type=float, default=rate, help="learning rate of Adam at the start (%(default)s)")
    options = parser.parse_args(argv)
    if options.size < least_size:
        parser.error(f"{name} needs images of at least {least_size} x {least_size} pixels")
    return options


def parameters():
    """Returns the number of trainable parameters."""
    return sum(variable.shape.num_elements() for variable in tf.trainable_variables())


def load(classes):
    """Returns training and test images with labels, of the first few digits."""
    images, digits = load_digits(return_X_y=True)
    chosen = digits < classes
    images = (images[chosen] / 16).reshape(-1, 8, 8, 1)
    return train_test_split(images, digits[chosen], test_size=0.2, random_state=0)


def build(network, scans, labels, options, label_smoothing):
    """Returns the training step, its loss and, for each image, whether the prediction is correct."""

    def heads(training):
        with tf.variable_scope("network", reuse=not training):  # built for training, reused without dropout
            logits = network(images, options.classes, options.width, training)
        return logits if isinstance(logits, tuple) else (logits,)

    images = tf.image.grayscale_to_rgb(tf.image.resize_images(scans, [options.size, options.size]))
    wanted = tf.one_hot(labels, options.classes)
    for logits, weight in zip(heads(training=True), (1.0, 0.4)):
        tf.losses.softmax_cross_entropy(wanted, logits, weight, label_smoothing)
    loss = tf.losses.get_total_loss()
    step = tf.train.get_or_create_global_step()
    rate = tf.train.polynomial_decay(options.rate, step, options.steps, end_learning_rate=options.rate / 20)
    minimize = tf.train.AdamOptimizer(rate).minimize(loss, global_step=step)
    train = tf.group(minimize, tf.get_collection(tf.GraphKeys.UPDATE_OPS))
    return train, loss, tf.equal(tf.argmax(heads(training=False)[0], 1), labels)


def train_on_digits(network, name, options, label_smoothing=0.0):
    """Trains a network, prints its accuracy and returns it."""
    train_x, test_x, train_y, test_y = load(options.classes)
    tf.set_random_seed(1)
    scans = tf.placeholder(tf.float32, [None, 8, 8, 1], name="scans")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    train, loss, right = build(network, scans, labels, options, label_smoothing)

    count, variables = parameters(), len(tf.trainable_variables())
    print(f"{name}: {count:,} parameters in {variables} variables, images of {options.size} x {options.size}")
    rng = np.random.default_rng(1)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in (progress := trange(options.steps, desc="training", unit="step")):
            batch = rng.integers(len(train_x), size=options.batch)
            _, value = sess.run([train, loss], {scans: train_x[batch], labels: train_y[batch]})
            progress.set_postfix(loss=f"{value:.3f}", refresh=False)
        parts = np.array_split(np.arange(len(test_x)), 4)
        results = [sess.run(right, {scans: test_x[part], labels: test_y[part]}) for part in parts]
    accuracy = np.concatenate(results).mean()
    print(f"accuracy on {len(test_x)} held-out images of {options.classes} digits: {accuracy:.2%}")
    return {"accuracy": accuracy, "parameters": count}
