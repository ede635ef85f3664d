"""WrappingOptimizer: base class of optimizers that change how another one is applied."""

from __future__ import annotations

from typing import Any

from thalweg._src.training.optimizers.optimizer import Optimizer


class WrappingOptimizer(Optimizer):
    """The base class of wrappers, which delegate gradients and slots to another optimizer."""

    def __init__(self, opt: Optimizer, name: str) -> None:
        if not isinstance(opt, Optimizer):
            raise TypeError(f"opt must be an Optimizer, not {opt!r}")
        super().__init__(opt._use_locking, name)
        self._opt = opt

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        return self._opt.compute_gradients(*args, **kwargs)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """Returns the slot names of the wrapped optimizer."""
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> list[Any]:
        return self._opt.variables()
