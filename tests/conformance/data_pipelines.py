"""Small input pipelines, written once and run by TensorFlow and by Thalweg; this file imports neither.

Each function gets `tf` and a folder with files and returns a dataset, an iterator's element, or raises.
"""

import collections
import json
import sys

import numpy as np

Pair = collections.namedtuple("Pair", ["left", "right"])


def _range(tf, *args):
    return tf.data.Dataset.range(*args)


def _ragged(tf, *lengths):
    """Returns vectors of several lengths: n times the number n."""
    lengths = np.array(lengths or (3, 1, 0, 4, 2), np.int64)
    return tf.data.Dataset.from_tensor_slices(lengths).map(lambda n: tf.fill([n], n))


def _sparse(tf):
    return tf.SparseTensor([[0, 0], [0, 2], [2, 1]], [1.0, 2.0, 3.0], [3, 4])


def _bad_at(tf, n):
    """Returns a map function that fails at one element."""
    return lambda x: tf.check_numerics(1.0 / tf.cast(x - n, tf.float32), "bad")


# -- sources ----------------------------------------------------------------------------------------------------------


def from_tensors_scalar(tf, folder):
    return tf.data.Dataset.from_tensors(3.5)


def from_tensors_nested(tf, folder):
    return tf.data.Dataset.from_tensors({"a": np.arange(3), "b": (np.float32(1), ["x", "y"])})


def from_tensors_pair(tf, folder):
    return tf.data.Dataset.from_tensors(Pair(np.int32(1), [1.5, 2.5]))


def from_tensors_sparse(tf, folder):
    return tf.data.Dataset.from_tensors((_sparse(tf), 1))


def from_tensors_empty(tf, folder):
    return tf.data.Dataset.from_tensors(np.zeros((0, 2), np.float32))


def slices(tf, folder):
    return tf.data.Dataset.from_tensor_slices(np.arange(12, dtype=np.float32).reshape(3, 4))


def slices_nested(tf, folder):
    return tf.data.Dataset.from_tensor_slices(({"k": [1, 2, 3]}, ["a", "b", "c"]))


def slices_list_is_one_tensor(tf, folder):
    return tf.data.Dataset.from_tensor_slices([[1, 2], [3, 4]])


def slices_sparse(tf, folder):
    return tf.data.Dataset.from_tensor_slices(_sparse(tf))


def slices_of_none(tf, folder):
    return tf.data.Dataset.from_tensor_slices(np.zeros((0, 3)))


def slices_unequal(tf, folder):
    return tf.data.Dataset.from_tensor_slices(([1, 2, 3], [1, 2]))


def slices_scalar(tf, folder):
    return tf.data.Dataset.from_tensor_slices(3)


def sparse_slices(tf, folder):
    return tf.data.Dataset.from_sparse_tensor_slices(_sparse(tf))


def range_stop(tf, folder):
    return _range(tf, 5)


def range_start(tf, folder):
    return _range(tf, 2, 6)


def range_step(tf, folder):
    return _range(tf, 2, 12, 3)


def range_down(tf, folder):
    return _range(tf, 5, 0, -2)


def range_empty(tf, folder):
    return _range(tf, 5, 2)


def generator(tf, folder):
    def generate():
        for i in range(4):
            yield i, [float(i)] * i

    return tf.data.Dataset.from_generator(generate, (tf.int64, tf.float32), ([], [None]))


def generator_args(tf, folder):
    def generate(n):
        yield from range(n)

    return tf.data.Dataset.from_generator(generate, tf.int32, args=(3,))


def generator_dict(tf, folder):
    return tf.data.Dataset.from_generator(lambda: iter([{"a": 1, "b": "x"}]), {"a": tf.int32, "b": tf.string})


def generator_wrong_shape(tf, folder):
    return tf.data.Dataset.from_generator(lambda: iter([[1, 2], [1, 2, 3]]), tf.int32, [2])


def generator_wrong_type(tf, folder):
    return tf.data.Dataset.from_generator(lambda: iter([1, "text"]), tf.int32)


def generator_raises(tf, folder):
    def generate():
        yield 1
        raise ValueError("no more")

    return tf.data.Dataset.from_generator(generate, tf.int32)


def generator_wrong_structure(tf, folder):
    return tf.data.Dataset.from_generator(lambda: iter([(1, 2), 3]), (tf.int32, tf.int32))


