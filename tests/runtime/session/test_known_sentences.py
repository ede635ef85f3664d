"""The sentences of TensorFlow's errors that its users search for, in calls of a session."""

import numpy as np
import pytest

import thalweg as tf

# Each case: the sentence, the class of the error, and the program, in which `run` runs a step in a new session.
CALLS = [
    (
        "Cannot feed value of shape (2,) for Tensor 'x:0', which has shape '(3,)'",
        ValueError,
        "x = tf.placeholder(tf.float32, [3], name='x'); run(x, {x: [1, 2]})",
    ),
    (
        "Cannot feed value of shape (2, 4) for Tensor 'x:0', which has shape '(?, 3)'",
        ValueError,
        "x = tf.placeholder(tf.float32, [None, 3], name='x'); run(x, {x: np.zeros([2, 4])})",
    ),
    (
        "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python scalars, strings, "
        "lists, numpy ndarrays, or TensorHandles.",
        TypeError,
        "x = tf.placeholder(tf.float32, [3], name='x'); run(x, {x: tf.zeros([3])})",
    ),
    (
        "Cannot interpret feed_dict key as Tensor: The name 'x:0' refers to a Tensor which does not exist.",
        TypeError,
        "run(tf.constant(1), {'x:0': 1})",
    ),
    (
        "Cannot interpret feed_dict key as Tensor: The name 'x' looks like an (invalid) Operation name, not a Tensor.",
        TypeError,
        "run(tf.constant(1), {'x': 1})",
    ),
    (
        "Cannot interpret feed_dict key as Tensor: Can not convert a int into a Tensor.",
        TypeError,
        "run(tf.constant(1), {3: 1})",
    ),
    (
        "Cannot interpret feed_dict key as Tensor: "
        'Tensor Tensor("a:0", dtype=float32) is not an element of this graph.',
        TypeError,
        "with tf.Graph().as_default(): a = tf.placeholder(tf.float32, name='a')\nrun(tf.constant(1), {a: 1})",
    ),
    ("could not convert string to float", ValueError, "x = tf.placeholder(tf.float32); run(x, {x: 'abc'})"),
    ("setting an array element with a sequence", ValueError, "x = tf.placeholder(tf.float32); run(x, {x: [[1], 2]})"),
    (
        "Type of feed value 300 with type <class 'int'> is not compatible with Tensor type int8. "
        "Try explicitly setting the type of the feed tensor to a larger type (e.g. int64)",
        TypeError,
        "x = tf.placeholder(tf.int8); run(x, {x: 300})",
    ),
    (
        "Fetch argument None has invalid type <class 'NoneType'>",
        TypeError,
        "run([tf.constant(1), None])",
    ),
    (
        "Fetch argument 3 has invalid type <class 'int'>, must be a string or Tensor. "
        "(Can not convert a int into a Tensor or Operation.)",
        TypeError,
        "run([tf.constant(1), 3])",
    ),
    (
        "Fetch argument 'c:3' cannot be interpreted as a Tensor. "
        "(The name 'c:3' refers to a Tensor which does not exist.",
        ValueError,
        "tf.constant(1, name='c'); run('c:3')",
    ),
    (
        "cannot be interpreted as a Tensor. "
        '(Tensor Tensor("a:0", shape=(), dtype=int32) is not an element of this graph.)',
        ValueError,
        "with tf.Graph().as_default(): a = tf.constant(1, name='a')\ntf.constant(1); run(a)",
    ),
    (
        "Operation 'c' has been marked as not fetchable",
        ValueError,
        "c = tf.constant(1, name='c'); tf.get_default_graph().prevent_fetching(c.op); run(c)",
    ),
    ("The Session graph is empty.  Add operations to the graph before calling run().", RuntimeError, "run([])"),
    (
        "Attempted to use a closed Session.",
        RuntimeError,
        "c = tf.constant(1); sess = tf.Session(); sess.close(); sess.run(c)",
    ),
    (
        "Cannot evaluate tensor using `eval()`: No default session is registered. Use `with sess.as_default()` or pass "
        "an explicit session to `eval(session=sess)`",
        ValueError,
        "tf.constant(1).eval()",
    ),
    (
        "Cannot execute operation using `run()`: No default session is registered.",
        ValueError,
        "tf.no_op().run()",
    ),
    (
        "Cannot use the given session to evaluate tensor: the tensor's graph is different from the session's graph.",
        ValueError,
        "with tf.Graph().as_default(): sess = tf.Session()\ntf.constant(1).eval(session=sess)",
    ),
    ("graph must be a tf.Graph, but got <class 'int'>", TypeError, "tf.Session(graph=3)"),
]

