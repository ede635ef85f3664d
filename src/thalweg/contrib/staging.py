"""tf.contrib.staging: Staging areas: buffers of values between steps."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.staging import StagingArea as StagingArea

__all__ = ["StagingArea"]
