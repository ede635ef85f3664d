"""Small programs of a user, written once and run by TensorFlow and by Thalweg: input queues, savers, initial values.

This file imports neither. Each function gets `tf` and an empty folder and returns what it saw as JSON.
"""

import json
import os
import sys

import numpy as np


def _plain(value):
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in sorted(value.items())}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, bytes):
        return value.decode()
    return value


def _drained(tf, fetches, most=60):
    """Returns all that input threads bring until they end, and how they end."""
    found = []
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=session, coord=coordinator)
        ending = "most"
        try:
            while not coordinator.should_stop() and len(found) < most:
                found.append(_plain(session.run(fetches)))
        except tf.errors.OpError as error:
            ending = type(error).__name__
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=10)
    return [found, ending]


def _outcome(tf, function):
    """Returns what a call gives, or the class of its error."""
    try:
        return _plain(function())
    except (tf.errors.OpError, ValueError, TypeError, RuntimeError, KeyError, AttributeError, OSError) as error:
        return type(error).__name__


def _files(folder):
    """Returns the names of all files, without what is in TensorFlow's but not in ours."""
    return sorted(
        os.path.relpath(os.path.join(path, name), folder) for path, _, names in os.walk(folder) for name in names
    )


# -- producers --------------------------------------------------------------------------------------------------------


def strings(tf, folder):
    queue = tf.train.string_input_producer(["a", "b", "c"], num_epochs=2, shuffle=False)
    return _drained(tf, queue.dequeue())


def strings_shuffled(tf, folder):
    queue = tf.train.string_input_producer(["a", "b", "c"], num_epochs=2, seed=3)
    found, ending = _drained(tf, queue.dequeue())
    return [sorted(found[:3]), sorted(found[3:]), ending]


def strings_none(tf, folder):
    return _outcome(tf, lambda: tf.train.string_input_producer([]))


def strings_none_at_run_time(tf, folder):
    queue = tf.train.string_input_producer(tf.placeholder_with_default(np.array([], object).astype(str), [None]))
    return _outcome(tf, lambda: _drained(tf, queue.dequeue()))


def numbers(tf, folder):
    queue = tf.train.range_input_producer(4, num_epochs=1, shuffle=False)
    return _drained(tf, [queue.dequeue(), queue.size() * 0])


def many_of_numbers(tf, folder):
    queue = tf.train.range_input_producer(5, num_epochs=2, shuffle=False)
    return _drained(tf, queue.dequeue_up_to(3))


def slices(tf, folder):
    parts = tf.train.slice_input_producer([np.arange(3), np.array(["x", "y", "z"])], num_epochs=1, shuffle=False)
    return _drained(tf, parts)


def slices_none(tf, folder):
    return _outcome(tf, lambda: tf.train.slice_input_producer([]))


def producer(tf, folder):
    queue = tf.train.input_producer(np.arange(6.0).reshape(3, 2), num_epochs=1, shuffle=False, element_shape=[2])
    return _drained(tf, queue.dequeue())


def producer_cancelled(tf, folder):
    queue = tf.train.input_producer([1, 2], num_epochs=1, shuffle=False, cancel_op=tf.no_op())
    return [queue.name.split("/")[0], queue.shapes[0].as_list(), queue.dtypes[0].name, _drained(tf, queue.dequeue())]


def limited(tf, folder):
    return _drained(tf, tf.train.limit_epochs(tf.constant([1, 2]), num_epochs=3))


def limited_wrong(tf, folder):
    return [_outcome(tf, lambda: tf.train.limit_epochs(tf.constant(1), n).shape.as_list()) for n in (None, 0, -1)]


def producer_names(tf, folder):
    tf.train.string_input_producer(["a"], num_epochs=1, name="mine")
    tf.train.range_input_producer(2)
    tf.train.slice_input_producer([tf.constant([1, 2])])
    names = [op.name for op in tf.get_default_graph().get_operations() if op.type.startswith("Queue")]
    summaries = [t.op.name for t in tf.get_collection(tf.GraphKeys.SUMMARIES)]
    runners = [r.name for r in tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)]
    return [sorted(names), summaries, runners]