STEPS = [
    (
        "You must feed a value for placeholder tensor 'x' with dtype float and shape [?,3]",
        "InvalidArgumentError",
        "run(tf.placeholder(tf.float32, [None, 3], name='x') * 2)",
    ),
    (
        "You must feed a value for placeholder tensor 'x' with dtype int32\n",
        "InvalidArgumentError",
        "run(tf.placeholder(tf.int32, name='x') * 2)",
    ),
    ("Attempting to use uninitialized value v", "FailedPreconditionError", "run(tf.get_variable('v', [2]) + 1)"),
    (
        "Incompatible shapes: [2,3] vs. [4]",
        "InvalidArgumentError",
        "a, b = tf.placeholder(tf.float32), tf.placeholder(tf.float32)\n"
        "run(a + b, {a: np.zeros([2, 3]), b: np.zeros([4])})",
    ),
    (
        "Matrix size-incompatible: In[0]: [2,3], In[1]: [4,5]",
        "InvalidArgumentError",
        "a, b = tf.placeholder(tf.float32, [None, None]), tf.placeholder(tf.float32, [None, None])\n"
        "run(tf.matmul(a, b), {a: np.zeros([2, 3]), b: np.zeros([4, 5])})",
    ),
    (
        "Input to reshape is a tensor with 6 values, but the requested shape has 4",
        "InvalidArgumentError",
        "a = tf.placeholder(tf.float32); run(tf.reshape(a, [4]), {a: np.zeros([2, 3])})",
    ),
    (
        "Input to reshape is a tensor with 6 values, but the requested shape requires a multiple of 4",
        "InvalidArgumentError",
        "a = tf.placeholder(tf.float32); run(tf.reshape(a, [-1, 4]), {a: np.zeros([2, 3])})",
    ),
    (
        "ConcatOp : Dimensions of inputs should match: shape[0] = [2,3] vs. shape[1] = [3,3]",
        "InvalidArgumentError",
        "a, b = tf.placeholder(tf.float32), tf.placeholder(tf.float32)\n"
        "run(tf.concat([a, b], 1), {a: np.zeros([2, 3]), b: np.zeros([3, 3])})",
    ),
    (
        "ConcatOp : Ranks of all input tensors should match: shape[0] = [2,3] vs. shape[1] = [3]",
        "InvalidArgumentError",
        "a, b = tf.placeholder(tf.float32), tf.placeholder(tf.float32)\n"
        "run(tf.concat([a, b], 1), {a: np.zeros([2, 3]), b: np.zeros([3])})",
    ),
    (
        "Shapes of all inputs must match: values[0].shape = [2] != values[1].shape = [3]",
        "InvalidArgumentError",
        "a, b = tf.placeholder(tf.float32), tf.placeholder(tf.float32)\n"
        "run(tf.stack([a, b]), {a: np.zeros([2]), b: np.zeros([3])})",
    ),
    (
        "Expected size[0] in [0, 2], but got 5",
        "InvalidArgumentError",
        "a = tf.placeholder(tf.float32); run(tf.slice(a, [1], [5]), {a: np.zeros([3])})",
    ),
    (
        "logits and labels must be broadcastable: logits_size=[2,3] labels_size=[4,3]",
        "InvalidArgumentError",
        "a, b = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 3])\n"
        "loss = tf.nn.softmax_cross_entropy_with_logits_v2(logits=a, labels=b)\n"
        "run(loss, {a: np.zeros([2, 3]), b: np.zeros([4, 3])})",
    ),
    (
        "logits and labels must have the same first dimension, got logits shape [2,3] and labels shape [4]",
        "InvalidArgumentError",
        "a, b = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.int32, [None])\n"
        "loss = tf.nn.sparse_softmax_cross_entropy_with_logits(logits=a, labels=b)\n"
        "run(loss, {a: np.zeros([2, 3]), b: np.zeros([4])})",
    ),
    (
        "Received a label value of 9 which is outside the valid range of [0, 3).  Label values: 1 9",
        "InvalidArgumentError",
        "labels = tf.placeholder_with_default([1, 9], [2])\n"
        "run(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=tf.zeros([2, 3]), labels=labels))",
    ),
    (
        "weights can not be broadcast to values.",
        "InvalidArgumentError",
        "w = tf.placeholder(tf.float32)\n"
        "run(tf.losses.mean_squared_error(tf.zeros([3, 2]), tf.zeros([3, 2]), weights=w), {w: np.ones([5, 2])})",
    ),
    (
        "indices[1] = 7 is not in [0, 3)",
        "InvalidArgumentError",
        "run(tf.gather(tf.zeros([3, 2]), tf.placeholder_with_default([1, 7], [2])))",
    ),
    (
        "indices[1] = [7] does not index into param shape [3",
        "InvalidArgumentError",
        "run(tf.gather_nd(tf.zeros([3, 2]), tf.placeholder_with_default([[1], [7]], [2, 1])))",
    ),
    (
        "segment ids are not increasing",
        "InvalidArgumentError",
        "run(tf.segment_sum(tf.zeros([3, 2]), tf.placeholder_with_default([1, 0, 1], [3])))",
    ),
    (
        "indices[0] = [5] is out of bounds: need 0 <= index < [3]",
        "InvalidArgumentError",
        "run(tf.sparse_to_dense([[5]], [3], [1]))",
    ),
    (
        "indices[1] = [0] is out of order. Many sparse ops require sorted indices",
        "InvalidArgumentError",
        "run(tf.sparse_to_dense([[1], [0]], [3], [1, 2]))",
    ),
    ("Integer division by zero", "InvalidArgumentError", "run(tf.placeholder_with_default(1, []) // 0)"),
    ("a : Tensor had NaN values", "InvalidArgumentError", "run(tf.check_numerics(tf.constant([np.nan]), 'a'))"),
    (
        "assertion failed: [Condition x == y did not hold element-wise:] [x (p:0) = ] [1] [y (q:0) = ] [2]",
        "InvalidArgumentError",
        "run(tf.assert_equal(tf.placeholder_with_default(1, [], name='p'), tf.constant(2, name='q')))",
    ),
    (
        "assertion failed: [Input error: exclusive=True: more than 1 conditions",
        "InvalidArgumentError",
        "p, q = tf.placeholder_with_default(True, []), tf.placeholder_with_default(True, [])\n"
        "run(tf.case([(p, lambda: 1), (q, lambda: 2)], default=lambda: 3, exclusive=True))",
    ),
    ("Input is not invertible.", "InvalidArgumentError", "run(tf.matrix_inverse(tf.zeros([2, 2])))"),
    (
        "Cholesky decomposition was not successful. The input might not be valid.",
        "InvalidArgumentError",
        "run(tf.cholesky([[1.0, 2.0], [2.0, 1.0]]))",
    ),
    (
        "Could not write to TensorArray index 0 because it has already been written to.",
        "InvalidArgumentError",
        "run(tf.TensorArray(tf.float32, 2).write(0, 1.0).write(0, 2.0).stack())",
    ),
    (
        "Tried to write to index 5 but array is not resizeable and size is: 2",
        "InvalidArgumentError",
        "run(tf.TensorArray(tf.float32, 2).write(5, 1.0).flow)",
    ),
    (
        "Could not read from TensorArray index 0.",
        "InvalidArgumentError",
        "run(tf.TensorArray(tf.float32, 2).read(0))",
    ),
    (
        "0-th value returned by pyfunc_",
        "InvalidArgumentError",
        "run(tf.py_func(lambda: np.float64(1), [], tf.float32))",
    ),
    (
        " is double, but expects float",
        "InvalidArgumentError",
        "run(tf.py_func(lambda: np.float64(1), [], tf.float32))",
    ),
    (
        "Feature: a (data type: int64) is required but could not be found.",
        "InvalidArgumentError",
        "example = tf.train.Example().SerializeToString()\n"
        "run(tf.parse_single_example(example, {'a': tf.FixedLenFeature([], tf.int64)}))",
    ),
    (
        "Data types don't match. Data type: float but expected type: int64",
        "InvalidArgumentError",
        "feature = tf.train.Feature(float_list=tf.train.FloatList(value=[1.0]))\n"
        "example = tf.train.Example(features=tf.train.Features(feature={'a': feature})).SerializeToString()\n"
        "run(tf.parse_single_example(example, {'a': tf.FixedLenFeature([], tf.int64)}))",
    ),
    (
        "Could not parse example input, value: ",
        "InvalidArgumentError",
        "run(tf.parse_single_example(b'abc', {'a': tf.FixedLenFeature([], tf.int64)}))",
    ),
    (
        "Input to DecodeRaw has length 3 that is not a multiple of 4, the size of int32",
        "InvalidArgumentError",
        "run(tf.decode_raw(tf.constant(b'abc'), tf.int32))",
    ),
    (
        "StringToNumberOp could not correctly convert string: abc",
        "InvalidArgumentError",
        "run(tf.string_to_number(tf.constant('abc')))",
    ),
    ("Unknown image file format.", "InvalidArgumentError", "run(tf.image.decode_jpeg(tf.constant(b'abc')))"),
    ("missing.txt; No such file or directory", "NotFoundError", "run(tf.read_file('missing.txt'))"),
    (
        "End of sequence",
        "OutOfRangeError",
        "value = tf.data.Dataset.range(0).make_one_shot_iterator().get_next(); run(value)",
    ),
    (
        "GetNext() failed because the iterator has not been initialized.",
        "FailedPreconditionError",
        "run(tf.data.Dataset.range(1).make_initializable_iterator().get_next())",
    ),
    (
        "is closed and has insufficient elements (requested 1, current size 0)",
        "OutOfRangeError",
        "queue = tf.FIFOQueue(3, [tf.int32])\n"
        "with tf.Session() as sess:\n    sess.run(queue.close())\n    sess.run(queue.dequeue())",
    ),
    (
        "Table not initialized.",
        "FailedPreconditionError",
        "run(tf.contrib.lookup.index_table_from_tensor(['a']).lookup(tf.constant(['a'])))",
    ),
    (
        "The feed a:0 has already been fed.",
        "InvalidArgumentError",
        "a, b = tf.placeholder(tf.float32, name='a'), tf.placeholder(tf.float32, name='b')\n"
        "c, d, sess = a + b, a * 2, tf.Session()\n"
        "handle = sess.partial_run_setup([c, d], [a, b])\n"
        "sess.partial_run(handle, d, {a: 1}); sess.partial_run(handle, c, {a: 1, b: 2})",
    ),
    (
        "The feed b:0 was not specified in partial_run_setup.",
        "InvalidArgumentError",
        "a, b = tf.placeholder(tf.float32, name='a'), tf.placeholder(tf.float32, name='b')\n"
        "d, sess = a * 2, tf.Session()\n"
        "sess.partial_run(sess.partial_run_setup([d], [a]), d, {a: 1, b: 2})",
    ),
    (
        "Timed out waiting for notification",
        "DeadlineExceededError",
        "value = tf.FIFOQueue(1, [tf.int32]).dequeue()\n"
        "with tf.Session() as sess: sess.run(value, options=tf.RunOptions(timeout_in_ms=20))",
    ),
]


