"""Programs with queues and the like, in words that TensorFlow and Thalweg both understand; each gives plain values."""

import os

import numpy as np


def plain(value):
    """Returns a fetched value as something JSON can write."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in sorted(value.items())}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return os.path.basename(value).decode("latin-1")  # without the folder, which is another on each side
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    return value


class Runner:
    """Runs fetches and keeps what came of them: a value, or the class of the error."""

    def __init__(self, tf):
        self._tf = tf
        self.session = tf.Session()
        self.outcomes = []

    def __call__(self, make, feeds=None, keep=True):
        tf = self._tf
        try:
            fetches = make() if callable(make) else make
            value = self.session.run(fetches, feeds, tf.RunOptions(timeout_in_ms=20_000))
            value = plain(value) if keep else np.shape(value)
        except tf.errors.OpError as error:
            value = type(error).__name__
        except (TypeError, ValueError):
            value = "refused"
        self.outcomes.append(value)
        return value


def make_queue(tf, kind, capacity, stay):
    if kind == "fifo":
        return tf.FIFOQueue(capacity, [tf.int64, tf.int32], shapes=[[], []])
    if kind == "padding":
        return tf.PaddingFIFOQueue(capacity, [tf.int64, tf.int32], shapes=[[], [None]])
    if kind == "priority":
        return tf.PriorityQueue(capacity, [tf.int32], shapes=[[]])
    return tf.RandomShuffleQueue(capacity, stay, [tf.int64, tf.int32], shapes=[[], []])


def run_sequence(tf, kind, capacity, stay, operations):
    """Does operations to a queue; shuffled values are only counted."""
    run = Runner(tf)
    queue = make_queue(tf, kind, capacity, stay)
    keep = kind != "shuffle"
    for operation, argument in operations:
        if operation == "put":
            second = [argument[0]] * (1 + argument[0] % 3) if kind == "padding" else argument[0]
            run(lambda a=argument, s=second: queue.enqueue([np.int64(a[0]), s]))
        elif operation == "put_many":
            second = [[name] * 2 for name in argument] if kind == "padding" else argument
            run(lambda a=argument, s=second: queue.enqueue_many([np.array(a, np.int64), np.array(s, np.int32)]))
        elif operation == "take":
            run(queue.dequeue, keep=keep)
        elif operation in ("take_many", "take_up_to"):
            take = queue.dequeue_many if operation == "take_many" else queue.dequeue_up_to
            run(lambda t=take, n=argument: t(n), keep=keep)
        else:
            run(lambda c=operation: queue.close(cancel_pending_enqueues=c == "close_and_cancel"))
        run([queue.size(), queue.is_closed()])
    return run.outcomes


def accumulators(tf, run, folder, extra):
    dense = tf.ConditionalAccumulator(tf.float32, shape=[2])
    value = tf.placeholder(tf.float32)
    for gradient, step in (([1.0, 2.0], 0), ([3.0, 4.0], 5)):
        run(lambda g=gradient, s=step: dense.apply_grad(g, s))
    run(dense.num_accumulated())
    run(dense.take_grad(2))
    run(dense.apply_grad([9.0, 9.0], 0))
    run(dense.num_accumulated())
    run(dense.apply_grad(value, 1), {value: [1.0, 2.0, 3.0]})
    run(dense.apply_grad(value, 0), {value: [1.0, 2.0]})
    run(lambda: dense.apply_grad([1.0]))
    run(dense.set_global_step(4))
    run(dense.apply_grad([1.0, 1.0], 3))
    run(dense.apply_grad([5.0, 1.0], 4))
    run(dense.take_grad(1))
    run(lambda: dense.take_grad(0))
    total = tf.ConditionalAccumulator(tf.float32, shape=[], reduction_type="SUM")
    for number in (1.0, 2.0, 4.0):
        run(total.apply_grad(number))
    run(total.take_grad(1))
    for reduction in ("MEAN", "SUM"):
        sparse = tf.SparseConditionalAccumulator(tf.float32, shape=[None, 2], reduction_type=reduction)
        run(sparse.apply_grad([0, 2], [[1.0, 2.0], [3.0, 4.0]]))
        run(sparse.apply_grad([2, 3], [[1.0, 2.0], [3.0, 4.0]], grad_shape=[5, 2]))
        run(sparse.apply_grad([3], [[1.0, 2.0]]))
        run(sparse.num_accumulated())
        run(sparse.take_grad(3))
        run(sparse.apply_grad([0], [[1.0, 2.0]], local_step=0))
        run(sparse.num_accumulated())
        run(lambda s=sparse: s.apply_grad([0], [[1.0, 2.0, 3.0]], local_step=3))
        run(lambda s=sparse: s.apply_grad([0, 1], [[1.0, 2.0]] * 3, local_step=3))


def barriers(tf, run, folder, extra):
    barrier = extra.Barrier((tf.float32, tf.string), shapes=((), ()))
    run(barrier.insert_many(0, ["a", "b", "c"], [1.0, 2.0, 3.0]))
    run(barrier.insert_many(1, ["c", "a"], ["x", "y"]))
    run([barrier.ready_size(), barrier.incomplete_size()])
    run(barrier.insert_many(0, ["d"], [4.0]))
    run(barrier.insert_many(1, ["d"], ["w"]))
    run(barrier.take_many(3))
    run(barrier.insert_many(0, ["b"], [9.0]))
    run(barrier.insert_many(0, ["a"], [9.0]))
    run(barrier.take_many(0))
    run(barrier.close())
    run(barrier.insert_many(1, ["b"], ["z"]))
    run(barrier.insert_many(0, ["q"], [1.0]))
    run(barrier.take_many(5))
    run(barrier.take_many(5, allow_small_batch=True))
    run(barrier.take_many(5, allow_small_batch=True))
    run(barrier.close())
    run(barrier.close(cancel_pending_enqueues=True))
    run(barrier.insert_many(1, ["a"], ["z"]))
    run(lambda: barrier.insert_many(0, ["a", "b"], [1.0]))


def staging(tf, run, folder, extra):
    area = extra.StagingArea([tf.float32, tf.string])
    run(area.put([tf.constant(1.0), tf.constant("a")]))
    run(area.put([tf.constant(2.0), tf.constant("b")]))
    run(area.size())
    run(area.peek(1))
    run(area.get())
    run(area.get())
    run(area.size())
    run(area.put([tf.constant(2.0), tf.constant("b")]))
    run(area.clear())
    run(area.size())
    keyed = extra.MapStagingArea([tf.float32, tf.int32], names=["x", "n"], ordered=True)
    key = tf.placeholder(tf.int64, [])
    run(keyed.put(key, {"x": tf.constant(1.5)}), {key: 9})
    run([keyed.size(), keyed.incomplete_size()])
    run(keyed.put(key, {"n": tf.constant(3)}), {key: 9})
    run(keyed.put(key, {"x": tf.constant(0.5), "n": tf.constant(4)}), {key: 2})
    run(keyed.peek(key), {key: 9})
    run(keyed.get())
    run(keyed.get(key), {key: 9})
    run([keyed.size(), keyed.incomplete_size()])


def readers(tf, run, folder, extra):
    def write(name, data):
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    lines = [write("a.txt", b"h\none\r\ntwo\n"), write("empty.txt", b""), write("b.txt", b"h\n\nthree")]
    fixed = [write("fixed", b"HHaabbccF"), write("short", b"HHaab")]
    records = {}
    for kind in ("", "ZLIB", "GZIP"):
        records[kind] = os.path.join(folder, f"records{kind}")
        with tf.python_io.TFRecordWriter(records[kind], tf.python_io.TFRecordOptions(kind)) as writer:
            for i in range(3):
                writer.write(b"record" * i)
        with open(records[kind], "rb") as file:
            write(f"cut{kind}", file.read()[:-3])

    def all_of(reader, paths, reads, many=None):
        queue = tf.FIFOQueue(9, tf.string, shapes=[[]])
        run(queue.enqueue_many([paths]))
        run(queue.close())
        read = reader.read(queue) if many is None else reader.read_up_to(queue, many)
        for _ in range(reads):
            run(read)
            run([reader.num_records_produced(), reader.num_work_units_completed()])
        run(reader.reset())
        run([reader.num_records_produced(), reader.num_work_units_completed()])

    all_of(tf.TextLineReader(), lines, 7)
    all_of(tf.TextLineReader(skip_header_lines=1), lines, 5)
    all_of(tf.TextLineReader(), lines, 4, many=2)
    all_of(tf.WholeFileReader(), lines[:1], 2)
    all_of(tf.IdentityReader(), ["x", "y"], 3)
    all_of(tf.IdentityReader(), ["x", "y"], 3, many=2)
    all_of(tf.FixedLengthRecordReader(2, header_bytes=2, footer_bytes=1), fixed[:1], 4)
    all_of(tf.FixedLengthRecordReader(2, header_bytes=2, hop_bytes=1), fixed[:1], 7)
    for kind, path in records.items():
        all_of(tf.TFRecordReader(options=tf.python_io.TFRecordOptions(kind)), [path], 4)
        all_of(tf.TFRecordReader(options=tf.python_io.TFRecordOptions(kind)), [os.path.join(folder, f"cut{kind}")], 3)
    all_of(tf.WholeFileReader(), [os.path.join(folder, "none")], 2)
    identity, queue = tf.IdentityReader(), tf.FIFOQueue(9, tf.string, shapes=[[]])
    run(queue.enqueue_many([["x", "y"]]))
    run(identity.read(queue))
    run(identity.serialize_state())
    run(identity.restore_state(identity.serialize_state()))
    run(identity.restore_state("nonsense"))
    run(tf.TextLineReader().serialize_state())


def construction(tf, run, folder, extra):
    """Queues and arguments that do not fit."""
    value, number = tf.placeholder(tf.int32), tf.placeholder(tf.int32)
    run(lambda: tf.FIFOQueue(0, tf.int32, shapes=[[]]).size())
    run(lambda: tf.RandomShuffleQueue(3, 3, tf.int32).size())
    run(lambda: tf.RandomShuffleQueue(3, -1, tf.int32).size())
    run(lambda: tf.PaddingFIFOQueue(3, tf.int32, shapes=[tf.TensorShape(None)]).size())
    run(lambda: tf.FIFOQueue(3, tf.int32, shapes=[[None]]).size())
    run(lambda: tf.FIFOQueue(3, [tf.int32, tf.int32], shapes=[[1]]).size())
    run(lambda: tf.FIFOQueue(3, tf.int32, names=["a", "b"]).size())
    run(lambda: tf.FIFOQueue(3, tf.int32, shared_name="shared").size())
    for make in (
        lambda: tf.FIFOQueue(4, tf.int32, shared_name="shared"),
        lambda: tf.FIFOQueue(3, tf.float32, shared_name="shared"),
        lambda: tf.FIFOQueue(3, tf.int32, shapes=[[]], shared_name="shared"),
        lambda: tf.RandomShuffleQueue(3, 1, tf.int32, shared_name="shared"),
    ):
        run(lambda m=make: m().size())
    queue = tf.FIFOQueue(3, tf.int32, shapes=[[2]])
    run(queue.enqueue([value]), {value: [1, 2, 3]})
    run(queue.enqueue([value]), {value: [1, 2]})
    run(queue.enqueue_many([value]), {value: [[1, 2, 3]]})
    run(queue.enqueue_many([value]), {value: 5})
    run(queue.dequeue_many(number), {number: -1})
    run(lambda: queue.enqueue([[1, 2, 3]]))
    run(lambda: queue.enqueue([[1.5, 2.5]]))
    run(lambda: queue.dequeue_many(-1))
    run(lambda: tf.FIFOQueue(3, tf.int32).dequeue_many(2))
    run(queue.size())
    named = tf.FIFOQueue(3, [tf.int32, tf.string], shapes=[[], []], names=["n", "s"])
    run(named.enqueue({"n": 1, "s": "x"}))
    run(lambda: named.enqueue([1, "x"]))
    run(lambda: named.enqueue({"n": 1}))
    run(named.dequeue())
    chosen = tf.QueueBase.from_list(number, [queue, tf.FIFOQueue(3, tf.int32, shapes=[[2]])])
    run(chosen.size(), {number: 0})
    run(chosen.enqueue([[5, 6]]), {number: 1})
    run(chosen.dequeue(), {number: 1})


PROGRAMS = {f.__name__: f for f in (accumulators, barriers, staging, readers, construction)}


def run_program(tf, name, folder, extra):
    with tf.Graph().as_default():
        run = Runner(tf)
        PROGRAMS[name](tf, run, folder, extra)
        return run.outcomes
