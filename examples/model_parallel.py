"""Model parallelism: each device has some of the layers, and a batch goes through them in pipelined micro-batches.

A device holds its layers' variables and never sends them; only activations are sent to the next device, and gradients
back. With the whole batch in one piece only one device would be busy at a time. With micro-batches, the second device
processes the first of them while the first device processes the second. Gradients of the micro-batches are averaged, so
that training is the same as on one device, which the program checks in a few steps. At the end it draws the timeline of
one step.

    python examples/model_parallel.py --steps 300 --stages 2 --pieces 4
"""

import argparse

import numpy as np
from devices_at_work import at_once, chart, digits, trace, virtual_devices
from tqdm import trange

import thalweg as tf

LAYERS = 8
COMPARED = 10  # steps; later on, rounding errors have grown


def model(x, stages, width):
    """Returns the logits of a deep network with consecutive layers on each device."""
    h = x
    for layer in range(LAYERS):
        with tf.device(f"/cpu:{layer * stages // LAYERS}"), tf.variable_scope("model", reuse=tf.AUTO_REUSE):
            last = layer == LAYERS - 1
            h = tf.layers.dense(h, 10 if last else width, None if last else tf.nn.relu, name=f"layer{layer}")
    return h


def training(x, labels, stages, pieces, width):
    """Returns the loss and the training step of a batch that passes through the stages in micro-batches."""
    optimizer = tf.train.MomentumOptimizer(0.02, 0.9)
    losses, gradients = [], []
    for number, (part, wanted) in enumerate(zip(tf.split(x, pieces), tf.split(labels, pieces))):
        with tf.name_scope(f"piece{number}"):
            logits = model(part, stages, width)
            with tf.device(logits.device):
                losses.append(tf.losses.sparse_softmax_cross_entropy(wanted, logits))
            gradients.append(optimizer.compute_gradients(losses[-1], colocate_gradients_with_ops=True))
    means = []
    for each in zip(*gradients):
        with tf.colocate_with(each[0][1]):  # gradients are summed on the device of their layer
            means.append((tf.add_n([gradient for gradient, _ in each]) / pieces, each[0][1]))
    return tf.add_n(losses) / pieces, optimizer.apply_gradients(means)


def train(stages, pieces, steps, options, seed=0):
    """Trains on digits; returns all variables, the accuracy on held-out images, and the times of one step."""
    train_x, test_x, train_y, test_y = digits()
    rng = np.random.default_rng(seed)
    with tf.Graph().as_default():
        tf.set_random_seed(seed)
        x = tf.placeholder(tf.float32, [options.batch, 64], name="x")
        labels = tf.placeholder(tf.int64, [options.batch], name="labels")
        loss, step = training(x, labels, stages, pieces, options.width)
        held_out = tf.placeholder(tf.float32, [None, 64])
        guess = tf.argmax(model(held_out, stages, options.width), 1)
        with tf.Session(config=virtual_devices(stages)) as sess:
            sess.run(tf.global_variables_initializer())
            for _ in (progress := trange(steps, desc=f"{stages} stages", unit="step")):
                chosen = rng.integers(len(train_x), size=options.batch)
                feeds = {x: train_x[chosen], labels: train_y[chosen]}
                value, _ = sess.run([loss, step], feeds)
                progress.set_postfix(loss=f"{value:.3f}", refresh=False)
            accuracy = np.mean(sess.run(guess, {held_out: test_x}) == test_y)
            variables = sess.run(tf.trainable_variables())
            return variables, accuracy, trace(sess, step, feeds)


def main(argv=None):
    parser = argparse.ArgumentParser(description="Model parallelism with pipelined micro-batches on virtual devices.")
    parser.add_argument("--steps", type=int, default=300, help="training steps (%(default)s)")
    parser.add_argument("--batch", type=int, default=64, help="images in a step (%(default)s)")
    parser.add_argument("--pieces", type=int, default=4, help="micro-batches; must divide the batch (%(default)s)")
    parser.add_argument("--stages", type=int, default=2, choices=range(1, LAYERS + 1), metavar="1-8", help="devices")
    parser.add_argument("--width", type=int, default=256, help="units in a layer (%(default)s)")
    options = parser.parse_args(argv)
    if options.batch % options.pieces:
        parser.error(f"a batch of {options.batch} cannot be cut into {options.pieces} equal pieces")

    both = (1, 1), (options.stages, options.pieces)
    alone, variables = (train(*parts, COMPARED, options)[0] for parts in both)
    difference = max(np.abs(a - b).max() for a, b in zip(alone, variables))
    _, accuracy, times = train(options.stages, options.pieces, options.steps, options)
    print(f"accuracy on held-out images: {accuracy:.1%}")
    print(f"after {COMPARED} steps variables differ from those of one device by at most {difference:.1e}")
    print("one step:", chart(times), sep="\n")
    return {"accuracy": accuracy, "difference": difference, "at_once": at_once(times)}


if __name__ == "__main__":
    main()
