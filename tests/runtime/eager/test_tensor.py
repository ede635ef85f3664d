"""Eager tensors as Python objects: printing, conversions, operators, and what only graphs have."""

import copy
import pickle

import numpy as np
import pytest
import torch

import thalweg as tf

pytestmark = pytest.mark.usefixtures("eager")


@pytest.mark.parametrize(
    ("value", "text", "shown"),
    [
        (1.5, "1.5, shape=(), dtype=float32", "shape=(), dtype=float32, numpy=1.5"),
        (True, "True, shape=(), dtype=bool", "shape=(), dtype=bool, numpy=True"),
        ("a", "b'a', shape=(), dtype=string", "shape=(), dtype=string, numpy=b'a'"),
        (1 + 2j, "(1+2j), shape=(), dtype=complex128", "shape=(), dtype=complex128, numpy=(1+2j)"),
        (
            [1.5, 2.0],
            "[1.5 2. ], shape=(2,), dtype=float32",
            "shape=(2,), dtype=float32, numpy=array([1.5, 2. ], dtype=float32)",
        ),
        (
            [["a", "b"]],
            "[[b'a' b'b']], shape=(1, 2), dtype=string",
            "shape=(1, 2), dtype=string, numpy=array([[b'a', b'b']], dtype=object)",
        ),
        (
            [[1, 2], [3, 4]],
            "\n[[1 2]\n [3 4]], shape=(2, 2), dtype=int32",
            "shape=(2, 2), dtype=int32, numpy=\narray([[1, 2],\n       [3, 4]], dtype=int32)",
        ),
    ],
)
def test_printing(value, text, shown):
    tensor = tf.constant(value)
    assert str(tensor) == f"tf.Tensor({text})"
    assert repr(tensor) == f"<tf.Tensor: id={tensor._id}, {shown}>"


def test_printing_of_handles():
    handle = tf.Variable(1.0).handle
    assert str(handle) == "tf.Tensor(<unprintable>, shape=(), dtype=resource)"


def test_printing_of_composites():
    sparse = tf.SparseTensor([[0, 1]], [2.0], [2, 2])
    assert repr(sparse) == (
        "SparseTensor(indices=tf.Tensor([[0 1]], shape=(1, 2), dtype=int64), "
        "values=tf.Tensor([2.], shape=(1,), dtype=float32), "
        "dense_shape=tf.Tensor([2 2], shape=(2,), dtype=int64))"
    )
    slices = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([0]), tf.constant([2, 1]))
    assert str(slices) == (
        "IndexedSlices(indices=tf.Tensor([0], shape=(1,), dtype=int32), "
        "values=tf.Tensor([[1.]], shape=(1, 1), dtype=float32), "
        "dense_shape=tf.Tensor([2 1], shape=(2,), dtype=int32))"
    )
    ragged = tf.ragged.constant([[[1], [2, 3]], []])
    assert str(ragged) == "<tf.RaggedTensor [[[1], [2, 3]], []]>"


def test_composites_have_values():
    sparse = tf.SparseTensor([[0, 1], [1, 0]], [2.0, 3.0], [2, 2])
    np.testing.assert_array_equal(tf.sparse.to_dense(sparse), [[0, 2], [3, 0]])
    np.testing.assert_array_equal((sparse * 2.0).values, [4, 6])
    np.testing.assert_array_equal(tf.sparse_tensor_dense_matmul(sparse, tf.ones([2, 1])), [[2], [3]])
    assert tf.ragged.constant([[1, 2], [], [3]]).to_list() == [[1, 2], [], [3]]
    assert (tf.ragged.constant([["a"], []]) + "b").to_list() == [[b"ab"], []]
    slices = tf.IndexedSlices(tf.constant([[1.0], [2.0]]), tf.constant([1, 1]), tf.constant([2, 1]))
    np.testing.assert_array_equal(tf.convert_to_tensor(slices), [[0], [3]])


def test_list_of_a_symbolic_ragged_tensor_is_refused():
    with tf.Graph().as_default(), pytest.raises(ValueError, match="only supported in eager mode"):
        tf.ragged.constant([[1]]).to_list()


