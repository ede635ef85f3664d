"""Convolutions, pooling, normalization, resizing and detection return in onnxruntime what they do in a session."""

import numpy as np
import pytest

import thalweg as tf
from tests.deploy.onnx_export.running import BATCH, STATIC, case, check, parameters, random

raw = tf.raw_ops
KNOWN = (STATIC, BATCH)
IMAGES = random(2, 7, 9, 4)
FIRST = random(2, 4, 7, 9)
VOLUMES = random(2, 5, 6, 7, 2)
FILTER = random(3, 2, 4, 6)
BOXES = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3], [0, 2.6, 1, 3.6], [5, 5, 6, 6]], np.float32)
SCORES = np.array([0.9, 0.8, 0.7, 0.95, 0.1], np.float32)


def _conv(padding, strides=(1, 1), dilations=(1, 1), filters=FILTER):
    return lambda x: tf.nn.conv2d(x, filters, strides=[1, *strides, 1], padding=padding, dilations=[1, *dilations, 1])


def _norm(x, **options):
    size = x.shape[1 if options.get("data_format") == "NCHW" else -1].value or 4
    statistics = {} if options.get("is_training") else {"mean": random(size), "variance": np.abs(random(size)) + 0.5}
    return tf.nn.fused_batch_norm(x, random(size), random(size, seed=1), **statistics, **options)[0]


def _resize(method, **options):
    return lambda x: getattr(raw, method)(images=x, size=[11, 5], **options)


def _suppress(function, **options):
    return lambda boxes, scores: getattr(tf.image, function)(boxes, scores, 4, 0.5, **options)


