"""Input producers and batches: every example as often as epochs say, in order or not, batched, padded, joined."""

import collections

import numpy as np
import pytest

import thalweg as tf


def run_all(fetches, limit=1000, before=()):
    """Returns the values of fetches until the input ends, with all runners going."""
    coord, values = tf.train.Coordinator(), []
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer(), *before])
        threads = tf.train.start_queue_runners(session, coord)
        try:
            for _ in range(limit):
                values.append(session.run(fetches))
        except tf.errors.OutOfRangeError:
            pass
        finally:
            coord.request_stop()
        coord.join(threads)
    return values


def test_strings_in_order_and_shuffled():
    queue = tf.train.string_input_producer(["a", "b", "c"], num_epochs=2, shuffle=False)
    assert run_all(queue.dequeue()) == [b"a", b"b", b"c"] * 2
    shuffled = tf.train.string_input_producer([str(i) for i in range(20)], num_epochs=2, seed=3)
    values = run_all(shuffled.dequeue())
    assert collections.Counter(values) == {str(i).encode(): 2 for i in range(20)}
    assert sorted(values[:20]) == sorted(values[20:]) and values[:20] != values[20:]


def test_an_empty_string_tensor_is_an_error():
    with pytest.raises(ValueError, match="non-null"):
        tf.train.string_input_producer([])
    strings = tf.placeholder_with_default(np.zeros(0, object), [None])
    queue = tf.train.string_input_producer(strings)
    with pytest.raises(tf.errors.InvalidArgumentError, match="non-null"):
        run_all(queue.dequeue())


def test_ranges_and_slices():
    queue = tf.train.range_input_producer(5, num_epochs=1, shuffle=False)
    assert run_all(queue.dequeue_many(5))[0].tolist() == [0, 1, 2, 3, 4]
    a, b = tf.train.slice_input_producer([np.arange(6).reshape(3, 2), ["x", "y", "z"]], num_epochs=1, shuffle=False)
    assert a.shape.as_list() == [2]
    assert [(x.tolist(), y) for x, y in run_all([a, b])] == [([0, 1], b"x"), ([2, 3], b"y"), ([4, 5], b"z")]
    with pytest.raises(ValueError):
        tf.train.slice_input_producer([])


def test_rows_of_any_tensor():
    queue = tf.train.input_producer(np.arange(6).reshape(3, 2), num_epochs=1, shuffle=False)
    assert [row.tolist() for row in run_all(queue.dequeue())] == [[0, 1], [2, 3], [4, 5]]
    unknown = tf.placeholder(tf.float32, [None, None])
    with pytest.raises(ValueError, match="fully defined"):
        tf.train.input_producer(unknown)
    assert tf.train.input_producer(unknown, element_shape=[3]).dequeue().shape.as_list() == [3]


def test_epochs():
    with pytest.raises(ValueError, match="num_epochs"):
        tf.train.limit_epochs([1], 0)
    assert run_all(tf.train.limit_epochs([7], 3)) == [[7]] * 3
    assert run_all(tf.train.limit_epochs([7]), limit=9) == [[7]] * 9
    assert [v.op.name for v in tf.local_variables()] == ["limit_epochs/epochs"]