def matching(tf, folder):
    for name in ("b.txt", "a.txt", "c.csv"):
        open(os.path.join(folder, name), "w").close()
    names = tf.train.match_filenames_once(os.path.join(folder, "*.txt"))
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        found = [os.path.basename(name.decode()) for name in session.run(names)]
    in_order = [os.path.basename(n) for n in tf.gfile.Glob(os.path.join(folder, "*"))]
    return [sorted(found), names.dtype.base_dtype.name, sorted(in_order)]


# -- batches ----------------------------------------------------------------------------------------------------------


def _counted(tf, epochs=1, limit=7):
    return tf.train.range_input_producer(limit, num_epochs=epochs, shuffle=False).dequeue()


def batch(tf, folder):
    n = _counted(tf)
    batches = tf.train.batch([n, tf.cast(n, tf.float32) / 2], 3)
    return [[t.shape.as_list() for t in batches], _drained(tf, batches)]


def batch_smaller(tf, folder):
    n = _counted(tf)
    batches = tf.train.batch({"n": n, "square": n * n}, 3, allow_smaller_final_batch=True)
    return [{k: t.shape.as_list() for k, t in batches.items()}, _drained(tf, batches)]


def batch_many(tf, folder):
    n = tf.stack([_counted(tf)] * 2)
    batches = tf.train.batch([n], 4, enqueue_many=True, allow_smaller_final_batch=True)
    return [batches.shape.as_list(), _drained(tf, batches)]


def batch_padded(tf, folder):
    n = _counted(tf, limit=5)
    batches = tf.train.batch([tf.fill([n], n), n], 2, dynamic_pad=True, allow_smaller_final_batch=True)
    return [[t.shape.as_list() for t in batches], _drained(tf, batches)]


def batch_sparse(tf, folder):
    n = tf.cast(_counted(tf, limit=4), tf.int64)
    sparse = tf.SparseTensor(tf.stack([[n]]), tf.stack([n * 10]), [5])
    batches = tf.train.batch([sparse], 2)
    return _drained(tf, [batches.indices, batches.values, batches.dense_shape])


def batch_keep(tf, folder):
    n = _counted(tf, limit=8)
    return _drained(tf, tf.train.maybe_batch([n], tf.equal(n % 2, 0), 2))


def batch_join(tf, folder):
    lists = [[tf.constant(1), tf.constant("a")], [tf.constant(2), tf.constant("b")]]
    numbers, texts = tf.train.batch_join(lists, 4, capacity=4)
    found, ending = _drained(tf, [numbers, texts], most=50)
    pairs = {(n, t) for numbers, texts in found for n, t in zip(numbers, texts, strict=True)}
    return [sorted(pairs), ending, numbers.shape.as_list()]


def shuffled(tf, folder):
    batches = tf.train.shuffle_batch([_counted(tf, limit=20)], 4, 30, 5, seed=1, allow_smaller_final_batch=True)
    found, ending = _drained(tf, batches)
    return [
        sorted(n for batch in found for n in batch),
        [len(batch) for batch in found],
        ending,
        batches.shape.as_list(),
    ]


def shuffled_join(tf, folder):
    lists = [[tf.constant([1, 2])], [tf.constant([3, 4])]]
    batches = tf.train.shuffle_batch_join(lists, 2, 20, 3, enqueue_many=True)
    found, ending = _drained(tf, batches, most=30)
    return [sorted({n for batch in found for n in batch}), ending]


