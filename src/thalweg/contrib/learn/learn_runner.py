"""tf.contrib.learn.learn_runner: Runs an Experiment at a task of a cluster."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.learn.experiment import run as run

__all__ = ["run"]
