"""State of the Keras backend: the graph of symbolic tensors, its session, names, and the learning phase.

What belongs to a graph is kept by the graph, so that it goes with it.
"""

from __future__ import annotations

import collections
import threading
import weakref
from collections.abc import Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.default import (
    executing_eagerly_outside_functions,
    get_default_graph,
    outermost,
    reset_default_graph,
)
from thalweg._src.graph.default_stacks import stacks
from thalweg._src.graph.function_graph import FunctionGraph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops.constants import placeholder_with_default
from thalweg._src.graph.scopes import name_scope
from thalweg._src.runtime.session.session import Session
from thalweg._src.training.variables.assign import is_variable_initialized
from thalweg._src.training.variables.variables import Variable, variables_initializer

# What graphs keep for Keras.
_NAMES, _VARIABLES, _PHASE, _OPTIMIZERS = "keras names", "keras variables", "keras learning phase", "keras optimizers"
_STRATEGIES = "keras strategies"
_INITIALIZED = "keras variables that are initialized, by session"


class _State(threading.local):
    """The session of this thread, and the graph of symbolic tensors of eager execution."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self.symbolic: FunctionGraph | None = None
        self.manual = False


_state = _State()


# -- graphs and names -------------------------------------------------------------------------------------------------


@export("keras.backend.get_graph")
def get_graph() -> Graph:
    """Returns the graph of symbolic tensors: the default graph or, in eager execution, one of its own."""
    graph = get_default_graph()
    if not graph.executes:
        return graph
    if _state.symbolic is None or _state.symbolic.outer is not graph:
        _state.symbolic = FunctionGraph(graph)
        _state.symbolic.is_symbolic = True
    return _state.symbolic


def is_symbolic_graph(graph: Graph) -> bool:
    """Returns whether a graph is that of the symbolic tensors of eager execution."""
    return graph is _state.symbolic


def _home() -> Graph:
    """Returns the graph that keeps the state of the one that is being built: functions have none of their own."""
    return outermost(get_default_graph())


@export("keras.backend.get_uid")
def get_uid(prefix: str = "") -> int:
    """Returns how often a prefix was asked for, this time included."""
    counts = _home().singleton(_NAMES, collections.Counter)
    counts[prefix] += 1
    return int(counts[prefix])


@export("keras.backend.reset_uids")
def reset_uids() -> None:
    """Makes names start anew."""
    _home()._singletons.pop(_NAMES, None)


def unique_object_name(name: str) -> str:
    """Returns a name that no other object of the graph has: dense, dense_1, dense_2."""
    number = get_uid(name) - 1
    return f"{name}_{number}" if number else name


@export("keras.backend.clear_session")
def clear_session() -> None:
    """Forgets the graph, the session, the names and the learning phase."""
    if executing_eagerly_outside_functions():
        home = _home()
        for key in (_NAMES, _VARIABLES, _PHASE, _OPTIMIZERS):
            home._singletons.pop(key, None)
    else:
        reset_default_graph()
        reset_uids()
    if _state.session is not None:
        _state.session.close()
    _state.session = _state.symbolic = None


# -- sessions ---------------------------------------------------------------------------------------------------------


def track_strategy(strategy: Any) -> None:
    """Makes the session of Keras one in which a strategy can train."""
    if not executing_eagerly_outside_functions():
        _home().singleton(_STRATEGIES, list).append(strategy)


def track_variable(variable: Variable) -> None:
    """Makes the session of Keras initialize a variable before it runs a step."""
    if not executing_eagerly_outside_functions():
        _home().singleton(_VARIABLES, dict)[id(variable)] = variable


def track_optimizer(optimizer: Any) -> None:
    """Makes the session of Keras initialize the variables that an optimizer of tf.train will have created."""
    _home().singleton(_OPTIMIZERS, list).append(optimizer)


@export("keras.backend.get_session")
def get_session(op_input_list: Sequence[Any] = ()) -> Session:
    """Returns the default session or that of Keras, in which all variables of layers are initialized."""
    if executing_eagerly_outside_functions():
        raise RuntimeError("`get_session` is not available when eager execution is enabled.")
    session = _find_session()
    if not _state.manual:
        _initialize(session)
    return session


def _find_session() -> Session:
    if stacks.sessions:
        return stacks.sessions[-1]  # type: ignore[no-any-return]
    graph = get_default_graph()
    if _state.session is None or _state.session.graph is not graph:
        strategies = graph.singleton(_STRATEGIES, list)
        _state.session = strategies[-1].extended._new_session(graph) if strategies else Session(graph=graph)
    return _state.session


def _initialize(session: Session) -> None:
    """Initializes the variables of layers that have no value yet: some may have been restored."""
    graph = session.graph
    tracked: dict[int, Any] = graph.singleton(_VARIABLES, dict)
    for optimizer in graph.singleton(_OPTIMIZERS, list):
        tracked.update({id(variable): variable for variable in optimizer.variables()})
    done: dict[int, Any] = graph.singleton(_INITIALIZED, weakref.WeakKeyDictionary).setdefault(session, {})
    new = [variable for key, variable in tracked.items() if key not in done]
    if not new:
        return
    with graph.as_default(), graph.control_dependencies(None), name_scope(None):
        are_set = session.run([is_variable_initialized(variable) for variable in new])
        missing = [variable for variable, is_set in zip(new, are_set) if not is_set]
        if missing:
            session.run(variables_initializer(missing))
    done.update({id(variable): variable for variable in new})


@export("keras.backend.set_session")
def set_session(session: Session) -> None:
    """Makes Keras run its steps in a session."""
    _state.session = session


@export("keras.backend.manual_variable_initialization")
def manual_variable_initialization(value: bool) -> None:
    """Sets whether the program itself initializes variables.

    Args:
        value: Whether the program initializes variables.
    """
    _state.manual = value


# -- the learning phase -----------------------------------------------------------------------------------------------


@export("keras.backend.learning_phase")
def learning_phase() -> Any:
    """Returns whether layers are in training: a boolean that a step may feed, or 0 or 1 if it was set."""
    home = _home()
    fixed: dict[str, Any] = home.singleton(_PHASE, dict)
    if "value" in fixed:
        return fixed["value"]
    if home.executes:
        return 0
    if "tensor" not in fixed:
        with home.as_default(), home.control_dependencies(None), name_scope(None):
            fixed["tensor"] = placeholder_with_default(False, [], name="keras_learning_phase")
    return fixed["tensor"]


@export("keras.backend.set_learning_phase")
def set_learning_phase(value: int | bool) -> None:
    """Sets whether layers are in training, 0 or 1, for the rest of the program.

    Args:
        value: 1 for training, 0 otherwise.
    """
    if value not in (0, 1):
        raise ValueError(f"Expected learning phase to be 0 or 1, received {value!r}")
    _home().singleton(_PHASE, dict)["value"] = int(value)


def symbolic_phase() -> Any:
    """Returns the placeholder that feeds the learning phase; None if nothing in the graph depends on it."""
    return _home().singleton(_PHASE, dict).get("tensor")
