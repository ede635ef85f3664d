"""Trains a small model in a folder and writes down the loss of every step; it is killed and started again.

Run as `training_worker.py <folder> <losses> <kind> <steps>`; kind says how checkpoints are written.
"""

import sys

import numpy as np

import thalweg as tf

EXAMPLES = 64


def model(seed=3):
    """Returns a loss and its training operation: Adam on batches that are shuffled, repeated and counted."""
    numbers = np.random.RandomState(seed)
    features = numbers.randn(EXAMPLES, 5).astype(np.float32)
    labels = (features @ numbers.randn(5, 1)).astype(np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((features, labels)).shuffle(40, seed=7).repeat().batch(6).prefetch(2)
    iterator = tf.data.make_initializable_iterator(dataset)
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, tf.data.experimental.make_saveable_from_iterator(iterator))
    x, y = iterator.get_next()
    hidden = tf.layers.dense(x, 8, tf.tanh, kernel_initializer=tf.glorot_uniform_initializer(seed=1))
    guess = tf.layers.dense(hidden, 1, kernel_initializer=tf.glorot_uniform_initializer(seed=2))
    loss = tf.reduce_mean(tf.square(guess - y))
    rate = tf.train.exponential_decay(0.05, tf.train.get_or_create_global_step(), 10, 0.9)
    return loss, tf.train.AdamOptimizer(rate).minimize(loss, global_step=tf.train.get_global_step())


def main(folder, losses, kind, steps):
    loss, train_op = model()
    step = tf.train.get_global_step()
    with (
        open(losses, "a") as file,
        tf.train.MonitoredTrainingSession(
            checkpoint_dir=folder,
            save_checkpoint_steps=7,
            asynchronous_checkpoints=kind == "asynchronous",
            hooks=[tf.train.StopAtStepHook(last_step=int(steps))],
            log_step_count_steps=None,
        ) as session,
    ):
        while not session.should_stop():
            now = session.run_step_fn(lambda step_context: int(step_context.session.run(step)))
            value, _ = session.run([loss, train_op])
            file.write(f"{now} {float(value).hex()}\n")
            file.flush()
    print("done")


if __name__ == "__main__":
    main(*sys.argv[1:])
