"""Corners of images: types and their scales, saturation, sizes, colours, boxes."""

import numpy as np


def _picture(tf, height=3, width=4, channels=3):
    return tf.reshape(tf.range(height * width * channels) * 7 % 256, [height, width, channels])


def converted_types(tf):
    x = tf.cast(_picture(tf), tf.uint8)
    y = tf.image.convert_image_dtype(x, tf.float32)
    return (
        y,
        tf.image.convert_image_dtype(y, tf.uint8),
        tf.image.convert_image_dtype(x, tf.uint16),
        tf.image.convert_image_dtype(x, tf.int16),
    )


def saturated_types(tf):
    x = tf.constant([-0.5, 0.0, 0.25, 0.999, 1.0, 1.5])
    return (
        tf.image.convert_image_dtype(x, tf.uint8, saturate=True),
        tf.image.convert_image_dtype(x[1:5], tf.uint8),
        tf.image.convert_image_dtype(x, tf.int8, saturate=True),
    )


def narrowed_types(tf):
    x = tf.constant([0, 255, 256, 65535], tf.uint16)
    return tf.image.convert_image_dtype(x, tf.uint8), tf.image.convert_image_dtype(x, tf.float32)


def brightness_saturates(tf):
    x = tf.constant([[[0, 100, 250]]], tf.uint8)
    return tf.image.adjust_brightness(x, 0.1), tf.image.adjust_brightness(x, -0.1), tf.image.adjust_contrast(x, 3.0)


def adjusted_colours(tf):
    x = tf.cast(_picture(tf), tf.float32) / 255.0
    return tf.image.adjust_hue(x, 0.2), tf.image.adjust_saturation(x, 2.0), tf.image.adjust_gamma(x, 2.2, 1.5)


def colour_spaces(tf):
    x = tf.cast(_picture(tf), tf.float32) / 255.0
    hsv, yiq, yuv = tf.image.rgb_to_hsv(x), tf.image.rgb_to_yiq(x), tf.image.rgb_to_yuv(x)
    return hsv, tf.image.hsv_to_rgb(hsv), yiq, tf.image.yiq_to_rgb(yiq), yuv, tf.image.yuv_to_rgb(yuv)


def grey(tf):
    x = tf.cast(_picture(tf), tf.uint8)
    return tf.image.rgb_to_grayscale(x), tf.image.grayscale_to_rgb(x[..., :1])


def sizes(tf):
    x = tf.cast(_picture(tf), tf.float32)
    return [tf.image.resize_images(x, [5, 2], method=m, align_corners=a) for m in range(4) for a in (False, True)]


def larger_sizes(tf):
    x = tf.cast(_picture(tf, 2, 2, 1), tf.float32)
    return [tf.image.resize_images(x, [5, 7], method=m) for m in range(4)]


def sizes_that_stay_keep_the_type(tf):
    x = tf.cast(_picture(tf), tf.uint8)
    kept = tf.image.resize_images(x, [3, 4])
    return kept, kept.dtype.name, tf.image.resize_images(x, [6, 8], method=1)


def crops_and_paddings(tf):
    x = _picture(tf, 4, 5, 1)
    return (
        tf.image.resize_image_with_crop_or_pad(x, 2, 7),
        tf.image.central_crop(x, 0.5),
        tf.image.crop_to_bounding_box(x, 1, 2, 2, 3),
        tf.image.pad_to_bounding_box(x, 1, 2, 6, 9),
    )


def a_crop_that_does_not_fit(tf):
    return tf.image.crop_to_bounding_box(_picture(tf, 4, 5, 1), 3, 2, 2, 3)


def turned_and_mirrored(tf):
    x = _picture(tf, 2, 3, 1)
    return (
        [tf.image.rot90(x, k) for k in (0, 1, 2, 3, -1)],
        tf.image.flip_left_right(x),
        tf.image.flip_up_down(x),
        tf.image.transpose_image(x),
    )


def standardized(tf):
    x = tf.cast(_picture(tf), tf.float32)
    return tf.image.per_image_standardization(x), tf.image.per_image_standardization(tf.ones([2, 2, 1]))


def an_image_without_channels(tf):
    return tf.image.flip_left_right(tf.zeros([3]))


def written_and_read(tf):
    x = tf.cast(_picture(tf), tf.uint8)
    y = tf.image.decode_png(tf.image.encode_png(x))
    return (
        y,
        tf.image.decode_image(tf.image.encode_png(x), channels=3),
        tf.image.decode_png(tf.image.encode_png(x[..., :1]), channels=3),
    )


def bytes_that_are_no_image(tf):
    return tf.image.decode_png(tf.placeholder_with_default("nothing", []))


def boxes(tf):
    x = tf.zeros([1, 4, 5, 1])
    return tf.image.draw_bounding_boxes(x, [[[0.1, 0.1, 0.9, 0.8]]]), tf.image.crop_and_resize(
        x + 2.0, [[0.0, 0.0, 1.0, 1.0], [0.5, 0.5, 1.5, 1.5]], [0, 0], [2, 3]
    )


def the_best_boxes(tf):
    boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [0.0, 2.0, 1.0, 3.0], [1.0, 1.0, 0.0, 0.0]]
    return tf.image.non_max_suppression(boxes, [0.9, 0.8, 0.7, 0.95], 3), tf.image.non_max_suppression(
        boxes, [0.9, 0.8, 0.7, 0.6], 4, score_threshold=0.75
    )


def differences(tf):
    x, y = tf.cast(_picture(tf, 12, 12, 1), tf.float32), tf.ones([12, 12, 1]) * 90.0
    return (
        tf.image.psnr(x, y, 255.0),
        tf.image.ssim(x[None], y[None], 255.0),
        tf.image.total_variation(x),
        tf.image.image_gradients(x[None]),
    )


def patches(tf):
    return tf.extract_image_patches(
        tf.cast(_picture(tf, 4, 4, 1)[None], tf.float32), [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME"
    )


def random_changes_within_limits(tf):
    x = tf.ones([2, 2, 3]) * 0.5
    y = tf.image.random_brightness(x, 0.1, seed=3)
    z = tf.image.random_contrast(x, 0.5, 1.5, seed=3)
    return (
        tf.reduce_all(tf.abs(y - x) <= 0.1),
        tf.reduce_max(tf.abs(z - x)) < 1e-6,
        tf.random_crop(x, [1, 2, 3], seed=1).shape.as_list(),
    )


def an_array_is_an_image(tf):
    return tf.image.flip_left_right(np.arange(6, dtype=np.uint8).reshape(1, 2, 3))
