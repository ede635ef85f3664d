"""Projective transforms, warps and regions of images, against definitions written out."""

import numpy as np
import pytest

import thalweg as tf

image = tf.contrib.image
RNG = np.random.default_rng(2)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def run(fetches, feed=None):
    with tf.Session() as session:
        return session.run(fetches, feed)


def pixel(x, row, column):
    inside = 0 <= row < x.shape[0] and 0 <= column < x.shape[1]
    return x[int(row), int(column)] if inside else np.zeros(x.shape[2:])


def projected(x, t, height, width, bilinear):
    result = np.zeros((height, width, *x.shape[2:]))
    for row in range(height):
        for column in range(width):
            k = t[6] * column + t[7] * row + 1
            at_x = (t[0] * column + t[1] * row + t[2]) / k
            at_y = (t[3] * column + t[4] * row + t[5]) / k
            if bilinear:
                top, left = np.floor(at_y), np.floor(at_x)
                for y in (top, top + 1):
                    for z in (left, left + 1):
                        result[row, column] += (1 - abs(at_y - y)) * (1 - abs(at_x - z)) * pixel(x, y, z)
            else:
                result[row, column] = pixel(x, np.floor(at_y + 0.5), np.floor(at_x + 0.5))
    return result


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int32"])
@pytest.mark.parametrize("interpolation", ["NEAREST", "bilinear"])
def test_transform(dtype, interpolation):
    x = (RNG.uniform(size=(2, 4, 5, 3)) * 90).astype(dtype)
    t = np.array([[1.1, 0.2, 0.3, -0.1, 0.9, 0.4, 0.01, 0.02], [0.8, -0.5, 2.2, 0.6, 0.7, -3.1, -0.03, 0.01]])
    got = image.transform(x, t, interpolation, output_shape=[6, 7])
    assert got.shape.as_list() == [2, 6, 7, 3]
    expected = np.stack([projected(a, b, 6, 7, interpolation == "bilinear") for a, b in zip(x, t)])
    np.testing.assert_allclose(run(got), expected.astype(dtype), atol=1.0 if dtype in ("uint8", "int32") else 1e-4)


@pytest.mark.parametrize("shape", [(4, 5), (4, 5, 3), (2, 4, 5, 3)])
def test_quarter_rotations_and_translations(shape):
    square = RNG.uniform(size=[5 if n == 4 else n for n in shape]).astype(np.float32)
    axes = (0, 1) if len(shape) < 4 else (1, 2)
    np.testing.assert_allclose(run(image.rotate(square, np.pi / 2)), np.rot90(square, axes=axes), rtol=1e-5)
    x = RNG.uniform(size=shape).astype(np.float32)
    moved = np.roll(x, (2, 1), axes)
    kept = [slice(None)] * len(shape)
    kept[axes[0]], kept[axes[1]] = slice(2, None), slice(1, None)
    got = run(image.translate(x, [1.0, 2.0]))
    np.testing.assert_allclose(got[tuple(kept)], moved[tuple(kept)])
    assert got.sum() == pytest.approx(moved[tuple(kept)].sum(), rel=1e-5)


def test_rotation_and_translation_per_image():
    x = RNG.uniform(size=(3, 5, 5, 2)).astype(np.float32)
    got = run(image.rotate(x, [0.0, np.pi / 2, np.pi]))
    for i in range(3):
        np.testing.assert_allclose(got[i], np.rot90(x[i], i), rtol=1e-5)
    got = run(image.translate(x, [[0, 0], [1, 0], [0, -1]]))
    np.testing.assert_allclose(got[1][:, 1:], x[1][:, :-1])
    np.testing.assert_allclose(got[2][:-1], x[2][1:])


def test_transforms_compose_and_convert_to_matrices():
    turn = image.angles_to_projective_transforms([0.3, 0.4], 20.0, 30.0)
    move = image.translations_to_projective_transforms([[1.0, 2.0], [3.0, 4.0]])
    both, a, b = run([image.compose_transforms(turn, move), turn, move])
    matrices = [np.append(t, 1).reshape(3, 3) for t in a], [np.append(t, 1).reshape(3, 3) for t in b]
    np.testing.assert_allclose(both, [(m @ n).ravel()[:8] for m, n in zip(*matrices)], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        run(image.matrices_to_flat_transforms(2 * image.flat_transforms_to_matrices(turn))), a, rtol=1e-6
    )
    with pytest.raises(ValueError, match="empty"):
        image.compose_transforms()


