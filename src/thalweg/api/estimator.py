"""tf.estimator: the words for what a model is built for, which models use without an Estimator as well."""


class ModeKeys:
    """Tells what a model is built for."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


__all__ = ["ModeKeys"]
