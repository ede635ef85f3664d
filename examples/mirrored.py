"""Mirrored training: each device has a copy of the variables and a part of the batch; gradients are summed.

The same program runs on all GPUs of a machine, or on virtual CPU devices where there is none. Since the sum of the
replicas' gradients is the gradient of the whole batch, training is the same as on one device, which the program checks
in a few steps.

    python examples/mirrored.py --steps 300 --replicas 2
"""

import argparse

import numpy as np
from devices_at_work import digits
from tqdm import trange

import thalweg as tf

COMPARED = 10  # steps; later on, rounding errors have grown


def model(x):
    """Returns the logits of a small network; further calls reuse its variables."""
    initializer = tf.glorot_uniform_initializer(seed=0)  # with a seed of its own: the same with any strategy
    with tf.variable_scope("model", initializer=initializer, reuse=tf.AUTO_REUSE):
        h = tf.reshape(x, [-1, 8, 8, 1])
        h = tf.layers.conv2d(h, 32, 3, padding="same", activation=tf.nn.relu, name="conv1")
        h = tf.layers.conv2d(h, 32, 3, padding="same", activation=tf.nn.relu, name="conv2")
        return tf.layers.dense(tf.layers.flatten(h), 10, name="logits")


def train(strategy, steps, batch):
    """Trains on digits with a strategy; returns all variables and the accuracy on held-out images."""
    train_x, test_x, train_y, test_y = digits()
    with tf.Graph().as_default(), strategy.scope():
        examples = tf.data.Dataset.from_tensor_slices((train_x.astype(np.float32), train_y.astype(np.int64)))
        dataset = examples.shuffle(len(train_x), seed=0).repeat().batch(batch, drop_remainder=True)
        iterator = strategy.make_dataset_iterator(dataset)  # splits each batch among the replicas
        optimizer = tf.train.MomentumOptimizer(0.05, 0.9)

        def step(inputs):
            x, labels = inputs
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=model(x))
            loss = tf.nn.compute_average_loss(losses, global_batch_size=batch)
            with tf.control_dependencies([optimizer.minimize(loss)]):
                return tf.identity(loss)

        loss = strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.experimental_run(step, iterator))
        held_out = tf.placeholder(tf.float32, [None, 64])
        guess = tf.argmax(model(held_out), 1)  # outside of replicas: with the first copy
        config = tf.ConfigProto(device_count={"CPU": strategy.num_replicas_in_sync})
        with tf.Session(config=config) as sess:
            sess.run([tf.global_variables_initializer(), iterator.initializer])
            for _ in (progress := trange(steps, desc=f"{strategy.num_replicas_in_sync} replicas", unit="step")):
                progress.set_postfix(loss=f"{sess.run(loss):.3f}", refresh=False)
            accuracy = np.mean(sess.run(guess, {held_out: test_x}) == test_y)
            return sess.run(tf.trainable_variables()), accuracy


def main(argv=None):
    parser = argparse.ArgumentParser(description="Mirrored training on all devices of this machine.")
    parser.add_argument("--steps", type=int, default=300, help="training steps (%(default)s)")
    parser.add_argument("--batch", type=int, default=64, help="images in a step (%(default)s)")
    parser.add_argument("--replicas", type=int, default=2, help="CPU devices on a machine without GPUs (%(default)s)")
    options = parser.parse_args(argv)

    devices = None if tf.test.is_gpu_available() else [f"/cpu:{number}" for number in range(options.replicas)]
    strategy = tf.distribute.MirroredStrategy(devices)
    if options.batch % strategy.num_replicas_in_sync:
        parser.error(f"a batch of {options.batch} cannot be cut into {strategy.num_replicas_in_sync} equal parts")
    alone = tf.distribute.OneDeviceStrategy(strategy.extended.worker_devices[0])
    one, many = (train(chosen, COMPARED, options.batch)[0] for chosen in (alone, strategy))
    difference = max(np.abs(a - b).max() for a, b in zip(one, many))
    _, accuracy = train(strategy, options.steps, options.batch)
    print(f"devices: {', '.join(strategy.extended.worker_devices)}")
    print(f"accuracy on held-out images: {accuracy:.1%}")
    print(f"after {COMPARED} steps variables differ from those of one device by at most {difference:.1e}")
    return {"accuracy": accuracy, "difference": difference}


if __name__ == "__main__":
    main()
