"""tf.image: Image processing: decoding, resizing, color, geometry, bounding boxes and quality."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.gen_ops import (
    decode_and_crop_jpeg as decode_and_crop_jpeg,
    decode_bmp as decode_bmp,
    decode_gif as decode_gif,
    decode_jpeg as decode_jpeg,
    decode_png as decode_png,
    encode_jpeg as encode_jpeg,
    extract_jpeg_shape as extract_jpeg_shape,
    hsv_to_rgb as hsv_to_rgb,
    resize_area as resize_area,
    rgb_to_hsv as rgb_to_hsv,
)
from thalweg._src.graph.ops.image_boxes import (
    crop_and_resize as crop_and_resize,
    draw_bounding_boxes as draw_bounding_boxes,
    extract_glimpse as extract_glimpse,
    sample_distorted_bounding_box as sample_distorted_bounding_box,
)
from thalweg._src.graph.ops.image_coding import (
    adjust_jpeg_quality as adjust_jpeg_quality,
    decode_image as decode_image,
    encode_png as encode_png,
    is_jpeg as is_jpeg,
    random_jpeg_quality as random_jpeg_quality,
)
from thalweg._src.graph.ops.image_color import (
    adjust_contrast as adjust_contrast,
    adjust_hue as adjust_hue,
    adjust_saturation as adjust_saturation,
    convert_image_dtype as convert_image_dtype,
    grayscale_to_rgb as grayscale_to_rgb,
    random_contrast as random_contrast,
    random_hue as random_hue,
    random_saturation as random_saturation,
    rgb_to_grayscale as rgb_to_grayscale,
    rgb_to_yiq as rgb_to_yiq,
    rgb_to_yuv as rgb_to_yuv,
    yiq_to_rgb as yiq_to_rgb,
    yuv_to_rgb as yuv_to_rgb,
)
from thalweg._src.graph.ops.image_resize import (
    ResizeMethod as ResizeMethod,
    resize_bicubic as resize_bicubic,
    resize_bilinear as resize_bilinear,
    resize_images as resize,
    resize_images as resize_images,
    resize_nearest_neighbor as resize_nearest_neighbor,
)
from thalweg._src.graph.ops.image_suppression import (
    combined_non_max_suppression as combined_non_max_suppression,
    non_max_suppression as non_max_suppression,
    non_max_suppression_overlaps as non_max_suppression_overlaps,
    non_max_suppression_padded as non_max_suppression_padded,
    non_max_suppression_with_scores as non_max_suppression_with_scores,
)
from thalweg._src.graph.ops.image_transform import (
    central_crop as central_crop,
    crop_to_bounding_box as crop_to_bounding_box,
    flip_left_right as flip_left_right,
    flip_up_down as flip_up_down,
    pad_to_bounding_box as pad_to_bounding_box,
    random_flip_left_right as random_flip_left_right,
    random_flip_up_down as random_flip_up_down,
    resize_image_with_crop_or_pad as resize_image_with_crop_or_pad,
    resize_image_with_crop_or_pad as resize_with_crop_or_pad,
    resize_image_with_pad as resize_image_with_pad,
    rot90 as rot90,
    transpose_image as transpose,
    transpose_image as transpose_image,
)
from thalweg._src.graph.ops.patches import (
    extract_image_patches as extract_image_patches,
    extract_patches as extract_patches,
)
from thalweg._src.graph.ops.random import random_crop as random_crop
from thalweg._src.training.nn.image.adjust import (
    adjust_brightness as adjust_brightness,
    adjust_gamma as adjust_gamma,
    per_image_standardization as per_image_standardization,
    random_brightness as random_brightness,
)
from thalweg._src.training.nn.image.quality import (
    image_gradients as image_gradients,
    psnr as psnr,
    sobel_edges as sobel_edges,
    ssim as ssim,
    ssim_multiscale as ssim_multiscale,
    total_variation as total_variation,
)

__all__ = [
    "ResizeMethod", "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue", "adjust_jpeg_quality",
    "adjust_saturation", "central_crop", "combined_non_max_suppression", "convert_image_dtype", "crop_and_resize",
    "crop_to_bounding_box", "decode_and_crop_jpeg", "decode_bmp", "decode_gif", "decode_image", "decode_jpeg",
    "decode_png", "draw_bounding_boxes", "encode_jpeg", "encode_png", "extract_glimpse", "extract_image_patches",
    "extract_jpeg_shape", "extract_patches", "flip_left_right", "flip_up_down", "grayscale_to_rgb", "hsv_to_rgb",
    "image_gradients", "is_jpeg", "non_max_suppression", "non_max_suppression_overlaps", "non_max_suppression_padded",
    "non_max_suppression_with_scores", "pad_to_bounding_box", "per_image_standardization", "psnr", "random_brightness",
    "random_contrast", "random_crop", "random_flip_left_right", "random_flip_up_down", "random_hue",
    "random_jpeg_quality", "random_saturation", "resize", "resize_area", "resize_bicubic", "resize_bilinear",
    "resize_image_with_crop_or_pad", "resize_image_with_pad", "resize_images", "resize_nearest_neighbor",
    "resize_with_crop_or_pad", "rgb_to_grayscale", "rgb_to_hsv", "rgb_to_yiq", "rgb_to_yuv", "rot90",
    "sample_distorted_bounding_box", "sobel_edges", "ssim", "ssim_multiscale", "total_variation", "transpose",
    "transpose_image", "yiq_to_rgb", "yuv_to_rgb",
]