def test_files_are_matched_once(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(name)
    names = tf.train.match_filenames_once(str(tmp_path / "*.txt"))
    queue = tf.train.string_input_producer(names, num_epochs=1, shuffle=False)
    reader = tf.WholeFileReader()
    assert [value for _, value in run_all(reader.read(queue))] == [b"a", b"b"]


def test_a_binary_file_is_decoded_in_batches(tmp_path):
    """The CSV pipeline of the tutorials."""
    for i in range(2):
        (tmp_path / f"{i}.csv").write_text("a,b\n" + "".join(f"{i},{j}.5\n" for j in range(3)))
    queue = tf.train.string_input_producer([str(tmp_path / f"{i}.csv") for i in range(2)], num_epochs=1, shuffle=False)
    _, line = tf.TextLineReader(skip_header_lines=1).read(queue)
    number, fraction = tf.decode_csv(line, record_defaults=[[0], [0.0]])
    batches = run_all(tf.train.batch([number, fraction], 4, allow_smaller_final_batch=True))
    assert [n.tolist() for n, _ in batches] == [[0, 0, 0, 1], [1, 1]]
    assert np.concatenate([f for _, f in batches]).tolist() == [0.5, 1.5, 2.5] * 2


def numbers(count, epochs=1):
    return tf.train.range_input_producer(count, num_epochs=epochs, shuffle=False).dequeue()


def test_batches():
    batch = tf.train.batch([numbers(10)], 4)
    assert batch.shape.as_list() == [4]
    assert [b.tolist() for b in run_all(batch)] == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_batches_by_name_and_of_many():
    x = numbers(6)
    batch = tf.train.batch({"x": x, "y": tf.cast(x, tf.float32) / 2}, 3)
    assert set(batch) == {"x", "y"}
    assert [b["y"].tolist() for b in run_all(batch)] == [[0, 0.5, 1], [1.5, 2, 2.5]]
    with tf.Graph().as_default():
        x = numbers(3)
        batch = tf.train.batch([tf.stack([x, x + 10])], 2, enqueue_many=True)
        assert [b.tolist() for b in run_all(batch)] == [[0, 10], [1, 11], [2, 12]]


def test_padded_batches():
    x = numbers(5)
    batch = tf.train.batch([tf.fill([x], x)], 5, dynamic_pad=True, shapes=[[None]])
    (value,) = run_all(batch)
    assert value.tolist() == [[0] * 4, [1, 0, 0, 0], [2, 2, 0, 0], [3, 3, 3, 0], [4, 4, 4, 4]]


def test_sparse_batches():
    x = numbers(4)
    sparse = tf.SparseTensor([[0, 1]], tf.expand_dims(x, 0), [2, 3])
    first, second = run_all(tf.train.batch([sparse], 2))
    assert first.dense_shape.tolist() == [2, 2, 3] and first.values.tolist() == [0, 1]
    assert second.indices.tolist() == [[0, 0, 1], [1, 0, 1]] and second.values.tolist() == [2, 3]


def test_maybe_batch_keeps_selected_examples():
    x = numbers(10)
    batch = tf.train.maybe_batch([x], tf.equal(x % 3, 0), 2)
    assert [b.tolist() for b in run_all(batch)] == [[0, 3], [6, 9]]
    with tf.Graph().as_default():
        x = numbers(4)
        batch = tf.train.maybe_batch([[x, x + 10, x + 20]], [True, False, True], 2, enqueue_many=True)
        assert [b.tolist() for b in run_all(batch)] == [[i, i + 20] for i in range(4)]
    with pytest.raises(ValueError, match="keep_input"):
        tf.train.maybe_batch([x], [True], 2)


def test_joined_batches():
    lists = [[numbers(6), tf.constant(place)] for place in range(3)]
    values, places = zip(*run_all(tf.train.batch_join(lists, 3)))
    assert sorted(zip(np.concatenate(places), np.concatenate(values))) == [(p, v) for p in range(3) for v in range(6)]
    with pytest.raises(TypeError, match="types"):
        tf.train.batch_join([[tf.constant(1)], [tf.constant(1.0)]], 2)


def test_shuffled_batches():
    batch = tf.train.shuffle_batch([numbers(40)], 8, capacity=30, min_after_dequeue=10, seed=1)
    values = np.concatenate(run_all(batch)).tolist()
    assert sorted(values) == list(range(40)) and values != list(range(40))
    with tf.Graph().as_default():
        lists = [[numbers(10)], [numbers(10)]]
        joined = tf.train.shuffle_batch_join(lists, 3, 20, 5, allow_smaller_final_batch=True)
        assert sorted(np.concatenate(run_all(joined)).tolist()) == sorted(2 * list(range(10)))
    with pytest.raises(ValueError, match="bigger"):
        tf.train.shuffle_batch([tf.constant(1)], 2, capacity=3, min_after_dequeue=3)


def test_invalid_batch_arguments():
    with pytest.raises(ValueError, match="at least one"):
        tf.train.batch([], 2)
    with pytest.raises(TypeError):
        tf.train.batch(tf.constant([1, 2]), 2)
    with pytest.raises(ValueError, match="rank"):
        tf.train.batch([tf.placeholder(tf.int32)], 2)
    with pytest.raises(ValueError):
        tf.train.batch_join([], 2)


def test_queue_fill_levels_are_summarized():
    tf.train.batch([numbers(3)], 2, capacity=8)
    names = [summary.op.name for summary in tf.get_collection(tf.GraphKeys.SUMMARIES)]
    assert any(name.endswith("fraction_of_32_full") for name in names)
    assert any(name.endswith("fraction_of_8_full") for name in names)
    tf.train.shuffle_batch([numbers(3)], 2, capacity=8, min_after_dequeue=3)
    assert tf.get_collection(tf.GraphKeys.SUMMARIES)[-1].op.name.endswith("fraction_over_3_of_5_full")


def test_buckets():
    from thalweg._src.compat.contrib.training.bucketing import bucket, bucket_by_sequence_length

    x = numbers(12)
    which, values = bucket([x], x % 3, 2, 3)
    found = run_all([which, values])
    assert sorted(v for _, pair in found for v in pair.tolist()) == list(range(12))
    assert all((pair % 3 == number).all() for number, pair in found)
    with tf.Graph().as_default():
        x = numbers(10)
        lengths, padded = bucket_by_sequence_length(
            x, [tf.fill([x], x)], 2, [3, 6], dynamic_pad=True, shapes=[[None]], allow_smaller_final_batch=True
        )
        assert isinstance(padded, list) and len(padded) == 1
        found = run_all([lengths, padded[0]])
        assert sorted(np.concatenate([sizes for sizes, _ in found]).tolist()) == list(range(10))
        for sizes, rows in found:
            assert rows.shape[1] == sizes.max() and len({0 if s < 3 else 1 if s < 6 else 2 for s in sizes}) == 1
    with pytest.raises(ValueError, match="increasing"):
        bucket_by_sequence_length(tf.constant(1), [tf.constant(1)], 2, [5, 3])