def test_the_gradient_uses_the_inverse_transform():
    x = tf.placeholder(tf.float32, [2, 4, 4, 1])
    weights = RNG.uniform(size=(2, 4, 4, 1)).astype(np.float32)
    turned = image.rotate(x, np.pi / 2)
    (grad,) = tf.gradients(turned, x, weights)
    assert grad.shape.as_list() == [2, 4, 4, 1]
    np.testing.assert_allclose(run(grad, {x: weights}), np.rot90(weights, -1, (1, 2)), rtol=1e-5)
    (second,) = tf.gradients(tf.reduce_sum(grad * grad * x), x)
    assert run(second, {x: weights}).shape == (2, 4, 4, 1)


def test_invalid_transforms():
    x = np.zeros((2, 4, 5, 3), np.float32)
    for wrong, kind, text in (
        (lambda: image.transform(x[0, 0, 0], [1.0] * 8), TypeError, "rank between 2 and 4"),
        (lambda: image.transform(x.astype(bool), [1.0] * 8), TypeError, "Invalid dtype bool"),
        (lambda: image.transform(x, [1.0] * 7), ValueError, "eight numbers"),
        (lambda: image.transform(x, [[1.0] * 8] * 3), ValueError, "eight numbers"),
        (lambda: image.transform(x, [1.0] * 8, "CUBIC"), ValueError, "NEAREST, BILINEAR"),
        (lambda: image.transform(x, [1.0] * 8, output_shape=[3]), ValueError, "2 elements"),
        (lambda: image.transform(x, [1.0] * 8, output_shape=[0, 3]), ValueError, "positive sizes"),
        (lambda: image.rotate(x, [[0.1]]), TypeError, "rank 0 or 1"),
    ):
        with pytest.raises(kind, match=text):
            wrong()
    sizes = tf.placeholder(tf.int32, [2])
    late = image.transform(x, [1.0, 0, 0, 0, 1, 0, 0, 0], output_shape=sizes)
    with pytest.raises(tf.errors.InvalidArgumentError, match="positive sizes"):
        run(late, {sizes: [-1, 3]})


# -- warps ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False])
def test_dense_warp(known):
    x = RNG.normal(size=(2, 4, 5, 3)).astype(np.float32)
    flow = RNG.uniform(-2, 2, (2, 4, 5, 2)).astype(np.float32)
    a = tf.placeholder(tf.float32, x.shape if known else [None, None, None, 3])
    b = tf.placeholder(tf.float32, flow.shape if known else [None, None, None, 2])
    got = run(image.dense_image_warp(a, b), {a: x, b: flow})
    for i, row, column in np.ndindex(2, 4, 5):
        y = np.clip(row - flow[i, row, column, 0], 0, 3)
        z = np.clip(column - flow[i, row, column, 1], 0, 4)
        top, left = min(int(y), 2), min(int(z), 3)
        expected = sum(
            (1 - abs(y - r)) * (1 - abs(z - c)) * x[i, r, c] for r in (top, top + 1) for c in (left, left + 1)
        )
        np.testing.assert_allclose(got[i, row, column], expected, rtol=1e-4, atol=1e-5)


def test_the_warp_is_trainable():
    x, flow = tf.placeholder(tf.float64, [1, 4, 5, 2]), tf.placeholder(tf.float64, [1, 4, 5, 2])
    warped = image.dense_image_warp(x, flow)
    values = {x: RNG.normal(size=(1, 4, 5, 2)), flow: RNG.uniform(0.1, 0.9, (1, 4, 5, 2))}
    with tf.Session():
        for tensor in (x, flow):
            error = tf.test.compute_gradient_error(
                tensor, [1, 4, 5, 2], warped, [1, 4, 5, 2], x_init_value=values[tensor], extra_feed_dict=values
            )
            assert error < 1e-5


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_a_spline_goes_through_its_points_and_is_exact_for_planes(order):
    points = RNG.uniform(size=(2, 9, 2))
    values = RNG.normal(size=(2, 9, 3))
    np.testing.assert_allclose(run(image.interpolate_spline(points, values, points, order)), values, atol=1e-4)
    plane = points @ RNG.normal(size=(2, 1)) + 3
    asked = RNG.uniform(size=(2, 4, 2))
    weights = np.linalg.lstsq(np.append(points[0], np.ones((9, 1)), 1), plane[0], rcond=None)[0]
    got = run(image.interpolate_spline(points, plane, asked, order))
    np.testing.assert_allclose(got[0], np.append(asked[0], np.ones((4, 1)), 1) @ weights, atol=1e-4)


