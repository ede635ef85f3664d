"""Programs with conditionals and loops on one device and on several, whose partitions are looked at and run again."""

import numpy as np

import thalweg as tf

DEVICES = 3


def plain(x):
    v = tf.get_variable("v", [3], initializer=tf.ones_initializer())
    return [tf.nn.softmax(x * 2.0) + tf.reduce_sum(x) + v.assign(x * 3.0)]


def branches(x):
    inner = [None]

    def sine():
        inner[0] = tf.sin(x)
        return inner[0] * 2.0

    y = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.cond(x[0] > -9, sine, lambda: x), lambda: tf.cos(x))
    return [y + 1.0]


def inside_of_a_branch(x):
    inner = []

    def sine():
        inner.append(tf.sin(x))
        return inner[0] * 2.0

    y = tf.cond(tf.reduce_sum(tf.abs(x)) > 0, sine, lambda: x)
    return [inner[0], y]


def loops(x):
    def turn(i, s):
        _, t = tf.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + tf.cast(j, tf.float32) * x), [0, s])
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: t * 1.5, lambda: tf.tanh(t))

    count = tf.cast(tf.reduce_sum(x * 0.0), tf.int32) + 5
    return list(tf.while_loop(lambda i, s: i < count, turn, [0, x * 2.0]))


def slopes(x):
    _, y = tf.while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, tf.tanh(s) * x), [0, x])
    return [y, tf.gradients(y, x)[0]]


def several_devices(x):
    with tf.device("/cpu:0"):
        v, k = tf.sin(x), tf.constant(2.0)
    with tf.device("/cpu:1"):
        w = tf.exp(v) * k
        with tf.control_dependencies([w]):
            u = tf.cos(v)
    with tf.device("/cpu:2"):
        z = v + u * k
    with tf.device("/cpu:0"), tf.control_dependencies([z]):
        q = v * 3.0
    return [w, u, z, q]


def branches_on_several_devices(x):
    with tf.device("/cpu:1"):
        p = tf.reduce_sum(x) > 0

    def first():
        with tf.device("/cpu:0"):
            a = tf.sin(x)
        with tf.device("/cpu:1"):
            return a * 2.0

    def second():
        with tf.device("/cpu:2"):
            return tf.cos(x)

    return [tf.cond(p, first, second)]


PROGRAMS = [
    plain,
    branches,
    inside_of_a_branch,
    loops,
    slopes,
    several_devices,
    branches_on_several_devices,
]
FEEDS = [np.array([1, 2, 3], np.float32), np.array([-1, -2, -3], np.float32)]


def partitions_of(build, value):
    """Runs a program and returns the fetched values and the partition graphs."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3], name="x")
        fetches = build(x)
        config = tf.ConfigProto(device_count={"CPU": DEVICES, "GPU": 0})
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            metadata = tf.RunMetadata()
            options = tf.RunOptions(output_partition_graphs=True)
            values = session.run(fetches, {x: value}, options, metadata)
    return values, metadata.partition_graphs


def as_user_graphs(graphs):
    """Returns the partitions with placeholders for feeds, what each fetch is in them, and their placeholders and sends.

    Users cannot create nodes whose names begin with an underscore, as those of partitions do.
    """
    results, fetches, feeds, sends = [], {}, [], []
    for number, graph in enumerate(graphs):
        changed = type(graph)()
        for node in graph.node:
            copy = type(node).FromString(node.SerializeToString())
            copy.name = _visible(node.name)
            copy.input[:] = [_visible(name) for name in node.input]
            if node.op == "_Retval":
                fetches[node.attr["index"].i] = f"part{number}/{copy.input[0]}"
                continue
            if node.op == "_Arg":
                copy.op = "Placeholder"
                copy.attr["dtype"].type = node.attr["T"].type
                for key in ("T", "index", "_feeds"):
                    copy.attr.pop(key, None)
                feeds.append(f"part{number}/{copy.name}:0")
            if node.op == "_Send":
                sends.append(f"part{number}/{copy.name}")
            changed.node.append(copy)
        changed.versions.CopyFrom(graph.versions)
        results.append(changed)
    ordered = [fetches[index] for index in sorted(fetches)]
    return results, [name if ":" in name else name + ":0" for name in ordered], feeds, sends


def _visible(name):
    control = "^" if name.startswith("^") else ""
    name = name.removeprefix("^")
    return control + ("own" + name if name.startswith("_") else name)