# -- files ------------------------------------------------------------------------------------------------------------


def text_lines(tf, folder):
    return tf.data.TextLineDataset([f"{folder}/a.txt", f"{folder}/b.txt"])


def text_lines_gzip(tf, folder):
    return tf.data.TextLineDataset(f"{folder}/c.txt.gz", compression_type="GZIP")


def text_lines_of_dataset(tf, folder):
    return tf.data.TextLineDataset(tf.data.Dataset.list_files(f"{folder}/*.txt", shuffle=False)).skip(1)


def text_missing(tf, folder):
    return tf.data.TextLineDataset(f"{folder}/missing.txt")


def records(tf, folder):
    return tf.data.TFRecordDataset([f"{folder}/a.tfrecord", f"{folder}/b.tfrecord"])


def records_zlib(tf, folder):
    return tf.data.TFRecordDataset(f"{folder}/c.tfrecord", "ZLIB")


def records_parallel(tf, folder):
    names = [f"{folder}/a.tfrecord", f"{folder}/b.tfrecord"]
    return tf.data.TFRecordDataset(names, num_parallel_reads=2)


def records_cut(tf, folder):
    return tf.data.TFRecordDataset(f"{folder}/cut.tfrecord")


def records_damaged(tf, folder):
    return tf.data.TFRecordDataset(f"{folder}/damaged.tfrecord")


def records_bad_compression(tf, folder):
    return tf.data.TFRecordDataset(f"{folder}/a.tfrecord", "LZ4")


def fixed_length(tf, folder):
    return tf.data.FixedLengthRecordDataset(f"{folder}/fixed.bin", 3, header_bytes=2, footer_bytes=1)


def fixed_length_wrong(tf, folder):
    return tf.data.FixedLengthRecordDataset(f"{folder}/fixed.bin", 4, header_bytes=2, footer_bytes=1)


def list_files(tf, folder):
    names = tf.data.Dataset.list_files(f"{folder}/*.txt", shuffle=False)
    return names.map(lambda name: tf.strings.substr(name, -5, 5))


def list_files_none(tf, folder):
    return tf.data.Dataset.list_files(f"{folder}/*.none")


# -- maps and filters -------------------------------------------------------------------------------------------------


def map_plain(tf, folder):
    return _range(tf, 4).map(lambda x: tf.cast(x, tf.float32) / 2)


def map_to_nest(tf, folder):
    return _range(tf, 3).map(lambda x: {"a": x, "b": (x * 2, tf.as_string(x))})


def map_pair(tf, folder):
    return tf.data.Dataset.from_tensor_slices(([1, 2], [10, 20])).map(lambda a, b: Pair(a + b, a * b))


def map_named_tuple_is_one_argument(tf, folder):
    return tf.data.Dataset.from_tensors(Pair(1, 2)).map(lambda pair: pair.left + pair.right)


def map_dict(tf, folder):
    return tf.data.Dataset.from_tensor_slices({"a": [1, 2]}).map(lambda element: element["a"] + 1)


def map_list(tf, folder):
    return _range(tf, 2).map(lambda x: [x, tf.cast(x, tf.float32)])


def map_constant(tf, folder):
    return _range(tf, 2).map(lambda x: 7)


def map_parallel(tf, folder):
    return _range(tf, 20).map(lambda x: x * x, num_parallel_calls=3)


def map_py_func(tf, folder):
    return _range(tf, 4).map(lambda x: tf.py_func(lambda v: v + np.int64(1), [x], tf.int64))


def map_to_sparse(tf, folder):
    return _range(tf, 3).map(lambda x: tf.SparseTensor([[x]], [x], [5]))


def map_captures(tf, folder):
    outer = tf.constant([1, 2, 3], tf.int64) * 2
    return _range(tf, 3).map(lambda x: outer + x)


def map_cond(tf, folder):
    return _range(tf, 4).map(lambda x: tf.cond(tf.equal(x % 2, 0), lambda: x, lambda: -x))


def map_while(tf, folder):
    return _range(tf, 5).map(
        lambda x: tf.while_loop(lambda i, s: i < x, lambda i, s: (i + 1, s + i), [0 * x, 0 * x])[1]
    )


def map_fails_at_one(tf, folder):
    return _range(tf, 4).map(_bad_at(tf, 2))