def test_control_points_are_warped_exactly():
    x = np.zeros((1, 9, 8, 1), np.float32)
    x[0, 4, 3] = 1.0
    source, moved = np.array([[[4.0, 3.0]]], np.float32), np.array([[[5.0, 5.0]]], np.float32)
    warped, flow = run(image.sparse_image_warp(x, source, moved, num_boundary_points=2))
    assert warped.shape == x.shape and flow.shape == (1, 9, 8, 2)
    np.testing.assert_allclose(warped[0, 5, 5], 1.0, atol=1e-3)
    np.testing.assert_allclose(flow[0, 5, 5], [1.0, 2.0], atol=1e-3)
    np.testing.assert_allclose(flow[0, 0, 0], [0.0, 0.0], atol=1e-3)


# -- regions and colors -----------------------------------------------------------------------------------------------


def test_connected_components():
    plane = np.array([[9, 0, 0, 0], [9, 9, 0, 5], [0, 9, 5, 5], [5, 5, 0, 0]])
    expected = np.array([[1, 0, 0, 0], [1, 1, 0, 2], [0, 1, 2, 2], [3, 3, 0, 0]])
    np.testing.assert_array_equal(run(image.connected_components(plane)), expected)
    both = run(image.connected_components(np.stack([plane, plane]).astype(np.float32)))
    np.testing.assert_array_equal(both[1], np.where(expected, expected + 3, 0))
    snake = np.zeros((9, 30), bool)
    snake[::2] = True
    snake[1::4, -1] = snake[3::4, 0] = True
    np.testing.assert_array_equal(run(image.connected_components(snake)), snake.astype(int))
    with pytest.raises(TypeError, match="rank 2"):
        image.connected_components(np.zeros(3))


def test_bipartite_match():
    distances = np.array([[0.5, 0.1, 0.8], [0.2, 0.15, 0.3]], np.float32)
    rows, columns = run(image.bipartite_match(distances, -1))
    assert rows.tolist() == [1, 0] and columns.tolist() == [1, 0, -1]
    rows, columns = run(image.bipartite_match(distances, 1))
    assert rows.tolist() == [1, -1] and columns.tolist() == [-1, 0, -1]
    rows, columns = run(image.bipartite_match(distances, -1, top_k=1))
    assert rows.tolist() == [1, -1] and columns.tolist() == [-1, 0, -1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="only 2 rows"):
        run(image.bipartite_match(distances, 3))


def test_colors_in_yiq():
    x = RNG.uniform(size=(4, 5, 3)).astype(np.float32)
    np.testing.assert_allclose(run(image.adjust_hsv_in_yiq(x, 0.0, 1.0, 1.0)), x, atol=1e-4)
    gray = run(image.adjust_hsv_in_yiq(x, 0.7, 0.0, 0.5))
    luma = x @ np.array([0.299, 0.587, 0.114], np.float32)
    np.testing.assert_allclose(gray, np.repeat(luma[..., None], 3, -1) * 0.5, atol=1e-3)
    around = run(image.adjust_hsv_in_yiq(image.adjust_hsv_in_yiq(x, 1.0), -1.0))
    np.testing.assert_allclose(around, x, atol=1e-4)
    drawn = run(image.random_hsv_in_yiq(x, 0.3, 0.5, 1.5, 0.9, 1.1, seed=3))
    assert drawn.shape == x.shape and not np.allclose(drawn, x)
    with pytest.raises(ValueError, match="non-negative"):
        image.random_hsv_in_yiq(x, -1)
