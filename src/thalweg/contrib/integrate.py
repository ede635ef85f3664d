"""tf.contrib.integrate: Ordinary differential equations."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.integrate import (
    odeint as odeint,
    odeint_fixed as odeint_fixed,
)

__all__ = ["odeint", "odeint_fixed"]
