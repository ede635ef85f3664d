"""Where Thalweg differs from TensorFlow by decision, or TensorFlow has no meaning to compare with."""

from fnmatch import fnmatchcase
from typing import NamedTuple

from thalweg._src.graph.function import FUNCTIONAL
from thalweg._src.runtime.resources.accelerators import accelerators

# Operations that do nothing by themselves that a single call could show.
NOT_CALLED = {
    "Const": "its value is an attribute: test_graphdef compares tensors of every type",
    **dict.fromkeys(
        (
            *("CudnnRNN", "CudnnRNNBackprop", "CudnnRNNBackpropV3", "CudnnRNNCanonicalToParams", "CudnnRNNParamsSize"),
            *("CudnnRNNParamsToCanonical", "CudnnRNNV3"),
        ),
        "TensorFlow has it on a GPU alone",
    ),
    **dict.fromkeys(
        ("CollectiveBcastRecv", "CollectiveBcastSend", "CollectiveGather", "CollectiveReduce"),
        "waits for the other members of a group",
    ),
    **dict.fromkeys(("NcclAllReduce", "NcclBroadcast", "NcclReduce"), "TensorFlow has it on GPUs alone"),
    "DeleteSessionTensor": "takes the handle of a tensor that a session keeps",
    "Enter": "has its meaning in a loop",
    "Exit": "has its meaning in a loop",
    "FakeParam": "stands for a value that is never used",
    **dict.fromkeys(FUNCTIONAL, "calls functions of the graph's library: test_functions compares them"),
    "GetSessionHandle": "returns the handle of a tensor that a session keeps",
    "GetSessionTensor": "takes the handle of a tensor that a session keeps",
    "LoopCond": "has its meaning in a loop",
    "MatrixExponential": "TensorFlow has dropped it",
    "MergeV2Checkpoints": "moves files that a save has left: test_checkpoints compares them",
    "NextIteration": "has its meaning in a loop",
    "Placeholder": "is fed",
    "PyFunc": "runs a function of this process",
    "PyFuncStateless": "runs a function of this process",
    "QuantizeAndDequantize": "TensorFlow has dropped it",
    "RefIdentity": "returns a reference",
    "TopK": "TensorFlow 2 has dropped it",
    "VarHandleOp": "every call on a variable starts with one",
}

# Beginnings of names: operations that make or take a resource, of which one call shows nothing.
RESOURCES = (
    "Accumulator",
    "Barrier",
    "EmptyTensorList",
    "FIFOQueue",
    "FixedLengthRecordReader",
    "HashTable",
    "IdentityReader",
    "Iterator",
    "MakeIterator",
    "MapIncompleteSize",
    "MapPeek",
    "MapSize",
    "MapStage",
    "MapUnstage",
    "MutableDenseHashTable",
    "MutableHashTable",
    "Mutex",
    "OrderedMap",
    "PaddingFIFOQueue",
    "PriorityQueue",
    "Queue",
    "RandomShuffleQueue",
    "Reader",
    "ResourceAccumulator",
    "ResourceConditionalAccumulator",
    "SparseAccumulator",
    "SparseConditionalAccumulator",
    "Stack",
    "Stage",
    "SummaryWriter",
    "TFRecordReader",
    "TensorArray",
    "TensorList",
    "TextLineReader",
    "Unstage",
    "WholeFileReader",
)

