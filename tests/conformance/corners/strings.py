"""Corners of strings: empty ones, bytes, numbers, regular expressions."""

import numpy as np


def joins(tf):
    x, y = tf.constant(["a", "b"]), tf.constant("z")
    return (
        x + x,
        tf.string_join([x, y, ""], separator="-"),
        tf.strings.join(["a", "b"]),
        tf.reduce_join([["a", "b"], ["c", "d"]], 1, separator=","),
    )


def joins_of_all_axes(tf):
    x = tf.constant([["a", "b"], ["c", "d"]])
    return tf.reduce_join(x), tf.reduce_join(x, [0, 1]), tf.reduce_join(x, 0, keep_dims=True), tf.reduce_join(x, [])


def lengths(tf):
    x = ["", "abc", "\u00e9\u20ac"]
    return tf.strings.length(x), tf.strings.length(x, unit="UTF8_CHAR")


def parts_of_strings(tf):
    return (
        tf.substr(["hello", "world"], 1, 3),
        tf.strings.substr(["hello"], -3, 2),
        tf.substr(["abc", "defg"], [0, 2], [1, 2]),
    )


def part_beyond_the_end(tf):
    return tf.substr(["ab"], 1, 99), tf.substr(["ab"], 2, 1)


def part_that_starts_beyond(tf):
    return tf.substr(["ab"], 3, 1)


def case_and_blanks(tf):
    return tf.strings.lower(["ABC \u00c9"]), tf.strings.upper(["abc"]), tf.strings.strip(["  a b\t\n", ""])


def numbers_as_strings(tf):
    return (
        tf.as_string([1, -2]),
        tf.as_string([1.5, np.nan, np.inf]),
        tf.as_string([3.14159], precision=2),
        tf.as_string([True, False]),
        tf.as_string([7], width=4, fill="0"),
    )


def numbers_in_other_notations(tf):
    return (
        tf.as_string([12345.678], scientific=True),
        tf.as_string([12345.678], shortest=True),
        tf.as_string(tf.constant([1 + 2j], tf.complex64)),
    )


def strings_as_numbers(tf):
    return (
        tf.string_to_number(["1.5", "-2e3", "inf"]),
        tf.string_to_number([" 7 "], tf.int32),
        tf.string_to_number(["9007199254740993"], tf.int64),
    )


def strings_that_are_no_numbers(tf):
    return tf.string_to_number(["12x"])


def strings_that_are_no_integers(tf):
    return tf.string_to_number(["1.5"], tf.int32)


def replacements(tf):
    return tf.regex_replace(["abc abc"], "b(c)", r"<\1>"), tf.strings.regex_replace(
        ["aaa"], "a", "b", replace_global=False
    )


def matches(tf):
    return tf.strings.regex_full_match(["abc", "abcd", ""], "a.c"), tf.strings.regex_full_match([["12"]], r"\d+")


def an_expression_that_is_none(tf):
    return tf.regex_replace(tf.placeholder_with_default(["a"], [1]), tf.placeholder_with_default("(", []), "b")


def splits(tf):
    x = tf.string_split(["a b  c", "", "d"])
    return x.indices, x.values, x.dense_shape


def splits_with_empty_parts(tf):
    x = tf.string_split(["a,,b", ","], delimiter=",", skip_empty=False)
    y = tf.string_split(["a,b;c"], delimiter=",;")
    z = tf.string_split(["abc"], delimiter="")
    return x.values, x.dense_shape, y.values, z.values


def hashes(tf):
    x = tf.constant(["a", "", "hello"])
    return (
        tf.string_to_hash_bucket_fast(x, 1000),
        tf.string_to_hash_bucket(x, 1000),
        tf.string_to_hash_bucket_strong(x, 1000, [1, 2]),
    )


def base64(tf):
    x = tf.constant(["", "a", "ab?>"])
    y = tf.encode_base64(x)
    return y, tf.encode_base64(x, pad=True), tf.decode_base64(y)


def base64_that_is_none(tf):
    return tf.decode_base64(tf.placeholder_with_default("a", []))


def raw_bytes(tf):
    x = tf.constant([b"\x01\x00\x02\x00", b"\xff\xff\x00\x01"])
    return tf.decode_raw(x, tf.int16), tf.decode_raw(x, tf.uint8), tf.decode_raw(x, tf.int16, little_endian=False)


def raw_bytes_of_other_lengths(tf):
    return tf.decode_raw(tf.placeholder_with_default(["a", "bc"], [2]), tf.uint8)


def comparisons(tf):
    x, y = tf.constant(["a", "b", ""]), tf.constant(["a", "c", ""])
    return tf.equal(x, y), tf.not_equal(x, y)


def order_is_refused(tf):
    return tf.less(tf.constant(["a"]), tf.constant(["b"]))


def bytes_that_are_no_text(tf):
    x = tf.constant([b"\xff\x00\xfe", b""])
    return x, tf.strings.length(x), tf.reshape(x, [2, 1]), tf.concat([x, x], 0)


def arrays_of_strings(tf):
    return (
        tf.constant(np.array(["a", "bcd"])),
        tf.constant(np.array([b"a", b"bcd"], dtype=object)),
        tf.constant([["a"], ["b"]]),
    )


def moved_strings(tf):
    x = tf.constant([["a", "b"], ["c", "d"]])
    return (
        tf.transpose(x),
        tf.gather(x, [1]),
        x[:, 0],
        tf.tile(x, [1, 2]),
        tf.reverse(x, [0]),
        tf.where([True, False], x, x[::-1]),
    )


def csv(tf):
    return tf.decode_csv(["1,2.5,a", ",,"], [[7], [1.5], ["z"]]), tf.decode_csv(['1,"a,b"'], [[0], [""]])


def csv_with_too_few_fields(tf):
    return tf.decode_csv(["1,2"], [[0], [0], [0]])


def csv_without_a_needed_field(tf):
    return tf.decode_csv([","], [tf.constant([], tf.int32), [0]])


def formatted(tf):
    return tf.strings.format("{} and {}", (tf.constant([1, 2]), tf.constant(2.5)))


def code_points(tf):
    return tf.strings.unicode_script([ord("a"), 0x4E2D]), tf.strings.unicode_transcode(
        ["a\u00e9"], "UTF-8", "UTF-16-BE"
    )


def tables(tf):
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64)), -1
    )
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        return session.run([table.lookup(tf.constant(["b", "c", ""])), table.size()])


def a_table_that_is_not_initialized(tf):
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], tf.constant([1], tf.int64)), -1)
    return table.lookup(tf.constant(["a"]))
