"""Where Thalweg differs from TensorFlow by decision, or TensorFlow has no meaning to compare with."""

from typing import NamedTuple

# Operations that do nothing by themselves that a single call could show.
NOT_CALLED = {
    "Const": "its value is an attribute: test_graphdef compares tensors of every type",
    "Enter": "has its meaning in a loop",
    "Exit": "has its meaning in a loop",
    "LoopCond": "has its meaning in a loop",
    "NextIteration": "has its meaning in a loop",
    "Placeholder": "is fed",
    "PyFunc": "runs a function of this process",
    "PyFuncStateless": "runs a function of this process",
    "TopK": "TensorFlow 2 has dropped it",
    "VarHandleOp": "every call on a variable starts with one",
}

# Beginnings of names: operations that make or take a resource, of which one call shows nothing.
RESOURCES = ("EmptyTensorList", "HashTable", "MutableDenseHashTable", "MutableHashTable", "Stack", "TensorArray")

# Numbers are drawn from generators of our own: types, shapes and errors are compared, values are not.
RANDOM = {
    "FixedUnigramCandidateSampler",
    "LearnedUnigramCandidateSampler",
    "LogUniformCandidateSampler",
    "Multinomial",
    "RandomGamma",
    "RandomPoissonV2",
    "RandomShuffle",
    "RandomStandardNormal",
    "RandomUniform",
    "RandomUniformInt",
    "SampleDistortedBoundingBox",
    "SampleDistortedBoundingBoxV2",
    "StatelessMultinomial",
    "StatelessParameterizedTruncatedNormal",
    "StatelessRandomBinomial",
    "StatelessRandomGammaV2",
    "StatelessRandomNormal",
    "StatelessRandomPoisson",
    "StatelessRandomUniform",
    "StatelessRandomUniformFullInt",
    "StatelessRandomUniformInt",
    "StatelessTruncatedNormal",
    "ThreadUnsafeUnigramCandidateSampler",
    "TruncatedNormal",
    "UniformCandidateSampler",
}


class Different(NamedTuple):
    """Cases that differ, as "operation/variant", in lines of the report, and why; * stands for any text.

    An entry that matches no line any more fails the test of its operation.
    """

    case: str
    line: str
    reason: str


# Cases that end or hang TensorFlow's process; they are not asked.
KILLS: tuple[str, ...] = (
    "*RFFT*/fft_length=* -5",
    "*RFFT*/fft_length=* 0",
    "CTCLoss/size 3->0",
    "CombinedNonMaxSuppression/first row",
    "CropAndResize/crop_size=* -[25]",
    "CropAndResizeGradBoxes/special*",
    "CropAndResizeGradImage/special*",
    "DecodeAndCropJpeg/crop_window=all -[25]",
    "ExtractGlimpse*/size=* -[25]",
    "FakeQuantWithMinMaxVarsPerChannel/scalar*",
    "FakeQuantWithMinMaxVarsPerChannel/broadcast()(2,3)",
    "FakeQuantWithMinMaxVarsPerChannelGradient/scalar",
    "FractionalAvgPoolGrad/size 1->4",
    "GatherV2/batch_dims=5",
    "MaxPool*Grad/ksize=[[]1,[-0]*",
    "MaxPoolGradWithArgmax/argmax=* -[125]",
    "ParseExample/two rows*",
    "QuantizedAvgPool/ksize=[[]1,[-0]*",
    "RandomPoissonV2/special11",
    "Resize*/size=* -[25]",
    "ResourceGather/batch_dims=2*",
    "ResourceSparseApply*/scalar of [35678]",
    "ScaleAndTranslate/size=* -5",
    "SobolSample/*=-[23]",
    "SparseBincount/dense_shape=* -5",
    "SparseReduce*/input_shape=* -5",
    "SparseTensorDenseMatMul/a_shape=first -[15]",
    "SplitV/Tlen=int8",
    "SplitV/size_splits=[sc]*",
    "UnicodeDecodeWithOffsets/Tsplits=int32",
)


def _each(operations: str, variants: str, line: str, reason: str) -> list[Different]:
    """Returns an entry for each operation and variant, both given as words between spaces and bars."""
    return [Different(f"{op}/{v.strip()}", line, reason) for op in operations.split() for v in variants.split("|")]