CONVOLUTIONS = [
    case("Conv2D", _conv("SAME"), IMAGES),
    case("Conv2D", _conv("SAME", strides=(2, 3)), IMAGES),
    case("Conv2D", _conv("VALID", strides=(2, 1)), IMAGES),
    case("Conv2D", _conv("SAME", dilations=(2, 3)), IMAGES),
    case("Conv2D", _conv([[0, 0], [1, 2], [0, 3], [0, 0]]), IMAGES),
    case("Conv2D", _conv("SAME", filters=FILTER[:, :, :2]), IMAGES, modes=KNOWN),
    case("Conv2D", lambda x: tf.nn.conv1d(x, random(3, 4, 5), 2, "SAME"), random(2, 7, 4), modes=KNOWN),
    case(
        "Conv2D",
        lambda x: tf.cast(tf.nn.conv2d(tf.cast(x, tf.float64), FILTER.astype(np.float64), 1, "VALID"), tf.float32),
        IMAGES,
    ),
    case(
        "Conv2D",
        lambda x: tf.nn.avg_pool(tf.nn.conv2d(x, FILTER.astype(np.float16), 1, "VALID"), 2, 2, "SAME"),
        IMAGES.astype(np.float16),
        rtol=1e-2,
        atol=1e-2,
    ),
    case("Conv3D", lambda x: tf.nn.conv3d(x, random(2, 3, 2, 2, 4), [1, 2, 1, 1, 1], "SAME"), VOLUMES),
    case(
        "DepthwiseConv2dNative", lambda x: tf.nn.depthwise_conv2d(x, random(3, 3, 4, 2), [1, 2, 2, 1], "SAME"), IMAGES
    ),
    case(
        "Conv2DBackpropInput",
        lambda x: tf.nn.conv2d_transpose(x, random(3, 4, 5, 4), [2, 14, 18, 5], [1, 2, 2, 1]),
        IMAGES,
        modes=(STATIC,),
    ),
    case(
        "Conv2DBackpropInput",
        lambda x: tf.nn.conv2d_transpose(x, random(3, 4, 5, 4), [tf.shape(x)[0], 13, 18, 5], [1, 2, 2, 1]),
        IMAGES,
    ),
    case(
        "Conv2DBackpropInput",
        lambda x: tf.nn.conv2d_transpose(
            x, random(2, 2, 5, 4), [tf.shape(x)[0], tf.shape(x)[1] * 3, tf.shape(x)[2] * 3, 5], [1, 3, 3, 1]
        ),
        IMAGES,
    ),
    case(
        "Conv2DBackpropInput",
        lambda x: tf.nn.conv2d_transpose(x, random(3, 4, 5, 4), [tf.shape(x)[0], 15, 20, 5], [1, 2, 2, 1], "VALID"),
        IMAGES,
    ),
    case(
        "Conv3DBackpropInputV2",
        lambda x: tf.nn.conv3d_transpose(x, random(2, 3, 2, 4, 2), [2, 10, 12, 14, 4], [1, 2, 2, 2, 1]),
        VOLUMES,
        modes=(STATIC,),
    ),
    case("MaxPool", lambda x: tf.nn.max_pool(x, [1, 3, 2, 1], [1, 2, 2, 1], "SAME"), IMAGES),
    case("MaxPool", lambda x: tf.nn.max_pool(x, [1, 3, 2, 1], [1, 2, 1, 1], "VALID"), IMAGES),
    case("MaxPool3D", lambda x: tf.nn.max_pool3d(x, 2, 2, "SAME"), VOLUMES),
    case("AvgPool", lambda x: tf.nn.avg_pool(x, [1, 3, 2, 1], [1, 2, 2, 1], "SAME"), IMAGES),
    case("AvgPool3D", lambda x: tf.nn.avg_pool3d(x, 2, 2, "SAME"), VOLUMES),
    case("SpaceToDepth", lambda x: tf.space_to_depth(x[:, :6, :8], 2), IMAGES),
    case("DepthToSpace", lambda x: tf.depth_to_space(x, 2), IMAGES),
    case("SpaceToBatchND", lambda x: tf.space_to_batch_nd(x, [2, 3], [[0, 1], [1, 2]]), IMAGES),
    case("BatchToSpaceND", lambda x: tf.batch_to_space_nd(x, [2, 2], [[1, 0], [0, 2]]), random(4, 3, 5, 2)),
]
NORMALIZED = [
    case("FusedBatchNormV3", lambda x: _norm(x, is_training=False), IMAGES),
    case("FusedBatchNormV3", lambda x: _norm(x, is_training=True), IMAGES, modes=KNOWN),
    case("FusedBatchNormV2", lambda x: _norm_v(x, "V2"), IMAGES),
    case("FusedBatchNorm", lambda x: _norm_v(x, ""), IMAGES),
    case("LRN", lambda x: tf.nn.lrn(x, 2, bias=1.5, alpha=0.3, beta=0.6), IMAGES),
]
RESIZED = [
    case("ResizeBilinear", _resize("ResizeBilinear"), IMAGES),
    case("ResizeBilinear", _resize("ResizeBilinear", align_corners=True), IMAGES),
    case("ResizeBilinear", _resize("ResizeBilinear", half_pixel_centers=True), IMAGES),
    case("ResizeBilinear", _resize("ResizeBilinear"), (IMAGES * 50 + 100).clip(0, 255).astype(np.uint8)),
    case("ResizeNearestNeighbor", _resize("ResizeNearestNeighbor"), IMAGES),
    case("ResizeNearestNeighbor", _resize("ResizeNearestNeighbor", align_corners=True), IMAGES),
    case("ResizeNearestNeighbor", _resize("ResizeNearestNeighbor", half_pixel_centers=True), IMAGES),
    case("ResizeBicubic", _resize("ResizeBicubic", half_pixel_centers=True), IMAGES, atol=5e-3),
    case("ResizeBicubic", _resize("ResizeBicubic"), IMAGES, atol=5e-3),
    case("ResizeBilinear", lambda x: tf.image.resize_bilinear(x, tf.shape(x)[1:3] * 2), IMAGES),
]
DETECTED = [
    case("NonMaxSuppression", lambda b, s: raw.NonMaxSuppression(boxes=b, scores=s, max_output_size=4), BOXES, SCORES),
    case("NonMaxSuppressionV2", lambda b, s: _suppressed(b, s, "V2"), BOXES, SCORES),
    case("NonMaxSuppressionV3", _suppress("non_max_suppression", score_threshold=0.2), BOXES, SCORES),
    case("NonMaxSuppressionV4", _suppress("non_max_suppression_padded", pad_to_max_output_size=True), BOXES, SCORES),
    case("NonMaxSuppressionV5", _suppress("non_max_suppression_with_scores", score_threshold=0.2), BOXES, SCORES),
]
DETECTED += [
    case("CropAndResize", lambda x: _crop(x, [3, 4]), IMAGES),
    case("CropAndResize", lambda x: _crop(x, [1, 1]), IMAGES),
    case("CropAndResize", lambda x: _crop(x, [3, 2], method="nearest", extrapolation_value=7.0), IMAGES),
    case("CombinedNonMaxSuppression", lambda b, s: _combined(b, s), BOXES, SCORES),
    case("CombinedNonMaxSuppression", lambda b, s: _combined(b, s, pad_per_class=True), BOXES, SCORES),
    case("CombinedNonMaxSuppression", lambda b, s: _combined(b, s, clip_boxes=False), BOXES, SCORES),
]
QUANTIZED = [
    case("FakeQuantWithMinMaxArgs", lambda x: tf.fake_quant_with_min_max_args(x, -1.0, 2.0), IMAGES),
    case("FakeQuantWithMinMaxVars", lambda x: tf.fake_quant_with_min_max_vars(x, -1.0, 2.0, narrow_range=True), IMAGES),
    case("FakeQuantWithMinMaxVars", lambda x: tf.fake_quant_with_min_max_vars(x, -1.0, 2.0, num_bits=4), IMAGES),
    case("FakeQuantWithMinMaxVars", lambda x: tf.fake_quant_with_min_max_vars(x, -1.0, 2.0, num_bits=12), IMAGES),
    case(
        "FakeQuantWithMinMaxVars",
        lambda x: tf.fake_quant_with_min_max_vars(x, tf.reduce_min(x), tf.reduce_max(x)),
        IMAGES,
    ),
    case(
        "FakeQuantWithMinMaxVarsPerChannel",
        lambda x: tf.fake_quant_with_min_max_vars_per_channel(x, [-1.0, -2, -1, 0], [1.0, 1, 2, 2], narrow_range=True),
        IMAGES,
    ),
]
CASES = [*CONVOLUTIONS, *NORMALIZED, *RESIZED, *DETECTED, *QUANTIZED]


