"""Parsing of SequenceExamples. The functions for users are in input/features.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.shapes import Shape, show
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ops import parsing
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.shape_functions import require

_some_types = attr.type_list(0, default=(), allowed=parsing.TYPES)
_some_shapes = attr.AttrDef("list(shape)", (), minimum=0)
_number = attr.integer(0, default=0)
_CONTEXT = (
    "context_sparse_indices: Ncontext_sparse*int64, context_sparse_values: list(context_sparse_types), "
    "context_sparse_shapes: Ncontext_sparse*int64, context_dense_values: list(Tcontext_dense), "
    "feature_list_sparse_indices: Nfeature_list_sparse*int64, "
    "feature_list_sparse_values: list(feature_list_sparse_types), "
    "feature_list_sparse_shapes: Nfeature_list_sparse*int64, "
    "feature_list_dense_values: list(feature_list_dense_types)"
)
_SEQUENCE: dict[str, Any] = {
    **dict.fromkeys(("Ncontext_sparse", "Ncontext_dense", "Nfeature_list_sparse", "Nfeature_list_dense"), _number),
    **dict.fromkeys(("context_sparse_types", "Tcontext_dense"), _some_types),
    **dict.fromkeys(("feature_list_dense_types", "feature_list_sparse_types"), _some_types),
    **dict.fromkeys(("context_dense_shapes", "feature_list_dense_shapes"), _some_shapes),
}


def _counts(c: Inference) -> tuple[int, int, int, int]:
    """Returns the numbers of context and sequence features, sparse and dense, after validating the lists."""
    a = c.attrs
    sparse, dense = a["Ncontext_sparse"], a["Ncontext_dense"]
    list_sparse, list_dense = a["Nfeature_list_sparse"], a["Nfeature_list_dense"]
    parsing.same_count(Ncontext_sparse=sparse, context_sparse_types=len(a["context_sparse_types"]))
    parsing.same_count(
        Ncontext_dense=dense, Tcontext_dense=len(a["Tcontext_dense"]), shapes=len(a["context_dense_shapes"])
    )
    parsing.same_count(Nfeature_list_sparse=list_sparse, feature_list_sparse_types=len(a["feature_list_sparse_types"]))
    parsing.same_count(
        Nfeature_list_dense=list_dense,
        feature_list_dense_types=len(a["feature_list_dense_types"]),
        shapes=len(a["feature_list_dense_shapes"]),
    )
    for i, shape in enumerate((*a["context_dense_shapes"], *a["feature_list_dense_shapes"])):
        require(not parsing.stride_of(shape, i)[0], f"dense_shapes[{i}] is {show(shape)}", expected="known dimensions")
    return sparse, dense, list_sparse, list_dense


def _parse_single_sequence(c: Inference) -> Sequence[Shape]:
    sparse, dense, list_sparse, list_dense = _counts(c)
    first = 2 + sparse + dense + list_sparse + list_dense
    require(not c.shapes[0], f"serialized has shape {show(c.shapes[0])}", expected="a scalar")
    require(c.shapes[1] is None or len(c.shapes[1]) == 1, "feature_list_dense_missing_assumed_empty is not a vector")
    parsing.require_scalars(c, 2, first)
    require(not c.shapes[-1], f"debug_name has shape {show(c.shapes[-1])}", expected="a scalar")
    return [
        *parsing.sparse_shapes(sparse, 1),
        *parsing.dense_shapes(c, first, c.attrs["context_dense_shapes"], ()),
        *parsing.sparse_shapes(list_sparse, 2),
        *[(None, *shape) for shape in c.attrs["feature_list_dense_shapes"]],
    ]


def _parse_sequence(c: Inference) -> Sequence[Shape]:
    sparse, dense, list_sparse, list_dense = _counts(c)
    for key, count in (
        ("context_sparse", sparse),
        ("context_dense", dense),
        ("feature_list_sparse", list_sparse),
        ("feature_list_dense", list_dense),
    ):
        parsing.same_count(**{f"{key}_keys": len(c.attrs[f"{key}_keys"]), f"N{key}": count})
    batch = parsing.batch_size(c, 0, 1)
    return [
        *parsing.sparse_shapes(sparse, 2),
        *parsing.dense_shapes(c, 2, c.attrs["context_dense_shapes"], (batch,)),
        *parsing.sparse_shapes(list_sparse, 3),
        *[(batch, None, *shape) for shape in c.attrs["feature_list_dense_shapes"]],
        *[(batch,)] * list_dense,
    ]


parse_single_sequence_example_op = nondifferentiable_op(
    "ParseSingleSequenceExample",
    "serialized: string, feature_list_dense_missing_assumed_empty: string, "
    "context_sparse_keys: Ncontext_sparse*string, context_dense_keys: Ncontext_dense*string, "
    "feature_list_sparse_keys: Nfeature_list_sparse*string, feature_list_dense_keys: Nfeature_list_dense*string, "
    f"context_dense_defaults: list(Tcontext_dense), debug_name: string -> {_CONTEXT}",
    "Parses the context and the feature lists of one SequenceExample.",
    **_SEQUENCE,
    infer=_parse_single_sequence,
)
parse_sequence_example_op = nondifferentiable_op(
    "ParseSequenceExample",
    "serialized: string, debug_name: string, context_dense_defaults: list(Tcontext_dense) -> "
    f"{_CONTEXT}, feature_list_dense_lengths: Nfeature_list_dense*int64",
    "Parses the context and the feature lists of a batch of SequenceExamples, padded to the longest.",
    feature_list_dense_missing_assumed_empty=parsing.STRINGS,
    context_sparse_keys=parsing.STRINGS,
    context_dense_keys=parsing.STRINGS,
    feature_list_sparse_keys=parsing.STRINGS,
    feature_list_dense_keys=parsing.STRINGS,
    **_SEQUENCE,
    infer=_parse_sequence,
)
