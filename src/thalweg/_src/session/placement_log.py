"""Whether placement is logged, under tf.debugging's names."""

from __future__ import annotations

from thalweg._src.export import export

_enabled = False


@export("debugging.get_log_device_placement")
def get_log_device_placement() -> bool:
    """Returns what `set_log_device_placement` kept."""
    return _enabled


@export("debugging.set_log_device_placement")
def set_log_device_placement(enabled: bool) -> None:
    """Keeps the setting; sessions take theirs from `log_device_placement` of their ConfigProto, as in TensorFlow 1."""
    global _enabled
    _enabled = bool(enabled)
