"""tf.contrib.opt: more optimizers; L-BFGS, LAMB and accumulation, which TensorFlow does not have, are here too."""

from thalweg._src.contrib.opt.accumulation import AccumulatingOptimizer
from thalweg._src.contrib.opt.adam_variants import AdaMaxOptimizer, LazyAdamOptimizer, NadamOptimizer
from thalweg._src.contrib.opt.decoupled import (
    AdamWOptimizer,
    DecoupledWeightDecayExtension,
    LAMBOptimizer,
    LARSOptimizer,
    MomentumWOptimizer,
    extend_with_decoupled_weight_decay,
)
from thalweg._src.contrib.opt.external import ExternalOptimizerInterface, ScipyOptimizerInterface
from thalweg._src.contrib.opt.lbfgs import LBFGSOptimizer
from thalweg._src.contrib.opt.sign import AddSignOptimizer, PowerSignOptimizer
from thalweg._src.contrib.opt.step import AdamGSOptimizer, LazyAdamGSOptimizer, RegAdagradOptimizer
from thalweg._src.contrib.opt.wrapping import (
    DropStaleGradientOptimizer,
    MovingAverageOptimizer,
    MultitaskOptimizerWrapper,
    VariableClippingOptimizer,
    clip_gradients_by_global_norm,
)

__all__ = [
    "AccumulatingOptimizer",
    "AdaMaxOptimizer",
    "AdamGSOptimizer",
    "AdamWOptimizer",
    "AddSignOptimizer",
    "DecoupledWeightDecayExtension",
    "DropStaleGradientOptimizer",
    "ExternalOptimizerInterface",
    "LAMBOptimizer",
    "LARSOptimizer",
    "LBFGSOptimizer",
    "LazyAdamGSOptimizer",
    "LazyAdamOptimizer",
    "MomentumWOptimizer",
    "MovingAverageOptimizer",
    "MultitaskOptimizerWrapper",
    "NadamOptimizer",
    "PowerSignOptimizer",
    "RegAdagradOptimizer",
    "ScipyOptimizerInterface",
    "VariableClippingOptimizer",
    "clip_gradients_by_global_norm",
    "extend_with_decoupled_weight_decay",
]
