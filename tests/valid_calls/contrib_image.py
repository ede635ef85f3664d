"""Valid calls of the transforms and regions of images, and of buckets."""

from __future__ import annotations

import numpy as np

from tests.valid_calls.values import Call, S, floats, ints

_TURN = np.array([[1.1, 0.2, 0.3, -0.1, 0.9, 0.4, 0.01, 0.02]], np.float32)
_IMAGES = floats(2, 4, 5, 3)

VALID: dict[str, Call] = {
    "ImageProjectiveTransformV2": ((_IMAGES, _TURN, ints(3, 7)), {"interpolation": "BILINEAR"}),
    "ImageProjectiveTransformV3": (
        (_IMAGES, _TURN, ints(3, 7), S),
        {"interpolation": "BILINEAR", "fill_mode": "REFLECT"},
    ),
    "_BipartiteMatch": ((floats(3, 4), np.array(2, np.float32)), {}),
    "_ConnectedComponents": ((np.round(floats(2, 4, 5)).astype(np.int32),), {}),
    "Bucketize": ((floats(2, 4, 5),), {"boundaries": [0.2, 0.5, 0.9]}),
}
