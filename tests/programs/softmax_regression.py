"""Softmax regression on made-up digits, organised by name scopes, in minibatches."""

import numpy as np
import tensorflow as tf


def make_digits(n, seed):
    """Ten blurry 8x8 prototypes plus noise."""
    prototypes = np.random.RandomState(42).uniform(0, 1, size=(10, 64))
    rng = np.random.RandomState(seed)
    labels = rng.randint(0, 10, size=n)
    images = prototypes[labels] + rng.normal(scale=0.4, size=(n, 64))
    return images.astype(np.float32), np.eye(10)[labels].astype(np.float32)


def next_batch(images, labels, size, step):
    start = (step * size) % (len(images) - size + 1)
    return images[start : start + size], labels[start : start + size]


train_images, train_labels = make_digits(600, 1)
test_images, test_labels = make_digits(200, 2)

with tf.name_scope("input"):
    x = tf.placeholder(tf.float32, shape=[None, 64], name="x-input")
    y_ = tf.placeholder(tf.float32, shape=[None, 10], name="y-input")

with tf.name_scope("input_reshape"):
    image_shaped_input = tf.reshape(x, [-1, 8, 8, 1])

with tf.name_scope("weights"):
    W = tf.Variable(tf.zeros([64, 10]), name="W")
with tf.name_scope("biases"):
    b = tf.Variable(tf.zeros([10]), name="b")

with tf.name_scope("Wx_b") as scope:
    y = tf.nn.softmax(tf.matmul(x, W) + b, name="softmax")
    scope_name = scope

with tf.name_scope("xent"):
    cross_entropy = -tf.reduce_sum(y_ * tf.log(tf.clip_by_value(y, 1e-10, 1.0)), reduction_indices=[1])
    cross_entropy = tf.reduce_mean(cross_entropy)

with tf.name_scope("train"):
    train_step = tf.train.GradientDescentOptimizer(0.5).minimize(cross_entropy)

with tf.name_scope("test"):
    correct_prediction = tf.equal(tf.argmax(y, 1), tf.argmax(y_, 1))
    accuracy = tf.reduce_mean(tf.cast(correct_prediction, tf.float32))

with tf.name_scope("test"):  # a second scope of one name gets a number
    _, top_3 = tf.nn.top_k(y, k=3)
    in_top_3 = tf.reduce_mean(tf.to_float(tf.nn.in_top_k(y, tf.argmax(y_, 1), 3)))
    confusion = tf.matmul(tf.one_hot(tf.argmax(y_, 1), 10), tf.one_hot(tf.argmax(y, 1), 10), transpose_a=True)

sess = tf.Session()
sess.run(tf.initialize_all_variables())

losses = []
accuracies = []
for i in range(120):
    batch_xs, batch_ys = next_batch(train_images, train_labels, 50, i)
    if i % 20 == 0:
        feed = {x: test_images, y_: test_labels}
        result = sess.run([accuracy, cross_entropy], feed_dict=feed)
        print("Accuracy at step %s: %s" % (i, result[0]))
        accuracies.append(result[0])
        losses.append(result[1])
    sess.run(train_step, feed_dict={x: batch_xs, y_: batch_ys})

final = sess.run(
    {"accuracy": accuracy, "top": (in_top_3, [top_3, confusion])}, feed_dict={x: test_images, y_: test_labels}
)
W_value, b_value = sess.run([W, b])
sess.close()

assert losses[-1] < losses[0]
assert final["accuracy"] > 0.9
results = {
    "losses": losses,
    "accuracies": accuracies,
    "final_accuracy": final["accuracy"],
    "in_top_3": final["top"][0],
    "best": final["top"][1][0][:, 0],
    "confusion": final["top"][1][1],
    "W": W_value,
    "b": b_value,
    "names": [t.name for t in (x, y_, image_shaped_input, W, b, y, correct_prediction, top_3, in_top_3)],
    "scope": scope_name,
    "shapes": [str(t.get_shape()) for t in (x, image_shaped_input, y, cross_entropy, top_3, confusion)],
    "static": [image_shaped_input.get_shape().as_list(), y.shape.as_list()],
    "train_op": train_step.name,
}