def _norm_v(x, version):
    given = {"scale": random(4), "offset": random(4), "mean": random(4), "variance": np.abs(random(4)) + 0.5}
    return getattr(raw, f"FusedBatchNorm{version}")(x=x, is_training=False, **given)[0]


def _crop(x, size, **options):
    boxes = np.float32([[0, 0, 1, 1], [0.1, 0.2, 0.77, 0.9], [-0.3, 0.9, 0.6, 1.2], [0.8, 0.7, 0.1, 0.3]])
    return tf.image.crop_and_resize(x, boxes, [0, 1, 1, 0], size, **options)


def _combined(boxes, scores, **options):
    boxes = tf.reshape(tf.stack([boxes, boxes * 0.3]), [2, 5, 1, 4])
    scores = tf.reshape(tf.stack([scores, scores * 0.9, scores * 0.5, scores[::-1] * 0.7], 1), [1, 5, 4])
    scores = tf.concat([scores, scores * 0.45], 0)
    return list(
        tf.image.combined_non_max_suppression(boxes, scores, 2, 7, iou_threshold=0.5, score_threshold=0.3, **options)
    )


def _suppressed(boxes, scores, version):
    given = {"boxes": boxes, "scores": scores, "max_output_size": 4, "iou_threshold": 0.5}
    return getattr(raw, f"NonMaxSuppression{version}")(**given)


@pytest.mark.parametrize(("each", "mode"), **parameters(CASES))
def test_ops_on_images_return_the_same_values(each, mode):
    check(each, mode)
