"""String hashing into buckets, and row fingerprints."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.shape_functions import at_least_rank, unchanged
from thalweg._src.graph.ops.strings import only_one, require_scalar
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


def _fingerprint_shape(c: Inference) -> Sequence[Shape]:
    data = at_least_rank(c, 0, 1)
    require_scalar(c, 1)
    return [(None if data is None else data[0], 8)]


string_to_hash_bucket_op = nondifferentiable_op(
    "StringToHashBucket",
    "string_tensor: string -> output: int64",
    "Hashes each string to a bucket, with TensorFlow's original hash function.",
    num_buckets=attr.integer(1),
    infer=unchanged,
)
string_to_hash_bucket_fast = export("string_to_hash_bucket_fast", "strings.to_hash_bucket_fast")(
    nondifferentiable_op(
        "StringToHashBucketFast",
        "input: string -> output: int64",
        "Hashes each string to a bucket with FarmHash: fast and stable, but not safe against chosen collisions.",
        num_buckets=attr.integer(1),
        infer=unchanged,
    )
)
string_to_hash_bucket_strong = export(
    "string_to_hash_bucket_strong", "strings.to_hash_bucket_strong", key="Two integers that select the hash function."
)(
    nondifferentiable_op(
        "StringToHashBucketStrong",
        "input: string -> output: int64",
        "Hashes each string to a bucket with keyed SipHash: collisions cannot be constructed without the key.",
        num_buckets=attr.integer(1),
        key=attr.integers(),
        infer=unchanged,
    )
)
fingerprint_op = nondifferentiable_op(
    "Fingerprint",
    "data: T, method: string -> fingerprint: uint8",
    "Computes an 8-byte fingerprint of each row of the data.",
    T=attr.types(),
    infer=_fingerprint_shape,
)


@export("string_to_hash_bucket", "strings.to_hash_bucket")
def string_to_hash_bucket(
    string_tensor: TensorLike | None = None,
    num_buckets: int | None = None,
    name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """Hashes each string to a bucket, by a function that later versions of TensorFlow may change.

    Args:
        input: Another name of `string_tensor`.
    """
    strings = only_one(string_tensor, input, "string_tensor", "input")
    return string_to_hash_bucket_op(strings, num_buckets=num_buckets, name=name)


@export("fingerprint")
def fingerprint(data: TensorLike, method: TensorLike = "farmhash64", name: str | None = None) -> Tensor:
    """Computes an 8-byte fingerprint of each row of the data.

    Args:
        data: A tensor with one row for each fingerprint.
        method: The hash: "farmhash64".
    """
    return fingerprint_op(data, convert_to_tensor(method, dtypes.string), name=name)
