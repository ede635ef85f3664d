"""Gradients of Python functions: none, unless a graph names one with `gradient_override_map`."""

from __future__ import annotations

from thalweg._src.graph.autodiff.registry import no_gradient

no_gradient("PyFunc", "PyFuncStateless")
