"""Kernels of update records: of each replica, who may update as it, and the number of the last update."""

from __future__ import annotations

import time
from typing import Any

import torch

from thalweg._src.base import errors
from thalweg._src.base.errors import invalid
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import STEP, Call, Input, kernel
from thalweg._src.runtime.kernels.state import variable_of
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.resources.transactions import Transaction
from thalweg._src.runtime.resources.variables import VariableResource


def _record_of(node: Node, device: Device) -> Any:
    variable = variable_of(node, device)
    return Input(0) if variable is None else variable


@kernel("_ClaimUpdates", devices=("CPU",))
def bind_claim(node: Node, device: Device) -> Call:
    return Call(_claim, (_record_of(node, device), Input(1)))


@kernel("_RecordUpdate", devices=("CPU",))
def bind_record(node: Node, device: Device) -> Call:
    return Call(_record, (STEP, _record_of(node, device), Input(1), Input(2)))


def _claim(record: VariableResource, replica: torch.Tensor) -> torch.Tensor:
    """A claim is a time, so that it is newer than one that was lost with the state since the last checkpoint."""

    def change(buffer: torch.Tensor) -> torch.Tensor:
        row = _row(buffer, record, int(replica))
        row[0] = max(time.time_ns(), int(row[0]) + 1)
        return row.clone()

    identity: torch.Tensor = record.update(change)
    return identity


def _record(step: Step, record: VariableResource, replica: torch.Tensor, identity: torch.Tensor) -> torch.Tensor:
    claim, number = identity.tolist()
    if not claim:
        return torch.tensor(True)

    def change(buffer: torch.Tensor) -> bool:
        row = _row(buffer, record, int(replica))
        claimed, last = row.tolist()
        if claim < claimed:
            raise errors.FailedPreconditionError(
                None,
                None,
                errors.describe(
                    f"another process updates as replica {int(replica)}",
                    expected=f"the claim {claimed}",
                    received=f"{claim}, which was made before",
                    hint="each process needs a replica number of its own; one that was replaced cannot go on",
                ),
            )
        if number <= last:
            return False
        row[0], row[1] = claim, number
        return True

    is_new: bool = record.update(change)
    if not is_new:
        if not isinstance(step.transaction, Transaction):
            raise invalid(f"the updates recorded in {record.name!r} are not a transaction")
        step.transaction.repeat()
    return torch.tensor(is_new)


def _row(buffer: torch.Tensor, record: VariableResource, replica: int) -> torch.Tensor:
    if not 0 <= replica < len(buffer):
        raise invalid(
            errors.describe(
                f"the record {record.name!r} has no row for replica {replica}",
                expected=f"a number from 0 to {len(buffer) - 1}",
                hint="give the optimizer a larger max_replicas",
            )
        )
    return buffer[replica]