def wrong_batches(tf, folder):
    n = tf.constant(1)
    unknown = tf.placeholder(tf.float32)
    calls = [
        lambda: tf.train.batch([], 3),
        lambda: tf.train.batch([n], 3, shapes=[[], []]).shape.as_list(),
        lambda: tf.train.batch([unknown], 3).shape.as_list(),
        lambda: tf.train.batch([unknown], 3, dynamic_pad=True).shape.as_list(),
        lambda: tf.train.batch([n], 3, enqueue_many=True).shape.as_list(),
        lambda: tf.train.batch_join([[n], [tf.constant(1.0)]], 3).shape.as_list(),
        lambda: tf.train.batch_join([], 3).shape.as_list(),
        lambda: tf.train.shuffle_batch([n], 3, 10, 20).shape.as_list(),
        lambda: tf.train.maybe_batch([n], [True, False], 3).shape.as_list(),
    ]
    return [_outcome(tf, call) for call in calls]


# -- files ------------------------------------------------------------------------------------------------------------


def written_records(tf, folder):
    found = []
    for kind, name in ((None, "plain"), ("ZLIB", "zlib"), ("GZIP", "gzip")):
        path = os.path.join(folder, name)
        types = tf.python_io.TFRecordCompressionType
        options = None if kind is None else tf.python_io.TFRecordOptions(getattr(types, kind))
        with tf.python_io.TFRecordWriter(path, options) as writer:
            for n in range(5):
                writer.write(b"x" * n)
        found.append([record.decode() for record in tf.python_io.tf_record_iterator(path, options)])
        reader, queue = tf.TFRecordReader(options=options), tf.train.string_input_producer([path], 1, shuffle=False)
        key, value = reader.read_up_to(queue, 2)
        got, ending = _drained(tf, [key, value])
        found.append([[values for _, values in got], [k.split(":")[-1] for k in got[0][0]], ending])
    return found


def lines(tf, folder):
    for name in ("a", "b"):
        with open(os.path.join(folder, name), "w") as file:
            file.write(f"head\n{name}1\n{name}2\n")
    queue = tf.train.string_input_producer([os.path.join(folder, n) for n in "ab"], 1, shuffle=False)
    reader = tf.TextLineReader(skip_header_lines=1)
    key, value = reader.read(queue)
    found, ending = _drained(tf, [key, value])
    return [[(k.rsplit("/", 1)[1], v) for k, v in found], ending]


def counts_of_a_reader(tf, folder):
    with open(os.path.join(folder, "a"), "w") as file:
        file.write("1\n2\n3\n")
    queue = tf.FIFOQueue(3, tf.string, shapes=[])
    reader = tf.TextLineReader()
    _, value = reader.read(queue)
    with tf.Session() as session:
        session.run(queue.enqueue_many([[os.path.join(folder, "a")] * 2]))
        found = []
        for _ in range(4):
            line = session.run(value)
            found.append([line, *session.run([reader.num_records_produced(), reader.num_work_units_completed()])])
        session.run(reader.reset())
        found.append(session.run([reader.num_records_produced(), reader.num_work_units_completed()]))
        found.append([reader.supports_serialize, _outcome(tf, lambda: session.run(reader.serialize_state()))])
    return _plain(found)


# -- savers -----------------------------------------------------------------------------------------------------------


def _model(tf, scale=1.0):
    a = tf.get_variable("a", initializer=tf.constant([1.0, 2.0]) * scale)
    b = tf.get_variable("scope/b", initializer=tf.constant(3) * int(scale))
    return a, b


def _session(tf):
    session = tf.Session()
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    return session


def kept(tf, folder):
    _model(tf)
    found = []
    for number, most in enumerate((None, 0, 1, 3)):
        inner = os.path.join(folder, str(number))
        saver = tf.train.Saver(max_to_keep=most)
        with _session(tf) as session:
            for step in range(4):
                saver.save(session, os.path.join(inner, "m"), global_step=step, write_meta_graph=step == 3)
        found.append([os.path.basename(path) for path in saver.last_checkpoints])
        state = tf.train.get_checkpoint_state(inner)
        found.append([os.path.basename(path) for path in state.all_model_checkpoint_paths])
        found.append(_files(inner))
    return found