def map_none(tf, folder):
    return _range(tf, 4).map(lambda x: None)


def filter_even(tf, folder):
    return _range(tf, 8).filter(lambda x: tf.equal(x % 2, 0))


def filter_nested(tf, folder):
    return tf.data.Dataset.from_tensor_slices(([1, 2, 3], ["a", "b", "c"])).filter(lambda n, s: n > 1)


def filter_not_bool(tf, folder):
    return _range(tf, 8).filter(lambda x: x)


def flat_map(tf, folder):
    return _range(tf, 4).flat_map(lambda x: _range(tf, x))


def flat_map_nested(tf, folder):
    return _range(tf, 3).flat_map(
        lambda x: _range(tf, x).flat_map(lambda y: _range(tf, y + x).map(lambda z: (x, y, z)))
    )


def flat_map_no_dataset(tf, folder):
    return _range(tf, 3).flat_map(lambda x: x)


def interleave(tf, folder):
    return _range(tf, 1, 6).interleave(lambda x: _range(tf, x).map(lambda y: x * 10 + y), 2, 2)


def interleave_wide(tf, folder):
    return _range(tf, 1, 4).interleave(lambda x: _range(tf, x).map(lambda y: x * 10 + y), 7, 1)


def interleave_parallel(tf, folder):
    inner = lambda x: _range(tf, x).map(lambda y: x * 10 + y)  # noqa: E731
    return _range(tf, 1, 6).interleave(inner, 2, 3, num_parallel_calls=2)


def interleave_zero(tf, folder):
    return _range(tf, 3).interleave(lambda x: _range(tf, x), 0)


def parallel_interleave(tf, folder):
    inner = lambda x: tf.data.Dataset.from_tensors(x).repeat(3)  # noqa: E731
    return _range(tf, 4).apply(tf.data.experimental.parallel_interleave(inner, cycle_length=2, block_length=2))


# -- choosing and repeating -------------------------------------------------------------------------------------------


def take(tf, folder):
    return _range(tf, 5).take(3)


def take_all(tf, folder):
    return _range(tf, 5).take(-1)


def take_too_many(tf, folder):
    return _range(tf, 2).take(7)


def skip(tf, folder):
    return _range(tf, 5).skip(3)


def skip_all(tf, folder):
    return _range(tf, 5).skip(-1)


def repeat(tf, folder):
    return _range(tf, 2).repeat(3)


def repeat_none(tf, folder):
    return _range(tf, 2).repeat(0)


def repeat_for_ever(tf, folder):
    return _range(tf, 2).repeat().take(5)


def repeat_empty_for_ever(tf, folder):
    return _range(tf, 0).repeat()


def shard(tf, folder):
    return _range(tf, 7).shard(3, 1)


def shard_out_of_range(tf, folder):
    return _range(tf, 7).shard(3, 3)


def zip_nested(tf, folder):
    return tf.data.Dataset.zip((_range(tf, 3), {"b": _range(tf, 5, 9)}))


def zip_list(tf, folder):
    return tf.data.Dataset.zip([_range(tf, 3), 5])


def concatenate(tf, folder):
    return _range(tf, 2).concatenate(_range(tf, 5, 7))


def concatenate_shapes(tf, folder):
    first = tf.data.Dataset.from_tensors(np.zeros((2, 3)))
    return first.concatenate(tf.data.Dataset.from_tensors(np.zeros((2, 4))))


def concatenate_types(tf, folder):
    return _range(tf, 2).concatenate(tf.data.Dataset.from_tensors(1.0))


def enumerate_(tf, folder):
    return tf.data.Dataset.from_tensor_slices(["a", "b"]).enumerate(start=5)


def cache(tf, folder):
    return _range(tf, 3).cache().repeat(2)


def prefetch(tf, folder):
    return _range(tf, 5).prefetch(2)


def prefetch_negative(tf, folder):
    return _range(tf, 5).prefetch(-3)


def shuffle_seeded(tf, folder):
    return _range(tf, 20).shuffle(6, seed=5).repeat(2)


def shuffle_same_each_time(tf, folder):
    return _range(tf, 10).shuffle(4, seed=9, reshuffle_each_iteration=False).repeat(2)


def shuffle_all(tf, folder):
    return _range(tf, 10).shuffle(100, seed=2)


