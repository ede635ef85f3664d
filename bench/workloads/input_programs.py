"""Queues and input pipelines as TensorFlow 1 programs: one source text, run by TensorFlow and by Thalweg."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from workloads import data, records

Step = Callable[[], Any]


def queue(tf: Any) -> Step:
    """Moves elements through a queue: one thread enqueues them, this one dequeues them."""
    with tf.Graph().as_default() as graph:
        elements = tf.FIFOQueue(data.QUEUE_CAPACITY, [tf.float32], shapes=[[]])
        x = tf.placeholder(tf.float32, [])
        session = tf.Session(graph=graph)
        put = session.make_callable(elements.enqueue(x), [x])
        take = session.make_callable(elements.dequeue())

    def fill() -> None:
        for _ in range(data.QUEUE_ELEMENTS):
            put(1.0)

    def step() -> None:
        thread = threading.Thread(target=fill)
        thread.start()
        taken = sum(take() for _ in range(data.QUEUE_ELEMENTS))
        thread.join()
        if taken != data.QUEUE_ELEMENTS:
            raise ValueError(f"{data.QUEUE_ELEMENTS} ones went in, {taken} came out")

    return step


def raw_records(tf: Any) -> Step:
    return _batches(tf, records.raw_file(), lambda record: tf.decode_raw(record, tf.float32))


def examples(tf: Any) -> Step:
    key = records.KEY.decode()
    features = {key: tf.FixedLenFeature([data.RECORD_FLOATS], tf.float32)}
    return _batches(tf, records.example_file(), lambda record: tf.parse_single_example(record, features)[key])


def _batches(tf: Any, path: Any, decode: Callable[[Any], Any]) -> Step:
    """Yields one batch per step, epoch after epoch."""
    with tf.Graph().as_default() as graph:
        dataset = tf.data.TFRecordDataset(str(path)).repeat().map(decode).shuffle(data.SHUFFLED)
        dataset = _with_small_buffers(tf, dataset.batch(data.RECORD_BATCH))
        batch = tf.data.make_one_shot_iterator(dataset).get_next()
        session = tf.Session(graph=graph)
    records.check(session.run(batch))
    take = session.make_callable(batch)

    def step() -> None:
        take()

    return step


def _with_small_buffers(tf: Any, dataset: Any) -> Any:
    """Limits tf.data's own prefetching: otherwise a round consumes batches produced while other peers were measured."""
    options = tf.data.Options()
    if getattr(options, "autotune", None) is not None:
        options.autotune.ram_budget = data.PREFETCHED_BYTES
        dataset = dataset.with_options(options)
    return dataset


PROGRAMS: dict[str, Callable[[Any], Step]] = {"queue": queue, "records": raw_records, "examples": examples}
