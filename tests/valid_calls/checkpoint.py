"""Valid calls of checkpoints."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.valid_calls.values import Call, X, ints, texts

# Written by TensorFlow 2.21: "a" float32 [2, 3], "b" in two slices of [4, 2], "c" strings.
WRITTEN = Path(__file__).parent.parent / "fixtures" / "checkpoint" / "model"


def _one(text: str) -> np.ndarray:
    return np.array(text.encode(), dtype=object)


VALID: dict[str, Call] = {
    "SaveV2": ((_one("saved"), texts("x", "y"), texts("", "2 6 -:0,3"), [X, X]), {}),
    "RestoreV2": (
        (_one(str(WRITTEN)), texts("a", "b"), texts("", "4 2 1,2:-")),
        {"dtypes": ["float32", "float32"]},
    ),
    "Save": ((_one("saved"), texts("x", "y"), [X, X]), {}),
    "SaveSlices": ((_one("saved"), texts("x", "y"), texts("", "2 6 -:0,3"), [X, X]), {}),
    "Restore": ((_one(str(WRITTEN)), _one("a")), {"dt": "float32"}),
    "RestoreSlice": ((_one(str(WRITTEN)), _one("b"), _one("4 2 1,2:-")), {"dt": "float32"}),
    "MergeV2Checkpoints": ((texts("missing"), _one("merged")), {"allow_missing_files": True}),
    "ShardedFilename": ((_one("name"), ints(1), ints(3)), {}),
    "ShardedFilespec": ((_one("name"), ints(3)), {}),
}
