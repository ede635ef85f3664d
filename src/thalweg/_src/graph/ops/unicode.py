"""Unicode ops: transcoding, and conversion between strings and code points."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, num_elements, show
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.dispatch import dispatches
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.reduction import reduce_prod
from thalweg._src.graph.ops.reshape import reshape, shape
from thalweg._src.graph.ops.sequences import range as sequence
from thalweg._src.graph.ops.shape_functions import require, unchanged, vector_size
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_ENCODINGS = attr.string("UTF-8", "UTF-16-BE", "UTF-32-BE")
_ERRORS = attr.string("strict", "replace", "ignore", default="replace")
_SPLITS = attr.types(dtypes.INDEX, dtypes.int64)


def _decoded_shapes(c: Inference) -> Sequence[Shape]:
    count = num_elements(c.shapes[0]) if c.shapes[0] is not None else None
    splits = None if count is None else count + 1
    return [(splits,), (None,), (None,)][: c.num_outputs]


def _encoded_shape(c: Inference) -> Sequence[Shape]:
    vector_size(c, 0)
    splits = vector_size(c, 1)
    require(splits is None or splits >= 1, "input_splits is empty", expected="one entry more than there are strings")
    return [(None if splits is None else splits - 1,)]


unicode_transcode = export("strings.unicode_transcode")(
    nondifferentiable_op(
        "UnicodeTranscode",
        "input: string -> output: string",
        "Converts strings from one encoding to another.",
        input_encoding=attr.string(),
        output_encoding=_ENCODINGS,
        errors=_ERRORS,
        replacement_char=65533,
        replace_control_characters=False,
        infer=unchanged,
    )
)
unicode_script = export("strings.unicode_script")(
    nondifferentiable_op(
        "UnicodeScript",
        "input: int32 -> output: int32",
        "Returns the script of each character as an ICU code; -1 for an invalid code point.",
        infer=unchanged,
    )
)
unicode_encode_op = nondifferentiable_op(
    "UnicodeEncode",
    "input_values: int32, input_splits: Tsplits -> output: string",
    "Encodes the code points of a ragged matrix as strings.",
    errors=_ERRORS,
    output_encoding=_ENCODINGS,
    replacement_char=65533,
    Tsplits=_SPLITS,
    infer=_encoded_shape,
)
unicode_decode_op = nondifferentiable_op(
    "UnicodeDecode",
    "input: string -> row_splits: Tsplits, char_values: int32",
    "Decodes strings to a ragged matrix of code points.",
    input_encoding=attr.string(),
    errors=_ERRORS,
    replacement_char=65533,
    replace_control_characters=False,
    Tsplits=_SPLITS,
    infer=_decoded_shapes,
)
unicode_decode_with_offsets_op = nondifferentiable_op(
    "UnicodeDecodeWithOffsets",
    "input: string -> row_splits: Tsplits, char_values: int32, char_to_byte_starts: int64",
    "Decodes strings to a ragged matrix of code points with their byte offsets.",
    input_encoding=attr.string(),
    errors=_ERRORS,
    replacement_char=65533,
    replace_control_characters=False,
    Tsplits=_SPLITS,
    infer=_decoded_shapes,
)


@export("strings.unicode_encode")
@dispatches
def unicode_encode(
    input: TensorLike,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Tensor:
    """Encodes the code points of the last dimension as strings.

    Args:
        input: Code points; the last dimension is one string.
    """
    with name_scope(name, "UnicodeEncode", [input]):
        input = convert_to_tensor(input, dtypes.int32, name="input")
        if not input.dims:
            raise ValueError(f"input must have a known rank above 0, got shape {show(input.dims)}")
        sizes = shape(input, out_type=dtypes.int64)
        strings = unicode_encode_op(
            reshape(input, [-1]),
            sequence(reduce_prod(sizes[:-1]) + 1) * sizes[-1],
            output_encoding=output_encoding,
            errors=errors,
            replacement_char=replacement_char,
        )
        return reshape(strings, sizes[:-1])
