"""Gradients by hand: clipping, stop_gradient, py_func with a registered gradient, second derivatives, an ODE."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(2)


# A py_func with a gradient of its own, by way of gradient_override_map.
def py_func(func, inp, Tout, stateful=True, name=None, grad=None):
    rnd_name = "PyFuncGrad" + str(np.random.RandomState().randint(0, int(1e9)))
    tf.RegisterGradient(rnd_name)(grad)
    g = tf.get_default_graph()
    with g.gradient_override_map({"PyFunc": rnd_name, "PyFuncStateless": rnd_name}):
        return tf.py_func(func, inp, Tout, stateful=stateful, name=name)


def spiky(x):
    r = x % 1
    return np.where(r <= 0.5, r, 0).astype(np.float32)


def d_spiky(x):
    return (x % 1 <= 0.5).astype(np.float32)


def _spiky_grad(op, grad):
    x = op.inputs[0]
    n_gr = tf.py_func(d_spiky, [x], tf.float32, stateful=False)
    return grad * n_gr


with tf.name_scope("spiky"):
    s_in = tf.constant([0.2, 0.7, 1.2, 1.7], name="s_in")
    s_out = py_func(spiky, [s_in], [tf.float32], name="spiky", grad=_spiky_grad)[0]
    s_out.set_shape(s_in.get_shape())
    s_grad = tf.gradients(s_out, [s_in])[0]


# Straight-through rounding and gradient reversal.
@tf.RegisterGradient("FlipGradient%d" % rng.randint(10**6))
def _flip_gradients(op, grad):
    return [tf.negative(grad) * 0.5]


flip_name = "FlipGradient%d" % np.random.RandomState(2).randint(10**6)
u = tf.constant([1.0, -2.0, 3.5])
with tf.get_default_graph().gradient_override_map({"Identity": flip_name}):
    flipped = tf.identity(u)
through = u + tf.stop_gradient(tf.round(u) - u)
flip_grad, through_grad, cut_grad = (tf.gradients(t * t, u)[0] for t in (flipped, through, u * tf.stop_gradient(u)))


@tf.custom_gradient
def log1pexp(x):
    e = tf.exp(x)

    def grad(dy):
        return dy * (1 - 1 / (1 + e))

    return tf.log(1 + e), grad


big = tf.constant([100.0, 0.0, -3.0])
stable_grad = tf.gradients(log1pexp(big), big)[0]

# gradients(): grad_ys, unconnected, stop_gradients, Hessian-vector products.
a, b, lonely = tf.constant(2.0), tf.constant(3.0), tf.constant(1.0)
c = a * a * b
partials = tf.gradients([c, a], [a, b, lonely], grad_ys=[tf.constant(0.5), 10.0])
held = tf.gradients(c + tf.square(b * a), [a, b], stop_gradients=[b])
hessian = tf.hessians(tf.reduce_sum(tf.pow(u, 4)) + u[0] * u[1], u)[0]
v = tf.constant([1.0, 0.0, -1.0])
hvp = tf.gradients(tf.reduce_sum(tf.gradients(tf.reduce_sum(tf.sin(u) * u[::-1]), u)[0] * v), u)[0]

# A network that solves y'' = -y, y(0) = 0, y'(0) = 1.
t = tf.placeholder(tf.float64, [None, 1], name="t")
W1 = tf.Variable(rng.normal(size=(1, 12)))
b1 = tf.Variable(rng.normal(size=(12,)))
W2 = tf.Variable(rng.normal(scale=0.3, size=(12, 1)))
net = tf.matmul(tf.tanh(tf.matmul(t, W1) + b1), W2)
y = t + t**2 * net
y_t = tf.gradients(y, t)[0]
y_tt = tf.gradients(y_t, t)[0]
residual = y_tt + y
loss = tf.reduce_mean(tf.square(residual))

global_step = tf.Variable(0, name="global_step", trainable=False)
optimizer = tf.train.AdamOptimizer(0.02)
gradients, variables = zip(*optimizer.compute_gradients(loss, var_list=[W1, b1, W2]))
gradients, norm = tf.clip_by_global_norm(gradients, 2.0)
train = optimizer.apply_gradients(zip(gradients, variables), global_step=global_step)
clipped_norm = tf.global_norm(gradients)
per_value = [tf.clip_by_value(g, -0.1, 0.1) for g in gradients]
per_norm = [tf.clip_by_norm(g, 0.5) for g in gradients]

ts = np.linspace(0, 2, 30).reshape(-1, 1)
losses, norms = [], []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    first_clips = sess.run([per_value, per_norm], {t: ts})
    for i in range(100):
        l, n, cn, _ = sess.run([loss, norm, clipped_norm, train], {t: ts})
        if i % 10 == 0:
            losses.append(l)
            norms.append([n, cn])
    solution, slope, steps = sess.run([y, y_t, global_step], {t: ts})
    scalars = sess.run([partials[0], partials[1], held[0], held[1]])
    vectors = sess.run([s_out, s_grad, flip_grad, through_grad, cut_grad, stable_grad, hessian, hvp])
    error = tf.test.compute_gradient_error(W2, [12, 1], net, [4, 1], extra_feed_dict={t: ts[:4]})

assert losses[-1] < losses[0] / 10
assert error < 1e-2
results = {
    "losses": losses,
    "norms": norms,
    "clips": first_clips[0] + first_clips[1],
    "solution": solution,
    "slope": slope,
    "steps": steps,
    "scalars": scalars,
    "vectors": vectors,
    "unconnected_is_none": partials[2] is None,
    "shapes": [str(s_out.get_shape()), str(y_tt.get_shape()), str(hessian.get_shape())],
    "types": [s_out.op.type, s_out.op.name, flipped.op.type],
}
