"""GPU kernels keep values on the device and, with few exceptions, do not synchronize; checked without a GPU."""

import json
import sys
from pathlib import Path

import pytest

from tests import children
from thalweg._src.graph.op_def import OPS

ROOT = Path(__file__).parents[3]

# Ops that synchronize the host with the device, and why.
WAITS = {
    # sizes of results, or of what is computed for them, depend on values
    "CTCBeamSearchDecoder", "CTCGreedyDecoder", "CTCLoss", "CTCLossV2", "ComputeAccidentalHits", "DynamicPartition",
    "DynamicStitch", "ListDiff", "ParallelDynamicStitch", "UniqueV2", "_CTCLossDense",
    # indices of sparse tensors are checked, and sizes depend on them
    "DenseCountSparseOutput", "SparseAdd", "SparseAddGrad", "SparseBincount", "SparseConcat",
    "SparseCountSparseOutput", "SparseDenseCwiseAdd", "SparseDenseCwiseDiv", "SparseDenseCwiseMul",
    "SparseFillEmptyRows", "SparseFillEmptyRowsGrad", "SparseReduceMax", "SparseReduceMaxSparse", "SparseReduceSum",
    "SparseReduceSumSparse", "SparseReorder", "SparseSlice", "SparseSoftmax", "SparseSparseMaximum",
    "SparseSparseMinimum", "SparseSplit", "SparseTensorDenseAdd", "SparseToDense",
    # indices are checked before anything is overwritten
    "ResourceCountUpTo", "ResourceGatherNd", "ResourceScatterDiv", "ResourceScatterMax", "ResourceScatterMin",
    "ResourceScatterMul", "ResourceScatterNdAdd", "ResourceScatterNdSub", "ResourceScatterNdUpdate",
    "ResourceScatterUpdate",
    # the same, and the rows are distinct ones already, which had to be waited for
    "ResourceSparseApplyAdadelta", "ResourceSparseApplyAdagrad", "ResourceSparseApplyAdagradDA",
    "ResourceSparseApplyAdagradV2", "ResourceSparseApplyCenteredRMSProp", "ResourceSparseApplyFtrl",
    "ResourceSparseApplyFtrlV2", "ResourceSparseApplyKerasMomentum", "ResourceSparseApplyMomentum",
    "ResourceSparseApplyProximalAdagrad", "ResourceSparseApplyProximalGradientDescent", "ResourceSparseApplyRMSProp",
    # the last segment says how many there are
    "SegmentMax", "SegmentMean", "SegmentMin", "SegmentProd", "SegmentSum", "SparseSegmentMean",
    "SparseSegmentMeanGrad", "SparseSegmentMeanWithNumSegments", "SparseSegmentSqrtN", "SparseSegmentSqrtNGrad",
    "SparseSegmentSqrtNWithNumSegments", "SparseSegmentSum", "SparseSegmentSumWithNumSegments",
    # values decide whether there is a result, or when it is good enough
    "Assert", "Betainc", "CheckNumerics", "Cholesky", "CropAndResize", "CropAndResizeGradBoxes",
    "CropAndResizeGradImage", "Eig", "IgammaGradA", "Lu", "MatrixInverse", "MatrixLogarithm", "MatrixSolve",
    "MatrixSolveLs", "MatrixSquareRoot", "QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3",
    "QuantizeAndDequantizeV4", "QuantizeDownAndShrinkRange", "RequantizationRange", "SelfAdjointEigV2",
    "StatelessParameterizedTruncatedNormal", "_MaxPoolIndexedGrad",
    # computed on the host
    "AllCandidateSampler", "CombinedNonMaxSuppression", "DrawBoundingBoxes", "DrawBoundingBoxesV2",
    "NonMaxSuppressionV5", "Print",
    # lengths of sequences are read on the host
    "CudnnRNNBackpropV3", "CudnnRNNV3",
}  # fmt: skip
# What cannot be tried so.
NOT_TRIED = {
    "Merge": "takes what came, and only that",
    "_MemoryStatistic": "asks the allocator of the device",
    "SparseSliceGrad": "refuses indices that are not those of its input",
    **dict.fromkeys(
        ["ResourceApplyGradientDescent", "_ApplyGradientDescentGroup"],
        "torch does not say what shapes its kernel gives",
    ),
}


@pytest.fixture(scope="module")
def outcomes():
    command = [sys.executable, "-m", "tests.runtime.kernels.gpu_kernels"]
    return json.loads(
        children.run(command, cwd=ROOT, env=children.environment(OMP_NUM_THREADS="1")).stdout.splitlines()[-1]
    )


def test_values_stay_on_the_device(outcomes):
    wrong = {name: outcome for name, outcome in outcomes.items() if outcome not in (None, "runs", "waits")}
    assert wrong.keys() == NOT_TRIED.keys(), "\n".join(f"{name}: {outcome}" for name, outcome in wrong.items())
    assert list(outcomes.values()).count("runs") > 400


def test_few_kernels_synchronize_with_the_host(outcomes):
    assert {name for name, outcome in outcomes.items() if outcome == "waits"} == WAITS
    # The compiler makes this one, with indices that are known to be right.
    assert {name for name in WAITS if OPS.lookup(name).facts.is_capturable} == {"_MaxPoolIndexedGrad"}
