"""tf.app: the frame of a program that has flags."""

from thalweg.api import flags
from thalweg.client.flags import run

__all__ = ["flags", "run"]
