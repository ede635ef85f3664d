"""tf.contrib.opt: more optimizers; L-BFGS, LAMB and accumulation, which TensorFlow does not have, are here too."""

from thalweg.client.accumulation import AccumulatingOptimizer
from thalweg.client.adam_variants import AdaMaxOptimizer, LazyAdamOptimizer, NadamOptimizer
from thalweg.client.decoupled_optimizers import (
    AdamWOptimizer,
    DecoupledWeightDecayExtension,
    LAMBOptimizer,
    LARSOptimizer,
    MomentumWOptimizer,
    extend_with_decoupled_weight_decay,
)
from thalweg.client.external_optimizers import ExternalOptimizerInterface, ScipyOptimizerInterface
from thalweg.client.lbfgs import LBFGSOptimizer
from thalweg.client.sign_optimizers import AddSignOptimizer, PowerSignOptimizer

__all__ = [
    "AccumulatingOptimizer",
    "AdaMaxOptimizer",
    "AdamWOptimizer",
    "AddSignOptimizer",
    "DecoupledWeightDecayExtension",
    "ExternalOptimizerInterface",
    "LAMBOptimizer",
    "LARSOptimizer",
    "LBFGSOptimizer",
    "LazyAdamOptimizer",
    "MomentumWOptimizer",
    "NadamOptimizer",
    "PowerSignOptimizer",
    "ScipyOptimizerInterface",
    "extend_with_decoupled_weight_decay",
]
