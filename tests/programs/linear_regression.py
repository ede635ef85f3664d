"""Linear regression: placeholders, feed_dict, plain gradient descent, one sample at a time."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)

# Parameters
learning_rate = 0.02
training_epochs = 12
display_step = 3

# Training data
train_X = np.asarray([3.3, 4.4, 5.5, 6.71, 6.93, 4.168, 9.779, 6.182, 7.59, 2.167, 7.042, 10.791, 5.313, 7.997, 5.654])
train_Y = 0.25 * train_X + 0.8 + 0.1 * rng.randn(len(train_X))
test_X = np.asarray([6.83, 4.668, 8.9, 7.91, 5.7, 8.7, 3.1, 2.1])
test_Y = 0.25 * test_X + 0.8
n_samples = train_X.shape[0]

# Graph input
X = tf.placeholder("float")
Y = tf.placeholder("float")

# Model weights
W = tf.Variable(rng.randn(), name="weight", dtype=tf.float32)
b = tf.Variable(rng.randn(), name="bias", dtype=tf.float32)

pred = tf.add(tf.multiply(X, W), b)
cost = tf.reduce_sum(tf.pow(pred - Y, 2)) / (2 * n_samples)
optimizer = tf.train.GradientDescentOptimizer(learning_rate).minimize(cost)

init = tf.global_variables_initializer()

costs = []
with tf.Session() as sess:
    sess.run(init)
    for epoch in range(training_epochs):
        for x, y in zip(train_X, train_Y):
            sess.run(optimizer, feed_dict={X: x, Y: y})
        if (epoch + 1) % display_step == 0:
            c = sess.run(cost, feed_dict={X: train_X, Y: train_Y})
            print("Epoch:", "%04d" % (epoch + 1), "cost=", f"{c:.9f}", "W=", sess.run(W), "b=", sess.run(b))
            costs.append(c)

    training_cost = sess.run(cost, feed_dict={X: train_X, Y: train_Y})
    testing_cost = sess.run(
        tf.reduce_sum(tf.pow(pred - Y, 2)) / (2 * test_X.shape[0]), feed_dict={X: test_X, Y: test_Y}
    )
    weight, bias = sess.run([W, b])
    prediction = sess.run(pred, {X: test_X})
    arithmetic, (nothing,) = sess.run((W * 2 - b / 3, [tf.no_op()]))

assert costs[-1] < costs[0]
results = {
    "costs": costs,
    "training_cost": training_cost,
    "testing_cost": testing_cost,
    "weight": weight,
    "bias": bias,
    "prediction": prediction,
    "arithmetic": arithmetic,
    "operation_fetches_none": nothing is None,
    "names": [W.name, b.name, X.name, Y.name, W.op.name, pred.op.type, cost.dtype.name],
    "shape_of_unknown": str(pred.get_shape()),
    "trainable": [v.name for v in tf.trainable_variables()],
}
