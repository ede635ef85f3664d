"""Words of texts as numbers, compared with the results of tf_keras."""

import json

import numpy as np
import pytest

from thalweg._src.keras.preprocessing.text import (
    Tokenizer,
    hashing_trick,
    one_hot,
    text_to_word_sequence,
    tokenizer_from_json,
)

_TEXTS = ["The cat sat on the mat.", "The dog sat on the log, the dog!", "Dogs and cats living together"]
_NEW = ["the cat ate the zebra", "", "dog dog log"]
_WORDS = ["the", "sat", "on", "dog", "cat", "mat", "log", "dogs", "and", "cats", "living", "together"]


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (("Hello, World! it's  ok",), ["hello", "world", "it's", "ok"]),
        (("A.B c", ".", False), ["A", "B", "c"]),
        (("a1b1C", "", True, "1"), ["a", "b", "c"]),
        (("a,b;c", ",;", True, "--"), ["a", "b", "c"]),
        (("",), []),
    ],
)
def test_a_text_is_split_into_words(arguments, expected):
    assert text_to_word_sequence(*arguments) == expected


def test_words_get_the_numbers_of_their_hashes():
    assert hashing_trick("The cat. the CAT dog", 10, "md5") == [6, 3, 6, 3, 6]
    assert hashing_trick("a bb ccc", 5, len) == [2, 3, 4]
    assert hashing_trick("a bb ccc", 5, len, filters="b", lower=False) == [2, 4]
    assert one_hot("a b a", 9) == [hash(word) % 8 + 1 for word in "aba"] == hashing_trick("a b a", 9)


def _fitted(**options):
    tokenizer = Tokenizer(**options)
    tokenizer.fit_on_texts(_TEXTS)
    return tokenizer


def test_frequent_words_have_low_indices():
    tokenizer = _fitted()
    assert tokenizer.word_index == {word: index for index, word in enumerate(_WORDS, 1)}
    assert tokenizer.index_word == dict(enumerate(_WORDS, 1))
    assert list(tokenizer.word_counts.items())[:4] == [("the", 5), ("cat", 1), ("sat", 2), ("on", 2)]
    assert tokenizer.word_docs["the"] == 2
    assert tokenizer.index_docs[1] == 2
    assert tokenizer.document_count == 3


@pytest.mark.parametrize(
    "options, sequences, texts",
    [
        ({}, [[1, 5, 1], [], [4, 4, 7]], ["the cat the", "", "dog dog log"]),
        ({"num_words": 4}, [[1, 1], [], []], ["the the", "", ""]),
        (
            {"num_words": 4, "oov_token": "<oov>"},
            [[2, 1, 1, 2, 1], [], [1, 1, 1]],
            ["the <oov> <oov> the <oov>", "", "<oov> <oov> <oov>"],
        ),
        ({"oov_token": "<oov>"}, [[2, 6, 1, 2, 1], [], [5, 5, 8]], ["the cat <oov> the <oov>", "", "dog dog log"]),
    ],
)
def test_texts_become_sequences_and_texts_again(options, sequences, texts):
    tokenizer = _fitted(**options)
    assert tokenizer.texts_to_sequences(_NEW) == sequences
    assert tokenizer.sequences_to_texts(sequences) == texts


def test_indices_without_a_word_are_left_out_of_texts():
    assert _fitted(num_words=4).sequences_to_texts([[1, 99, 2, 3, 4, 5]]) == ["the sat on"]
    assert _fitted(num_words=4, oov_token="?").sequences_to_texts([[1, 99, 2, 3, 4, 5]]) == ["? ? the sat ? ?"]


@pytest.mark.parametrize(
    "mode, first, last",
    [
        ("binary", [0, 1, 1, 0], [0, 1, 0, 0]),
        ("count", [0, 3, 2, 0], [0, 3, 0, 0]),
        ("freq", [0, 0.6, 0.4, 0], [0, 1, 0, 0]),
        ("tfidf", [0, 2.909294, 1.1736, 0], [0, 2.909294, 0, 0]),
    ],
)
def test_texts_become_rows_of_a_matrix(mode, first, last):
    matrix = _fitted(num_words=4, oov_token="<oov>").texts_to_matrix(_NEW, mode)
    assert matrix.dtype == np.float64
    np.testing.assert_allclose(matrix, [first, [0, 0, 0, 0], last], rtol=1e-6)


