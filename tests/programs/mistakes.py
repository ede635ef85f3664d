"""Mistakes of every kind and the exception each one gets, while building and while running."""

import numpy as np
import tensorflow as tf

a = tf.placeholder(tf.float32, [])
b = tf.placeholder(tf.float32, [])
r1 = a + b
graph_def = tf.get_default_graph().as_graph_def()

errors = {}


def catching(name, function):
    try:
        function()
        errors[name] = "none"
    except (tf.errors.InvalidArgumentError, tf.errors.FailedPreconditionError) as e:
        errors[name] = type(e).__name__ + " %d" % e.error_code
    except (ValueError, TypeError, RuntimeError, KeyError, AttributeError) as e:
        base = [k.__name__ for k in (KeyError, ValueError, TypeError, AttributeError, RuntimeError) if isinstance(e, k)]
        errors[name] = base[0]


def modify_final():
    g = tf.Graph()
    with g.as_default():
        tf.constant(1.0)
        g.finalize()
        tf.constant(2.0)


def run_closed():
    s = tf.Session()
    s.close()
    s.run(r1, {a: 1, b: 2})


p = tf.placeholder(tf.float32, [None, 3], name="p")
ids = tf.placeholder(tf.int32, [None], name="ids")
v = tf.Variable(tf.zeros([3]), name="v")
foreign = tf.Graph()
with foreign.as_default():
    foreign_tensor = tf.constant(3.0)
reshaped = tf.reshape(p, [-1, 2])
guarded = tf.Assert(tf.reduce_all(p > 0), [p])
with tf.Session() as sess:
    row = np.ones((1, 3))
    catching("bad feed shape", lambda: sess.run(p * 2, {p: np.zeros((2, 4))}))
    catching("bad feed type", lambda: sess.run(p * 2, {p: "words"}))
    catching("feed of a tensor", lambda: sess.run(p * 2, {p: tf.zeros([1, 3])}))
    catching("feed key", lambda: sess.run(p * 2, {"nowhere:0": row}))
    catching("feed key type", lambda: sess.run(p * 2, {3: row}))
    catching("not fed", lambda: sess.run(p * 2))
    catching("uninitialized", lambda: sess.run(v + 1))
    catching("unknown fetch", lambda: sess.run("nothing:0"))
    catching("fetch type", lambda: sess.run(3.0))
    catching("fetch none", lambda: sess.run(None))
    catching("foreign fetch", lambda: sess.run(foreign_tensor))
    catching("run-time reshape", lambda: sess.run(reshaped, {p: row}))
    catching("gather range", lambda: sess.run(tf.gather(tf.range(4), ids), {ids: [1, 7]}))
    catching("assertion", lambda: sess.run(guarded, {p: -row}))
    catching("assertion passes", lambda: sess.run(guarded, {p: row}))
    catching("check numerics", lambda: sess.run(tf.check_numerics(tf.log(p), "log"), {p: -row}))
    catching("integer division", lambda: sess.run(ids // 0, {ids: [1]}))
    catching(
        "matmul run-time",
        lambda: sess.run(tf.matmul(tf.placeholder_with_default(row, None), tf.ones([2, 2], "float64"))),
    )
catching("closed", run_closed)
catching("finalized", modify_final)
catching("empty graph", lambda: tf.Session(graph=tf.Graph()).run([]) or tf.Session(graph=tf.Graph()).run("x:0"))
catching("dtype mismatch", lambda: tf.constant(1) + tf.constant(1.0))
catching("python mismatch", lambda: tf.constant([1, 2]) + 1.5)
catching("matmul ranks", lambda: tf.matmul(tf.zeros([2, 3]), tf.zeros([2, 3])))
catching("add shapes", lambda: tf.zeros([2, 3]) + tf.zeros([2, 4]))
catching("reshape sizes", lambda: tf.reshape(tf.zeros([2, 3]), [4, 2]))
catching("set_shape", lambda: tf.zeros([2]).set_shape([3]))
catching("other graph input", lambda: tf.add(foreign_tensor, tf.constant(1.0)))
catching("no such tensor", lambda: tf.get_default_graph().get_tensor_by_name("void:0"))
catching("bad tensor name", lambda: tf.get_default_graph().get_tensor_by_name("p"))
catching("truth of a tensor", lambda: bool(p))
catching("iteration", lambda: list(p))
catching("none to tensor", lambda: tf.convert_to_tensor(None))
catching("float of int", lambda: tf.constant(1.5, dtype=tf.int32))
catching("no gradient", lambda: tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0)))
catching("sqrt of ints", lambda: tf.sqrt(tf.constant([1, 2])))
catching("conv rank", lambda: tf.nn.conv2d(p, tf.zeros([1, 1, 1, 1]), [1, 1, 1, 1], "SAME"))
catching("labels unnamed", lambda: tf.nn.softmax_cross_entropy_with_logits(p, p))
catching("assign shape", lambda: tf.assign(v, tf.zeros([4])))
catching("import missing", lambda: tf.import_graph_def(graph_def, return_elements=["void:0"]))
catching("import bad map", lambda: tf.import_graph_def(graph_def, input_map={"void:0": p}))
catching("eval without session", lambda: r1.eval({a: 1, b: 2}))
catching("bad scope name", lambda: tf.constant(1.0, name="with space"))
catching("unknown device", lambda: tf.device("/nonsense:x:y").__enter__())

assert errors["finalized"] == "RuntimeError"
assert errors["uninitialized"].startswith("FailedPrecondition")
results = {"errors": [name + ": " + errors[name] for name in sorted(errors)]}
