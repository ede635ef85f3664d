"""tf.saved_model.main_op: Operations that run after a SavedModel is loaded."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.deploy.saved_model.saved_model import (
    main_op as main_op,
    main_op_with_restore as main_op_with_restore,
)

__all__ = ["main_op", "main_op_with_restore"]
