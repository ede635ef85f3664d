"""A placer of your own: a function that says where groups of nodes go; then a session that uses it, and what it did."""

import numpy as np

import thalweg as tf


@tf.placer("stretches")
def stretches(problem):
    """Cuts the step into stretches of equal work, one after the other, one for each device."""
    work, done, choice = problem.work(), 0.0, {}
    total = sum(work[group] for group in problem.groups)
    for group in problem.groups:  # in the order of the step
        place = int((done + work[group] / 2) / total * len(problem.devices))
        device = problem.devices[min(place, len(problem.devices) - 1)]
        choice[group] = device if device in group.feasible else group.preferred
        done += work[group]
    return choice


def main():
    x = tf.placeholder(tf.float32, [64, 256], name="x")
    towers = []
    for name in "left", "right":
        h = x
        for layer in range(4):
            h = tf.layers.dense(h, 256, tf.nn.relu, name=f"{name}{layer}")
        towers.append(h)
    h = tf.concat(towers, 1)
    config = tf.ConfigProto(device_count={"CPU": 2, "GPU": 0})
    config.experimental.placer = "stretches"
    with tf.Session(config=config) as sess:
        sess.run(tf.global_variables_initializer())
        value = sess.run(h, {x: np.ones((64, 256), np.float32)})
        text = sess.show_placement(h, [x])
    print(text)
    return value, text


if __name__ == "__main__":
    main()
