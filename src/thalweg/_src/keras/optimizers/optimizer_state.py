"""The variables of an optimizer of Keras: hyperparameters, the number of steps, and the slots of what it updates.

Hyperparameters are variables, which a program may set between steps, so that a step that was built once, in a graph or
as a function, takes their new values. They are created when the first step is built.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType, DTypeLike
from thalweg._src.base.shapes import ShapeLike, TensorShape
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.scopes import init_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.keras import initializers
from thalweg._src.keras.backend import state
from thalweg._src.keras.backend.values import batch_get_value, batch_set_value, get_value, set_value
from thalweg._src.keras.optimizers import schedules
from thalweg._src.keras.optimizers.schedules import LearningRateSchedule
from thalweg._src.keras.serialization import Identifier
from thalweg._src.training.optimizers.optimizer import _var_key
from thalweg._src.training.variables.replication import VariableAggregation, VariableSynchronization
from thalweg._src.training.variables.restoration import child_added
from thalweg._src.training.variables.slots import beside
from thalweg._src.training.variables.variables import Variable

_OPTIONS = ("clipnorm", "clipvalue", "decay", "lr")
_RATE = "learning_rate"


class OptimizerState:
    """What an optimizer keeps between steps; a hyperparameter is an attribute, and its value can be set as one."""

    _may_lack_iterations: ClassVar[bool] = False  # whether old files of weights have no number of steps

    def __init__(self, name: str, **kwargs: Any) -> None:
        for key, value in kwargs.items():
            if key not in _OPTIONS:
                raise TypeError(
                    f"Unexpected keyword argument passed to optimizer: {key}; expected one of {', '.join(_OPTIONS)}"
                )
            if isinstance(value, int | float) and value < 0:
                raise ValueError(f"Expected {key} >= 0, received: {value}")
        self._hyper: dict[str, Any] = {}
        self._hypers_created = False
        self._name = name
        self._initial_decay = kwargs.get("decay", 0.0)
        self._slots: dict[str, dict[Any, Any]] = {}  # by slot name and variable
        self._named: dict[str, Any] = {}  # the variables of the optimizer itself
        self._weights: list[Any] = []
        self._iterations: Any = None
        for key in ("clipnorm", "clipvalue"):
            if kwargs.get(key) is not None:
                setattr(self, key, kwargs[key])

    # -- hyperparameters ----------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        key = _RATE if name == "lr" else name
        if key in self.__dict__.get("_hyper", ()):
            return self._get_hyper(key)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: object) -> None:
        key = _RATE if name == "lr" else name
        if key in self.__dict__.get("_hyper", ()):
            self._set_hyper(key, value)
        else:
            super().__setattr__(key, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._hyper, *(["lr"] if _RATE in self._hyper else [])})

    def _set_hyper(self, name: str, value: Any) -> None:
        """Sets a hyperparameter: a number, a tensor, a variable, a schedule, or a function that returns its value."""
        current = self._hyper.get(name)
        if isinstance(current, Variable) and not callable(value):
            set_value(current, value)
        else:
            self._hyper[name] = value
            self._hypers_created = False

    def _get_hyper(self, name: str, dtype: DType | None = None) -> Any:
        """Returns a hyperparameter: its variable or, as a tensor of a type, its value; a schedule stays one."""
        if not self._hypers_created:
            self._create_hypers()
        value = self._hyper[name]
        if isinstance(value, LearningRateSchedule):
            return value
        if callable(value):
            value = value()
        return value if dtype is None else cast(convert_to_tensor(value), dtype)

    def _create_hypers(self) -> None:
        """Creates the variables of the hyperparameters that are numbers."""
        if self._hypers_created:
            return
        for name, value in sorted(self._hyper.items()):
            if not isinstance(value, Tensor | Variable) and not callable(value):
                self._hyper[name] = self.add_weight(
                    name, [], initializer=value, aggregation=VariableAggregation.ONLY_FIRST_REPLICA
                )
        self._hypers_created = True

    def _serialize_hyperparameter(self, hyperparameter_name: str) -> Any:
        """Returns a hyperparameter as a part of a configuration."""
        value = self._hyper[hyperparameter_name]
        if isinstance(value, LearningRateSchedule):
            return schedules.serialize(value)
        return get_value(value() if callable(value) else value)

    def _decayed_lr(self, var_dtype: DType) -> Any:
        """Returns the learning rate of the current step."""
        rate = self._get_hyper(_RATE, var_dtype)
        if isinstance(rate, LearningRateSchedule):
            rate = cast(rate(cast(self.iterations, var_dtype)), var_dtype)
        if self._initial_decay > 0.0:
            steps: Any = cast(self.iterations, var_dtype)
            rate = rate / (1.0 + self._get_hyper("decay", var_dtype) * steps)
        return rate

    # -- variables ----------------------------------------------------------------------------------------------------

    @property
    def iterations(self) -> Any:
        """The variable that counts the steps."""
        if self._iterations is None:
            self._iterations = self.add_weight(
                "iter", [], dtypes.int64, trainable=False, aggregation=VariableAggregation.ONLY_FIRST_REPLICA
            )
            self._weights.append(self._iterations)
        return self._iterations

    @iterations.setter
    def iterations(self, variable: Variable) -> None:
        if self._iterations is not None:
            raise RuntimeError(
                "Cannot set `iterations` to a new Variable after the Optimizer weights have been created"
            )
        self._iterations = self._named["iter"] = variable
        self._weights.append(variable)

    def add_weight(
        self,
        name: str,
        shape: ShapeLike,
        dtype: DTypeLike | None = None,
        initializer: Identifier = "zeros",
        trainable: bool | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
    ) -> Any:
        """Returns a new variable of the optimizer itself, which checkpoints have under its name."""
        if synchronization is VariableSynchronization.ON_READ and trainable:
            raise ValueError("a variable with synchronization=ON_READ cannot be trainable")
        kind = dtypes.as_dtype(dtype or dtypes.float32)
        self._named[name] = self._new_variable(
            _initial(initializer, shape, kind),
            name,
            kind,
            trainable=bool(trainable),
            synchronization=synchronization,
            aggregation=aggregation,
        )
        child_added()
        return self._named[name]

    def add_slot(self, var: Variable, slot_name: str, initializer: Identifier = "zeros") -> Any:
        """Returns the variable under a name that accompanies another one; it is created on first use."""
        slots, key = self._slots.setdefault(slot_name, {}), _var_key(var)
        if key not in slots:
            kind = var.dtype.base_dtype
            with init_scope(), beside(var):
                initial = _initial(initializer, var.shape, kind)
                slots[key] = self._new_variable(initial, f"{_name_of(var)}/{slot_name}", kind, trainable=False)
            self._weights.append(slots[key])
            child_added()
        return slots[key]

    def _new_variable(self, initial_value: Any, name: str, dtype: DTypeLike, **options: Any) -> Any:
        with init_scope():
            variable = Variable(initial_value, name=name, dtype=dtype, use_resource=True, **options)
            state.track_variable(variable)
        return variable

    def get_slot(self, var: Variable, slot_name: str) -> Any:
        """Returns the variable under a name that accompanies another one."""
        return self._slots[slot_name][_var_key(var)]

    def get_slot_names(self) -> list[str]:
        """Returns the names of the slots."""
        return list(self._slots)

    def _handles(self, var: Variable, *slots: str) -> list[Any]:
        """Returns the handles of a variable and of its slots."""
        return [var._handle, *(self.get_slot(var, name)._handle for name in slots)]

    def _handles_together(self, variables: Sequence[Any], *slots: str) -> list[list[Any]]:
        """Returns the handles of several variables, and for each slot those of their slots."""
        keys = [_var_key(variable) for variable in variables]
        return [[v._handle for v in variables], *([self._slots[name][key]._handle for key in keys] for name in slots)]

    def variables(self) -> list[Any]:
        """Returns the number of steps and the slots, in the order of their creation."""
        return self._weights

    @property
    def weights(self) -> list[Any]:
        """The number of steps and the slots, in the order of their creation."""
        return self._weights

    def get_weights(self) -> list[Any]:
        """Returns the values of `weights` as NumPy arrays."""
        return batch_get_value(self.weights)

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Sets the values of `weights`, in the order of `get_weights`."""
        variables, values = self.weights, self._upgraded(list(weights))
        if len(variables) != len(values):
            raise ValueError(
                f"You called `set_weights(weights)` on optimizer {self._name} with a weight list of length "
                f"{len(values)}, but the optimizer was expecting {len(variables)} weights: {str(weights)[:50]}..."
            )
        for variable, value in zip(variables, values):
            if tuple(np.shape(value)) != tuple(variable.shape.as_list()):
                raise ValueError(
                    f"Optimizer weight shape {variable.shape} not compatible with provided weight shape "
                    f"{np.shape(value)}"
                )
        batch_set_value(list(zip(variables, values)))

    def _upgraded(self, weights: list[Any]) -> list[Any]:
        """Returns weights that an older Keras may have written, in today's order."""
        lacks = self._may_lack_iterations and len(weights) + 1 == len(self.weights)
        return [np.array(0), *weights] if lacks else weights

    # -- configurations -----------------------------------------------------------------------------------------------

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, from which `from_config` makes such an optimizer."""
        options = {key: getattr(self, key) for key in ("clipnorm", "clipvalue") if hasattr(self, key)}
        return {"name": self._name, **options}

    def _config_with(self, *hyperparameters: str, **attributes: Any) -> dict[str, Any]:
        """Returns the configuration that all optimizers have, with some hyperparameters and other arguments."""
        values = {name: self._serialize_hyperparameter(name) for name in (_RATE, "decay", *hyperparameters)}
        return {**OptimizerState.get_config(self), **values, **attributes}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
        """Returns an optimizer made from the result of `get_config`."""
        config = dict(config)
        if "lr" in config:
            config[_RATE] = config.pop("lr")
        if isinstance(config.get(_RATE), dict):
            config[_RATE] = schedules.deserialize(config[_RATE], custom_objects)
        return cls(**config)


def _initial(initializer: Identifier, shape: ShapeLike, dtype: DType) -> Any:
    """Returns the initial value of a variable, or the function that returns it."""
    if isinstance(initializer, str) or callable(initializer):
        return functools.partial(initializers.get(initializer), TensorShape(shape).as_list(), dtype=dtype)
    return initializer


def _name_of(var: Variable) -> str:
    """Returns the name of a variable; of a distributed one, that of its first copy."""
    return getattr(var, "primary", var)._shared_name
