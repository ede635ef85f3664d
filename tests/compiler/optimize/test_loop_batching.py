"""Loop batching: which products leave a loop, before it and after it, and which do not."""

import numpy as np
import pytest

import thalweg as tf
from tests.compiler.graphs import same_values
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.compiler.optimize.loop_batching import batch
from thalweg._src.compiler.optimize.loop_invariants import hoist
from thalweg._src.compiler.optimize.loop_pruning import narrow
from thalweg._src.compiler.optimize.optimize import everywhere
from thalweg._src.compiler.optimize.simplify import simplify

STEPS, BATCH, WIDTH, UNITS = 5, 3, 2, 4
RNG = np.random.default_rng(11)


def batched(feeds, fetches):
    step = step_graph(feeds, fetches, [])
    everywhere(simplify, step)
    narrow(step)
    hoist(step)
    batch(step)
    narrow(step)
    return step


def outside(step):
    return [node.type for node in step.nodes]


def inside(step, index=0):
    loops = [node for node in step.nodes if node.type == "_While"]
    return [node.type for node in loops[index].attrs["region"].body.nodes]


def feed(*placeholders):
    return {
        placeholder: RNG.normal(size=[n or BATCH for n in placeholder.shape.as_list()]) * 0.3
        for placeholder in placeholders
    }


def repeated(body, *initial):
    return tf.while_loop(lambda i, *_: i < STEPS, lambda i, *v: (i + 1, *body(i, *v)), [0, *initial])[1:]


def sequence(rows=BATCH):
    """Returns a placeholder of a sequence of matrices, and a function that reads one of them in a loop."""
    xs = tf.placeholder(tf.float32, [STEPS, rows, WIDTH], name="xs")
    return xs, tf.TensorArray(tf.float32, STEPS).unstack(xs).read


def weights(rows, columns=UNITS):
    return tf.placeholder(tf.float32, [rows, columns], name="w")


# -- before -----------------------------------------------------------------------------------------------------------


def test_products_of_a_sequence_are_one_product_before_the_loop():
    xs, read = sequence()
    w = weights(WIDTH)
    (y,) = repeated(lambda i, v: [v + tf.matmul(read(i), w)], tf.zeros([BATCH, UNITS]))
    step = batched([xs, w], [y])
    assert "MatMul" not in inside(step) and outside(step).count("MatMul") == 1
    (product,) = [node for node in step.nodes if node.type == "MatMul"]
    assert product.inputs[0].shape == (None, WIDTH)  # the rows of all iterations
    assert inside(step).count("TensorArrayReadV3") == 1  # of the products, instead of the sequence
    same_values([y], feed(xs, w), 1e-5)


def test_a_bias_is_added_before_the_loop_as_well():
    xs, read = sequence()
    w, b = weights(WIDTH), tf.placeholder(tf.float32, [UNITS], name="b")
    (y,) = repeated(lambda i, v: [v + tf.nn.bias_add(tf.matmul(read(i), w), b)], tf.zeros([BATCH, UNITS]))
    step = batched([xs, w, b], [y])
    assert "BiasAdd" in outside(step) and "BiasAdd" not in inside(step)
    same_values([y], feed(xs, w, b), 1e-5)


def test_only_the_state_is_multiplied_in_the_loop():
    xs, read = sequence()
    w = weights(WIDTH + UNITS)
    (y,) = repeated(lambda i, h: [tf.tanh(tf.matmul(tf.concat([read(i), h], 1), w))], tf.zeros([BATCH, UNITS]))
    step = batched([xs, w], [y])
    assert inside(step).count("MatMul") == 1 and "ConcatV2" not in inside(step)
    slices = [node for node in step.nodes if node.type == "Slice"]
    assert sorted(node.shapes[0] for node in slices) == [(WIDTH, UNITS), (UNITS, UNITS)]
    same_values([y], feed(xs, w), 1e-5)


def test_unknown_sizes_take_a_batched_product():
    xs, read = sequence(rows=None)
    w = tf.placeholder(tf.float32, [WIDTH, None], name="w")
    h = tf.placeholder(tf.float32, [None, None])
    (y,) = repeated(lambda i, v: [v + tf.matmul(read(i), w)], h)
    step = batched([xs, w, h], [y])
    same_values([y], {**feed(xs), w: np.ones((WIDTH, UNITS)), h: np.ones((BATCH, UNITS))}, 1e-5)
    assert inside(step).count("MatMul") <= 1


