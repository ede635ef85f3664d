"""A multilayer perceptron with dropout, Adam, a decayed learning rate and a global step."""

import numpy as np
import tensorflow as tf

# Hyper-parameters
n_input, n_hidden_1, n_hidden_2, n_classes = 12, 24, 16, 4
batch_size = 32
starter_learning_rate = 0.01

rng = np.random.RandomState(7)
centers = rng.randn(n_classes, n_input) * 1.5
train_y = rng.randint(n_classes, size=320)
train_x = (centers[train_y] + rng.randn(320, n_input)).astype("float32")

x = tf.placeholder(tf.float32, [None, n_input])
y = tf.placeholder(tf.int64, [None])
keep_prob = tf.placeholder(tf.float32)

weights = {
    "h1": tf.Variable(rng.normal(0, 0.2, [n_input, n_hidden_1]).astype(np.float32), name="h1"),
    "h2": tf.Variable(rng.normal(0, 0.2, [n_hidden_1, n_hidden_2]).astype(np.float32), name="h2"),
    "out": tf.Variable(rng.normal(0, 0.2, [n_hidden_2, n_classes]).astype(np.float32), name="out"),
}
biases = {
    "b1": tf.Variable(tf.constant(0.1, shape=[n_hidden_1])),
    "b2": tf.Variable(tf.constant(0.1, shape=[n_hidden_2])),
    "out": tf.Variable(tf.zeros([n_classes])),
}


def multilayer_perceptron(x, weights, biases, keep_prob):
    layer_1 = tf.nn.relu(tf.nn.xw_plus_b(x, weights["h1"], biases["b1"]))
    layer_1 = tf.nn.dropout(layer_1, keep_prob)
    layer_2 = tf.nn.elu(tf.nn.bias_add(tf.matmul(layer_1, weights["h2"]), biases["b2"]))
    layer_2 = tf.nn.dropout(layer_2, keep_prob, seed=11)
    return layer_1, tf.matmul(layer_2, weights["out"]) + biases["out"]


hidden, pred = multilayer_perceptron(x, weights, biases, keep_prob)
l2 = 1e-3 * tf.add_n([tf.nn.l2_loss(w) for w in [weights["h1"], weights["h2"], weights["out"]]])
cost = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=pred, labels=y)) + l2

global_step = tf.Variable(0, trainable=False, name="global_step")
learning_rate = tf.train.exponential_decay(starter_learning_rate, global_step, 10, 0.9, staircase=True)
smooth_rate = tf.train.polynomial_decay(0.1, global_step, 100, end_learning_rate=0.01, power=2.0)
pieces = tf.train.piecewise_constant(global_step, [10, 30], [1.0, 0.5, 0.1])
optimizer = tf.train.AdamOptimizer(learning_rate=learning_rate)
train_op = optimizer.minimize(cost, global_step=global_step)
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(pred, 1), y), tf.float32))

losses, rates = [], []
with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(4):
        avg_cost = 0.0
        total_batch = len(train_x) // batch_size
        for i in range(total_batch):
            batch = slice(i * batch_size, (i + 1) * batch_size)
            _, c, lr = sess.run(
                [train_op, cost, learning_rate], feed_dict={x: train_x[batch], y: train_y[batch], keep_prob: 1.0}
            )
            avg_cost += c / total_batch
        rates.append(lr)
        losses.append(avg_cost)
        print("Epoch: %04d cost=%.6f" % (epoch + 1, avg_cost))
    schedule = sess.run([global_step, learning_rate, smooth_rate, pieces])
    acc = sess.run(accuracy, {x: train_x, y: train_y, keep_prob: 1.0})
    deterministic = [sess.run(pred, {x: train_x[:5], y: train_y[:5], keep_prob: 1.0}) for _ in range(2)]
    # The training path: only what does not depend on the random numbers.
    dropped, undropped = sess.run(hidden, {x: train_x, keep_prob: 0.5}), sess.run(hidden, {x: train_x, keep_prob: 1.0})
    kept = dropped != 0
    again = sess.run(hidden, {x: train_x, keep_prob: 0.5})
    noisy = sess.run(pred, feed_dict={x: train_x[:7], keep_prob: 0.5})
    beta1_power, beta2_power = optimizer._get_beta_accumulators()
    m = optimizer.get_slot(weights["out"], "m")
    adam = sess.run([beta1_power, beta2_power, m])

fraction = kept.sum() / (undropped != 0).sum()
assert losses[-1] < losses[0] and acc > 0.9
results = {
    "losses": losses,
    "rates": rates,
    "schedule": schedule,
    "accuracy": acc,
    "logits": deterministic[0],
    "same_twice": bool(np.all(deterministic[0] == deterministic[1])),
    "dropout_scales": bool(np.allclose(dropped[kept], 2 * undropped[kept], rtol=1e-5)),
    "dropout_keeps_half": bool(0.4 < fraction < 0.6),
    "dropout_differs": bool(np.any(dropped != again)),
    "noisy_shape": list(noisy.shape),
    "adam": adam,
    "slots": optimizer.get_slot_names(),
    "globals": [v.name for v in tf.global_variables()],
    "trainable": [v.name for v in tf.trainable_variables()],
}
