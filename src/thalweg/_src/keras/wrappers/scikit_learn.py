"""Models as estimators of scikit-learn: KerasClassifier and KerasRegressor."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from thalweg._src.base.errors import wrong_kind
from thalweg._src.base.export import export
from thalweg._src.keras.engine.sequential import Sequential
from thalweg._src.keras.losses import functions
from thalweg._src.keras.losses.losses import CategoricalCrossentropy
from thalweg._src.keras.utils.arrays import to_categorical


class BaseWrapper:
    """A function that returns a compiled model, with arguments of it and of `fit`, `predict` and `evaluate`.

    `build_fn` may be an object with `__call__`, or None for a subclass that defines `__call__`.
    """

    _kind: str

    def __init__(self, build_fn: Callable[..., Any] | None = None, **sk_params: Any) -> None:
        if not callable(self if build_fn is None else build_fn):
            raise wrong_kind("build_fn", "a function that returns a model", build_fn)
        self.build_fn = build_fn
        self.sk_params = sk_params
        self.check_params(sk_params)

    @property
    def _builder(self) -> Any:
        built: Any = self if self.build_fn is None else self.build_fn
        return built if inspect.isroutine(built) else built.__call__

    def check_params(self, params: dict[str, Any]) -> None:
        """Raises ValueError if a name is an argument neither of the model's function nor of its methods."""
        functions = (Sequential.fit, Sequential.predict, Sequential.predict_classes, Sequential.evaluate, self._builder)
        legal = {"nb_epoch", "build_fn", *(name for function in functions for name in _parameters(function))}
        takes_any = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(self._builder).parameters.values())
        for name in params:
            if name not in legal and not takes_any:
                raise ValueError(f"{name} is not a legal parameter: expected one of build_fn, fit, predict or evaluate")

    def get_params(self, **params: Any) -> dict[str, Any]:
        """Returns all parameters, of which scikit-learn makes an equal estimator."""
        return {**self.sk_params, "build_fn": self.build_fn}

    def set_params(self, **params: Any) -> BaseWrapper:
        """Sets parameters, and returns this estimator."""
        self.check_params(params)
        self.build_fn = params.pop("build_fn", self.build_fn)
        self.sk_params.update(params)
        return self

    def filter_sk_params(self, fn: Callable[..., Any], override: dict[str, Any] | None = None) -> dict[str, Any]:
        """Returns those of the parameters that a function has, and others in addition."""
        names = _parameters(fn)
        return {**{name: value for name, value in self.sk_params.items() if name in names}, **(override or {})}

    def fit(self, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], **kwargs: Any) -> Any:
        """Makes a new model and trains it; returns the history of its loss and metrics."""
        self.model = self._builder(**self.filter_sk_params(self._builder))
        return self.model.fit(x, self._targets(np.asarray(y)), **self.filter_sk_params(Sequential.fit, kwargs))

    def _targets(self, y: np.ndarray[Any, Any]) -> Any:
        """Returns targets as the loss of the model takes them."""
        loss = self.model.loss
        by_row = loss == "categorical_crossentropy" or loss is functions.categorical_crossentropy
        if (by_row or isinstance(loss, CategoricalCrossentropy)) and y.ndim != 2:
            return to_categorical(y)
        return y

    def __sklearn_tags__(self) -> Any:
        """Returns what scikit-learn asks of an estimator."""
        from sklearn import utils

        return utils.Tags(
            estimator_type=self._kind,
            target_tags=utils.TargetTags(required=True),
            classifier_tags=utils.ClassifierTags() if self._kind == "classifier" else None,
            regressor_tags=utils.RegressorTags() if self._kind == "regressor" else None,
        )


def _parameters(function: Callable[..., Any]) -> list[str]:
    """Returns the names of the parameters of a function, without those that stand for any."""
    fixed = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(function).parameters.items()
    return [name for name, parameter in parameters if parameter.kind in fixed and name != "self"]


@export("keras.wrappers.scikit_learn.KerasClassifier")
class KerasClassifier(BaseWrapper):
    """A model as a classifier of scikit-learn."""

    _kind = "classifier"

    def fit(self, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], **kwargs: Any) -> Any:
        """Makes a new model and trains it on classes: a list of them, or rows of zeros and a one."""
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] > 1:
            self.classes_ = np.arange(y.shape[1])
        elif y.ndim == 1 or (y.ndim == 2 and y.shape[1] == 1):
            self.classes_ = np.unique(y)
            y = np.searchsorted(self.classes_, y)
        else:
            raise ValueError(f"Invalid shape for y: expected a list of classes or a row for each, received {y.shape}")
        self.n_classes_ = len(self.classes_)
        return super().fit(x, y, **kwargs)

    def predict(self, x: np.ndarray[Any, Any], **kwargs: Any) -> Any:
        """Returns the most probable class of each example, in a column if the model has one output."""
        outputs = self.model.predict(x, **self.filter_sk_params(Sequential.predict_classes, kwargs))
        return self.classes_[outputs.argmax(axis=-1) if outputs.shape[-1] > 1 else (outputs > 0.5).astype(int)]

    def predict_proba(self, x: np.ndarray[Any, Any], **kwargs: Any) -> Any:
        """Returns the probabilities of the classes."""
        probabilities = self.model.predict(x, **self.filter_sk_params(Sequential.predict, kwargs))
        return np.hstack([1 - probabilities, probabilities]) if probabilities.shape[1] == 1 else probabilities

    def score(self, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], **kwargs: Any) -> float:
        """Returns the accuracy; the model must have been compiled with it."""
        y = np.asarray(y)
        y = y if y.ndim == 2 and y.shape[1] > 1 else np.searchsorted(self.classes_, y)
        options = self.filter_sk_params(Sequential.evaluate, kwargs)
        outputs = np.atleast_1d(self.model.evaluate(x, self._targets(y), **options))
        for name, output in zip(self.model.metrics_names, outputs):
            if name in ("accuracy", "acc"):
                return float(output)
        raise ValueError(
            'The model is not configured to compute accuracy. You should pass `metrics=["accuracy"]` to '
            "`model.compile()`."
        )


@export("keras.wrappers.scikit_learn.KerasRegressor")
class KerasRegressor(BaseWrapper):
    """A model as a regressor of scikit-learn."""

    _kind = "regressor"

    def predict(self, x: np.ndarray[Any, Any], **kwargs: Any) -> Any:
        """Returns the predictions, without dimensions of one."""
        return np.squeeze(self.model.predict(x, **self.filter_sk_params(Sequential.predict, kwargs)))

    def score(self, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], **kwargs: Any) -> float:
        """Returns minus the loss, since a higher score is a better one."""
        values = self.model.evaluate(x, y, **self.filter_sk_params(Sequential.evaluate, kwargs))
        return -float(np.atleast_1d(values)[0])
