"""The call of a jitted function in JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from workloads import data
from workloads.eager_cases import X, Y, repeat


def function_add() -> Callable[[], Any]:
    jitted = jax.jit(lambda x, y: x + y)
    x, calls = jax.numpy.asarray(X), repeat("f(x, y)", {"f": jitted, "y": jax.numpy.asarray(Y)}, data.EAGER_CALLS)
    return lambda: calls(x).sum().item()


PROGRAMS: dict[str, Callable[[], Any]] = {"function_add": function_add}
