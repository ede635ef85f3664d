"""Every optimizer on one problem with dense and sparse gradients; fetches of every nesting, threads, seeds, devices."""

import collections
import threading

import numpy as np
import tensorflow as tf

tf.set_random_seed(1234)
rng = np.random.RandomState(10)

table_init = rng.normal(size=(7, 3)).astype(np.float32)
w_init = rng.normal(size=(3, 1)).astype(np.float32)
ids_data = np.array([0, 2, 2, 5, 6, 0])
y_data = rng.normal(size=(6, 1)).astype(np.float32)

OPTIMIZERS = collections.OrderedDict(
    [
        ("sgd", tf.train.GradientDescentOptimizer(0.1)),
        ("momentum", tf.train.MomentumOptimizer(0.05, momentum=0.9)),
        ("nesterov", tf.train.MomentumOptimizer(0.05, momentum=0.9, use_nesterov=True)),
        ("adagrad", tf.train.AdagradOptimizer(0.3)),
        ("adadelta", tf.train.AdadeltaOptimizer(1.0, rho=0.9, epsilon=1e-4)),
        ("rmsprop", tf.train.RMSPropOptimizer(0.02)),
        ("centered", tf.train.RMSPropOptimizer(0.02, momentum=0.3, centered=True)),
        ("adam", tf.train.AdamOptimizer(0.05)),
        ("ftrl", tf.train.FtrlOptimizer(0.3, l1_regularization_strength=0.01, l2_regularization_strength=0.02)),
    ]
)
ids = tf.placeholder(tf.int32, [None], name="ids")
y = tf.placeholder(tf.float32, [None, 1], name="y")
Model = collections.namedtuple("Model", ["loss", "train", "weights"])
models = collections.OrderedDict()
for name, optimizer in OPTIMIZERS.items():
    with tf.variable_scope(name):
        table = tf.get_variable("table", initializer=tf.constant(table_init))
        w = tf.get_variable("w", [3, 1], initializer=tf.constant_initializer(w_init))
        prediction = tf.matmul(tf.nn.embedding_lookup(table, ids), w)
        loss = tf.reduce_mean(tf.squared_difference(prediction, y))
        models[name] = Model(loss, optimizer.minimize(loss), {"table": table, "w": w})


def on_cpu(op):
    return "/cpu:0" if op.type == "MatMul" else ""


with tf.device(on_cpu), tf.device("/job:localhost"):
    placed = tf.matmul(tf.ones([2, 2]), tf.ones([2, 2]))
with tf.device("/device:CPU:0"), tf.colocate_with(placed.op):
    beside = tf.identity(placed)
with tf.device("/gpu:0"), tf.device(None):
    nowhere = tf.constant(1)

noise = tf.random_normal([4], seed=5)
other_noise = tf.random_uniform([4], seed=6)
shuffled = tf.random_shuffle(tf.range(10), seed=7)
count = tf.Variable(0, trainable=False, name="count")
increment = tf.assign_add(count, 1, use_locking=True)
rows = tf.Variable(tf.zeros([4, 2]), name="rows")
scatters = [
    lambda: tf.scatter_update(rows, [0, 2], [[1.0, 2.0], [3.0, 4.0]]),
    lambda: tf.scatter_sub(rows, [2, 2], [[1.0, 1.0], [0.5, 0.5]]),
    lambda: tf.scatter_nd_add(rows, [[3, 1]], [9.0]),
    lambda: rows[1:3, 0].assign([7.0, 8.0]),
]
scatters = [make() for make in scatters]

losses = {name: [] for name in models}
with tf.Session(config=tf.ConfigProto(allow_soft_placement=True, intra_op_parallelism_threads=1)) as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(12):
        fetched = sess.run(models, feed_dict={ids: ids_data, y: y_data})
        for name, model in fetched.items():
            assert model.train is None
            losses[name].append(model.loss)
    final = sess.run({name: model._replace(train=[]) for name, model in models.items()}, {ids: ids_data, y: y_data})
    shape_of_fetch = [type(final).__name__, type(final["adam"]).__name__, sorted(final["adam"].weights)]

    threads = [threading.Thread(target=lambda: [sess.run(increment) for _ in range(25)]) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    counted = sess.run(count)
    states = [sess.run(op) is not None and sess.run(rows) for op in scatters]
    draws = [sess.run([noise, other_noise, shuffled]) for _ in range(2)]
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, timeout_in_ms=60000)
    traced = sess.run(beside + tf.to_float(count), options=options, run_metadata=metadata)
    duplicate = sess.run([count, count, {"a": (count, [])}])
with tf.Session() as again:
    same_draws = again.run([noise, other_noise, shuffled])

assert all(values[-1] < values[0] for values in losses.values())
results = {
    "losses": [[name] + values for name, values in losses.items()],
    "weights": [[final[name].weights["w"], final[name].weights["table"]] for name in models],
    "shape_of_fetch": shape_of_fetch,
    "counted": counted,
    "states": states,
    "draws_differ": not np.array_equal(draws[0][0], draws[1][0]),
    "draws_repeat": all(np.array_equal(a, b) for a, b in zip(draws[0], same_draws)),
    "shuffle_is_permutation": sorted(draws[0][2].tolist()),
    "traced": traced,
    "has_trace": len(metadata.step_stats.dev_stats) > 0,
    "duplicate": [duplicate[0], duplicate[1], duplicate[2]["a"][0], len(duplicate[2]["a"][1])],
    "devices": [tf.DeviceSpec.from_string(t.device).to_string() for t in (placed, beside, nowhere)],
    "slots": [[name] + sorted(optimizer.get_slot_names()) for name, optimizer in OPTIMIZERS.items()],
    "variables": [v.name for v in tf.global_variables()],
    "slot_counts": [len(optimizer.variables()) for optimizer in OPTIMIZERS.values()],
}
