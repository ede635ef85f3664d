"""Valid calls of operations that bring saved matrices into another order."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.valid_calls.checkpoint import WRITTEN
from tests.valid_calls.values import Call, floats, longs

_LINES = str(Path(__file__).parent / "values.py")


def _one(text: str) -> np.ndarray:
    return np.array(text.encode(), dtype=object)


VALID: dict[str, Call] = {
    "GenerateVocabRemapping": ((_one(_LINES), _one(_LINES)), {"new_vocab_offset": 1, "num_new_vocab": 3}),
    "LoadAndRemapMatrix": (
        (_one(str(WRITTEN)), _one("a"), longs(1, -1, 0), longs(2, 0), floats(2)),
        {"num_rows": 3, "num_cols": 2},
    ),
}
