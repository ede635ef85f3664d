"""tf.app: the frame of a program that has flags."""

from thalweg._src.api import flags
from thalweg._src.compat.flags import run

__all__ = ["flags", "run"]