@pytest.mark.parametrize(("sentence", "cls", "program"), CALLS, ids=[sentence for sentence, _, _ in CALLS])
def test_an_error_contains_the_known_sentence(sentence, cls, program):
    with tf.Graph().as_default(), pytest.raises(cls) as caught:
        exec(program, {"tf": tf, "np": np, "run": _run})
    assert sentence in str(caught.value)


@pytest.mark.cpu_only(reason="kernels of a GPU check no labels and indices")
@pytest.mark.parametrize(("sentence", "name", "program"), STEPS, ids=[sentence for sentence, _, _ in STEPS])
def test_an_error_of_a_step_contains_the_known_sentence(sentence, name, program):
    with tf.Graph().as_default(), pytest.raises(getattr(tf.errors, name)) as caught:
        exec(program, {"tf": tf, "np": np, "run": _run})
    assert sentence in f"{caught.value}\n"


def test_a_missing_gpu_is_named_with_the_known_sentence():
    with tf.Graph().as_default(), tf.device("/gpu:7"):
        value = tf.constant(1, name="a")
        with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError) as caught:
            sess.run(value)
    assert "Cannot assign a device for operation a: a was explicitly assigned to /device:GPU:7" in str(caught.value)
    assert "Make sure the device specification refers to a valid device." in str(caught.value)


def test_a_checkpoint_that_does_not_fit_is_explained_with_the_known_sentences(tmp_path):
    with tf.Graph().as_default():
        tf.get_variable("v", [2])
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            path = tf.train.Saver().save(sess, str(tmp_path / "model"))
    for name, shape, cls, sentence in (
        ("w", [2], tf.errors.NotFoundError, "Key w not found in checkpoint"),
        ("v", [3], tf.errors.InvalidArgumentError, "Assign requires shapes of both tensors to match."),
    ):
        with tf.Graph().as_default():
            tf.get_variable(name, shape)
            with tf.Session() as sess, pytest.raises(cls) as caught:
                tf.train.Saver().restore(sess, path)
        assert sentence in str(caught.value)


def _run(fetches, feed_dict=None):
    with tf.Session() as session:
        return session.run(fetches, feed_dict)
