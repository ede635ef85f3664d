"""Valid calls of the operations that parse messages."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.valid_calls.values import Call, texts
from thalweg._src.base.formats.example import message_class


def _feature(values: list[Any]) -> Any:
    kind = {bytes: "bytes_list", float: "float_list", int: "int64_list"}[type(values[0])]
    return message_class("Feature")(**{kind: {"value": values}})


def example(**features: list[Any]) -> bytes:
    """Returns a serialized Example."""
    message = message_class("Example")()
    for key, values in features.items():
        message.features.feature[key].CopyFrom(_feature(values))
    return message.SerializeToString(deterministic=True)


def sequence_example(context: dict[str, list[Any]], **lists: list[list[Any]]) -> bytes:
    """Returns a serialized SequenceExample."""
    message = message_class("SequenceExample")()
    for key, values in context.items():
        message.context.feature[key].CopyFrom(_feature(values))
    for key, steps in lists.items():
        message.feature_lists.feature_list[key].feature.extend(
            _feature(step) if step else message_class("Feature")() for step in steps
        )
    return message.SerializeToString(deterministic=True)


def _one(value: bytes) -> np.ndarray:
    return np.array(value, dtype=object)


def _several(*values: bytes) -> np.ndarray:
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result


_EXAMPLES = _several(example(a=[1, 2, 3], b=[1.0, 2.0], c=[b"x"], d=[7, 8]), example(a=[5], b=[3.0, 4.0]))
_SEQUENCES = _several(
    sequence_example({"a": [1, 2], "b": [1.0, 2.0]}, x=[[1], [2, 3]], y=[[1.0, 2.0], [3.0, 4.0]]),
    sequence_example({"b": [1.0, 2.0]}, y=[[5.0, 6.0]]),
)
_DEFAULTS = [np.empty(0, np.float32), texts("none")[0:1].reshape(())]
_NONE = np.empty(0, dtype=object)
_FEATURES = {"sparse_types": ["int64"], "dense_shapes": [(2,), ()]}
_LISTS: dict[str, Any] = {
    "context_sparse_types": ["int64"],
    "context_dense_shapes": [(2,)],
    "feature_list_sparse_types": ["int64"],
    "feature_list_dense_types": ["float32"],
    "feature_list_dense_shapes": [(2,)],
}
_KEYS = {"context_sparse": ["a"], "context_dense": ["b"], "feature_list_sparse": ["x"], "feature_list_dense": ["y"]}
_TENSOR = b'\x08\x01\x12\x04\x12\x02\x08\x02"\x08\x00\x00\x80?\x00\x00\x00@'  # float32 [1, 2]

VALID: dict[str, Call] = {
    "ParseExample": ((_EXAMPLES, _NONE, [_one(b"a")], [_one(b"b"), _one(b"c")], _DEFAULTS), _FEATURES),
    "ParseExampleV2": (
        (_EXAMPLES, _NONE, texts("a"), texts("b", "c"), texts("d"), _DEFAULTS),
        {**_FEATURES, "num_sparse": 1, "ragged_value_types": ["int64"], "ragged_split_types": ["int32"]},
    ),
    "ParseSingleExample": (
        (_one(_EXAMPLES[0]), _DEFAULTS),
        {**_FEATURES, "num_sparse": 1, "sparse_keys": ["a"], "dense_keys": ["b", "c"]},
    ),
    "ParseSingleSequenceExample": (
        (_one(_SEQUENCES[0]), _NONE, *[[_one(keys[0].encode())] for keys in _KEYS.values()], _DEFAULTS[:1], _one(b"")),
        _LISTS,
    ),
    "ParseSequenceExample": (
        (_SEQUENCES, _NONE, _DEFAULTS[:1]),
        {
            **_LISTS,
            **{f"{kind}_keys": keys for kind, keys in _KEYS.items()},
            **{f"N{kind}": len(keys) for kind, keys in _KEYS.items()},
            "feature_list_dense_missing_assumed_empty": [],
        },
    ),
    "DecodeJSONExample": ((texts("{}", '{"features": {"feature": {"a": {"int64List": {"value": ["1"]}}}}}'),), {}),
    "ParseTensor": ((_one(_TENSOR),), {"out_type": "float32"}),
}
