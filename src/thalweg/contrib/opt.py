"""tf.contrib.opt: Further optimizers, including L-BFGS, LAMB and gradient accumulation."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.opt.accumulation import AccumulatingOptimizer as AccumulatingOptimizer
from thalweg._src.compat.contrib.opt.adam_variants import (
    AdaMaxOptimizer as AdaMaxOptimizer,
    LazyAdamOptimizer as LazyAdamOptimizer,
    NadamOptimizer as NadamOptimizer,
)
from thalweg._src.compat.contrib.opt.decoupled import (
    AdamWOptimizer as AdamWOptimizer,
    DecoupledWeightDecayExtension as DecoupledWeightDecayExtension,
    LAMBOptimizer as LAMBOptimizer,
    LARSOptimizer as LARSOptimizer,
    MomentumWOptimizer as MomentumWOptimizer,
    extend_with_decoupled_weight_decay as extend_with_decoupled_weight_decay,
)
from thalweg._src.compat.contrib.opt.external import (
    ExternalOptimizerInterface as ExternalOptimizerInterface,
    ScipyOptimizerInterface as ScipyOptimizerInterface,
)
from thalweg._src.compat.contrib.opt.lbfgs import LBFGSOptimizer as LBFGSOptimizer
from thalweg._src.compat.contrib.opt.sign import (
    AddSignOptimizer as AddSignOptimizer,
    PowerSignOptimizer as PowerSignOptimizer,
)
from thalweg._src.compat.contrib.opt.step import (
    AdamGSOptimizer as AdamGSOptimizer,
    LazyAdamGSOptimizer as LazyAdamGSOptimizer,
    RegAdagradOptimizer as RegAdagradOptimizer,
)
from thalweg._src.compat.contrib.opt.wrapping import (
    DropStaleGradientOptimizer as DropStaleGradientOptimizer,
    MovingAverageOptimizer as MovingAverageOptimizer,
    MultitaskOptimizerWrapper as MultitaskOptimizerWrapper,
    VariableClippingOptimizer as VariableClippingOptimizer,
    clip_gradients_by_global_norm as clip_gradients_by_global_norm,
)

__all__ = [
    "AccumulatingOptimizer", "AdaMaxOptimizer", "AdamGSOptimizer", "AdamWOptimizer", "AddSignOptimizer",
    "DecoupledWeightDecayExtension", "DropStaleGradientOptimizer", "ExternalOptimizerInterface", "LAMBOptimizer",
    "LARSOptimizer", "LBFGSOptimizer", "LazyAdamGSOptimizer", "LazyAdamOptimizer", "MomentumWOptimizer",
    "MovingAverageOptimizer", "MultitaskOptimizerWrapper", "NadamOptimizer", "PowerSignOptimizer",
    "RegAdagradOptimizer", "ScipyOptimizerInterface", "VariableClippingOptimizer", "clip_gradients_by_global_norm",
    "extend_with_decoupled_weight_decay",
]

from thalweg._src.compat.source_paths import attach as _attach

_attach(__name__)
