"""tf.contrib.tpu: Programs that were written for TPUs, on the devices that there are."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.tpu.config import (
    InputPipelineConfig as InputPipelineConfig,
    RunConfig as RunConfig,
    TPUConfig as TPUConfig,
)
from thalweg._src.compat.contrib.tpu.cross_shard import (
    CrossShardOptimizer as CrossShardOptimizer,
    bfloat16_scope as bfloat16_scope,
    outside_compilation as outside_compilation,
)
from thalweg._src.compat.contrib.tpu.estimator import TPUEstimator as TPUEstimator
from thalweg._src.compat.contrib.tpu.spec import TPUEstimatorSpec as TPUEstimatorSpec

__all__ = [
    "CrossShardOptimizer", "InputPipelineConfig", "RunConfig", "TPUConfig", "TPUEstimator", "TPUEstimatorSpec",
    "bfloat16_scope", "outside_compilation",
]