@pytest.mark.parametrize(
    "body",
    [
        lambda read, w: lambda i, v: [v + tf.matmul(read(i), w + tf.reduce_sum(v))],  # weights of the iteration
        lambda read, w: lambda i, v: [v + tf.matmul(read(tf.cast(tf.reduce_sum(v), tf.int32) * 0 + i), w * v[0, 0])],
        lambda read, w: lambda i, v: [v + tf.matmul(v[:, :WIDTH], w)],  # no sequence
        lambda read, w: lambda i, v: [tf.cond(i > 2, lambda: v + tf.matmul(read(i), w), lambda: v)],
    ],
)
def test_these_products_stay(body):
    xs, read = sequence()
    w = weights(WIDTH)
    (y,) = repeated(body(read, w), tf.zeros([BATCH, UNITS]))
    step = batched([xs, w], [y])
    assert "MatMul" in inside(step) and "MatMul" not in outside(step)
    same_values([y], feed(xs, w), 1e-5)


def test_integer_products_stay():
    xs = tf.placeholder(tf.int32, [STEPS, BATCH, WIDTH])
    w = tf.placeholder(tf.int32, [WIDTH, UNITS])
    array = tf.TensorArray(tf.int32, STEPS).unstack(xs)
    (y,) = repeated(lambda i, v: [v + tf.matmul(array.read(i), w)], tf.zeros([BATCH, UNITS], tf.int32))
    assert "MatMul" in inside(batched([xs, w], [y]))


def test_a_sequence_in_another_order_stays():
    xs = tf.placeholder(tf.float32, [STEPS, BATCH, WIDTH])
    array = tf.TensorArray(tf.float32, STEPS).scatter(list(range(STEPS))[::-1], xs)
    w = weights(WIDTH)
    (y,) = repeated(lambda i, v: [v + tf.matmul(array.read(i), w)], tf.zeros([BATCH, UNITS]))
    assert "MatMul" in inside(batched([xs, w], [y]))
    same_values([y], feed(xs, w), 1e-5)


# -- columns ----------------------------------------------------------------------------------------------------------


def test_a_product_computes_only_the_columns_that_are_used():
    x, w = tf.placeholder(tf.float32, [BATCH, WIDTH]), weights(WIDTH, 3 * WIDTH)
    (y,) = repeated(lambda i, v: [tf.split(tf.matmul(v, w), 3, 1)[1]], x)
    step = batched([x, w], [y])
    assert "Split" not in inside(step)
    (columns,) = [node for node in step.nodes if node.type == "Slice"]
    assert columns.shapes[0] == (WIDTH, WIDTH)
    begin = columns.constant(1)
    assert begin is not None and begin.tolist() == [0, WIDTH]
    same_values([y], feed(x, w), 1e-5)


def test_a_product_of_which_two_pieces_are_used_stays():
    x, w = tf.placeholder(tf.float32, [BATCH, WIDTH]), weights(WIDTH, 3 * WIDTH)

    def body(i, v):
        first, _, last = tf.split(tf.matmul(v, w), 3, 1)
        return [first + last]

    assert "Split" in inside(batched([x, w], [repeated(body, x)[0]]))


# -- after ------------------------------------------------------------------------------------------------------------


def recurrent(cell=lambda h, w: tf.tanh(tf.matmul(h, w))):
    h, w = tf.placeholder(tf.float32, [BATCH, WIDTH], name="h"), weights(WIDTH, WIDTH)
    (y,) = repeated(lambda i, v: [cell(v, w)], h)
    return h, w, y


def test_the_gradient_of_weights_is_one_product_after_the_loop():
    h, w, y = recurrent()
    (gradient,) = tf.gradients(y, w)
    step = batched([h, w], [gradient])
    assert inside(step, 1).count("MatMul") == 1  # the gradient of the state
    total = step.fetches[0].node
    assert total.type == "MatMul" and total.attrs["transpose_a"]
    assert [output.node.type for output in total.inputs] == ["_ListRows", "_ListRows"]
    same_values([gradient], feed(h, w), 1e-5)


def test_the_gradient_of_a_bias_is_one_sum_after_the_loop():
    b = tf.placeholder(tf.float32, [WIDTH], name="b")
    h, w, y = recurrent(lambda h, w: tf.tanh(tf.nn.bias_add(tf.matmul(h, w), b)))
    gradients = tf.gradients(y, [w, b])
    step = batched([h, w, b], gradients)
    assert "BiasAddGrad" in outside(step) and "BiasAddGrad" not in inside(step, 1)
    same_values(gradients, feed(h, w, b), 1e-5)


def test_a_sum_that_is_used_in_the_loop_stays():
    x = tf.placeholder(tf.float32, [BATCH, WIDTH])
    _, total = repeated(
        lambda i, v, t: [tf.tanh(v) + tf.reduce_sum(t), t + tf.matmul(v, v, transpose_a=True)],
        x,
        tf.zeros([WIDTH, WIDTH]),
    )
    assert "MatMul" in inside(batched([x], [total]))
    same_values([total], feed(x), 1e-4)