def test_a_matrix_has_a_column_for_each_index_and_one_for_none():
    assert _fitted().texts_to_matrix(_NEW).shape == (3, 13)


def test_sequences_are_counted_without_texts():
    tokenizer = Tokenizer(num_words=4)
    assert tokenizer.sequences_to_matrix([[1, 1, 3, 9]], "freq").tolist() == [[0, 0.5, 0, 0.25]]
    tokenizer.fit_on_sequences([[1, 2, 2], [2, 3]])
    expected = [[0, 0.6931471805599453, 0.8649029646371624, 0], [0, 0, 0, 0]]
    np.testing.assert_allclose(tokenizer.sequences_to_matrix([[1, 2, 2], []], "tfidf"), expected)
    assert (tokenizer.document_count, dict(tokenizer.index_docs)) == (2, {1: 1, 2: 2, 3: 1})


def test_words_may_be_given_and_counts_continued():
    tokenizer = Tokenizer()
    tokenizer.fit_on_texts([["Ab", "c"], "x ab"])
    assert tokenizer.word_index == {"ab": 1, "c": 2, "x": 3}
    tokenizer.fit_on_texts(["c c c"])
    assert tokenizer.word_index == {"c": 1, "ab": 2, "x": 3}
    assert tokenizer.document_count == 3
    assert dict(tokenizer.index_docs) == {1: 2, 2: 2, 3: 1}


def test_characters_may_be_the_words():
    tokenizer = Tokenizer(char_level=True, lower=False)
    tokenizer.fit_on_texts(["aAa.", "b"])
    assert tokenizer.word_index == {"a": 1, "A": 2, ".": 3, "b": 4}
    assert tokenizer.texts_to_sequences(["ba?"]) == [[4, 1]]


def test_what_a_tokenizer_does_not_know_is_refused():
    with pytest.raises(ValueError, match="fit_on_texts"):
        Tokenizer().sequences_to_matrix([[1]])
    with pytest.raises(ValueError, match="tfidf"):
        Tokenizer(num_words=4).sequences_to_matrix([[1]], "tfidf")
    with pytest.raises(ValueError, match="Unknown vectorization mode"):
        _fitted().texts_to_matrix(_NEW, "mean")
    with pytest.raises(TypeError, match="Unrecognized keyword"):
        Tokenizer(words=1)


def test_the_former_name_of_an_argument_is_known():
    assert Tokenizer(nb_words=3).num_words == 3


@pytest.mark.parametrize("options", [{}, {"num_words": 4, "oov_token": "<oov>"}, {"char_level": True}])
def test_a_tokenizer_is_described_as_json(options):
    tokenizer = _fitted(**options)
    described = json.loads(tokenizer.to_json())
    assert described["class_name"] == "Tokenizer"
    assert json.loads(described["config"]["word_index"]) == tokenizer.word_index
    again = tokenizer_from_json(tokenizer.to_json())
    assert again.get_config() == tokenizer.get_config()
    for mode in ("count", "tfidf"):
        np.testing.assert_array_equal(again.texts_to_matrix(_NEW, mode), tokenizer.texts_to_matrix(_NEW, mode))


def test_the_json_of_keras_is_read():
    config = {
        "num_words": 3,
        "filters": ".",
        "lower": True,
        "split": " ",
        "char_level": False,
        "oov_token": "?",
        "document_count": 2,
        "word_counts": '{"a": 2, "b": 1}',
        "word_docs": '{"a": 2, "b": 1}',
        "index_docs": '{"2": 2, "3": 1}',
        "index_word": '{"1": "?", "2": "a", "3": "b"}',
        "word_index": '{"?": 1, "a": 2, "b": 3}',
    }
    tokenizer = tokenizer_from_json(json.dumps({"class_name": "Tokenizer", "config": config}))
    assert tokenizer.texts_to_sequences(["A. b"]) == [[2, 1]]
    assert tokenizer.sequences_to_texts([[2, 3]]) == ["a ?"]
