"""tf.saved_model.main_op: what runs when a saved model has been loaded."""

from thalweg._src.saved_model.saved_model import main_op, main_op_with_restore

__all__ = ["main_op", "main_op_with_restore"]
