"""Replica group ops: the rounds of synchronous training."""

from __future__ import annotations

from thalweg._src.graph import attr
from thalweg._src.graph.ops.declarations import stateful_op
from thalweg._src.graph.ops.shape_functions import no_outputs, scalar

replica_group_op = stateful_op(
    "_ReplicaGroup",
    "-> handle: resource",
    "Creates a replica group and returns its handle.",
    container="",
    shared_name="",
    num_required=attr.AttrDef("int"),
    per_replica=1,
    num_backups=-1,
    infer=scalar,
)
replica_group_start_op = stateful_op(
    "_ReplicaGroupStart",
    "handle: resource, global_step: int64 -> round: int64",
    "Makes the caller the chief of a group, and returns the number of the first round, which is not open yet.",
    infer=scalar,
)
replica_group_open_op = stateful_op(
    "_ReplicaGroupOpen",
    "handle: resource, round: int64 ->",
    "Begins a round: replicas that wait go on.",
    infer=no_outputs,
)
replica_group_take_op = stateful_op(
    "_ReplicaGroupTake",
    "handle: resource -> round: int64",
    "Blocks until enough replicas have arrived, and returns the number of the round.",
    waits=True,
    infer=scalar,
)
replica_group_pause_op = stateful_op(
    "_ReplicaGroupPause",
    "handle: resource ->",
    "Blocks until no gradients are being applied, and keeps the chief from applying others.",
    waits=True,
    infer=no_outputs,
)
replica_group_resume_op = stateful_op(
    "_ReplicaGroupResume", "handle: resource ->", "Lets the chief apply gradients again.", infer=no_outputs
)
replica_group_interrupted_op = stateful_op(
    "_ReplicaGroupInterrupted",
    "handle: resource -> interrupted: bool",
    "Returns whether the chief was lost while it applied the gradients of a round, and none has started since.",
    infer=scalar,
)
replica_group_cancel_op = stateful_op(
    "_ReplicaGroupCancel", "handle: resource ->", "Cancels the wait of the chief.", infer=no_outputs
)
replica_group_stop_op = stateful_op(
    "_ReplicaGroupStop", "handle: resource ->", "Ends the rounds for all replicas.", infer=no_outputs
)
replica_group_round_op = stateful_op(
    "_ReplicaGroupRound",
    "handle: resource, global_step: int64 -> round: int64",
    "Returns the current round; the global step if the group has not started.",
    infer=scalar,
)
replica_group_arrive_op = stateful_op(
    "_ReplicaGroupArrive",
    "handle: resource, local_step: int64 -> round: int64",
    "Tells that a replica has delivered its gradients, and blocks until it takes part in another round.",
    replica=attr.AttrDef("int"),
    waits=True,
    infer=scalar,
)
replica_group_join_op = stateful_op(
    "_ReplicaGroupJoin",
    "handle: resource ->",
    "Makes a replica a member of an elastic group; blocks until training ends.",
    replica=attr.AttrDef("int"),
    waits=True,
    infer=no_outputs,
)
