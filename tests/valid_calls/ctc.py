"""Valid calls of connectionist temporal classification."""

from __future__ import annotations

from tests.valid_calls.values import Call, floats, ints, longs

_INPUTS = floats(4, 2, 3)
_LABELS = (longs([[0, 0], [0, 1], [1, 0]]), ints(0, 1, 1), ints(4, 3))

VALID: dict[str, Call] = {
    "CTCLoss": ((_INPUTS, *_LABELS), {}),
    "CTCLossV2": ((_INPUTS, _LABELS[0], ints(1, 2, 1), _LABELS[2]), {}),
    "_CTCLossDense": ((_INPUTS, longs([[1, 2], [2, 0]]), longs(2, 1), longs(4, 3)), {}),
    "CTCGreedyDecoder": ((_INPUTS, ints(4, 3)), {}),
    "CTCBeamSearchDecoder": ((_INPUTS, ints(4, 3)), {"beam_width": 3, "top_paths": 2}),
}
