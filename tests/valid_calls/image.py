"""Valid calls of the operations on images and sound."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from PIL import Image

from tests.valid_calls.values import Call, S, floats, ints


def _file(form: str, **options: Any) -> np.ndarray:
    pixels = (floats(9, 7, 3) * 255).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, form, **options)
    result = np.empty((), object)
    result[()] = out.getvalue()
    return result


def _wav() -> np.ndarray:
    import struct

    body = np.arange(8, dtype="<i2").tobytes()
    header = struct.pack("<4sI4s4sI", b"RIFF", 36 + len(body), b"WAVE", b"fmt ", 16)
    header += struct.pack("<HHIIHH4sI", 1, 2, 8000, 32000, 4, 16, b"data", len(body))
    result = np.empty((), object)
    result[()] = header + body
    return result


_IMAGES = floats(2, 4, 5, 3)
_BYTES = (floats(4, 5, 3) * 255).astype(np.uint8)
_BOXES = np.array([[0, 0, 1, 1], [0.1, 0.2, 0.6, 0.7], [0.1, 0.2, 0.6, 0.8]], np.float32)
_SCORES = floats(3)
_HALF = np.array(0.5, np.float32)
_ONE = np.array(1, np.float32)

VALID: dict[str, Call] = {
    "DecodePng": ((_file("PNG"),), {}),
    "DecodeJpeg": ((_file("JPEG"),), {"dct_method": "INTEGER_ACCURATE"}),
    "DecodeAndCropJpeg": ((_file("JPEG"), ints(1, 2, 3, 4)), {"dct_method": "INTEGER_ACCURATE"}),
    "DecodeGif": ((_file("GIF"),), {}),
    "DecodeBmp": ((_file("BMP"),), {}),
    "DecodeImage": ((_file("PNG"),), {}),
    "ExtractJpegShape": ((_file("JPEG"),), {}),
    "EncodePng": ((_BYTES,), {}),
    "EncodeJpeg": ((_BYTES,), {}),
    "EncodeJpegVariableQuality": ((_BYTES, ints(80)), {}),
    "RGBToHSV": ((_IMAGES,), {}),
    "HSVToRGB": ((_IMAGES,), {}),
    "AdjustContrastv2": ((_IMAGES, S), {}),
    "AdjustHue": ((_IMAGES, S), {}),
    "AdjustSaturation": ((_IMAGES, S), {}),
    **{f"Resize{kind}": ((_IMAGES, ints(3, 7)), {}) for kind in ("Bilinear", "Bicubic", "Area", "NearestNeighbor")},
    "ResizeBilinearGrad": ((floats(2, 3, 7, 3), _IMAGES), {}),
    "ResizeBicubicGrad": ((floats(2, 3, 7, 3), _IMAGES), {}),
    "ResizeNearestNeighborGrad": ((floats(2, 3, 7, 3), ints(4, 5)), {}),
    "ScaleAndTranslate": ((_IMAGES, ints(3, 7), floats(2), floats(2)), {}),
    "ScaleAndTranslateGrad": ((floats(2, 3, 7, 3), _IMAGES, floats(2), floats(2)), {}),
    "CropAndResize": ((_IMAGES, _BOXES, ints(0, 1, 1), ints(3, 2)), {}),
    "CropAndResizeGradImage": ((floats(3, 3, 2, 3), _BOXES, ints(0, 1, 1), ints(2, 4, 5, 3)), {}),
    "CropAndResizeGradBoxes": ((floats(3, 3, 2, 3), _IMAGES, _BOXES, ints(0, 1, 1)), {}),
    "DrawBoundingBoxes": ((_IMAGES, np.stack([_BOXES, _BOXES])), {}),
    "DrawBoundingBoxesV2": ((_IMAGES, np.stack([_BOXES, _BOXES]), floats(2, 3)), {}),
    "ExtractGlimpse": ((_IMAGES, ints(2, 3), np.zeros((2, 2), np.float32)), {}),
    "ExtractGlimpseV2": ((_IMAGES, ints(2, 3), np.zeros((2, 2), np.float32)), {}),
    "SampleDistortedBoundingBox": ((ints(40, 50, 3), _BOXES[None]), {"seed": 1}),
    "SampleDistortedBoundingBoxV2": ((ints(40, 50, 3), _BOXES[None], S), {"seed": 1}),
    "NonMaxSuppression": ((_BOXES, _SCORES, ints(2)), {}),
    "NonMaxSuppressionV2": ((_BOXES, _SCORES, ints(2), _HALF), {}),
    "NonMaxSuppressionV3": ((_BOXES, _SCORES, ints(2), _HALF, _HALF), {}),
    "NonMaxSuppressionV4": ((_BOXES, _SCORES, ints(2), _HALF, _HALF), {}),
    "NonMaxSuppressionV5": ((_BOXES, _SCORES, ints(2), _HALF, _HALF, _HALF), {}),
    "NonMaxSuppressionWithOverlaps": ((floats(3, 3), _SCORES, ints(2), _HALF, _HALF), {}),
    "CombinedNonMaxSuppression": (
        (_BOXES.reshape(1, 3, 1, 4), floats(1, 3, 2), ints(2), ints(3), _HALF, _HALF),
        {},
    ),
    "_RotateQuarters": ((_IMAGES, ints(1)), {}),
    "DecodeWav": ((_wav(),), {}),
    "EncodeWav": ((floats(4, 2), ints(8000)), {}),
    "AudioSpectrogram": ((floats(9, 2),), {"window_size": 4, "stride": 2}),
    "Mfcc": ((floats(1, 2, 9), ints(8000)), {}),
}
