"""Stacked bidirectional RNNs: each layer takes the outputs of both directions of the previous one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.rnn.cells import RNNCell
from thalweg._src.training.nn.rnn.dynamic import bidirectional_dynamic_rnn
from thalweg._src.training.nn.rnn.static import static_bidirectional_rnn
from thalweg._src.training.variables.variable_scope import VariableScope, variable_scope


def _require_layers(cells_fw: Any, cells_bw: Any, states_fw: object, states_bw: object) -> None:
    for name, cells in (("cells_fw", cells_fw), ("cells_bw", cells_bw)):
        if not isinstance(cells, list) or not cells:
            raise ValueError(f"{name}: expected a list with a cell or more, received {cells!r}")
    if len(cells_fw) != len(cells_bw):
        raise ValueError(f"expected as many cells forward as backward, received {len(cells_fw)} and {len(cells_bw)}")
    for name, states in (("initial_states_fw", states_fw), ("initial_states_bw", states_bw)):
        if states is not None and (not isinstance(states, list) or len(states) != len(cells_fw)):
            raise ValueError(f"{name} must be a list of one state for each cell")


@export("contrib.rnn.stack_bidirectional_dynamic_rnn")
def stack_bidirectional_dynamic_rnn(
    cells_fw: Sequence[RNNCell],
    cells_bw: Sequence[RNNCell],
    inputs: object,
    initial_states_fw: Any = None,
    initial_states_bw: Any = None,
    dtype: DTypeLike | None = None,
    sequence_length: TensorLike | None = None,
    parallel_iterations: int | None = None,
    time_major: bool = False,
    scope: str | VariableScope | None = None,
    swap_memory: bool = False,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Stacks bidirectional RNN layers; returns the last outputs, and the final states of each direction.

    Args:
        inputs: The inputs [batch, time, ...].
        dtype: Type of the initial states if none are given.
    """
    _require_layers(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    states_fw, states_bw = [], []
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for number, (cell_fw, cell_bw) in enumerate(zip(cells_fw, cells_bw)):
            with variable_scope(f"cell_{number}"):
                outputs, (state_fw, state_bw) = bidirectional_dynamic_rnn(
                    cell_fw,
                    cell_bw,
                    inputs,
                    sequence_length,
                    initial_states_fw[number] if initial_states_fw else None,
                    initial_states_bw[number] if initial_states_bw else None,
                    dtype,
                    parallel_iterations,
                    swap_memory,
                    time_major,
                )
                inputs = concat(list(outputs), 2)
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return inputs, tuple(states_fw), tuple(states_bw)


@export("contrib.rnn.stack_bidirectional_rnn")
def stack_bidirectional_rnn(
    cells_fw: Sequence[RNNCell],
    cells_bw: Sequence[RNNCell],
    inputs: object,
    initial_states_fw: Any = None,
    initial_states_bw: Any = None,
    dtype: DTypeLike | None = None,
    sequence_length: TensorLike | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Stacks bidirectional RNN layers over a list of inputs, unrolled in the graph.

    Args:
        inputs: List of inputs [batch, size], one for each step.
        dtype: Type of the initial states if none are given.
    """
    _require_layers(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    states_fw, states_bw = [], []
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for number, (cell_fw, cell_bw) in enumerate(zip(cells_fw, cells_bw)):
            with variable_scope(f"cell_{number}") as cell_scope:
                inputs, state_fw, state_bw = static_bidirectional_rnn(
                    cell_fw,
                    cell_bw,
                    inputs,
                    initial_states_fw[number] if initial_states_fw else None,
                    initial_states_bw[number] if initial_states_bw else None,
                    dtype,
                    sequence_length,
                    cell_scope,
                )
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return inputs, tuple(states_fw), tuple(states_bw)