# Numbers come from generators of our own, or from the clock: types, shapes and errors are compared, values are not.
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
    "Timestamp",
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
_DRAFT = "Pillow enlarges colors plainly with the fast transform only"
_SINGLE = "TensorFlow weighs in single precision"
_WEIGHTLESS = "which neighbours have a weight of 0, times infinity NaN, and which none is another choice in torch"
_LEFT = "diagonals lie left in the gradient, as in the operation: TensorFlow takes the newer operation's alignment"
_NO_FACTOR = "above the diagonal of a factor that it does not find TensorFlow leaves what its memory held"
_NO_VECTORS = "no vectors: TensorFlow's static shape says so, and its kernel returns a scalar"
_NO_NUMBER = "*: [vg]* ours/theirs *nan *"
_NO_RANGE = "a range with an end that is no finite number is refused"
_OUTPUT = "*: [vg]* [0-9]*"
_UNORDERED = "indices are in order, none twice: of others TensorFlow makes what its way through them gives"
_OUTSIDE = "indices outside the shape are refused: TensorFlow looks at some of them"
_BLAMED, _MISTAKE = "*: InvalidArgumentError *, there InternalError *", "a caller's mistake is an invalid argument"
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
        "MaxPool3DGrad MaxPool3DGradGrad MaxPoolGradGrad",
        "ksize*",
        _NUMBERS,
        "where the largest are is found, not taken from orig_output",
    ),
    Different("MaxPoolGrad/ksize*", _SLOPE, "where the largest are is found, not taken from orig_output"),
    Different("Conv3DBackpropFilterV2/T=bfloat16", _SLOPE, "TensorFlow adds up in bfloat16"),
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
    *_each("StridedSliceGrad", "T=string", _REFUSED, "no kernel takes strings"),
    *_each(
        "TruncateDiv TruncateMod",
        "grid *int*",
        "*: InvalidArgumentError *, there InternalError *",
        "division by zero is the caller's mistake",
    ),
    Different("Where/scalar", _ACCEPTED, "a scalar has one position, without coordinates"),
    Different("ImageSummary/*", "*: value 0: *", "the same pixels, compressed by another program"),
    # Images and windows that vary.
    Different(
        "ExtractVolumePatches/*",
        "unknown: output 0 has the static shape*there ?None, None, None, None?",
        "TensorFlow says rank 4 of a rank of 5",
    ),
    *_each(
        "EncodePng EncodeJpeg EncodeJpegVariableQuality",
        "size [45]->0",
        "unknown: InvalidArgumentError *, there InternalError *",
        "an image without pixels is an invalid argument",
    ),
    *_each("EncodeJpeg", "x_density=-? | y_density=-?", _REFUSED, "a file has no negative density"),
    *_each("DecodeJpeg DecodeAndCropJpeg", "fancy_upscaling=False*", _VALUE, _DRAFT),
    Different("DecodeJpeg/ratio=2,fancy_upscaling=False", _VALUE, _DRAFT),
    *_each("HSVToRGB ResizeBilinearGrad", "*", "*: gradient 0 is a tensor, there None", "has a gradient"),
    *_each(
        "HSVToRGB RGBToHSV",
        "grid | size 3->? | column | flat",
        "unknown: InvalidArgumentError *, there FailedPreconditionError *",
        "shapes that do not fit are an invalid argument",
    ),
    *_each("RGBToHSV", "signed | large | special*", _SLOPE, "TensorFlow's is right for colors of [0, 1] only"),
    *_each("RGBToHSV AdjustHue AdjustSaturation", "special*", _VALUE, "NaN and infinite colors have no hue"),
    *_each(
        "FractionalAvgPool FractionalMaxPool",
        "*",
        "host: output [12] has the static shape*",
        "TensorFlow forgets the end of the sequence",
    ),
    Different("FractionalMaxPool/special*", _NUMBERS, _NAN),
    *_each(
        "FractionalMaxPoolGrad",
        "special* | overlapping=True",
        _ACCEPTED,
        "where the largest are is found, not taken from orig_output",
    ),
    *_each("FractionalAvgPoolGrad", "size 2->1 | orig_input_tensor_shape=*", _REFUSED, _SHAPES),
    *_each("FractionalMaxPoolGrad", "* of 2", _REFUSED, _SHAPES),
    *_each(
        "FractionalAvgPoolGrad FractionalMaxPoolGrad",
        "row_pooling_sequence=* | col_pooling_sequence=*",
        _REFUSED,
        "windows have to cover the image",
    ),
    *_each("ResizeBilinear ResizeBicubic", "T=float64 | special float64", _SLOPE, _SINGLE),
    *_each("ResizeBilinearGrad ResizeBicubicGrad CropAndResizeGradImage", "T=float64", _VALUE, _SINGLE),
    Different("CropAndResize/T=float64", _SLOPE, _SINGLE),
    *_each("ImageProjectiveTransformV2 ImageProjectiveTransformV3", "dtype=float64", _SLOPE, _SINGLE),
    *_each("ResizeArea ResizeBilinear ResizeBilinearGrad", "special*", _VALUE, _WEIGHTLESS),
    *_each(
        "ExtractGlimpse ExtractGlimpseV2",
        "signed | large | size [45]->1 | size=* 7",
        _VALUE,
        "noise is drawn at random",
    ),
    Different("ExtractGlimpse/centered=False*", _VALUE, "noise is drawn at random"),
    *_each("ExtractGlimpse ExtractGlimpseV2", "size [45]->0", _VALUE, "no pixels are as bright as 0, or as NaN"),
    *_each("Dilation2D Dilation2DBackpropInput Dilation2DBackpropFilter", "size 3->0", _REFUSED, _EMPTY),
    Different("Dilation2D/size 2->0", _REFUSED, _EMPTY),
    *_each(
        "Dilation2D Dilation2DBackpropInput Dilation2DBackpropFilter",
        "rates=?1,0,0,1? | rates=?1,-1,-1,1?",
        _REFUSED,
        "rates start at 1",
    ),
    *_each(
        "SampleDistortedBoundingBox SampleDistortedBoundingBoxV2",
        "image_size=first 0 | image_size=all 0",
        _REFUSED,
        "an image without pixels has no window",
    ),
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
    # Sparse tensors.
    *_each(
        "SparseAdd SparseSparseMaximum SparseSparseMinimum",
        "size 3->4 | [ab]_indices=all [01] | [ab]_indices=first 1",
        _OUTPUT,
        _UNORDERED,
    ),
    *_each("SparseAddGrad", "size 2->[01] | *_indices=first [127] | [ab]_indices=more", _VALUE, _UNORDERED),
    *_each("SparseSoftmax", "size 3->4 | sp_indices=first 1", _NUMBERS, _UNORDERED),
    *_each("SparseCross SparseCrossHashed SparseCrossV2", "size 3->4", _VALUE, _UNORDERED),
    Different("EditDistance/size 2->4", _VALUE, _UNORDERED),
    Different("SparseAdd/[ab]_indices=*", _REFUSED, _OUTSIDE),
    *_each("SparseSoftmax", "sp_indices=* | sp_shape=*", _REFUSED, _OUTSIDE),
    *_each("SparseReduceMax SparseReduceSum", "input_shape=*", _REFUSED, _OUTSIDE),
    *_each("SparseReduceMax SparseReduceSum", "input_indices=* | input_shape=*", _BLAMED, _MISTAKE),
    *_each("SparseReduceMaxSparse SparseReduceSumSparse", "input_indices=* | input_shape=*", _REFUSED, _OUTSIDE),
    *_each("EditDistance", "hypothesis_shape=* | truth_shape=*", _REFUSED, _OUTSIDE),
    *_each("EditDistance", "hypothesis_indices=* | truth_indices=*", _BLAMED, _MISTAKE),
    Different("SparseTensorDenseMatMul/a_shape=first 0", _REFUSED, _OUTSIDE),
    *_each("SparseSegmentMeanGrad SparseSegmentSqrtNGrad SparseSegmentSumGrad", "output_dim0=0", _REFUSED, _OUTSIDE),
    *_each("SparseSegmentMeanGrad SparseSegmentSqrtNGrad SparseSegmentSumGrad", "size 3->0", _VALUE, _GARBAGE),
    Different("SparseSlice/shape=*", _OUTPUT, "what lies outside the shape is left out"),
    Different("SparseSliceGrad/*", _BLAMED, _MISTAKE),
    Different("SparseAdd/T*", _OUTPUT, "TensorFlow reads the threshold in the type of the values, whatever its own"),
    Different("SparseAddGrad/*", "*: gradient 0 is a tensor, there None", "TensorFlow has no second derivative"),
    Different("SparseToDense/scalar of 2", "*: gradient 0 is *", "one value for all places has one gradient"),
    Different("SparseDenseCwiseDiv/special5", _ACCEPTED, _OLD + "a division by zero is infinite"),
    *_each("SparseBincount", "scalar of 4 | row of one of 4 | column of 4", _REFUSED, _SHAPES),
    Different(
        "SparseBincount/values=* -[15]", _REFUSED, "negative numbers are refused: TensorFlow counts them nowhere"
    ),
    Different("DenseCountSparseOutput/size 2->0", _ACCEPTED, "no rows have no counts"),
    *_each("SparseCrossHashed", "row of one of [456] | column of 6", _REFUSED, "a scalar and a vector are asked for"),
    *_each("SerializeSparse", "sparse_indices=* | sparse_shape=*", _REFUSED, _SHAPES),
    # Files.
    *_each(
        "Restore RestoreSlice", "*", "*, there NotFoundError *", "reads a checkpoint of TensorFlow's second form too"
    ),
    *_each("Restore RestoreSlice", "preferred_shard=-2", _ACCEPTED, "no shard is preferred, whatever its number"),
    Different("GenerateVocabRemapping/*", _ACCEPTED, "an empty line of a vocabulary is a word"),
    *_each("LoadAndRemapMatrix", "row of one of [04] | column of 4", _REFUSED, _SHAPES),
    Different("LoadAndRemapMatrix/row_remapping=*", _BLAMED, _MISTAKE),
    Different("LoadAndRemapMatrix/col_remapping=*", _REFUSED, "a place outside the old matrix is refused"),
    # Strings and messages.
    *_each(
        "ReduceJoin UnsortedSegmentJoin",
        "*",
        "unknown: InvalidArgumentError *, there OutOfRangeError *",
        "shapes that do not fit are an invalid argument, and no end of data",
    ),
    *_each("StringNGrams", "size 3->0 | data_splits=none", _REFUSED, "row splits begin with a 0"),
    Different("Fingerprint/size 3->0", _VALUE, _GARBAGE),
    Different("ParseExample/row of one of [23]", _REFUSED, "a key is a scalar"),
    *_each("ParseExampleV2", "scalar of [24] | row of one of [234] | column of 3", _REFUSED, "keys are a vector"),
    Different("ParseSequenceExample/size 2->0", _ACCEPTED, "no messages have no features"),
]

