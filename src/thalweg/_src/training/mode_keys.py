"""ModeKeys: the modes of a model function."""

from __future__ import annotations

from thalweg._src.export import export


@export("estimator.ModeKeys")
class ModeKeys:
    """The modes for which a model function builds a model."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"
