"""Transaction ops, which make the updates of a step whole; the consistency pass inserts them."""

from __future__ import annotations

from thalweg._src.graph.attr import AttrDef
from thalweg._src.graph.ops.declarations import stateful_op
from thalweg._src.graph.ops.shape_functions import no_outputs, scalar

begin_transaction_op = stateful_op(
    "_BeginTransaction",
    "mutex: resource -> transaction: variant",
    "Locks the consistent variables of a task, and remembers their values.",
    variables=AttrDef("list(string)"),
    coordinator="",
    waits=True,
    compiler=True,
    infer=scalar,
)
prepare_transaction_op = stateful_op(
    "_PrepareTransaction",
    "transaction: variant -> is_new: bool",
    "Promises to keep the changes of a task if the coordinator commits.",
    compiler=True,
    infer=scalar,
)
commit_transaction_op = stateful_op(
    "_CommitTransaction",
    "transaction: variant, are_new: N*bool -> is_committed: bool",
    "Decides at the coordinator that the changes of all tasks are kept, unless the update was committed before.",
    N=AttrDef("int", minimum=0),
    participants=AttrDef("list(string)"),
    compiler=True,
    infer=scalar,
)
end_transaction_op = stateful_op(
    "_EndTransaction",
    "transaction: variant, is_committed: bool ->",
    "Keeps or undoes the changes of a task, as the coordinator decided.",
    compiler=True,
    infer=no_outputs,
)
release_transaction_op = stateful_op(
    "_ReleaseTransaction",
    "transaction: variant ->",
    "Unlocks the consistent variables of a task.",
    compiler=True,
    infer=no_outputs,
)
