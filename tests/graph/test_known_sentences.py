"""The sentences of TensorFlow's errors that its users search for, while the graph is built."""

import numpy as np
import pytest

import thalweg as tf

# Each case: the sentence, the class of the error, and the program.
CASES = [
    (
        "Dimensions must be equal, but are 3 and 4 for 'MatMul' (op: 'MatMul') with input shapes: [2,3], [4,5].",
        ValueError,
        "tf.matmul(tf.zeros([2, 3]), tf.zeros([4, 5]))",
    ),
    (
        "Dimensions must be equal, but are 3 and 4 for 'add' (op: 'AddV2') with input shapes: [2,3], [4].",
        ValueError,
        "tf.zeros([2, 3]) + tf.zeros([4])",
    ),
    (
        "Dimensions must be equal, but are 4 and 3 for 'sum' (op: 'AddV2') with input shapes: [4], [2,3].",
        ValueError,
        "tf.add(tf.zeros([4]), tf.zeros([2, 3]), name='sum')",
    ),
    (
        "Shape must be rank 2 but is rank 1 for 'MatMul' (op: 'MatMul') with input shapes: [3], [3,3].",
        ValueError,
        "tf.matmul(tf.zeros([3]), tf.zeros([3, 3]))",
    ),
    (
        "Shape must be rank 4 but is rank 3 for 'Conv2D' (op: 'Conv2D')",
        ValueError,
        "tf.nn.conv2d(tf.zeros([3, 3, 3]), tf.zeros([3, 3, 3, 3]), [1, 1, 1, 1], 'SAME')",
    ),
    (
        "Negative dimension size caused by subtracting 3 from 2 for 'Conv2D' (op: 'Conv2D')",
        ValueError,
        "tf.nn.conv2d(tf.zeros([1, 2, 2, 3]), tf.zeros([3, 3, 3, 3]), [1, 1, 1, 1], 'VALID')",
    ),
    (
        "Negative dimension size caused by subtracting 3 from 2 for 'MaxPool' (op: 'MaxPool')",
        ValueError,
        "tf.nn.max_pool(tf.zeros([1, 2, 2, 3]), [1, 3, 3, 1], [1, 1, 1, 1], 'VALID')",
    ),
    (
        "Depth of input (2) is not a multiple of input depth of filter (3)",
        ValueError,
        "tf.nn.conv2d(tf.zeros([1, 5, 5, 2]), tf.zeros([3, 3, 3, 3]), [1, 1, 1, 1], 'SAME')",
    ),
    (
        "Cannot reshape a tensor with 6 elements to shape [4] (4 elements) for 'Reshape' (op: 'Reshape')",
        ValueError,
        "tf.reshape(tf.zeros([2, 3]), [4])",
    ),
    (
        "Dimension size must be evenly divisible by 4 but is 6 for 'Reshape' (op: 'Reshape')",
        ValueError,
        "tf.reshape(tf.zeros([2, 3]), [4, -1])",
    ),
    ("Dimension size must be evenly divisible by 2 but is 5", ValueError, "tf.split(tf.zeros([5]), 2)"),
    (
        "Dimension 0 in both shapes must be equal, but are 2 and 3. Shapes are [2,3] and [3,3]. for 'concat'",
        ValueError,
        "tf.concat([tf.zeros([2, 3]), tf.zeros([3, 3])], 1)",
    ),
    ("Shape must be rank 2 but is rank 1 for 'concat'", ValueError, "tf.concat([tf.zeros([2, 3]), tf.zeros([3])], 0)"),
    (
        "Dimension 0 in both shapes must be equal, but are 2 and 3. Shapes are [2] and [3].",
        ValueError,
        "tf.stack([tf.zeros([2]), tf.zeros([3])])",
    ),
    (
        "Dimension 1 in both shapes must be equal, but are 2 and 3. Shapes are [3,2] and [3,3].",
        ValueError,
        "tf.zeros([3, 2]).set_shape([3, 3])",
    ),
    ("Shapes must be equal rank, but are 2 and 1", ValueError, "tf.add_n([tf.zeros([3, 2]), tf.zeros([3])])"),
    ("Can not squeeze dim[0], expected a dimension of 1, got 3", ValueError, "tf.squeeze(tf.zeros([3, 2]), [0])"),
    ("dim 5 not in the interval [-3, 2].", ValueError, "tf.expand_dims(tf.zeros([3, 2]), 5)"),
    ("Dimension must be 2 but is 3 for 'transpose'", ValueError, "tf.transpose(tf.zeros([3, 2]), [0, 1, 2])"),
    ("Invalid reduction dimension 5 for input with 2 dimensions.", ValueError, "tf.reduce_sum(tf.zeros([3, 2]), 5)"),
    ("slice index 5 of dimension 0 out of bounds.", ValueError, "tf.zeros([3])[5]"),
    ("Index out of range using input dim 1; input has only 1 dims", ValueError, "tf.zeros([3])[0, 0]"),
    (
        "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors are "
        "valid indices, got 'a'",
        TypeError,
        "tf.zeros([3])['a']",
    ),
    ("input must have last dimension >= k = 5 but is 3", ValueError, "tf.nn.top_k(tf.zeros([3]), 5)"),
    ("Shapes (2, 3) and (4,) are incompatible", ValueError, "tf.TensorShape([2, 3]).assert_is_compatible_with([4])"),
    ("Shapes (2, 3) and (4,) are not compatible", ValueError, "tf.TensorShape([2, 3]).merge_with([4])"),
    ("as_list() is not defined on an unknown TensorShape.", ValueError, "tf.placeholder(tf.int32).shape.as_list()"),
    ("Cannot take the length of shape with unknown rank.", ValueError, "len(tf.placeholder(tf.int32).shape)"),
    ("__int__ returned non-int (type NoneType)", TypeError, "int(tf.placeholder(tf.int32, [None]).shape[0])"),
    (
        "logits and labels must have the same shape ((2, 3) vs (2, 4))",
        ValueError,
        "tf.nn.sigmoid_cross_entropy_with_logits(logits=tf.zeros([2, 3]), labels=tf.zeros([2, 4]))",
    ),
    (
        "Rank mismatch: Rank of labels (received 2) should equal rank of logits minus 1 (received 2).",
        ValueError,
        "tf.nn.sparse_softmax_cross_entropy_with_logits(logits=tf.zeros([2, 3]), labels=tf.zeros([2, 3], tf.int32))",
    ),
    (
        "weights can not be broadcast to values. Mismatch at dim 0. values.shape=[3, 2], weights.shape=[5, 2]",
        ValueError,
        "tf.losses.mean_squared_error(tf.zeros([3, 2]), tf.zeros([3, 2]), weights=tf.ones([5, 2]))",
    ),
    (
        "weights can not be broadcast to values. values.rank=2. weights.rank=1.",
        ValueError,
        "tf.losses.mean_squared_error(tf.zeros([3, 2]), tf.zeros([3, 2]), weights=tf.ones([3]))",
    ),
    # Types.
    ("Expected int32, got 'abc' of type 'str' instead.", TypeError, "tf.constant('abc', tf.int32)"),
    ("Expected int32, got 1.5 of type 'float' instead.", TypeError, "tf.constant(1.5, tf.int32)"),
    (
        "Expected int32, got list containing Tensors of type '_Message' instead.",
        TypeError,
        "tf.concat(0, [tf.zeros([2]), tf.zeros([2])])",
    ),
    ("None values not supported", ValueError, "tf.convert_to_tensor(None)"),
    (
        "Failed to convert object of type <class 'dict'> to Tensor. Contents: {'a': 1}.",
        TypeError,
        "tf.convert_to_tensor({'a': 1})",
    ),
    ("setting an array element with a sequence", ValueError, "tf.constant([[1, 2], [3]])"),
    ("Too many elements provided. Needed at most 2, but received 3", ValueError, "tf.constant([1, 2, 3], shape=[2])"),
    (
        "Tensor conversion requested dtype int32 for Tensor with dtype float32",
        ValueError,
        "tf.convert_to_tensor(tf.zeros([2]), tf.int32)",
    ),
    (
        "Input 'b' of 'MatMul' Op has type float64 that does not match type float32 of argument 'a'",
        TypeError,
        "tf.matmul(tf.zeros([2, 2]), tf.zeros([2, 2], tf.float64))",
    ),
    (
        "Input 'y' of 'AddV2' Op has type float32 that does not match type int32 of argument 'x'",
        TypeError,
        "tf.constant(1) + tf.constant(1.0)",
    ),
    (
        "Input 'split_dim' of 'Split' Op has type float32 that does not match expected type of int32.",
        TypeError,
        "tf.split(0, 2, tf.zeros([4]))",
    ),
    (
        "Value passed to parameter 'x' has DataType int32 not in list of allowed values: bfloat16, complex128",
        TypeError,
        "tf.sqrt(tf.constant(1))",
    ),
    (
        "Tensors in list passed to 'values' of 'ConcatV2' Op have types [int32, float32] that don't all match.",
        TypeError,
        "tf.concat([tf.constant([1]), tf.constant([1.0])], 0)",
    ),
    (
        "Attr 'padding' of 'MaxPool' Op passed str 'FOO' not in: 'EXPLICIT', 'SAME', 'VALID'",
        ValueError,
        "tf.get_default_graph().create_op('MaxPool', [tf.zeros([1, 2, 2, 3])], attrs="
        "{'ksize': [1, 1, 1, 1], 'strides': [1, 1, 1, 1], 'padding': 'FOO'})",
    ),
    ("Using a `tf.Tensor` as a Python `bool` is not allowed.", TypeError, "bool(tf.constant(True))"),
    ("Tensor objects are only iterable when eager execution is enabled.", TypeError, "list(tf.constant(1))"),
    ("len is not well defined for symbolic Tensors. (zeros:0)", TypeError, "len(tf.zeros([3]))"),
    (
        "Cannot convert a symbolic Tensor (zeros:0) to a numpy array",
        NotImplementedError,
        "np.sin(tf.zeros([3]))",
    ),
    ("'Tensor' object does not support item assignment", TypeError, "tf.zeros([3])[0] = 1"),
    # Graphs and names.
    (
        "The name 'x:0' refers to a Tensor which does not exist. The operation, 'x', does not exist in the graph.",
        KeyError,
        "tf.get_default_graph().get_tensor_by_name('x:0')",
    ),
    (
        "The operation, 'c', exists but only has 1 outputs.",
        KeyError,
        "tf.constant(1, name='c'); tf.get_default_graph().get_tensor_by_name('c:3')",
    ),
    (
        "The name 'c' refers to an Operation, not a Tensor. Tensor names must be of the form",
        ValueError,
        "tf.constant(1, name='c'); tf.get_default_graph().get_tensor_by_name('c')",
    ),
    (
        "The name 'x' refers to an Operation not in the graph.",
        KeyError,
        "tf.get_default_graph().get_operation_by_name('x')",
    ),
    ("Graph is finalized and cannot be modified.", RuntimeError, "tf.get_default_graph().finalize(); tf.constant(1)"),
    ("'a b' is not a valid scope name", ValueError, "tf.name_scope('a b').__enter__()"),
    ("'a b' is not a valid node name", ValueError, "tf.get_default_graph().create_op('NoOp', [], name='a b')"),
    (
        'Tensor("b:0", shape=(), dtype=float32) must be from the same graph as Tensor("a:0", shape=(), dtype=float32)',
        ValueError,
        "with tf.Graph().as_default(): a = tf.constant(1.0, name='a')\na + tf.constant(2.0, name='b')",
    ),
    (
        "Cannot use 'while/twice' as input to 'y' because 'while/twice' is in a while loop.",
        ValueError,
        "leaked = []\n"
        "def body(i):\n    leaked.append(tf.multiply(i, 2, name='twice'))\n    return i + 1\n"
        "tf.while_loop(lambda i: i < 3, body, [0])\n"
        "tf.add(leaked[0], 1, name='y')",
    ),
    (
        "Cannot use 'while/twice' as input to 'while_1/y' because they are in different while loops.",
        ValueError,
        "leaked = []\n"
        "def body(i):\n    leaked.append(tf.multiply(i, 2, name='twice'))\n    return i + 1\n"
        "tf.while_loop(lambda i: i < 3, body, [0])\n"
        "tf.while_loop(lambda i: i < 3, lambda i: tf.add(i, leaked[0], name='y'), [0])",
    ),
    (
        "Input tensor 'zeros:0' enters the loop with shape (2,), but has shape (4,) after one iteration.",
        ValueError,
        "tf.while_loop(lambda v: True, lambda v: tf.concat([v, v], 0), [tf.zeros([2])])",
    ),
    ("true_fn must be callable", TypeError, "tf.cond(tf.constant(True), 1, lambda: 2)"),
    (
        "Outputs of true_fn and false_fn must have the same type: int32, float32",
        ValueError,
        "tf.cond(tf.constant(True), lambda: tf.constant(1), lambda: tf.constant(1.0))",
    ),
    ("No variables to optimize.", ValueError, "tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0))"),
    (
        "No gradients provided for any variable, check your graph for ops that do not support gradients",
        ValueError,
        "tf.get_variable('v', [2])\ntf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0))",
    ),
    (
        "No gradients provided for any variable: ",
        ValueError,
        "tf.train.GradientDescentOptimizer(0.1).apply_gradients([(None, tf.get_variable('v', [2]))])",
    ),
    (
        "No gradient defined for operation 'Relu' (op type: Relu)",
        LookupError,
        "x = tf.zeros([1])\n"
        "with tf.get_default_graph().gradient_override_map({'Relu': 'NotRegistered'}): y = tf.nn.relu(x)\n"
        "tf.gradients(y, x)",
    ),
    # Variables, layers and checkpoints.
    (
        "Variable w already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in VarScope? "
        "Originally defined at:",
        ValueError,
        "tf.get_variable('w', [2]); tf.get_variable('w', [2])",
    ),
    (
        "Variable s/w does not exist, or was not created with tf.get_variable(). "
        "Did you mean to set reuse=tf.AUTO_REUSE in VarScope?",
        ValueError,
        "with tf.variable_scope('s', reuse=True): tf.get_variable('w', [2])",
    ),
    (
        "Trying to share variable w, but specified shape (3,) and found shape (2,).",
        ValueError,
        "tf.get_variable('w', [2])\nwith tf.variable_scope('', reuse=True): tf.get_variable('w', [3])",
    ),
    ("Shape of a new variable (w) must be fully defined", ValueError, "tf.get_variable('w')"),
    (
        "Shape of a new variable (w) must be fully defined, but instead was (?, 2).",
        ValueError,
        "tf.get_variable('w', [None, 2])",
    ),
    (
        "If initializer is a constant, do not specify shape",
        ValueError,
        "tf.get_variable('w', [2], initializer=tf.zeros([2]))",
    ),
    ("initial_value must be specified.", ValueError, "tf.Variable()"),
    ("No variables to save", ValueError, "tf.train.Saver()"),
    (
        "The passed save_path is not a valid checkpoint: missing/model",
        ValueError,
        "tf.get_variable('v', [2])\nwith tf.Session() as sess: tf.train.Saver().restore(sess, 'missing/model')",
    ),
    (
        "Can't load save_path when it is None.",
        ValueError,
        "tf.get_variable('v', [2])\nwith tf.Session() as sess: tf.train.Saver().restore(sess, None)",
    ),
    (
        "Input 0 of layer dense is incompatible with the layer: expected min_ndim=2, found ndim=1. "
        "Full shape received: [3]",
        ValueError,
        "tf.layers.Dense(3, name='dense')(tf.zeros([3]))",
    ),
    (
        "expected axis -1 of input shape to have value 4 but received input with shape [2, 5]",
        ValueError,
        "layer = tf.layers.Dense(3); layer(tf.zeros([2, 4])); layer(tf.zeros([2, 5]))",
    ),
    (
        "The last dimension of the inputs to `Dense` should be defined. Found `None`",
        ValueError,
        "tf.layers.dense(tf.placeholder(tf.float32, [None, None]), 3)",
    ),
    (
        "The channel dimension of the inputs should be defined. Found `None`",
        ValueError,
        "tf.layers.conv2d(tf.placeholder(tf.float32, [1, 5, 5, None]), 3, 3)",
    ),
    (
        "If there is no initial_state, you must give a dtype.",
        ValueError,
        "tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(3), tf.zeros([2, 5, 4]))",
    ),
    (
        "Input size (depth of inputs) must be accessible via shape inference, but saw value None",
        ValueError,
        "cell = tf.nn.rnn_cell.BasicLSTMCell(3)\n"
        "tf.nn.dynamic_rnn(cell, tf.placeholder(tf.float32, [2, 5, None]), dtype=tf.float32)",
    ),
    (
        "The argument 'cell' (3) is not an RNNCell: 'output_size' property is missing",
        TypeError,
        "tf.nn.dynamic_rnn(3, tf.zeros([2, 5, 4]), dtype=tf.float32)",
    ),
    (
        "cells must be a list or tuple, but saw: ",
        TypeError,
        "tf.nn.rnn_cell.MultiRNNCell(tf.nn.rnn_cell.BasicLSTMCell(3))",
    ),
    ("All shapes must be fully defined", ValueError, "tf.train.batch([tf.placeholder(tf.float32, [None])], 2)"),
    ("'images' must have either 3 or 4 dimensions", ValueError, "tf.image.resize_images(tf.zeros([3, 3]), [2, 2])"),
    (
        "rate must be a scalar tensor or a float in the range [0, 1), got",
        ValueError,
        "tf.nn.dropout(tf.zeros([3]), rate=1.5)",
    ),
]


@pytest.mark.parametrize(("sentence", "cls", "program"), CASES, ids=[sentence for sentence, _, _ in CASES])
def test_an_error_contains_the_known_sentence(sentence, cls, program):
    with tf.Graph().as_default(), pytest.raises(cls) as caught:
        exec(program, {"tf": tf, "np": np})
    assert sentence in str(caught.value)
