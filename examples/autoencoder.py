"""An autoencoder: compresses digits to a few numbers and reconstructs them.

The network learns a code without labels. It is compared with principal components, the best linear code of the same
length. The encoder and the decoder are two parts of one graph: fetch only the code, or feed it.

    python examples/autoencoder.py --steps 2000 --size 6
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import trange

import thalweg as tf


def encoder(images, size):
    with tf.variable_scope("encoder"):
        x = tf.layers.dense(images, 128, tf.nn.elu, name="hidden1")
        x = tf.layers.dense(x, 64, tf.nn.elu, name="hidden2")
        return tf.layers.dense(x, size, name="code")


def decoder(code):
    with tf.variable_scope("decoder"):
        x = tf.layers.dense(code, 64, tf.nn.elu, name="hidden1")
        x = tf.layers.dense(x, 128, tf.nn.elu, name="hidden2")
        return tf.layers.dense(x, 64, tf.sigmoid, name="pixels")


def principal_components(train_x, test_x, size):
    """Returns the mean squared error of the best linear code."""
    mean = train_x.mean(0)
    basis = np.linalg.svd(train_x - mean, full_matrices=False)[2][:size]
    return np.square((test_x - mean) - (test_x - mean) @ basis.T @ basis).mean()


def drawing(images):
    """Returns 8 x 8 images side by side as text, with one character for two vertically adjacent pixels."""
    shades = " ░▒▓█"
    rows = np.rint(np.concatenate(images.reshape(-1, 4, 2, 8).mean(2), axis=1) * 4).astype(int)
    return "\n".join("  " + "".join(shades[v] + " " * (i % 8 == 7) for i, v in enumerate(row)) for row in rows)


def main(argv=None):
    parser = argparse.ArgumentParser(description="An autoencoder of handwritten digits.")
    parser.add_argument("--steps", type=int, default=2000, help="training steps (%(default)s)")
    parser.add_argument("--size", type=int, default=6, help="numbers in a code (%(default)s)")
    options = parser.parse_args(argv)
    pixels = load_digits().data / 16
    train_x, test_x = train_test_split(pixels, test_size=360, random_state=0)

    tf.set_random_seed(1)
    images = tf.placeholder(tf.float32, [None, 64], name="images")
    code = encoder(images, options.size)
    drawn = decoder(code)
    loss = tf.losses.mean_squared_error(images, drawn)
    step = tf.train.get_or_create_global_step()
    rate = tf.train.polynomial_decay(3e-3, step, options.steps, end_learning_rate=1e-4)
    train = tf.train.AdamOptimizer(rate).minimize(loss, global_step=step)

    rng = np.random.default_rng(1)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in (progress := trange(options.steps, desc="training", unit="step")):
            value = sess.run([loss, train], {images: train_x[rng.integers(len(train_x), size=64)]})[0]
            progress.set_postfix(error=f"{value:.4f}", refresh=False)
        error = sess.run(loss, {images: test_x})
        codes = sess.run(code, {images: test_x[:8]})
        again = sess.run(drawn, {code: codes})  # the decoder alone

    linear = principal_components(train_x, test_x, options.size)
    print("held-out digits, and what is drawn from their codes:", drawing(test_x[:8]), "", drawing(again), sep="\n")
    print(f"64 pixels from {options.size} numbers: mean squared error {error:.4f} (principal components: {linear:.4f})")
    return {"error": error, "linear": linear}


if __name__ == "__main__":
    main()
