"""Live sources in whole programs: every kind of iterator, eager execution, Keras and Estimators."""

import subprocess
import sys
import threading

import numpy as np
import pytest

import thalweg as tf
from tests import children
from tests.training.data.test_live_sources import Credits

Dataset = tf.data.Dataset


def pipeline(credits):
    return credits.source().map(lambda x: x * 2, num_parallel_calls=4).prefetch(1)


def one_shot(session, dataset):
    return dataset.make_one_shot_iterator().get_next(), None


def initializable(session, dataset):
    iterator = dataset.make_initializable_iterator()
    session.run(iterator.initializer)
    return iterator.get_next(), None


def reinitializable(session, dataset):
    iterator = tf.data.Iterator.from_structure(dataset.output_types, dataset.output_shapes)
    session.run(iterator.make_initializer(Dataset.range(3)))
    session.run(iterator.make_initializer(dataset))
    return iterator.get_next(), None


def feedable(session, dataset):
    handle = tf.placeholder(tf.string, [])
    iterator = tf.data.Iterator.from_string_handle(handle, dataset.output_types, dataset.output_shapes)
    fed = session.run(dataset.make_one_shot_iterator().string_handle())
    return iterator.get_next(), {handle: fed}


def optional(session, dataset):
    iterator = dataset.make_one_shot_iterator()
    return tf.data.experimental.get_next_as_optional(iterator).get_value(), None


@pytest.mark.parametrize("start", [one_shot, initializable, reinitializable, feedable, optional])
def test_every_iterator_takes_elements_of_a_live_source(start):
    credits = Credits(1)
    with tf.Graph().as_default(), tf.Session() as session:
        element, feed = start(session, pipeline(credits))
        for number in range(6):
            assert session.run(element, feed) == 2 * number
            credits.add(1)
        credits.add(9)


_EAGER = """
import queue
import thalweg as tf
tf.enable_eager_execution()

results = queue.Queue()
results.put(0)

def generate():
    while True:
        yield results.get()

dataset = tf.data.Dataset.from_generator(generate, tf.int64, [])
dataset = dataset.map(lambda x: x + 1, num_parallel_calls=4)
try:
    for element in dataset:
        print(element.numpy(), flush=True)
        if element.numpy() < 4:
            results.put(element.numpy())
except KeyboardInterrupt:
    print("over", flush=True)
"""


def test_an_eager_loop_over_a_live_source_can_be_interrupted(start_child):
    process = start_child([sys.executable, "-c", _EAGER], forked=True, stdout=subprocess.PIPE, text=True)
    assert [process.stdout.readline() for _ in range(4)] == ["1\n", "2\n", "3\n", "4\n"]
    children.interrupt(process)
    assert process.stdout.read() == "over\n" and process.returncode == 0


def examples(credits):
    """Returns batches of two examples, each of two elements of a live source."""
    scaled = credits.source().map(lambda x: tf.cast(tf.reshape(x, [1]), tf.float32) / 100.0, num_parallel_calls=4)
    return scaled.map(lambda x: (x, 2.0 * x)).batch(2).prefetch(1)


def test_keras_trains_with_a_live_source():
    credits, losses = Credits(2), []

    class Producer(tf.keras.callbacks.Callback):
        def on_batch_end(self, batch, logs=None):
            losses.append(logs["loss"])
            credits.add(2)

    with tf.Graph().as_default(), tf.Session():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
        model.compile("sgd", "mse")
        model.fit(examples(credits), steps_per_epoch=4, epochs=2, verbose=0, callbacks=[Producer()])
        assert len(losses) == 8 and np.isfinite(losses).all()
        credits.add(99)


def test_an_estimator_trains_with_a_live_source(tmp_path):
    credits = Credits(2)

    class Producer(tf.train.SessionRunHook):
        def after_run(self, run_context, run_values):
            credits.add(2)

    def model_fn(features, labels, mode):
        weight = tf.get_variable("weight", [])
        loss = tf.reduce_mean(tf.square(weight * features - labels))
        train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    estimator = tf.estimator.Estimator(model_fn, str(tmp_path))
    estimator.train(lambda: examples(credits), steps=5, hooks=[Producer()])
    assert estimator.get_variable_value("global_step") == 5
    credits.add(99)
    tf.summary.FileWriterCache.clear()


def test_several_steps_take_elements_of_a_live_source():
    """Steps of several threads wait for one source, and each element goes to one of them."""
    credits, taken, changed = Credits(0), [], threading.Condition()
    with tf.Graph().as_default(), tf.Session() as session:
        run = session.make_callable(pipeline(credits).make_one_shot_iterator().get_next())

        def consume():
            for _ in range(4):
                value = int(run())
                with changed:
                    taken.append(value)
                    changed.notify_all()

        threads = [threading.Thread(target=consume) for _ in range(3)]
        for thread in threads:
            thread.start()
        for number in range(12):
            credits.add(1)
            with changed:
                changed.wait_for(lambda count=number: len(taken) > count)
        for thread in threads:
            thread.join()
        assert taken == [2 * number for number in range(12)]
        credits.add(9)
