"""A convolutional net: hand-written batch normalization, moving averages, losses in collections, momentum."""

import numpy as np
import tensorflow as tf

FLAGS_decay = 0.9
rng = np.random.RandomState(3)


def weight_variable(name, shape, wd=None):
    initial = rng.normal(scale=0.15, size=shape).astype(np.float32)
    var = tf.get_variable(name, shape, initializer=tf.constant_initializer(initial), dtype=tf.float32)
    if wd is not None:
        weight_decay = tf.multiply(tf.nn.l2_loss(var), wd, name="weight_loss")
        tf.add_to_collection("losses", weight_decay)
        tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, weight_decay)
    return var


def batch_norm(x, n_out, phase_train, scope="bn"):
    with tf.variable_scope(scope):
        beta = tf.Variable(tf.constant(0.0, shape=[n_out]), name="beta", trainable=True)
        gamma = tf.Variable(tf.constant(1.0, shape=[n_out]), name="gamma", trainable=True)
        batch_mean, batch_var = tf.nn.moments(x, [0, 1, 2], name="moments")
        ema = tf.train.ExponentialMovingAverage(decay=FLAGS_decay)
        ema_apply_op = ema.apply([batch_mean, batch_var])
        if phase_train:
            with tf.control_dependencies([ema_apply_op]):
                mean, var = tf.identity(batch_mean), tf.identity(batch_var)
        else:
            mean, var = ema.average(batch_mean), ema.average(batch_var)
        tf.add_to_collection("averages", ema.average(batch_mean))
        frozen = tf.nn.batch_normalization(x, ema.average(batch_mean), ema.average(batch_var), beta, gamma, 1e-3)
        return tf.nn.batch_normalization(x, mean, var, beta, gamma, 1e-3), frozen


images = tf.placeholder(tf.float32, [None, 11, 9, 2], name="images")
labels = tf.placeholder(tf.int32, [None], name="labels")

with tf.variable_scope("conv1") as scope:
    kernel = weight_variable("weights", [3, 3, 2, 6], wd=0.001)
    conv = tf.nn.conv2d(images, kernel, strides=[1, 1, 1, 1], padding="SAME")
    normalized, frozen = batch_norm(conv, 6, True)
    conv1 = tf.nn.relu(normalized, name=scope.name)
pool1 = tf.nn.max_pool(conv1, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME", name="pool1")
norm1 = tf.nn.lrn(pool1, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75, name="norm1")

with tf.variable_scope("conv2") as scope:
    kernel = weight_variable("weights", [3, 2, 6, 5], wd=0.001)
    biases = tf.get_variable("biases", [5], initializer=tf.constant_initializer(0.1))
    conv = tf.nn.conv2d(norm1, kernel, [1, 2, 1, 1], padding="VALID")
    conv2 = tf.nn.relu(tf.nn.bias_add(conv, biases), name=scope.name)
pool2 = tf.nn.avg_pool(conv2, ksize=[1, 2, 2, 1], strides=[1, 1, 1, 1], padding="VALID", name="pool2")

with tf.variable_scope("local3"):
    dim = int(np.prod(pool2.get_shape().as_list()[1:]))
    flat = tf.reshape(pool2, [tf.shape(images)[0], dim])
    weights = weight_variable("weights", [dim, 3], wd=0.004)
    softmax_linear = tf.add(
        tf.matmul(flat, weights), tf.get_variable("biases", [3], initializer=tf.zeros_initializer())
    )

cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=softmax_linear, name="xent")
cross_entropy_mean = tf.reduce_mean(cross_entropy, name="cross_entropy")
tf.add_to_collection("losses", cross_entropy_mean)
total_loss = tf.add_n(tf.get_collection("losses"), name="total_loss")
regularization = tf.reduce_sum(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))

global_step = tf.train.get_or_create_global_step()
opt = tf.train.MomentumOptimizer(0.02, 0.9, use_nesterov=False)
grads = opt.compute_gradients(total_loss)
apply_gradient_op = opt.apply_gradients(grads, global_step=global_step)
variable_averages = tf.train.ExponentialMovingAverage(0.99, global_step)
with tf.control_dependencies([apply_gradient_op]):
    train_op = variable_averages.apply(tf.trainable_variables())
grad_norms = tf.stack([tf.norm(g) for g, _ in grads])

x = rng.normal(size=(24, 11, 9, 2)).astype(np.float32)
t = rng.randint(0, 3, size=24)
x[..., 0] += t[:, None, None]
losses = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    first_norms = sess.run(grad_norms, {images: x, labels: t})
    for step in range(15):
        _, value = sess.run([train_op, total_loss], {images: x, labels: t})
        losses.append(value)
    # `train_op` above also moved the averages of the batch statistics, since the normalization depends on them.
    averages = sess.run(tf.get_collection("averages"))
    test_time = sess.run(frozen, {images: x[:3]})
    smooth = sess.run(variable_averages.average(weights))
    logits, reg, step_now = sess.run([softmax_linear, regularization, global_step], {images: x, labels: t})

assert losses[-1] < losses[0]
results = {
    "losses": losses,
    "first_norms": first_norms,
    "averages": averages,
    "test_time": test_time,
    "smooth": smooth,
    "logits": logits,
    "regularization": reg,
    "step": step_now,
    "shapes": [p.get_shape().as_list() for p in (conv1, pool1, norm1, conv2, pool2, flat, softmax_linear)],
    "variables": [v.op.name for v in tf.global_variables()],
    "moving": [v.op.name for v in tf.moving_average_variables()],
    "losses_collection": [t.name for t in tf.get_collection("losses")],
    "restore_names": sorted(variable_averages.variables_to_restore()),
    "slot": opt.get_slot(weights, "momentum").name,
}