DIFFERENT += [
    # Matrices.
    *_each("MatrixDiagV2 MatrixDiagPartV2", "*", "*: gradient 0: *", _LEFT),
    Different("MatrixSetDiagV2/*", "*: gradient 1: *", _LEFT),
    *_each("Svd", "compute_uv=False*", "*: value [12] is *[[]0], there *[[][]]", _NO_VECTORS),
    *_each("SelfAdjointEigV2 Eig", "compute_v=False", "*: value 1 is *[[]0], there *[[][]]", _NO_VECTORS),
    *_each("Svd", "size 2->4", "*: [vg]* [10]: *", "vectors of singular values that are 0 may be any"),
    *_each("Qr", "size 2->4", "*: [vg]* 0: *", "without full rank the last vectors may be any"),
    *_each(
        "Eig",
        "base | T=complex64 | size 2->4 | row of one | two rows",
        _SLOPE,
        "single precision, where eigenvalues lie close together",
    ),
    Different(
        "MatrixLogarithm/size 3->4", _VALUE, "rounding decides on which side of its cut a negative eigenvalue lies"
    ),
    *_each(
        "MatrixDeterminant MatrixSquareRoot TridiagonalSolve", "T=complex*", _SLOPE, "TensorFlow does not conjugate"
    ),
    Different("LogMatrixDeterminant/T=complex*", _SLOPE, "TensorFlow leaves out the gradient of the sign"),
    *_each(
        "Cholesky",
        "special5 | special11 | size 3->4 | two rows",
        _REFUSED,
        _OLD + "a matrix that is not positive definite is refused",
    ),
    *_each("Cholesky", "special0 | special float64", _VALUE, _NO_FACTOR),
    *_each("CholeskyGrad Qr", "special*", "*: value * ours/theirs nan/*", "NaN spreads as the order of sums has it"),
    *_each(
        "Lu MatrixInverse MatrixSolve",
        "special*",
        "*: a value, there InvalidArgumentError *invertible*",
        "NaN is no zero: TensorFlow refuses a matrix whose first pivot is NaN, and no other",
    ),
    *_each("MatrixTriangularSolve", "special*", _REFUSED, _OLD + "a matrix with zeros on its diagonal is refused"),
    Different("MatrixSolveLs/size 3->0", _VALUE, _GARBAGE),
    Different("Cross/large", _VALUE, "what rounding leaves of two products that cancel"),
    *_each(
        "Cross",
        "size 3->[014] | column | flat",
        "unknown: InvalidArgumentError *, there FailedPreconditionError *",
        "shapes that do not fit are an invalid argument",
    ),
    # Special functions.
    *_each("BesselY0 BesselY1", "special* | grid", _NO_NUMBER, _POLE),
    *_each("BesselJ0 BesselJ1", "special float64", _NO_NUMBER, _POLE),
    *_each("Expint Spence", "special* | grid", _NO_NUMBER, _POLE),
    *_each("BesselK0", "special11 | grid", "*: value * ours/theirs 87.4*/inf *", "half of the least number is not 0"),
    *_each("BesselI1", "special* | grid", _SLOPE, "the slope at 0 is 1/2; TensorFlow has 1"),
    Different("Dawsn/grid", _SLOPE, "at the largest number the function is a denormal one, which is taken for 0"),
    # Order and places.
    Different("ApproxTopK/special11", _NUMBERS, _NAN),
    Different("ApproxTopK/*aggregate_to_topk=False", "*: output *static shape*", "exact here: nothing is left over"),
    *_each("NthElement", "special*", _NUMBERS, _NAN),
    *_each("TensorScatterMax TensorScatterMin", "special5", _NUMBERS, _NAN),
    Different("LowerBound/special*", _VALUE, "rows that are not sorted"),
    Different("UnravelIndex/size 2->0", _ACCEPTED, "no indices have no coordinates"),
    Different("UnravelIndex/indices=* -[15]", _REFUSED, "an index below 0 is refused"),
    Different("DenseBincount/scalar", "static: *static shape*", "of a scalar TensorFlow, too, returns a vector"),
    # Random numbers.
    *_each(
        "StatelessRandomGammaV2 StatelessRandomPoisson",
        "shape=all 0",
        _REFUSED,
        "the shape must end with that of the parameters, without elements, too",
    ),
    Different("StatelessRandomUniformFullInt/Tseed=uint*", _ACCEPTED, "TensorFlow's kernel takes signed seeds alone"),
    # Updates.
    *_each(
        "ResourceApplyProximalAdagrad ResourceSparseApplyProximalAdagrad",
        "special*",
        _ACCEPTED,
        "rates are not looked at in the step",
    ),
    *_each(
        "ResourceSparseApplyAdagradDA ResourceSparseApplyProximalAdagrad ResourceSparseApplyProximalGradientDescent",
        "size 3->0",
        _ACCEPTED,
        "rows without elements stay as they are",
    ),
    *_each(
        "ResourceSparseApplyAdagradDA ResourceSparseApplyProximalAdagrad ResourceSparseApplyProximalGradientDescent",
        "column*",
        _REFUSED,
        _SHAPES,
    ),
    *_each(
        "ResourceSparseApplyAdagradDA",
        "global_step=0 | global_step=-*",
        _VALUE,
        "steps count from 1; for others rows are updated as ResourceApplyAdagradDA does it",
    ),
    Different("ResourceApplyPowerSign/special11", _VALUE, _OLD + "the sign of NaN is 0"),
    # Quantized numbers.
    *_each(
        "QuantizeAndDequantizeV2 QuantizeAndDequantizeV4",
        "num_bits=1,narrow_range=True",
        "*: value * ours/theirs nan/inf, *",
        "a range of no steps",
    ),
    Different("QuantizeAndDequantizeV3/scalar", _ACCEPTED, "TensorFlow takes -1, which is no axis, for one"),
    Different("QuantizedConv2D/Tfilter=qint8", "*, there InternalError *", "TensorFlow's kernel returns nothing"),
    *_each("QuantizedConv2D", "special5 | special11", _REFUSED, _NO_RANGE),
    *_each("QuantizeDownAndShrinkRange Requantize", "special11", _REFUSED, _NO_RANGE),
    Different(
        "FakeQuantWithMinMaxVarsPerChannelGradient/special11",
        "*: value 2: 1 of *",
        "a range that ends before it begins",
    ),
    *_each("QuantizedConv2D", "size [1245]->0", _ACCEPTED, "no elements have an empty product"),
    *_each("QuantizedMul", "size [23]->0", _ACCEPTED, "no elements have an empty product"),
    Different("QuantizedBiasAdd/size 3->0", _ACCEPTED, "no elements need no bias"),
    Different("QuantizedMatMul/size 3->0", _VALUE, _GARBAGE),
    Different("QuantizedMul/column of 0", _VALUE, "TensorFlow takes the one of higher rank to end as the vector does"),
]


