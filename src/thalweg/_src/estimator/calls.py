"""Calls of a user's functions: which parameters they take, and what an input function may return."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from thalweg._src.base import logging
from thalweg._src.estimator.run_config import RunConfig
from thalweg._src.estimator.spec import EstimatorSpec
from thalweg._src.training.data.dataset import Dataset
from thalweg._src.training.data.iterator import make_initializable_iterator
from thalweg._src.training.input.coordinator import Coordinator
from thalweg._src.training.nn.rnn.sizes import NestedTensors
from thalweg._src.training.session_run_hook import SessionRunHook
from thalweg._src.training.variables.sessions import SessionLike

_MODEL_PARAMETERS = {"features", "labels", "mode", "params", "config", "self"}


class IteratorInitializerHook(SessionRunHook):
    """Starts iterators of datasets in every new session."""

    def __init__(self, *iterators: Any) -> None:
        self._iterators = iterators

    def begin(self) -> None:
        self._initializers = [iterator.initializer for iterator in self._iterators]

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        session.run(self._initializers)


def parameter_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """Returns the names of the parameters that a call of a function can still give."""
    taken = set(function.keywords) if isinstance(function, partial) else set()
    kinds = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    parameters = inspect.signature(function).parameters.values()
    return tuple(p.name for p in parameters if p.kind not in kinds and p.name not in taken)


def accepted(function: Callable[..., Any], **arguments: Any) -> dict[str, Any]:
    """Returns those of some arguments that a function takes."""
    names = parameter_names(function)
    return {name: value for name, value in arguments.items() if name in names}


def check_model_fn(model_fn: object, params: Mapping[str, Any] | None) -> None:
    """Raises unless a model function takes features, and of other parameters those alone that it is called with."""
    if not callable(model_fn):
        raise ValueError(f"model_fn must be a function, given: {model_fn!r}")
    names = set(parameter_names(model_fn))
    if "features" not in names:
        raise ValueError(f"model_fn ({model_fn}) must include features argument.")
    if params is not None and "params" not in names:
        raise ValueError(f"model_fn ({model_fn}) does not include params argument, but params ({params}) is passed.")
    if params is None and "params" in names:
        logging.warning("model_fn (%s) has a parameter params, but the Estimator was created without any", model_fn)
    unknown = sorted(names - _MODEL_PARAMETERS)
    if unknown:
        raise ValueError(f"model_fn ({model_fn}) has following not expected args: {unknown}")


def call_model_fn(
    model_fn: Callable[..., Any],
    features: NestedTensors,
    labels: NestedTensors,
    mode: str,
    params: Mapping[str, Any] | None,
    config: RunConfig,
    kinds: tuple[type, ...] = (EstimatorSpec,),
) -> Any:
    """Returns what a model function returns for features and labels, which must be a spec of one of the kinds."""
    if "labels" not in parameter_names(model_fn) and labels is not None:
        raise ValueError("model_fn does not take labels, but input_fn returns labels.")
    logging.info("Calling model_fn.")
    options = accepted(model_fn, labels=labels, mode=mode, params=params, config=config)
    spec = model_fn(features=features, **options)
    logging.info("Done calling model_fn.")
    if not isinstance(spec, kinds):
        raise ValueError(f"model_fn should return an {kinds[-1].__name__}, received {spec!r}")
    return spec


def call_input_fn(
    input_fn: Callable[..., Any], mode: str, params: Mapping[str, Any] | None, config: RunConfig, **more: Any
) -> Any:
    """Returns what an input function returns; it is called with those arguments that it takes."""
    return input_fn(**accepted(input_fn, mode=mode, params=params, config=config, **more))


def features_and_labels(result: object) -> tuple[Any, Any, list[SessionRunHook]]:
    """Returns features, labels (None without any) and hooks, for a dataset or what a dataset has as elements."""
    hooks: list[SessionRunHook] = []
    if isinstance(result, Dataset):
        iterator = make_initializable_iterator(result)
        hooks.append(IteratorInitializerHook(iterator))
        result = iterator.get_next()
    return *pair(result), hooks


def pair(result: object) -> tuple[Any, Any]:
    """Returns features and labels of an element; labels are None if it has none."""
    if isinstance(result, list | tuple):
        if len(result) != 2:
            raise ValueError(f"input_fn should return (features, labels) as a len 2 tuple, received {len(result)}")
        return result[0], result[1]
    return result, None


def check_hooks(hooks: Sequence[SessionRunHook] | None) -> list[SessionRunHook]:
    """Returns hooks as a new list; raises TypeError if one of them is not a hook."""
    for hook in hooks or ():
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"Hooks must be a SessionRunHook, given: {hook!r}")
    return list(hooks or ())
