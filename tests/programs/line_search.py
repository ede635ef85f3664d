"""Logistic regression by L-BFGS with a hand-written line search in an interactive session."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(6)
X_data = np.hstack([np.ones((80, 1)), rng.normal(size=(80, 4)).dot(np.diag([1, 3, 0.3, 1]))])
true_w = np.array([0.5, 1.0, -2.0, 3.0, 0.0])
Y_data = (1 / (1 + np.exp(-X_data.dot(true_w))) > rng.uniform(size=80)).astype(np.float64)

sess = tf.InteractiveSession()

X = tf.constant(X_data, dtype=tf.float64, name="X")
Y = tf.constant(Y_data[:, None], name="Y")
w = tf.Variable(np.zeros((5, 1)), name="w")
direction = tf.Variable(tf.zeros_like(w.initialized_value()), name="direction", trainable=False)
start = tf.Variable(w.initialized_value(), name="start", trainable=False)
step_size = tf.placeholder(tf.float64, shape=[])
evaluations = tf.Variable(0, name="evaluations", dtype=tf.int32, trainable=False)

logits = tf.matmul(X, w)
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=Y, logits=logits)) + 1e-3 * tf.nn.l2_loss(w)
(grad,) = tf.gradients(loss, [w])
slope = tf.reduce_sum(grad * direction)

save_start = tf.assign(start, w)
with tf.control_dependencies([tf.assign(w, start + step_size * direction), tf.assign_add(evaluations, 1)]):
    moved = tf.no_op(name="moved")
go_back = tf.group(w.assign(start), name="go_back")
with tf.control_dependencies([moved]):
    moved_twice = tf.group(evaluations.assign_sub(0), tf.identity(evaluations))

tf.global_variables_initializer().run()
uninitialized = [n.decode() for n in tf.report_uninitialized_variables().eval()]

S, Yd = [], []
losses, steps, slopes = [loss.eval()], [], []
for iteration in range(8):
    g = grad.eval()
    q, alphas = g.copy(), []
    for s, y in reversed(list(zip(S, Yd))):
        alpha = (s * q).sum() / (s * y).sum()
        alphas.append(alpha)
        q -= alpha * y
    if S:
        q *= (S[-1] * Yd[-1]).sum() / (Yd[-1] ** 2).sum()
    for (s, y), alpha in zip(zip(S, Yd), reversed(alphas)):
        q += s * (alpha - (y * q).sum() / (s * y).sum())
    direction.load(-q, sess)
    sess.run(save_start.op)
    initial, descent = sess.run([loss, slope])
    slopes.append(descent)
    # Backtracking
    t = 1.0
    for _ in range(20):
        moved.run(feed_dict={step_size: t})
        if loss.eval() <= initial + 1e-4 * t * descent:
            break
        go_back.run()
        t *= 0.5
    S.append(w.eval() - start.eval())
    Yd.append(grad.eval() - g)
    losses.append(loss.eval())
    steps.append(t)

used = evaluations.eval()
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.cast(logits > 0, tf.float64), Y), tf.float64)).eval()
moved_twice.run({step_size: 0.0})
counted = evaluations.eval() - used

# Order of effects
counter = tf.get_variable("counter", initializer=1.0, use_resource=True)
counter.initializer.run()
before = counter.read_value()
with tf.control_dependencies([before]):
    bump = tf.assign_add(counter, 10.0)
with tf.control_dependencies([bump]):
    after = counter.read_value()
order = [list(sess.run([before, after])) for _ in range(2)]
seen_by_update = sess.run(tf.assign(counter, counter * 2 + 1))
cond_value = tf.tuple([counter * 1.0, w[0, 0] * 0.0], control_inputs=[tf.assign_sub(counter, 3.0).op])[1].eval()
final_counter = counter.eval()
with tf.Graph().as_default() as other:
    apart = tf.Variable(tf.ones([2]), validate_shape=True)
    with tf.Session(graph=other) as inner:
        inner.run(apart.initializer)
        apart.load([4.0, 5.0], inner)
        apart_value = inner.run(apart + 1)
weights = sess.run("w:0")
sess.close()

assert losses[-1] < losses[0] * 0.6
results = {
    "losses": losses,
    "steps": steps,
    "slopes": slopes,
    "weights": weights,
    "evaluations": used,
    "counted": counted,
    "accuracy": accuracy,
    "uninitialized": uninitialized,
    "order": order,
    "seen_by_update": seen_by_update,
    "cond_value": cond_value,
    "final_counter": final_counter,
    "apart": apart_value,
    "names": [moved.name, go_back.name, save_start.dtype.base_dtype.name, moved.type],
}
