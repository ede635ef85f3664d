"""tf.contrib.learn.ModeKeys: the modes of a model function."""

from __future__ import annotations

from thalweg._src.base.export import export


@export("contrib.learn.ModeKeys")
class ModeKeys:
    """Names of the modes: training, evaluation and inference."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"

    @classmethod
    def validate(cls, key: str) -> None:
        """Raises ValueError unless the key is one of the modes."""
        if key not in (cls.TRAIN, cls.EVAL, cls.INFER):
            raise ValueError(f"Invalid mode {key}.")