def test_notebooks_show_the_values():
    assert tf.constant([[1, 2], [3, 4]])._repr_html_() == (
        "<code>tf.Tensor: shape=(2, 2), dtype=int32</code><pre>\n[[1 2]\n [3 4]]</pre>"
    )


def test_formats():
    assert f"{tf.constant(1.234):.2f}" == "1.23"
    assert f"{tf.constant([1, 2])}" == "[1 2]"
    assert f"{tf.constant(3)}, %d" % tf.constant(4) == "3, 4"


def test_facts():
    tensor = tf.constant([[1, 2, 3], [4, 5, 6]])
    assert (tensor.ndim, len(tensor), tensor.shape.as_list(), tensor.dtype) == (2, 2, [2, 3], tf.int32)
    assert tensor.device == "/job:localhost/replica:0/task:0/device:CPU:0"
    tensor.set_shape([None, 3])
    with pytest.raises(ValueError, match=r"Tensor's shape \(2, 3\) is not compatible with supplied shape \(3, 3\)"):
        tensor.set_shape([3, 3])


def test_value_is_a_copy():
    tensor = tf.constant([1.0, 2.0])
    tensor.numpy()[0] = 5
    np.asarray(tensor)[0] = 5
    np.testing.assert_array_equal(tensor, [1, 2])
    array = np.ones(2, np.float32)
    tensor = tf.constant(array)
    array[0] = 5
    np.testing.assert_array_equal(tensor, [1, 1])


def test_python_numbers():
    assert (int(tf.constant(3)), float(tf.constant(1.5)), complex(tf.constant(2.0))) == (3, 1.5, 2 + 0j)
    assert [10, 20, 30][tf.constant(1)] == 20
    assert list(range(tf.constant(2, tf.int64))) == [0, 1]
    assert bool(tf.constant(0.0)) is False
    assert sum(tf.constant([1, 2])).numpy() == 3


@pytest.mark.parametrize(
    ("use", "kind", "words"),
    [
        (lambda: int(tf.constant([1, 2])), TypeError, "0-dimensional|size-1"),
        (lambda: bool(tf.constant([1, 2])), ValueError, "ambiguous"),
        (lambda: [1][tf.constant(1.0)], TypeError, "integer scalar"),
        (lambda: list(tf.constant(1)), TypeError, "Cannot iterate over a scalar tensor"),
        (lambda: len(tf.constant(1)), TypeError, "Scalar tensor has no"),
        (lambda: tf.constant(1).op, AttributeError, "Tensor.op is meaningless when eager execution is enabled"),
        (lambda: tf.constant(1).name, AttributeError, "Tensor.name is meaningless"),
        (lambda: tf.constant(1).graph, AttributeError, "Tensor.graph is meaningless"),
        (lambda: tf.constant(1).eval(), NotImplementedError, r"is .numpy\(\) what you"),
        (lambda: tf.constant(1).consumers(), NotImplementedError, "consumers"),
        (lambda: tf.constant([1])["a"], TypeError, "Only integers, slices"),
        (lambda: tf.Variable(1.0).handle.numpy(), ValueError, "resource"),
        (lambda: tf.placeholder(tf.float32), RuntimeError, "not compatible with eager execution"),
    ],
)
def test_what_is_refused(use, kind, words):
    with pytest.raises(kind, match=words):
        use()


def test_rows_are_iterated_and_unpacked():
    rows = tf.constant([[1, 2], [3, 4]])
    assert [(int(a), int(b)) for a, b in rows] == [(1, 2), (3, 4)]
    first, second = rows
    np.testing.assert_array_equal(first + second, [4, 6])


def test_slices():
    tensor, one = tf.constant([[1, 2, 3], [4, 5, 6]]), tf.constant(1)
    np.testing.assert_array_equal(tensor[one], [4, 5, 6])
    np.testing.assert_array_equal(tensor[:, one:], [[2, 3], [5, 6]])
    np.testing.assert_array_equal(tensor[..., tf.constant(-1, tf.int64)], [3, 6])
    assert tensor[0, :, None].shape.as_list() == [3, 1]
    with tf.GradientTape() as tape:
        x = tf.constant([1.0, 2.0, 3.0])
        tape.watch(x)
        y = x[one] * x[::2]
    np.testing.assert_array_equal(tape.gradient(y, x), [2, 4, 2])


