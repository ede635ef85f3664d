"""tf.errors: the errors of sessions and graphs."""

from thalweg._src.errors import *  # noqa: F403
