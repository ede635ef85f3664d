"""A generative adversarial net on one-dimensional data: two variable lists, two optimizers."""

import numpy as np
import tensorflow as tf

HIDDEN = 6
BATCH = 32
init_rng = np.random.RandomState(9)


def linear(input, output_dim, scope=None, stddev=0.5):
    value = init_rng.normal(scale=stddev, size=(input.get_shape()[1].value, output_dim))
    norm = tf.constant_initializer(value)
    const = tf.constant_initializer(0.0)
    with tf.variable_scope(scope or "linear"):
        w = tf.get_variable("w", [input.get_shape()[1], output_dim], initializer=norm)
        b = tf.get_variable("b", [output_dim], initializer=const)
        return tf.matmul(input, w) + b


def generator(input, h_dim):
    h0 = tf.nn.softplus(linear(input, h_dim, "g0"))
    return linear(h0, 1, "g1")


def discriminator(input, h_dim):
    h0 = tf.tanh(linear(input, h_dim * 2, "d0"))
    h1 = tf.tanh(linear(h0, h_dim * 2, "d1"))
    return tf.sigmoid(linear(h1, 1, scope="d3"))


def make_optimizer(loss, var_list, initial_learning_rate):
    decay = 0.95
    batch = tf.Variable(0, trainable=False)
    learning_rate = tf.train.exponential_decay(initial_learning_rate, batch, 50, decay, staircase=True)
    return tf.train.GradientDescentOptimizer(learning_rate).minimize(loss, global_step=batch, var_list=var_list)


with tf.variable_scope("G"):
    z = tf.placeholder(tf.float32, shape=(BATCH, 1))
    G = generator(z, HIDDEN)

with tf.variable_scope("D") as scope:
    x = tf.placeholder(tf.float32, shape=(BATCH, 1))
    D1 = discriminator(x, HIDDEN)
    scope.reuse_variables()
    D2 = discriminator(G, HIDDEN)

loss_d = tf.reduce_mean(-tf.log(D1) - tf.log(1 - D2))
loss_g = tf.reduce_mean(-tf.log(D2))

vars = tf.trainable_variables()
d_params = [v for v in vars if v.name.startswith("D/")]
g_params = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="G")

opt_d = make_optimizer(loss_d, d_params, 0.05)
opt_g = tf.train.AdamOptimizer(0.01, beta1=0.5).minimize(loss_g, var_list=g_params)
clip_D = [p.assign(tf.clip_by_value(p, -1.5, 1.5)) for p in d_params]
d_norm = tf.global_norm(d_params)

rng = np.random.RandomState(4)
history = []
untouched = []
with tf.Session() as session:
    tf.global_variables_initializer().run()
    for step in range(80):
        real = np.sort(rng.normal(4, 0.5, BATCH)).reshape((BATCH, 1))
        noise = (np.linspace(-8, 8, BATCH) + rng.uniform(size=BATCH) * 0.01).reshape((BATCH, 1))
        before_g = session.run(g_params)
        ld, _ = session.run([loss_d, opt_d], {x: real, z: noise})
        untouched.append(all(np.array_equal(a, b) for a, b in zip(before_g, session.run(g_params))))
        session.run(clip_D)
        before_d = session.run(d_params)
        lg, _ = session.run([loss_g, opt_g], {z: noise})
        untouched.append(all(np.array_equal(a, b) for a, b in zip(before_d, session.run(d_params))))
        if step % 10 == 0:
            print("{}: {:.4f}\t{:.4f}".format(step, ld, lg))
            history.append([ld, lg])
    samples = session.run(G, {z: np.linspace(-8, 8, BATCH).reshape(-1, 1)})
    norm, boundary = session.run([d_norm, D1], {x: np.linspace(0, 8, BATCH).reshape(-1, 1)})
    biggest = max(np.abs(p).max() for p in session.run(d_params))

assert abs(samples.mean() - 4) < abs(0.0 - 4)
assert all(untouched)
results = {
    "history": history,
    "samples": samples,
    "norm": norm,
    "boundary": boundary,
    "biggest": biggest,
    "each_moves_its_own": all(untouched),
    "d_params": [v.name for v in d_params],
    "g_params": [v.name for v in g_params],
    "globals": [v.name for v in tf.global_variables()],
    "train_ops": [op.name for op in tf.get_collection(tf.GraphKeys.TRAIN_OP)],
    "shapes": [D1.get_shape().as_list(), G.get_shape().as_list()],
    "op_names": [G.name, D1.name, D2.name],
}