def saver_options(tf, folder):
    _model(tf)
    step = tf.train.get_or_create_global_step()
    found = []
    with _session(tf) as session:
        session.run(step.assign(17))
        saver = tf.train.Saver(pad_step_number=True, save_relative_paths=True)
        prefix = os.path.join(folder, "m")
        found.append(saver.save(session, prefix, global_step=step)[len(folder) :])
        found.append(saver.save(session, prefix, 18, latest_filename="other", meta_graph_suffix="graph")[len(folder) :])
        found.append(saver.save(session, prefix, 19, write_state=False, write_meta_graph=False)[len(folder) :])
        for name in ("checkpoint", "other"):
            with open(os.path.join(folder, name)) as file:
                found.append(file.read())
        found.append(_outcome(tf, lambda: saver.save(session, prefix, latest_filename="a/b")))
        found.append(_outcome(tf, lambda: saver.save(session, os.path.join(folder, "checkpoint"))))
        found.append(_outcome(tf, lambda: saver.save(None, prefix)))
        found.append(_outcome(tf, lambda: saver.restore(session, None)))
        found.append(_outcome(tf, lambda: saver.restore(session, prefix + "-nowhere")))
    return [*found, _files(folder)]


def saver_constructions(tf, folder):
    a, b = _model(tf)
    other = tf.get_variable("other", initializer=tf.constant([5.0]))

    def names(saver):
        with _session(tf) as session:
            path = saver.save(session, os.path.join(folder, "names"), write_meta_graph=False, write_state=False)
        return [name for name, _ in tf.train.list_variables(path)]

    deferred = tf.train.Saver(defer_build=True)
    return [
        names(tf.train.Saver()),
        names(tf.train.Saver([a, b])),
        names(tf.train.Saver({"x/y": a, "z": other})),
        _outcome(tf, lambda: tf.train.Saver([a, a])),
        _outcome(tf, lambda: tf.train.Saver({"x": a, "y": a})),
        _outcome(tf, lambda: tf.train.Saver([])),
        _outcome(tf, lambda: tf.train.Saver([], allow_empty=True).save(_session(tf), os.path.join(folder, "none"))),
        _outcome(tf, lambda: tf.train.Saver("a")),
        _outcome(tf, lambda: tf.train.Saver([3])),
        _outcome(tf, lambda: tf.train.Saver([a], defer_build=True)),
        _outcome(tf, lambda: names(deferred)),
        _outcome(tf, lambda: (deferred.build(), names(deferred))[1]),
    ]


def reshaped(tf, folder):
    a, _ = _model(tf)
    with _session(tf) as session:
        path = tf.train.Saver([a]).save(session, os.path.join(folder, "m"))
    c = tf.get_variable("c", [2, 1])
    with tf.Session() as session:
        plain = _outcome(tf, lambda: tf.train.Saver({"a": c}).restore(session, path))
        tf.train.Saver({"a": c}, reshape=True).restore(session, path)
        return [plain, _plain(session.run(c))]


def state_files(tf, folder):
    inner = os.path.join(folder, "x")
    os.makedirs(inner)
    tf.train.update_checkpoint_state(inner, os.path.join(inner, "m-2"), [os.path.join(inner, "m-1")])
    state = tf.train.get_checkpoint_state(inner)
    found = [[path[len(folder) :] for path in [state.model_checkpoint_path, *state.all_model_checkpoint_paths]]]
    found.append(_outcome(tf, lambda: tf.train.latest_checkpoint(inner)))
    found.append(_outcome(tf, lambda: tf.train.get_checkpoint_state(os.path.join(folder, "nowhere"))))
    found.append(tf.train.checkpoint_exists(os.path.join(inner, "m-2")))
    found.append(_plain(tf.train.get_checkpoint_mtimes([os.path.join(inner, "m-2")])))
    message = tf.train.generate_checkpoint_state_proto("relative", "relative/m-1", ["relative/m-0"])
    found.append([message.model_checkpoint_path, *message.all_model_checkpoint_paths])
    found.append(_outcome(tf, lambda: next(tf.train.checkpoints_iterator(inner, timeout=0.1), "none")))
    return found


