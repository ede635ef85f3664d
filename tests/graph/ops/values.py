"""Arrays that ops are tried with, and their values in a session."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg._src.runtime.session.session import Session


def array(*shape: int, dtype: str = "float32") -> np.ndarray:
    return (np.random.default_rng(0).normal(size=shape) * 10).astype(dtype)


def run(fetches: Any, feeds: Any = None) -> Any:
    with Session() as session:
        return session.run(fetches, feeds)