def test_operators_with_arrays():
    tensor = tf.constant([1.0, 2.0])
    for result in (np.array([1, 1], np.float32) + tensor, tensor + np.array([1.0, 1.0]), np.float32(1) + tensor):
        assert isinstance(result, tf.Tensor)
        np.testing.assert_array_equal(result, [2, 3])
    np.testing.assert_array_equal(np.ones([1, 2]) @ tf.constant([[1.0], [2.0]], tf.float64), [[3]])
    np.testing.assert_array_equal(2 ** tf.constant([1, 2]) // 3, [0, 1])
    assert np.add(tensor, 1).tolist() == [2, 3]
    assert np.concatenate([tensor, tensor]).shape == (4,)
    assert np.mean(tensor) == 1.5


def test_tensors_are_equal_by_identity():
    tensor, other = tf.constant([1, 2]), tf.constant([1, 2])
    assert tensor == tensor  # noqa: PLR0124
    assert tensor != other
    assert {tensor: 1, other: 2}[tensor] == 1
    np.testing.assert_array_equal(tf.equal(tensor, other), [True, True])


def test_copies():
    tensor = tf.constant([[1, 2]])
    assert copy.copy(tensor) is tensor
    np.testing.assert_array_equal(copy.deepcopy({"a": tensor})["a"], [[1, 2]])
    for value in (tf.constant([1.5]), tf.constant(["a"]), tf.cast([1.5], tf.bfloat16)):
        restored = pickle.loads(pickle.dumps(value))
        assert restored.dtype is value.dtype
        np.testing.assert_array_equal(restored, value)


def test_other_libraries_share_the_memory():
    with tf.device("/cpu:0"):
        tensor = tf.constant([[1.0, 2.0]])
    assert torch.from_dlpack(tensor).tolist() == [[1, 2]]
    assert np.from_dlpack(tensor).tolist() == [[1, 2]]
    np.testing.assert_array_equal(tf.convert_to_tensor(torch.ones(2)) + 1, [2, 2])
    with pytest.raises(BufferError, match="string cannot be exported"):
        torch.from_dlpack(tf.constant(["a"]))


def test_copies_between_devices():
    tensor = tf.constant([1.0])
    np.testing.assert_array_equal(tensor.cpu(), [1])
    with pytest.raises(RuntimeError, match="GPU:99 unknown device"):
        tensor.gpu(99)


# -- errors -----------------------------------------------------------------------------------------------------------


def test_error_names_the_operation_the_arguments_and_the_line():
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))
    assert str(caught.value).splitlines()[:3] == [
        "Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3] [Op:MatMul]",
        "  expected: a.shape[1] == b.shape[0] (inner dimensions differ: 3 and 2)",
        "  received: a = float32[2, 3], b = float32[2, 3]",
    ]
    assert "test_tensor.py" in str(caught.value)
    assert caught.value.op is None
    assert caught.value.node_def is None


def test_error_of_a_later_call_has_its_own_line():
    def add(size):
        return tf.ones([2]) + tf.ones([size])

    add(2)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[Op:AddV2\]") as caught:
        add(3)
    assert "in add" in str(caught.value)


def test_other_type_is_an_invalid_argument():
    words = r"cannot compute AddV2 as input #1\(zero-based\) was expected to be a int32 tensor but is a float tensor"
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        tf.constant([1]) + tf.constant([1.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="was expected to be a double tensor but is a half tensor"):
        tf.matmul(tf.ones([2, 2], tf.float64), tf.ones([2, 2], tf.float16))


def test_invalid_host_arguments_fail_in_every_call():
    for line in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError, match="3 values, but the requested shape has 4"):
            tf.reshape([1, 2, 3], [2, 2]), line
