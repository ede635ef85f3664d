"""ModeKeys: the modes of a model function."""

from __future__ import annotations

from thalweg._src.base.export import export


@export("estimator.ModeKeys")
class ModeKeys:
    """The modes a model is built for: training, evaluation, prediction."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"