def must_show(entry: Different) -> bool:
    """Returns whether an entry has to match a line: what memory holds may be right by chance."""
    return entry.reason not in (_GARBAGE, _NO_FACTOR)


# Programs of `corners` that differ, and why.
DIFFERENT_PROGRAMS: dict[str, str] = {
    "arrays.another_type": "is found while the graph is built",
    "arrays.another_type_of_python": "is found while the graph is built",
    "arrays.mapped_to_another_type_without_saying": "is found while the graph is built",
    "conditionals.dead_value_is_fetched": "values of a branch can be fetched; that it was not taken shows in the step",
    "flow_arrays.fold_of_a_scalar": "says what is expected",
    "flow_arrays.scan_that_changes_its_type": "is found while the graph is built",
    "flow_gradients.array_written_partly": "as in TensorFlow 1.15, which reads it twice, for its shape too",
    "flow_gradients.captured_embedding_in_nested_loops": "TensorFlow adds up shapes of different ranks",
    "loops.limit_and_shapes": "shape_invariants nest as loop_vars do, with maximum_iterations too",
    "loops.limit_by_tensor": "a body may return a tuple for a list, with maximum_iterations too",
    "loops.types_change": "is found while the graph is built",
    "recurrent.cell_of_another_state_type": "is found while the graph is built",
    "recurrent.inputs_of_unknown_rank": "says what is expected",
    "shaping.gather_by_an_empty_list": "an empty list is taken for integers where only integers can stand",
    "shaping.reshape_of_nothing_with_a_free_size": "as in TensorFlow 1.15, which refuses it",
}