def shuffle_graph_seed(tf, folder):
    tf.set_random_seed(11)
    return _range(tf, 10).shuffle(5, seed=3)


def shuffle_zero(tf, folder):
    return _range(tf, 10).shuffle(0)


# -- batches ----------------------------------------------------------------------------------------------------------


def batch(tf, folder):
    return _range(tf, 7).batch(3)


def batch_drop(tf, folder):
    return _range(tf, 7).batch(3, drop_remainder=True)


def batch_nested(tf, folder):
    return tf.data.Dataset.from_tensor_slices({"a": np.eye(3), "b": ["x", "y", "z"]}).batch(2)


def batch_sparse(tf, folder):
    return map_to_sparse(tf, folder).batch(2)


def batch_unequal(tf, folder):
    return _ragged(tf).batch(2)


def batch_zero(tf, folder):
    return _range(tf, 7).batch(0)


def batch_twice(tf, folder):
    return _range(tf, 8).batch(2).batch(2)


def padded_batch(tf, folder):
    return _ragged(tf).padded_batch(2, [None])


def padded_batch_to(tf, folder):
    return _ragged(tf).padded_batch(2, [5], padding_values=np.int64(-1), drop_remainder=True)


def padded_batch_nested(tf, folder):
    pairs = _ragged(tf).map(lambda x: (x, tf.as_string(x)))
    return pairs.padded_batch(3, ([-1], [6]), padding_values=(np.int64(9), "-"))


def padded_batch_too_small(tf, folder):
    return _ragged(tf).padded_batch(2, [3])


def padded_batch_wrong_rank(tf, folder):
    return _ragged(tf).padded_batch(2, [None, None])


def padded_batch_wrong_type(tf, folder):
    return _ragged(tf).padded_batch(2, [None], padding_values=1.5)


def unbatch(tf, folder):
    return tf.data.Dataset.from_tensors((np.arange(6).reshape(3, 2), ["a", "b", "c"])).unbatch()


def unbatch_scalar(tf, folder):
    return _range(tf, 3).unbatch()


def window(tf, folder):
    return _range(tf, 7).window(3).flat_map(lambda w: w.batch(3))


def window_shift(tf, folder):
    return _range(tf, 7).window(3, shift=1, drop_remainder=True).flat_map(lambda w: w.batch(3))


def window_stride(tf, folder):
    return _range(tf, 9).window(3, 2, 2).flat_map(lambda w: w.batch(3))


def window_apart(tf, folder):
    return _range(tf, 9).window(2, 4).flat_map(lambda w: w.batch(2))


def window_pairs(tf, folder):
    pairs = tf.data.Dataset.from_tensor_slices(([1, 2, 3], ["a", "b", "c"]))
    return pairs.window(2).flat_map(lambda n, s: tf.data.Dataset.zip((n.batch(2), s.batch(2))))


# -- experimental -----------------------------------------------------------------------------------------------------


def scan(tf, folder):
    return _range(tf, 5).apply(tf.data.experimental.scan(np.int64(10), lambda s, x: (s + x, s * x)))


def scan_growing(tf, folder):
    start = np.zeros((0,), np.int64)
    grow = lambda s, x: (tf.concat([s, [x]], 0), tf.size(s))  # noqa: E731
    return _range(tf, 4).apply(tf.data.experimental.scan(start, grow))


def scan_type_changes(tf, folder):
    return _range(tf, 4).apply(tf.data.experimental.scan(np.int32(0), lambda s, x: (x, x)))


def group_by_window(tf, folder):
    group = tf.data.experimental.group_by_window(lambda x: x % 3, lambda key, w: w.batch(4), 4)
    return _range(tf, 17).apply(group)


def group_by_window_sizes(tf, folder):
    group = tf.data.experimental.group_by_window(
        lambda x: x % 2, lambda key, w: w.batch(10), window_size_func=lambda key: key + 2
    )
    return _range(tf, 9).apply(group)


def bucket_by_sequence_length(tf, folder):
    bucket = tf.data.experimental.bucket_by_sequence_length(
        lambda x: tf.shape(x)[0], bucket_boundaries=[2, 4], bucket_batch_sizes=[2, 2, 1]
    )
    return _ragged(tf, 1, 5, 3, 1, 2, 4, 0, 3).apply(bucket)


