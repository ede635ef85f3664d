"""Variable scopes: reuse, AUTO_REUSE, nesting, default names, initializers, collections, and their refusals."""

import numpy as np
import tensorflow as tf

with tf.variable_scope("layer", initializer=tf.constant_initializer(0.5)) as layer:
    w = tf.get_variable("W", shape=[6, 10])
    w_name = w.name

errors = {}


def trial(name, function):
    try:
        function()
        errors[name] = "none"
    except Exception as e:
        errors[name] = type(e).__name__


def make(scope_name, reuse, **kwargs):
    with tf.variable_scope(scope_name, reuse=reuse):
        return tf.get_variable(**kwargs)


trial("twice", lambda: make("layer", None, name="W", shape=[6, 10]))
trial("reuse_missing", lambda: make("layer", True, name="nothing", shape=[6, 10]))
trial("wrong_shape", lambda: make("layer", True, name="W", shape=[5, 10]))
trial("wrong_dtype", lambda: make("layer", True, name="W", shape=[6, 10], dtype=tf.float64))
trial("no_shape", lambda: make("other", None, name="v"))
trial("auto_1", lambda: make("auto", tf.AUTO_REUSE, name="v", shape=[3]))
trial("auto_2", lambda: make("auto", tf.AUTO_REUSE, name="v", shape=[3]))

with tf.variable_scope("outer", initializer=tf.ones_initializer()) as outer:
    default_ones = tf.get_variable("ones", [2, 3])
    with tf.variable_scope("inner"):
        inner_name = tf.get_variable_scope().name
        frozen = tf.get_variable("frozen", [2], trainable=False, collections=[tf.GraphKeys.LOCAL_VARIABLES, "mine"])
        with tf.variable_scope(outer, reuse=True):
            again = tf.get_variable("ones", [2, 3])
    with tf.variable_scope(None, default_name="block"):
        block_1 = tf.get_variable("v", [1])
    with tf.variable_scope(None, default_name="block"):
        block_2 = tf.get_variable("v", [1])
    with tf.name_scope("only_ops"):
        in_name_scope = tf.get_variable("kept", [1])
        op_name = tf.add(in_name_scope, 1.0).name
glorot = tf.get_variable("glorot", [30, 20], initializer=tf.glorot_uniform_initializer(seed=1))
cut = tf.get_variable("cut", [400], initializer=tf.truncated_normal_initializer(stddev=0.1, seed=2))
he = tf.variance_scaling_initializer(scale=2.0, mode="fan_in", distribution="uniform", seed=3)
scaled = tf.get_variable("scaled", [50, 8], initializer=he)
eye = tf.get_variable("eye", [3, 4], initializer=tf.initializers.identity(gain=2.0))
uniform = tf.get_variable("uniform", initializer=tf.random_uniform([60], -0.5, 0.25, seed=4))

with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    ones, cold, g, c, q, s, u = sess.run([again, frozen, glorot, cut, eye, scaled, uniform])

assert w_name == "layer/W:0"
results = {
    "ones": ones,
    "cold": cold,
    "glorot_range": bool(np.abs(g).max() <= np.sqrt(6 / 50)),
    "cut_range": bool(np.abs(c).max() <= 0.2 and 0.07 < c.std() < 0.11),
    "scaled_range": bool(0.3 < np.abs(s).max() <= np.sqrt(6 / 50)),
    "uniform_range": bool(u.min() >= -0.5 and u.max() < 0.25),
    "identity": q,
    "errors": [name + " " + errors[name] for name in sorted(errors)],
    "same_object": again is default_ones,
    "inner_name": inner_name,
    "names": [v.name for v in (block_1, block_2, in_name_scope, frozen)] + [op_name],
    "variables": [v.name for v in tf.global_variables()],
    "layer": [v.name for v in tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="layer")],
    "local": [v.name for v in tf.local_variables()],
    "mine": [v.name for v in tf.get_collection("mine")],
}