# Programs that stack the elements of an array, whose number TensorFlow knows since version 2.
STACKING = {
    "arrays.gap_of_inferred_shape",
    "arrays.identical",
    "arrays.scattered",
    "arrays.stack_shapes",
    "arrays.stacked",
    "arrays.stacked_nothing",
    "conditionals.array_result",
    "flow_arrays.array_of_one_loop_in_the_next",
    "flow_arrays.array_read_again_and_again",
    "flow_arrays.array_read_and_written_in_turn",
    "flow_arrays.array_shapes_after_a_loop",
    "flow_arrays.array_written_by_an_inner_loop",
    "flow_arrays.array_written_in_a_branch",
    "flow_arrays.arrays_of_all_kinds",
    "flow_gradients.array_in_a_branch",
    "flow_gradients.array_through_a_loop",
    "flow_programs.structure_of_everything",
    "loops.array_variable",
}
UNKNOWN_NUMBER = "result* is *[[]None*, there *"

# TensorFlow answered on a CPU, which checks indices and other values; a GPU does not.
_UNCHECKED = "*a value, there InvalidArgumentError when running (*"
_SUBNORMAL = "a GPU computes with subnormal numbers; TensorFlow flushes them to zero on a CPU"
_BETWEEN = "a GPU multiplies by the reciprocal of a constant, so numbers between two steps round the other way"
_LAST = "which of several updates of one element is the last is undefined on a GPU"
DIFFERENT_ON_A_GPU = [
    *_each("BesselK0 BesselK0e BesselK1 BesselK1e", "grid | special11", _NUMBERS, _SUBNORMAL),
    *_each("BesselI1e BesselJ1", "special11", _SLOPE, _SUBNORMAL),
    Different("FloorDiv/grid", _VALUE, _SUBNORMAL),
    Different("FakeQuantWithMinMax*/*", _NUMBERS, _BETWEEN),
    *_each("ParallelDynamicStitch", "two rows", _VALUE, _LAST),
    *_each("TensorScatterUpdate", "indices=first 0 | indices=all 1", _VALUE, _LAST),
    Different("CTCBeamSearchDecoder/beam_width=5", _VALUE, "two beams of equal probability"),
    Different("FusedBatchNorm*/special*", "*: value 1: *ours/theirs nan/inf*", "cuDNN subtracts infinities"),
    Different("QuantizedBiasAdd/special11", _VALUE, "infinity has no integer"),
    Different("SelfAdjointEigV2/*", _SLOPE, "eigenvalues that are close magnify rounding errors"),
    *_each("Svd", "special0 | special float64", _VALUE, "a matrix with NaN has no singular vectors"),
    Different("TruncateDiv/grid uint16", "*: a value, there InternalError *", "a GPU does not check for zero"),
    Different("Zeta/large", _NUMBERS, _POLE),
]


def _has_gpus():
    return any(accelerator.count() for accelerator in accelerators())


def shown_here(lines):
    """Returns the lines of a report that show a difference on this machine."""
    return [line for line in lines if not (_has_gpus() and fnmatchcase(line, _UNCHECKED))]


def expected_here(name):
    """Returns the entries of an operation that apply to this machine."""
    entries = [*DIFFERENT, *DIFFERENT_ON_A_GPU] if _has_gpus() else DIFFERENT
    return [entry for entry in entries if fnmatchcase(name, entry.case.split("/")[0])]
