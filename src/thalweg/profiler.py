"""tf.profiler: Parameters, floating-point operations, time and memory of a graph's operations."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.training.observe.profile_options import ProfileOptionBuilder as ProfileOptionBuilder
from thalweg._src.training.observe.profiler import (
    GraphNodeProto as GraphNodeProto,
    MultiGraphNodeProto as MultiGraphNodeProto,
    Profiler as Profiler,
    profile as profile,
)

__all__ = ["GraphNodeProto", "MultiGraphNodeProto", "ProfileOptionBuilder", "Profiler", "profile"]