_VALUE, _SLOPE, _NUMBERS = "*: value *", "*: gradient *", "*: [vg]* *differ*"
_REFUSED, _ACCEPTED = "*: *Error when *, there a value*", "*: a value, there *Error when *"
_NAN = "NaN is kept (docs/decisions/0007): TensorFlow's comparison skips it"
_POLE = "torch gives the limit at infinity and at poles, TensorFlow NaN, or the reverse"
_SHAPES = "shapes that do not belong together are refused: TensorFlow computes with what it finds in memory"
_PADDED = "zeros of the padding times infinity are NaN in TensorFlow, and nothing here"
_GARBAGE = "of no elements TensorFlow gives what its memory held"
_EMPTY = "a window or filter without elements is refused"
_OLD = "as in TensorFlow 1.15: "
_RESERVED = "the reserved spaces are between the operation and its gradient, and differ by device in TensorFlow"

DIFFERENT: list[Different] = [
    # Numbers that are none.
    *_each("Abs Sign", "special* | grid", _NUMBERS, _OLD + "the sign of NaN is 0"),
    *_each(
        "ArgMax ArgMin ClipByValue CumulativeLogsumexp MaxPool MaxPool3D MaxPoolWithArgmax", "special*", _NUMBERS, _NAN
    ),
    *_each("MaxPoolGrad MaxPool3DGrad MaxPoolGradGrad MaxPool3DGradGrad", "special*", _NUMBERS, _NAN),
    *_each("Relu Relu6 ReluGrad Relu6Grad", "special*", _NUMBERS, _NAN),
    *_each("Relu", "grid", _NUMBERS, _NAN),
    *_each("ResourceApplyAdaMax ResourceApplyAdamWithAmsgrad ResourceApplyCenteredRMSProp", "special*", _VALUE, _NAN),
    *_each("ResourceApplyFtrl ResourceApplyFtrlV2", "special* | signed | large", _VALUE, _NAN),
    *_each("ResourceScatterMax ResourceScatterMin", "special5", _VALUE, _NAN),
    *_each("Digamma Lgamma", "special* | grid", _NUMBERS, _POLE),
    *_each("Igamma IgammaGradA Igammac Polygamma", "special* | grid", _NUMBERS, _POLE),
    Different("Digamma/large", _SLOPE, "TensorFlow's trigamma of large negative numbers is negative"),
    Different("Erf/special float64", _VALUE, "TensorFlow's erf of an infinite double is NaN"),
    *_each("FloorMod Mod", "grid", _VALUE, "a quotient beyond the type's range leaves no remainder"),
    Different("LinSpace/special*", _VALUE, "TensorFlow ends with `stop` though all before it is NaN"),
    Different("SigmoidGrad/special11", _NUMBERS, _NAN),
    Different("TopKV2/special11", _NUMBERS, _NAN),
    Different("TruncateMod/grid", _VALUE, "a quotient beyond the type's range leaves no remainder"),
    Different("Xlog1py/grid", _VALUE, "torch's log1p of the least normal numbers is 0"),
    *_each("Zeta", "special* | grid", _NUMBERS, _POLE),
    *_each("ResourceSparseApplyCenteredRMSProp ResourceSparseApplyRMSProp", "special*", _VALUE, _NAN),
    # Numbers.
    *_each("Xdivy Xlogy Xlog1py", "T=complex*", _SLOPE, "TensorFlow does not conjugate"),
    Different("StringFormat/T=complex*", _VALUE, "TensorFlow writes ? for complex numbers"),
    *_each("StringFormat", "size 3->0 | summarize=0", _VALUE, "TensorFlow writes dots and blanks for no numbers"),
    Different("TopKV2/sorted=False", _NUMBERS, "no order is promised"),
    Different("Cumprod/T=complex*", _SLOPE, "TensorFlow does not conjugate"),
    Different("MulNoNan/T=complex*", _SLOPE, "TensorFlow does not conjugate"),
    Different("Cumprod/special*", _SLOPE, "TensorFlow takes the gradient of a factor of zero for 0"),
    *_each("LeakyRelu LeakyReluGrad", "special float64", _NUMBERS, "attributes keep all digits that Python gives them"),
    Different("RandomGammaGrad/*", _VALUE, "TensorFlow approximates to four digits"),
    Different("Round/*", _VALUE, "TensorFlow 2 rounds integers to 0"),
    *_each("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3", "*", "*: value [345]*", _RESERVED),
    *_each("FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3", "*", _NUMBERS, _RESERVED),
    *_each(
        "DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput",
        "dilations*",
        "*",
        "TensorFlow ignores dilations",
    ),
    *_each("Conv3D DepthwiseConv2dNative DepthwiseConv2dNativeBackpropInput", "special*", _NUMBERS, _PADDED),
    *_each("Conv3DBackpropFilterV2 DepthwiseConv2dNativeBackpropFilter", "special*", _VALUE, _PADDED),
    *_each(
        "MaxPool3DGrad MaxPool3DGradGrad",
        "ksize*",
        _NUMBERS,
        "where the largest are is found, not taken from orig_output",
    ),
    Different("MaxPoolGrad/ksize*", _SLOPE, "where the largest are is found, not taken from orig_output"),
    Different("Conv3DBackpropFilterV2/T=bfloat16", _SLOPE, "TensorFlow adds up in bfloat16"),
    *_each(
        "MaxPoolGradGrad",
        "ksize*",
        _NUMBERS,
        "where the largest are is found, not taken from orig_output",
    ),
    *_each(
        "SoftmaxCrossEntropyWithLogits",
        "*",
        "*: gradient 1*",
        "TensorFlow leaves out what labels have from the backprop output",
    ),
    # Shapes.
    Different("AccumulateNV2/*", _REFUSED, "the shape attribute is checked"),
    *_each(
        "AvgPoolGrad AvgPool3DGrad InvGrad ReciprocalGrad RsqrtGrad SqrtGrad SigmoidGrad TanhGrad",
        "*",
        _REFUSED,
        _SHAPES,
    ),
    *_each("MaxPoolGrad", "*explicit_paddings*", _REFUSED, "explicit paddings without the mode EXPLICIT are refused"),
    *_each("Conv2D DepthwiseConv2dNative", "size 4->0", _REFUSED, _EMPTY),
    *_each("DepthwiseConv2dNative", "size 2->0 | size 3->0", _REFUSED, _EMPTY),
    *_each("Conv2DBackpropInput DepthwiseConv2dNativeBackpropInput", "size 3->0", _REFUSED, _EMPTY),
    *_each(
        "Conv2DBackpropFilter Conv3DBackpropFilterV2 DepthwiseConv2dNativeBackpropFilter",
        "filter_sizes=first 0",
        _REFUSED,
        _EMPTY,
    ),
    *_each("Conv2D Conv2DBackpropFilter DepthwiseConv2dNative", "size 5->0", _NUMBERS, _GARBAGE),
    *_each("DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter", "size [15]->0", _NUMBERS, _GARBAGE),
    Different("DepthwiseConv2dNativeBackpropFilter/size 4->0", _NUMBERS, _GARBAGE),
    *_each("Conv2DBackpropFilter Conv3DBackpropFilterV2", "size 2->4", _ACCEPTED, "channels may come in groups"),
    Different("Conv3DBackpropInputV2/size 2->1", _ACCEPTED, "channels may come in groups"),
    *_each(
        "Conv3DBackpropFilterV2 Conv3DBackpropInputV2",
        "dilations*",
        _ACCEPTED,
        "TensorFlow's kernel takes no dilations",
    ),
    *_each("MaxPoolWithArgmax", "size [12]->0", _ACCEPTED, "a pool of no elements has none"),
    Different("MaxPool3DGradGrad/size 1->0", _ACCEPTED, "a pool of no elements has none"),
    Different("ClipByValue/T=complex*", _REFUSED, "complex numbers have no order"),
    Different("EnsureShape/shape=None", _ACCEPTED, "every shape is an unknown one; TensorFlow reads -1 as its rank"),
    Different("ArgMax/Tidx=int16", _ACCEPTED, "TensorFlow reads more than the two bytes there are"),
    Different("Range/Tidx=float16", _ACCEPTED, "TensorFlow cannot infer a shape of this type"),
    Different("GatherV2/batch_dims=-1", "static: *static shape*", "TensorFlow counts a batch dimension of -1"),
    Different("ResourceApplyAdam/T=complex*", _REFUSED, "no kernel takes complex numbers"),
    *_each(
        "ResourceScatterDiv ResourceScatterMax ResourceScatterMin",
        "dtype=uint64",
        _REFUSED,
        "no kernel takes this type",
    ),
    *_each(
        "ResourceScatterAdd ResourceScatterDiv ResourceScatterMax ResourceScatterMin",
        "scalar",
        _REFUSED,
        "a scalar has no rows",
    ),
    *_each("ResourceScatterMul ResourceScatterSub ResourceScatterUpdate", "scalar", _REFUSED, "a scalar has no rows"),
    Different("ResourceScatterDiv/special11", _ACCEPTED, _OLD + "a division by zero is infinite"),
    *_each("ResourceScatterNdAdd ResourceScatterNdSub", "T=bool", _REFUSED, "truth is not added"),
    Different("RandomPoissonV2/*", _REFUSED, "a negative rate is refused"),
    *_each(
        "ResourceSparseApplyAdadelta ResourceSparseApplyCenteredRMSProp ResourceSparseApplyRMSProp",
        "column*",
        _REFUSED,
        _SHAPES,
    ),
    *_each("ResourceSparseApplyFtrl ResourceSparseApplyFtrlV2", "column*", _REFUSED, _SHAPES),
    *_each("ResourceSparseApplyKerasMomentum ResourceSparseApplyMomentum", "column*", _REFUSED, _SHAPES),
    *_each(
        "ResourceSparseApplyFtrl ResourceSparseApplyFtrlV2",
        "special*",
        _ACCEPTED,
        "rates are not looked at in the step",
    ),
    *_each(
        "ResourceSparseApplyAdagrad ResourceSparseApplyAdagradV2",
        "size 3->0",
        _ACCEPTED,
        "rows without elements stay as they are",
    ),
    *_each(
        "ResourceSparseApplyFtrl ResourceSparseApplyFtrlV2",
        "size 3->0",
        _ACCEPTED,
        "rows without elements stay as they are",
    ),
    Different("ResourceStridedSliceAssign/*", _REFUSED, _OLD + "a value of another shape is refused"),
    Different("ScatterNd/first row", _ACCEPTED, "a vector is one index, as in GatherNd"),
    *_each("StridedSliceGrad UniqueV2", "T=string", _REFUSED, "no kernel takes strings"),
    *_each(
        "TruncateDiv TruncateMod",
        "grid *int*",
        "*: InvalidArgumentError *, there InternalError *",
        "division by zero is the caller's mistake",
    ),
    Different("Where/scalar", _ACCEPTED, "a scalar has one position, without coordinates"),
    Different("ImageSummary/*", "*: value 0: *", "the same pixels, compressed by another program"),
    # Sequences and signals.
    *_each("CTCLoss CTCBeamSearchDecoder", "T=float64", _NUMBERS, "TensorFlow computes in single precision"),
    *_each(
        "CTCLoss",
        "labels_values=all [27] | size 3->1",
        _NUMBERS,
        "without labels TensorFlow reads beyond its tables",
    ),
    *_each("CTCBeamSearchDecoder CTCGreedyDecoder", "special*", "*", _NAN),
    *_each(
        "CTCBeamSearchDecoder CTCGreedyDecoder",
        "sequence_length=*",
        "*: InvalidArgumentError *, there FailedPreconditionError *",
        "shapes that do not fit are an invalid argument",
    ),
    Different(
        "CTCBeamSearchDecoder/size 2->*",
        "*: InvalidArgumentError *, there FailedPreconditionError *",
        "shapes that do not fit are an invalid argument",
    ),
    *_each("RFFT RFFT2D RFFT3D IRFFT IRFFT2D IRFFT3D", "size ?->0", _VALUE, _GARBAGE),
    *_each("RFFT IRFFT", "fft_length=* 1", _SLOPE, "the gradient of what is cut off is 0"),
    Different("RFFT3D/large", _VALUE, "sums of large numbers that cancel, in another order"),
]

# Programs of `corners` that differ, and why.
DIFFERENT_PROGRAMS: dict[str, str] = {
    "arrays.another_type": "is found while the graph is built",
    "arrays.another_type_of_python": "is found while the graph is built",
    "arrays.mapped_to_another_type_without_saying": "is found while the graph is built",
    "conditionals.dead_value_is_fetched": "values of a branch can be fetched; that it was not taken shows in the step",
    "loops.limit_and_shapes": "shape_invariants nest as loop_vars do, with maximum_iterations too",
    "loops.limit_by_tensor": "a body may return a tuple for a list, with maximum_iterations too",
    "loops.types_change": "is found while the graph is built",
    "ordering.bincount": "how many bins there are is found in the step",
    "shaping.gather_by_an_empty_list": "an empty list is taken for integers where only integers can stand",
    "shaping.reshape_of_nothing_with_a_free_size": "as in TensorFlow 1.15, which refuses it",
}