def bucket_padded_to_boundary(tf, folder):
    bucket = tf.data.experimental.bucket_by_sequence_length(
        lambda x: tf.shape(x)[0], [3, 6], [2, 2, 2], pad_to_bucket_boundary=True
    )
    return _ragged(tf, 1, 5, 2, 4, 2).apply(bucket)


def shuffle_and_repeat(tf, folder):
    return _range(tf, 6).apply(tf.data.experimental.shuffle_and_repeat(4, 3, seed=1))


def map_and_batch(tf, folder):
    return _range(tf, 7).apply(tf.data.experimental.map_and_batch(lambda x: x * 2, 3, num_parallel_calls=2))


def map_and_batch_drop(tf, folder):
    return _range(tf, 7).apply(tf.data.experimental.map_and_batch(lambda x: (x, x * 2), 3, drop_remainder=True))


def choose_from_datasets(tf, folder):
    choice = tf.data.Dataset.from_tensor_slices(np.array([0, 1, 1, 0, 1, 1, 0, 0], np.int64))
    return tf.data.experimental.choose_from_datasets([_range(tf, 3), _range(tf, 10, 13)], choice)


def choose_out_of_range(tf, folder):
    choice = tf.data.Dataset.from_tensor_slices(np.array([0, 2], np.int64))
    return tf.data.experimental.choose_from_datasets([_range(tf, 3), _range(tf, 10, 13)], choice)


def sample_certain(tf, folder):
    return tf.data.experimental.sample_from_datasets([_range(tf, 3), _range(tf, 10, 13)], [0.0, 1.0]).take(3)


def ignore_errors(tf, folder):
    return _range(tf, 5).map(_bad_at(tf, 2)).apply(tf.data.experimental.ignore_errors())


def unique(tf, folder):
    values = tf.data.Dataset.from_tensor_slices(["a", "b", "a", "c", "b"])
    return values.apply(tf.data.experimental.unique())


def take_while(tf, folder):
    return _range(tf, 9).apply(tf.data.experimental.take_while(lambda x: x < 4))


def dense_to_sparse_batch(tf, folder):
    return _ragged(tf).apply(tf.data.experimental.dense_to_sparse_batch(2, [6]))


def dense_to_sparse_too_small(tf, folder):
    return _ragged(tf).apply(tf.data.experimental.dense_to_sparse_batch(2, [2]))


def counter(tf, folder):
    return tf.data.experimental.Counter(5, 2).take(4)


def random_numbers(tf, folder):
    return tf.data.experimental.RandomDataset(seed=3).take(5)


def csv(tf, folder):
    return tf.data.experimental.CsvDataset(f"{folder}/table.csv", [0, 1.5, "none"], header=True)


def csv_columns(tf, folder):
    return tf.data.experimental.CsvDataset(
        f"{folder}/table.csv", [tf.string, tf.int32], header=True, select_cols=[0, 2]
    )


# -- several steps ----------------------------------------------------------------------------------------------------


def reduce(tf, folder):
    return _range(tf, 5).reduce(np.int64(0), lambda s, x: s + x)


def reduce_nested(tf, folder):
    return _range(tf, 5).reduce((np.int64(0), 1.0), lambda s, x: (s[0] + x, s[1] * 2))


def reduce_empty(tf, folder):
    return _range(tf, 0).reduce(np.int64(4), lambda s, x: s + x)


def reduce_growing(tf, folder):
    return _range(tf, 4).reduce(np.zeros(0, np.int64), lambda s, x: tf.concat([s, [x]], 0))


def single_element(tf, folder):
    return tf.data.experimental.get_single_element(_range(tf, 3).batch(5))


def single_element_of_none(tf, folder):
    return tf.data.experimental.get_single_element(_range(tf, 0))


def single_element_of_many(tf, folder):
    return tf.data.experimental.get_single_element(_range(tf, 2))


def one_shot_captures_placeholder(tf, folder):
    return tf.data.make_one_shot_iterator(_range(tf, tf.placeholder(tf.int64, []))).get_next()


def one_shot_captures_variable(tf, folder):
    variable = tf.Variable(1, dtype=tf.int64)
    return tf.data.make_one_shot_iterator(_range(tf, 3).map(lambda x: x + variable)).get_next()


