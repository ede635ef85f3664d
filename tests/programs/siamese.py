"""A siamese net: two towers share variables by variable scopes; contrastive loss."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(12)
values = {
    "fc1/W": rng.normal(0, 0.3, (6, 10)),
    "fc2/W": rng.normal(0, 0.3, (10, 10)),
    "fc3/W": rng.normal(0, 0.3, (10, 2)),
}


def fc_layer(bottom, n_weight, name):
    assert len(bottom.get_shape()) == 2
    n_prev_weight = bottom.get_shape()[1].value
    with tf.variable_scope(name):
        initer = tf.constant_initializer(values[name + "/W"])
        W = tf.get_variable("W", dtype=tf.float32, shape=[n_prev_weight, n_weight], initializer=initer)
        b = tf.get_variable("b", dtype=tf.float32, initializer=tf.constant(0.01, shape=[n_weight], dtype=tf.float32))
        return tf.nn.bias_add(tf.matmul(bottom, W), b)


def network(x):
    ac1 = tf.nn.relu(fc_layer(x, 10, "fc1"))
    ac2 = tf.nn.leaky_relu(fc_layer(ac1, 10, "fc2"), alpha=0.1)
    return fc_layer(ac2, 2, "fc3")


x1 = tf.placeholder(tf.float32, [None, 6])
x2 = tf.placeholder(tf.float32, [None, 6])
y_ = tf.placeholder(tf.float32, [None])

with tf.variable_scope("siamese") as scope:
    o1 = network(x1)
    scope.reuse_variables()
    o2 = network(x2)
with tf.variable_scope("siamese", reuse=True):
    o3 = network((x1 + x2) / 2)
    shared = tf.get_variable("fc1/W")


def loss_with_spring():
    margin = tf.constant(2.0, name="C")
    labels_f = tf.subtract(1.0, y_, name="1-yi")
    eucd2 = tf.reduce_sum(tf.square(tf.subtract(o1, o2)), 1, name="eucd2")
    eucd = tf.sqrt(eucd2 + 1e-6, name="eucd")
    pos = tf.multiply(y_, eucd2, name="yi_x_eucd2")
    neg = tf.multiply(labels_f, tf.pow(tf.maximum(margin - eucd, 0), 2), name="Nyi_x_C-eucd_xx_2")
    return tf.reduce_mean(tf.add(pos, neg, name="losses"), name="loss")


try:
    loss = loss_with_spring()
except ValueError:  # names may not begin so: the famous program had to be written differently
    loss = None
bad_name = loss is None
if loss is None:
    distance2 = tf.reduce_sum(tf.squared_difference(o1, o2), 1)
    hinge = tf.nn.relu(2.0 - tf.sqrt(distance2 + 1e-6))
    loss = tf.reduce_mean(tf.where(y_ > 0.5, distance2, hinge**2))

train_step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
classes = rng.randint(2, size=(2, 40))
data = (rng.normal(size=(2, 40, 6)) * 0.5 + classes[:, :, None]).astype(np.float32)
feed = {x1: data[0], x2: data[1], y_: (classes[0] == classes[1]).astype(np.float32)}
losses = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(40):
        _, value = sess.run([train_step, loss], feed_dict=feed)
        losses.append(value)
    out = sess.run([o1, o2, o3, shared], feed)

assert losses[-1] < losses[0]
results = {
    "losses": losses,
    "out": out,
    "bad_name": bad_name,
    "variables": [v.name for v in tf.global_variables()],
    "first_two": [v.name for v in tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="siamese/fc[12]")],
    "tensors": [o1.name, o2.name, o3.name],
}
