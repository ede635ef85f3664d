"""tf.contrib.hooks: Hooks of training sessions."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.training.report_hooks import ProfilerHook as ProfilerHook

__all__ = ["ProfilerHook"]