def not_initialized(tf, folder):
    return tf.data.make_initializable_iterator(_range(tf, 3)).get_next()


def two_elements_in_a_step(tf, folder):
    iterator = tf.data.make_one_shot_iterator(_range(tf, 3).map(lambda x: x * 0 + 5))
    return iterator.get_next(), iterator.get_next()


def reinitializable_wrong_type(tf, folder):
    iterator = tf.data.Iterator.from_structure(tf.int64, [])
    return iterator.make_initializer(tf.data.Dataset.from_tensors(1.5))


def reinitializable_wrong_shape(tf, folder):
    iterator = tf.data.Iterator.from_structure(tf.int64, [2])
    return iterator.make_initializer(_range(tf, 3))


def feedable_bad_handle(tf, folder):
    return tf.data.Iterator.from_string_handle("no such thing", tf.int64, []).get_next()


# -- how many, maybe, and by groups -----------------------------------------------------------------------------------


def _cardinalities(tf, *datasets):
    return tf.stack([tf.data.experimental.cardinality(dataset) for dataset in datasets])


def cardinality_of_one(tf, folder):
    d = _range(tf, 10)
    return _cardinalities(
        tf,
        d.take(3),
        d.take(-1),
        d.repeat().take(5),
        d.skip(3),
        d.skip(20),
        d.repeat(3),
        d.repeat(0),
        d.repeat(),
        d.take(0).repeat(),
        d.repeat().skip(2),
        d.shard(3, 1),
        d.repeat().shard(3, 1),
        d.map(lambda x: x),
        d.map(lambda x: x, num_parallel_calls=2),
        d.filter(lambda x: x > 2),
        d.shuffle(3),
        d.cache(),
        d.prefetch(2),
        d.enumerate(),
    )


def cardinality_of_batches(tf, folder):
    d = _range(tf, 10)
    return _cardinalities(
        tf,
        d.batch(3),
        d.batch(3, drop_remainder=True),
        d.repeat().batch(3),
        d.map(lambda x: tf.stack([x])).padded_batch(4, [1]),
        d.batch(5, drop_remainder=True).unbatch(),
        d.window(3),
        d.window(3, 1, 2, True),
        d.window(20, 1, 1, True),
        d.window(20, 1, 1),
        d.map(lambda x: tf.stack([x])).apply(tf.data.experimental.dense_to_sparse_batch(3, [1])),
    )


def cardinality_of_sources(tf, folder):
    d = _range(tf, 10)
    return _cardinalities(
        tf,
        _range(tf, 5, 2),
        _range(tf, 5, 2, -2),
        tf.data.Dataset.from_tensors(1),
        tf.data.Dataset.from_tensor_slices([1, 2]),
        tf.data.Dataset.from_generator(lambda: range(3), tf.int64),
        tf.data.Dataset.zip((d, d.take(4), d.repeat())),
        tf.data.Dataset.zip((d, d.filter(lambda x: x > 2))),
        d.concatenate(d),
        d.concatenate(d.repeat()),
        tf.data.TFRecordDataset([folder + "/a.tfrecord"]),
        tf.data.TextLineDataset([folder + "/a.txt"]),
        tf.data.experimental.Counter(),
        d.apply(tf.data.experimental.scan(np.int64(0), lambda s, x: (s + x, s))),
        d.apply(tf.data.experimental.unique()),
        d.apply(tf.data.experimental.take_while(lambda x: x < 3)),
    )


def optional_elements(tf, folder):
    iterator = tf.data.make_one_shot_iterator(_range(tf, 2))
    optionals = []
    for _ in range(3):
        with tf.control_dependencies([o.has_value() for o in optionals]):
            optionals.append(tf.data.experimental.get_next_as_optional(iterator))
    return tf.stack([o.has_value() for o in optionals])


def optional_without_value(tf, folder):
    optional = tf.data.experimental.Optional
    none = getattr(optional, "none_from_structure", None) or optional.empty  # TensorFlow 2 has another name for it
    return none(tf.TensorSpec([], tf.int32)).get_value()


def optional_value(tf, folder):
    return tf.data.experimental.Optional.from_value((tf.constant(1), {"x": tf.constant([2.5])})).get_value()


