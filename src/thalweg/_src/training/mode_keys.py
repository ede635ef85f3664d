"""ModeKeys: what a model is built for."""

from __future__ import annotations

from thalweg._src.export import export


@export("estimator.ModeKeys")
class ModeKeys:
    """The purposes that a model function builds a model for."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"
