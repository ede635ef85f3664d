"""Trains a small convolutional network on handwritten digits and shows what it learned.

The images come inside scikit-learn: 1,797 scans of 8 x 8 pixels. The program is plain TensorFlow 1: only its
import differs.
"""

import pathlib
import time

import numpy as np
from sklearn.datasets import load_digits
from tqdm import tqdm

import thalweg as tf

EPOCHS = 30
BATCH = 64
OUT = pathlib.Path("runs/digits")
BLUE, RED = "#1f6fb4", "#d1495b"
ABOVE = {"xytext": (0, 8), "textcoords": "offset points", "ha": "right", "va": "bottom"}
BELOW = {"xytext": (0, -8), "textcoords": "offset points", "ha": "right", "va": "top"}


def load():
    """Returns training and held-out images and labels, in a fixed random order."""
    digits = load_digits()
    images = (digits.images / 16.0).astype(np.float32)[..., np.newaxis]
    order = np.random.default_rng(0).permutation(len(images))
    held_out, training = order[:360], order[360:]
    return (images[training], digits.target[training]), (images[held_out], digits.target[held_out])


def convolution(x, filters, name):
    """A 3 x 3 convolution with bias and ReLU, then 2 x 2 pooling."""
    with tf.variable_scope(name):
        channels = x.shape[-1].value
        kernel = tf.get_variable("kernel", [3, 3, channels, filters])
        bias = tf.get_variable("bias", [filters], initializer=tf.zeros_initializer())
        y = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, kernel, strides=[1, 1, 1, 1], padding="SAME"), bias))
        return tf.nn.max_pool(y, [1, 2, 2, 1], [1, 2, 2, 1], padding="SAME")


def dense(x, units, name):
    with tf.variable_scope(name):
        kernel = tf.get_variable("kernel", [x.shape[-1].value, units])
        bias = tf.get_variable("bias", [units], initializer=tf.zeros_initializer())
        return tf.matmul(x, kernel) + bias


def model(images, keep_prob):
    x = convolution(images, 32, "conv1")
    x = convolution(x, 64, "conv2")
    x = tf.reshape(x, [-1, 2 * 2 * 64])
    x = tf.nn.dropout(tf.nn.relu(dense(x, 64, "hidden")), keep_prob=keep_prob)
    return dense(x, 10, "logits")


def main():
    (train_x, train_y), (test_x, test_y) = load()
    tf.set_random_seed(1)
    images = tf.placeholder(tf.float32, [None, 8, 8, 1], name="images")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    keep_prob = tf.placeholder_with_default(1.0, [], name="keep_prob")

    logits = model(images, keep_prob)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    predictions = tf.argmax(logits, 1)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(predictions, labels), tf.float32))
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(2e-3, step, decay_steps=300, decay_rate=0.7)
    train = tf.train.AdamOptimizer(rate).minimize(loss, global_step=step)

    rng = np.random.default_rng(1)
    history = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        started = time.time()
        for _ in (progress := tqdm(range(EPOCHS), desc="training", unit="epoch")):
            order = rng.permutation(len(train_x))
            for start in range(0, len(order), BATCH):
                batch = order[start : start + BATCH]
                sess.run(train, {images: train_x[batch], labels: train_y[batch], keep_prob: 0.6})
            test = {images: test_x, labels: test_y}
            history.append(sess.run([loss, accuracy], test))
            progress.set_postfix(loss=f"{history[-1][0]:.3f}", accuracy=f"{history[-1][1]:.1%}")
        seconds = time.time() - started
        guesses, final = sess.run([predictions, accuracy], test)
        weights = sess.run({v.op.name: v for v in tf.trainable_variables()})
    OUT.mkdir(parents=True, exist_ok=True)
    np.savez(OUT / "weights.npz", **weights)
    picture(test_x, test_y, guesses, history)
    print(f"accuracy on {len(test_x)} held-out images: {final:.2%}, after {seconds:.1f} s of training")
    print(f"wrote {OUT / 'digits.png'} (what it sees) and {OUT / 'weights.npz'} (what it learned)")
    return final


def picture(images, labels, guesses, history):
    """Plots the training curves and some held-out digits, the mistakes first."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(11, 4.6), dpi=120, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
    left, right = figure.subfigures(1, 2, width_ratios=[1, 1.35], wspace=0.05)
    draw_course(left, *np.transpose(history))
    draw_digits(right, images, labels, guesses)
    figure.savefig(OUT / "digits.png")
    pyplot.close(figure)


def draw_course(figure, losses, accuracies):
    figure.suptitle("held-out images while training", fontsize=11)
    epochs = np.arange(1, len(losses) + 1)
    top, bottom = figure.subplots(2, 1, sharex=True)
    top.plot(epochs, accuracies * 100, color=BLUE)
    top.set(ylabel="accuracy, %", ylim=(None, 100.5))
    top.annotate(f"{accuracies[-1]:.1%}", (epochs[-1], accuracies[-1] * 100), **BELOW, color=BLUE)
    bottom.semilogy(epochs, losses, color=RED)
    bottom.set(ylabel="loss", xlabel="epoch", xlim=(0, len(losses) + 1))
    bottom.yaxis.set_major_formatter("{x:g}")
    bottom.annotate(f"{losses[-1]:.3f}", (epochs[-1], losses[-1]), **ABOVE, color=RED)
    for axes in (top, bottom):
        axes.grid(color="0.9")
        axes.spines[["top", "right"]].set_visible(False)


def draw_digits(figure, images, labels, guesses):
    wrong = guesses != labels
    figure.suptitle(f"what it reads: {wrong.sum()} of {len(labels)} wrong, those first", fontsize=11)
    shown = np.argsort(~wrong, kind="stable")[:40]
    for axes, index in zip(figure.subplots(5, 8).flat, shown):
        axes.imshow(images[index, :, :, 0], cmap="gray_r", vmin=0, vmax=1)
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_color(RED if wrong[index] else "0.85")
        text = f"{guesses[index]}, not {labels[index]}" if wrong[index] else str(guesses[index])
        axes.set_xlabel(text, color=RED if wrong[index] else "0.3", fontsize=9, labelpad=2)


if __name__ == "__main__":
    main()
