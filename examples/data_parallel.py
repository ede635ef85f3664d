"""Data parallelism: each device has a tower, a copy of the model that gets a part of the batch; gradients are averaged.

The variables are shared: they are on the first device, towers on other devices receive their values in each step and
send gradients back. Since the mean of the towers' gradients is the gradient of the whole batch, training is the same as
on one device, which the program checks in a few steps. At the end it draws the timeline of one step.

    python examples/data_parallel.py --steps 300 --towers 2
"""

import argparse

import numpy as np
from devices_at_work import at_once, chart, digits, trace, virtual_devices
from tqdm import trange

import thalweg as tf

COMPARED = 10  # steps; later on, rounding errors have grown


def model(x):
    """Returns the logits of a small network; further calls reuse its variables."""
    with tf.variable_scope("model", reuse=tf.AUTO_REUSE):
        h = tf.reshape(x, [-1, 8, 8, 1])
        h = tf.layers.conv2d(h, 32, 3, padding="same", activation=tf.nn.relu, name="conv1")
        h = tf.layers.conv2d(h, 32, 3, padding="same", activation=tf.nn.relu, name="conv2")
        return tf.layers.dense(tf.layers.flatten(h), 10, name="logits")


def training(x, labels, towers):
    """Returns the loss and the training step of a batch that is split among the towers."""
    optimizer = tf.train.MomentumOptimizer(0.05, 0.9)
    losses, gradients = [], []
    for number, (part, wanted) in enumerate(zip(tf.split(x, towers), tf.split(labels, towers))):
        with tf.device(f"/cpu:{number}"), tf.name_scope(f"tower{number}"):
            logits = model(part)  # the first tower creates the variables on its device
            losses.append(tf.losses.sparse_softmax_cross_entropy(wanted, logits))
            gradients.append(optimizer.compute_gradients(losses[-1]))
    with tf.device("/cpu:0"):
        means = [(tf.add_n([g for g, _ in each]) / towers, each[0][1]) for each in zip(*gradients)]
        return tf.add_n(losses) / towers, optimizer.apply_gradients(means)


def train(towers, steps, options, seed=0):
    """Trains on digits; returns all variables, the accuracy on held-out images, and the times of one step."""
    train_x, test_x, train_y, test_y = digits()
    rng = np.random.default_rng(seed)
    with tf.Graph().as_default():
        tf.set_random_seed(seed)
        x = tf.placeholder(tf.float32, [options.batch, 64], name="x")
        labels = tf.placeholder(tf.int64, [options.batch], name="labels")
        loss, step = training(x, labels, towers)
        held_out = tf.placeholder(tf.float32, [None, 64])
        guess = tf.argmax(model(held_out), 1)
        with tf.Session(config=virtual_devices(towers)) as sess:
            sess.run(tf.global_variables_initializer())
            for _ in (progress := trange(steps, desc=f"{towers} towers", unit="step")):
                chosen = rng.integers(len(train_x), size=options.batch)
                feeds = {x: train_x[chosen], labels: train_y[chosen]}
                value, _ = sess.run([loss, step], feeds)
                progress.set_postfix(loss=f"{value:.3f}", refresh=False)
            accuracy = np.mean(sess.run(guess, {held_out: test_x}) == test_y)
            variables = sess.run(tf.trainable_variables())
            return variables, accuracy, trace(sess, step, feeds)


def main(argv=None):
    parser = argparse.ArgumentParser(description="Data parallelism on virtual devices.")
    parser.add_argument("--steps", type=int, default=300, help="training steps (%(default)s)")
    parser.add_argument("--batch", type=int, default=64, help="images in a step (%(default)s)")
    parser.add_argument("--towers", type=int, default=2, help="devices; must divide the batch (%(default)s)")
    options = parser.parse_args(argv)
    if options.batch % options.towers:
        parser.error(f"a batch of {options.batch} cannot be cut into {options.towers} equal parts")

    alone, variables = (train(towers, COMPARED, options)[0] for towers in (1, options.towers))
    difference = max(np.abs(a - b).max() for a, b in zip(alone, variables))
    _, accuracy, times = train(options.towers, options.steps, options)
    print(f"accuracy on held-out images: {accuracy:.1%}")
    print(f"after {COMPARED} steps variables differ from those of one device by at most {difference:.1e}")
    print("one step:", chart(times), sep="\n")
    return {"accuracy": accuracy, "difference": difference, "at_once": at_once(times)}


if __name__ == "__main__":
    main()
