"""Graph surgery: export, import with input_map, fed intermediates, partial_run and make_callable."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(8)
X = rng.normal(size=(4, 3)).astype(np.float32)

# A frozen-style graph, then exported.
exporting = tf.Graph()
with exporting.as_default():
    x = tf.placeholder(tf.float32, [None, 3], name="input")
    with tf.name_scope("hidden"):
        w = tf.constant(rng.normal(size=(3, 5)).astype(np.float32), name="w")
        h = tf.nn.relu(tf.matmul(x, w), name="h")
    out = tf.nn.softmax(tf.matmul(h, tf.constant(rng.normal(size=(5, 2)).astype(np.float32))), name="output")
    with tf.Session() as sess:
        expected = sess.run(out, {x: X})
graph_def = exporting.as_graph_def()
serialized = graph_def.SerializeToString()
node_names = [n.name for n in graph_def.node]

# Imported twice into a new graph, once over another input.
with tf.Graph().as_default() as graph:
    gd = tf.GraphDef()
    gd.ParseFromString(serialized)
    raw = tf.placeholder(tf.float64, name="raw")
    scaled = tf.cast(raw, tf.float32) / 2.0
    (y, hidden_op) = tf.import_graph_def(
        gd, input_map={"input:0": scaled}, return_elements=["output:0", "hidden/h"], name="net"
    )
    tf.import_graph_def(gd, name="")
    imported = tf.import_graph_def(gd, return_elements=["output:0"])[0]
    slope = tf.gradients(tf.reduce_sum(y[:, 0]), scaled)[0]
    with tf.Session() as sess:
        y_value, slope_value = sess.run([y, slope], {raw: 2 * X})
        same = sess.run("output:0", {"input:0": X})
        h_value = sess.run(hidden_op.outputs[0], {raw: 2 * X})
        from_middle = sess.run(
            graph.get_tensor_by_name("net/output:0"), {graph.get_tensor_by_name("net/hidden/h:0"): h_value}
        )
        fed_constant = sess.run("output:0", {"input:0": X, "hidden/w:0": np.zeros((3, 5))})
    graph_ops = [op.name for op in graph.get_operations()]
    lookups = [
        graph.get_operation_by_name("net/hidden/h").type,
        graph.as_graph_element("output").type,
        imported.name,
        graph.get_tensor_by_name("import/hidden/h:0").consumers()[0].type,
    ]

# partial_run and make_callable
tf.reset_default_graph()
a, b, c = (tf.placeholder(tf.float32, []) for _ in range(3))
r1 = a + b
r2 = r1 * c
with tf.Session() as sess:
    handle = sess.partial_run_setup([r1, r2], [a, b, c])
    first = sess.partial_run(handle, r1, feed_dict={a: 1, b: 2})
    second = sess.partial_run(handle, r2, feed_dict={c: first * 17})
    call = sess.make_callable([r2, r1], feed_list=[a, b, c])
    called = call(2.0, 3.0, 4.0)
    call_fed_middle = sess.make_callable(r2, [r1, c])(10.0, 0.5)

assert np.allclose(y_value, expected, atol=1e-6)
results = {
    "expected": expected,
    "y": y_value,
    "slope": slope_value,
    "same": same,
    "from_middle": from_middle,
    "fed_constant": fed_constant,
    "nodes": node_names,
    "graph_ops": [name for name in graph_ops if not name.startswith("gradients")],
    "lookups": lookups,
    "partial": [first, second],
    "called": called,
    "call_fed_middle": call_fed_middle,
}