def reduced_by_key(tf, folder):
    reducer = tf.data.experimental.Reducer(
        lambda key: (key, tf.constant(0, tf.int64)), lambda state, x: (state[0], state[1] + x), lambda key, s: (key, s)
    )
    return _range(tf, 20).apply(tf.data.experimental.group_by_reducer(lambda x: (13 - x * x) % 7, reducer))


def reduced_by_key_of_floats(tf, folder):
    reducer = tf.data.experimental.Reducer(lambda key: 0.0, lambda state, x: state + 1.0, lambda state: state)
    return _range(tf, 20).apply(tf.data.experimental.group_by_reducer(lambda x: 0.5, reducer))


def rows_of_a_database(tf, folder):
    types = (tf.string, tf.int64, tf.float64, tf.int32)
    query = "SELECT name, age, height, age * 2 FROM people ORDER BY age"
    return tf.data.experimental.SqlDataset("sqlite", folder + "/people.sqlite", query, types)


def rows_of_no_table(tf, folder):
    return tf.data.experimental.SqlDataset("sqlite", folder + "/people.sqlite", "SELECT x FROM nowhere", (tf.string,))


def rows_with_too_many_columns(tf, folder):
    return tf.data.experimental.SqlDataset("sqlite", folder + "/people.sqlite", "SELECT * FROM people", (tf.string,))


def resampled_with_known_distribution(tf, folder):
    half = np.array([0.5, 0.5], np.float32)
    return _range(tf, 6).apply(
        tf.data.experimental.rejection_resample(lambda x: tf.cast(x % 2, tf.int32), half, initial_dist=half)
    )


PIPELINES = {
    name: function
    for name, function in list(globals().items())
    if callable(function) and not name.startswith("_") and name != "Pair"
}


# -- what comes of them -----------------------------------------------------------------------------------------------


def _plain(value):
    """Returns a fetched value as JSON, with its type."""
    if isinstance(value, dict):
        return {key: _plain(value[key]) for key in sorted(value)}
    if type(value).__name__ == "SparseTensorValue":
        return ["sparse", *map(_plain, value)]
    if isinstance(value, tuple | list):
        return ["tuple", *map(_plain, value)]
    array = np.asarray(value)
    kind = "string" if array.dtype.kind in "SO" else array.dtype.name
    items = [item.decode() if isinstance(item, bytes) else item for item in array.ravel().tolist()]
    return [kind, list(array.shape), items]


def _static(tf, dataset):
    """Returns types, shapes and classes as text."""
    return [
        str(_texts(getattr(tf.data, f"get_output_{what}")(dataset), what)) for what in ("types", "shapes", "classes")
    ]


def _texts(value, what):
    if isinstance(value, dict):
        return {key: _texts(value[key], what) for key in sorted(value)}
    if isinstance(value, tuple):
        return tuple(_texts(part, what) for part in value)
    if what == "types":
        return value.name if hasattr(value, "name") else "dataset"
    if what == "shapes":
        return str(value.as_list() if value.ndims is not None else None) if hasattr(value, "ndims") else "dataset"
    return value.__name__ if isinstance(value, type) else "dataset"


def run(tf, name, folder, most=60):
    """Runs a pipeline; returns what it gives, static and in a session, and the class of the error that ends it."""
    report = {"elements": []}
    with tf.Graph().as_default(), tf.Session() as session:
        try:
            result = PIPELINES[name](tf, folder)
        except Exception as error:
            return {"building": type(error).__name__}
        try:
            if hasattr(result, "make_one_shot_iterator"):
                report["static"] = _static(tf, result)
                iterator = tf.data.make_initializable_iterator(result)
                session.run(iterator.initializer)
                element = iterator.get_next()
                errors = 0
                while len(report["elements"]) < most:
                    try:
                        report["elements"].append(_plain(session.run(element)))
                    except tf.errors.OutOfRangeError:
                        break
                    except tf.errors.OpError as error:
                        report["elements"].append(type(error).__name__)
                        errors += 1
                        if errors > 2:
                            break
            else:
                report["elements"].append(_plain(session.run(result)))
        except tf.errors.OpError as error:
            report["error"] = type(error).__name__
    return report


def main(tf, folder, answers, names):
    """Runs pipelines in TensorFlow's Python."""
    with open(answers, "w") as file:
        for name in names:
            file.write(json.dumps(run(tf, name, folder)) + "\n")
            file.flush()
    sys.stdout.flush()
