"""Softmax regression: the first program of every TensorFlow 1 user, on handwritten digits.

One matrix and one bias, a placeholder for each batch, `minimize` for the gradients and their application. The images
come inside scikit-learn: 1,797 scans of 8 x 8 pixels.

    python examples/softmax_regression.py --steps 1000
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import trange

import thalweg as tf


def main(argv=None):
    parser = argparse.ArgumentParser(description="Softmax regression on handwritten digits.")
    parser.add_argument("--steps", type=int, default=1000, help="training steps (%(default)s)")
    parser.add_argument("--batch", type=int, default=100, help="images in a step (%(default)s)")
    options = parser.parse_args(argv)

    pixels, digits = load_digits(return_X_y=True)
    train_x, test_x, train_y, test_y = train_test_split(pixels / 16, digits, test_size=360, random_state=0)

    x = tf.placeholder(tf.float32, [None, 64], name="x")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    W = tf.Variable(tf.zeros([64, 10]), name="W")
    b = tf.Variable(tf.zeros([10]), name="b")
    y = tf.matmul(x, W) + b
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=y))
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    guesses = tf.argmax(y, 1)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(guesses, labels), tf.float32))
    confusion = tf.confusion_matrix(labels, guesses, num_classes=10)

    rng = np.random.default_rng(0)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in (progress := trange(options.steps, desc="training", unit="step")):
            batch = rng.integers(len(train_x), size=options.batch)
            _, value = sess.run([train, loss], {x: train_x[batch], labels: train_y[batch]})
            progress.set_postfix(loss=f"{value:.3f}", refresh=False)
        final, table = sess.run([accuracy, confusion], {x: test_x, labels: test_y})

    mistakes = np.where(np.eye(10, dtype=bool), 0, table)
    truth, guess = np.unravel_index(mistakes.argmax(), mistakes.shape)
    print(f"accuracy on {len(test_x)} held-out images: {final:.2%}")
    print(f"{mistakes.sum()} mistakes; the most frequent: a {truth} read as {guess}, {mistakes[truth, guess]} times")
    return {"accuracy": final, "mistakes": mistakes.sum()}


if __name__ == "__main__":
    main()