def readers_of_checkpoints(tf, folder):
    _model(tf)
    with _session(tf) as session:
        path = tf.train.Saver().save(session, os.path.join(folder, "m"))
    reader = tf.train.NewCheckpointReader(path)
    return [
        reader.has_tensor("a"),
        reader.has_tensor("a:0"),
        _plain(reader.get_tensor("a")),
        _plain(reader.get_tensor("scope/b")),
        reader.get_variable_to_shape_map()["a"],
        {name: dtype.name for name, dtype in sorted(reader.get_variable_to_dtype_map().items())},
        [[name, list(shape)] for name, shape in tf.train.list_variables(folder)],
        _plain(tf.train.load_variable(folder, "scope/b")),
        _plain(tf.train.load_variable(folder, "scope/b:0")),
        _outcome(tf, lambda: tf.train.load_checkpoint(os.path.join(folder, "nowhere"))),
        _outcome(tf, lambda: reader.get_tensor("c")),
    ]


def initial_values(tf, folder):
    with tf.Graph().as_default():
        _model(tf, scale=10.0)
        with tf.variable_scope("p", partitioner=tf.fixed_size_partitioner(2)):
            tf.get_variable("w", initializer=tf.constant([1.0, 2.0, 3.0]))
        with _session(tf) as session:
            path = tf.train.Saver().save(session, os.path.join(folder, "m"))
    found = []
    for assignment in (
        {"/": "/"},
        {"a": "new/a"},
        {"a": "new/a", "scope/": "new/"},
        {"scope/": "scope/"},
        {"p/w": "p/w"},
        [("a", "a"), ("a", "new/a")],
        {"missing": "a"},
        {"a": "missing"},
        {"a": "scope/b"},
        {"scope/b": "a"},
        {"scope": "scope/"},
        {"a": 3},
        {"scope/": "a"},
    ):
        with tf.Graph().as_default():
            variables = dict(zip(("a", "scope/b"), _model(tf), strict=True))
            if assignment != {"/": "/"}:
                variables["new/a"] = tf.get_variable("new/a", [2], initializer=tf.zeros_initializer())
                variables["new/b"] = tf.get_variable("new/b", [], tf.int32, tf.zeros_initializer())
            with tf.variable_scope("p", partitioner=tf.fixed_size_partitioner(3)):
                variables["p/w"] = tf.get_variable("w", [3], initializer=tf.zeros_initializer())

            def values(assignment=assignment, variables=variables):
                tf.train.init_from_checkpoint(path, assignment)
                with _session(tf) as session:
                    return {name: session.run(tf.convert_to_tensor(v)) for name, v in variables.items()}

            found.append(_outcome(tf, values))
    return found


def _vocabulary(folder, name, words):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write("".join(f"{word}\n" for word in words))
    return path


