"""What alexnet.py, resnet18.py and inception_v3.py share: digits enlarged to any size, the training loop, the report.

A network here is a function `network(images, classes, width, training)` that returns logits; it may add losses to the
collection of `tf.losses` and updates to `tf.GraphKeys.UPDATE_OPS`, as `tf.layers` does.
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import trange

import thalweg as tf


def parse(argv, name, size, width, steps, rate, least_size):
    """Returns the options that all image networks take, with the defaults of one."""
    parser = argparse.ArgumentParser(description=f"{name} on handwritten digits, enlarged.")
    parser.add_argument("--size", type=int, default=size, help=f"pixels a side, at least {least_size} (%(default)s)")
    parser.add_argument("--width", type=float, default=width, help="1 is the published number of filters (%(default)s)")
    parser.add_argument("--classes", type=int, default=10, choices=range(2, 11), metavar="2-10", help="digits to tell apart")
    parser.add_argument("--steps", type=int, default=steps, help="training steps (%(default)s)")
    parser.add_argument("--batch", type=int, default=32, help="images in a step (%(default)s)")
    parser.add_argument("--rate", type=float, default=rate, help="learning rate of Adam at the start (%(default)s)")
    options = parser.parse_args(argv)
    if options.size < least_size:
        parser.error(f"{name} needs images of at least {least_size} x {least_size} pixels")
    return options


def parameters():
    """Counts the numbers that training changes."""
    return sum(variable.shape.num_elements() for variable in tf.trainable_variables())


def train_on_digits(network, name, options):
    """Trains a network, prints what it learned and returns it."""
    images, digits = load_digits(return_X_y=True)
    chosen = digits < options.classes
    images = (images[chosen] / 16).reshape(-1, 8, 8, 1)
    train_x, test_x, train_y, test_y = train_test_split(images, digits[chosen], test_size=0.2, random_state=0)

    tf.set_random_seed(1)
    scans = tf.placeholder(tf.float32, [None, 8, 8, 1], name="scans")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    training = tf.placeholder_with_default(False, [], name="training")
    enlarged = tf.image.resize_images(scans, [options.size, options.size])
    logits = network(tf.image.grayscale_to_rgb(enlarged), options.classes, options.width, training)

    tf.losses.sparse_softmax_cross_entropy(labels, logits)
    loss = tf.losses.get_total_loss()
    correct = tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32)
    step = tf.train.get_or_create_global_step()
    rate = tf.train.polynomial_decay(options.rate, step, options.steps, end_learning_rate=options.rate / 20)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = tf.train.AdamOptimizer(rate).minimize(loss, global_step=step)

    print(f"{name}: {parameters():,} parameters in {len(tf.trainable_variables())} variables,", end=" ")
    print(f"images of {options.size} x {options.size}")
    rng = np.random.default_rng(1)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in (progress := trange(options.steps, desc="training", unit="step")):
            batch = rng.integers(len(train_x), size=options.batch)
            feed = {scans: train_x[batch], labels: train_y[batch], training: True}
            _, value, right = sess.run([train, loss, correct], feed)
            progress.set_postfix(loss=f"{value:.3f}", batch=f"{right.mean():.0%}", refresh=False)
        right = [
            sess.run(correct, {scans: test_x[i : i + 100], labels: test_y[i : i + 100]})
            for i in range(0, len(test_x), 100)
        ]
    accuracy = np.concatenate(right).mean()
    print(f"accuracy on {len(test_x)} held-out images of {options.classes} digits: {accuracy:.2%}")
    return {"accuracy": accuracy, "parameters": parameters()}
