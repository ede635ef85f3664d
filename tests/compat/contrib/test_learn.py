"""tf.contrib.learn: data sets, and documents as rows of ids."""

import pickle

import numpy as np
import pytest

import thalweg as tf

learn = tf.contrib.learn
TEXTS = ["The cat sat on the mat", "the dog's HTTPServer-log", "cat cat"]


def test_documents_become_rows_of_word_ids(tmp_path):
    processor = learn.preprocessing.VocabularyProcessor(4)
    rows = np.array(list(processor.fit_transform(TEXTS)))
    assert rows.dtype == np.int64 and rows.tolist() == [[1, 2, 3, 4], [5, 7, 8, 9], [2, 2, 0, 0]]
    assert len(processor.vocabulary_) == 10 and processor.vocabulary_._mapping["dog's"] == 7
    assert next(processor.transform(["the bird sat"])).tolist() == [5, 0, 3, 0]
    assert list(processor.reverse([[1, 2, 0]])) == ["The cat <UNK>"]
    processor.save(tmp_path / "vocabulary")
    again = learn.preprocessing.VocabularyProcessor.restore(tmp_path / "vocabulary")
    assert [row.tolist() for row in again.transform(["the bird sat"])] == [[5, 0, 3, 0]]


def test_rare_words_have_no_id():
    processor = learn.preprocessing.VocabularyProcessor(3, min_frequency=1).fit(["b a b c", "a b"])
    assert processor.vocabulary_._mapping == {"<UNK>": 0, "b": 1, "a": 2}
    assert [row.tolist() for row in processor.transform(["a b c"])] == [[2, 1, 0]]


def test_a_vocabulary_grows_until_it_is_frozen():
    vocabulary = learn.preprocessing.CategoricalVocabulary(support_reverse=False)
    assert [vocabulary.get(word) for word in "aba"] == [1, 2, 1]
    vocabulary.freeze()
    assert vocabulary.get("c") == 0 and len(vocabulary) == 3
    vocabulary.freeze(False)
    assert vocabulary.get("c") == 3
    with pytest.raises(ValueError, match="support_reverse"):
        vocabulary.reverse(1)


def test_a_tokenizer_is_passed_again_when_a_processor_is_restored(tmp_path):
    path, by_letter = tmp_path / "letters", lambda documents: (list(text) for text in documents)
    learn.preprocessing.VocabularyProcessor(2, tokenizer_fn=by_letter).fit(["ab"]).save(path)
    with pytest.raises(ValueError, match="tokenizer_fn"):
        learn.preprocessing.VocabularyProcessor.restore(path)
    again = learn.preprocessing.VocabularyProcessor.restore(path, by_letter)
    assert next(again.transform(["ba"])).tolist() == [2, 1]
    path.write_bytes(pickle.dumps({}))
    with pytest.raises(ValueError, match="was not written by"):
        learn.preprocessing.VocabularyProcessor.restore(path)


def test_documents_become_rows_of_bytes():
    processor = learn.preprocessing.ByteProcessor(4)
    rows = list(processor.fit_transform(["ab", b"abcdef"]))
    assert [row.tolist() for row in rows] == [[97, 98, 0, 0], [97, 98, 99, 100]]
    assert list(processor.reverse(rows)) == ["ab", "abcd"]


def test_csv_files(tmp_path):
    plain, headed = tmp_path / "plain.csv", tmp_path / "headed.csv"
    plain.write_text("1.5,2,0\n3,4,1\n")
    headed.write_text("2,2,a,b\n0,1.5,2\n1,3,4\n")
    base = learn.datasets.base
    first = base.load_csv_without_header(plain, np.int64, np.float32)
    second = base.load_csv_with_header(headed, np.int64, np.float32, target_column=0)
    for data, target in (first, second):
        assert data.dtype == np.float32 and data.tolist() == [[1.5, 2], [3, 4]]
        assert target.dtype == np.int64 and target.tolist() == [0, 1]
    headed.write_text("3,2\n0,1,2\n")
    with pytest.raises(ValueError, match="3 rows of 2"):
        base.load_csv_with_header(headed, np.int64, np.float32)


def test_known_data_sets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(tf.errors.NotFoundError, match="MNIST-data"):
        learn.datasets.load_dataset("mnist")
    with pytest.raises(ValueError, match="iris"):
        learn.datasets.load_dataset("iris")
    assert learn.datasets.mnist.read_data_sets("", fake_data=True).train.num_examples == 10000


def test_modes():
    learn.ModeKeys.validate(learn.ModeKeys.INFER)
    with pytest.raises(ValueError, match="Invalid mode"):
        learn.ModeKeys.validate("predict")