def warm_starts(tf, folder):
    old = _vocabulary(folder, "old", ["red", "green", "blue", "grey"])
    new = _vocabulary(folder, "new", ["blue", "pink", "red", "black", "green"])
    with tf.Graph().as_default():
        rows = np.arange(12, dtype=np.float32).reshape(4, 3) + 1
        tf.get_variable("rows", initializer=tf.constant(rows))
        tf.get_variable("columns", initializer=tf.constant(rows.T.copy()))
        tf.get_variable("plain", initializer=tf.constant([7.0, 8.0]))
        with _session(tf) as session:
            path = tf.train.Saver().save(session, os.path.join(folder, "m"))
    found = []
    zero, ones = tf.zeros_initializer(), tf.ones_initializer()
    by_row = tf.train.VocabInfo(new, 5, 2, old)
    settings = [
        ((path,), {}, {"plain": [2]}),
        ((folder, "pl.*"), {}, {"plain": [2], "rows": [4, 3]}),
        ((path, ["plain"]), {}, {"plain": [2], "rows": [4, 3]}),
        ((path,), {"var_name_to_prev_var_name": {"x": "plain"}}, {"x": [2]}),
        ((path, ".*", {"rows": by_row}), {}, {"rows": [7, 3]}),
        ((path, None, {"rows": by_row}), {}, {"rows": [7, 3], "plain": [2]}),
        ((path, ".*", {"rows": tf.train.VocabInfo(new, 4, 0, old, 2, ones)}), {}, {"rows": [4, 3]}),
        ((path, ".*", {"columns": tf.train.VocabInfo(new, 5, 1, old, -1, ones, 1)}), {}, {"columns": [3, 6]}),
        ((path,), {"var_name_to_prev_var_name": {"y": "plain"}}, {"plain": [2]}),
        ((path, ".*", {"y": by_row}), {}, {"plain": [2]}),
        ((path, 3), {}, {"plain": [2]}),
        ((path,), {}, {"unknown": [2]}),
    ]
    for partitioned in (False, True):
        for args, kwargs, shapes in settings:
            with tf.Graph().as_default():
                rows_apart = partitioned and all(len(shape) == 2 for shape in shapes.values())
                with tf.variable_scope("", partitioner=tf.fixed_size_partitioner(2) if rows_apart else None):
                    variables = {n: tf.get_variable(n, shape, initializer=zero) for n, shape in shapes.items()}

                def values(args=args, kwargs=kwargs, variables=variables):
                    tf.train.warm_start(*args, **kwargs)
                    with _session(tf) as session:
                        return {name: session.run(tf.convert_to_tensor(v)) for name, v in variables.items()}

                found.append(_outcome(tf, values))
    found.append(_outcome(tf, lambda: tf.train.VocabInfo(new, 4, 0, old, axis=2)))
    return found


def meta_graphs(tf, folder):
    with tf.Graph().as_default():
        a, _ = _model(tf)
        x = tf.placeholder(tf.float32, [2], name="x")
        tf.add_to_collection("out", tf.add(x, a, name="sum"))
        saver = tf.train.Saver()
        with _session(tf) as session:
            path = saver.save(session, os.path.join(folder, "m"))
    found = []
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(path + ".meta")
        saver.restore(session, path)
        found.append(_plain(session.run(tf.get_collection("out")[0], {"x:0": [1.0, 1.0]})))
        found.append(sorted(v.name for v in tf.global_variables()))
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(path + ".meta", import_scope="in", clear_devices=True)
        session.run(tf.global_variables_initializer())
        found.append(sorted(v.name for v in tf.trainable_variables()))
        found.append(_plain(session.run("in/sum:0", {"in/x:0": [0.0, 0.0]})))
        saver.restore(session, path)
    found.append(_outcome(tf, lambda: tf.train.import_meta_graph(os.path.join(folder, "nowhere.meta"))))
    with tf.Graph().as_default():
        tf.constant(1)
        found.append(tf.train.import_meta_graph(tf.train.export_meta_graph()) is None)
    return found


def handles_and_loops(tf, folder):
    """A counter that ends input, by count_up_to, and looper threads."""
    v = tf.Variable(0)
    count = v.count_up_to(3)
    calls = []
    with _session(tf) as session:
        coordinator = tf.train.Coordinator()

        def body():
            try:
                calls.append(int(session.run(count)))
            except tf.errors.OutOfRangeError as error:
                coordinator.request_stop(error)

        looper = tf.train.LooperThread.loop(coordinator, 0, body)
        coordinator.join([looper])
    return [calls, coordinator.should_stop(), coordinator.joined]


PROGRAMS = {
    name: function for name, function in list(globals().items()) if callable(function) and not name.startswith("_")
}


def run(tf, name, folder):
    """Runs a program in a folder and a graph of its own."""
    inner = os.path.join(folder, name)
    os.makedirs(inner)
    with tf.Graph().as_default():
        return json.loads(json.dumps(_plain(PROGRAMS[name](tf, inner)), default=str))


def main(tf, folder, answers, names):
    """Runs programs in TensorFlow's Python."""
    with open(answers, "w") as file:
        for name in names:
            file.write(json.dumps(run(tf, name, folder)) + "\n")
            file.flush()
    sys.stdout.flush()
