"""tf.saved_model.tag_constants: what the graphs of saved models are for."""

from thalweg._src.saved_model.files import EVAL, GPU, SERVING, TPU, TRAINING

__all__ = ["EVAL", "GPU", "SERVING", "TPU", "TRAINING"]
