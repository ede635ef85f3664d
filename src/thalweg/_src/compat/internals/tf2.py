"""`tensorflow.python.tf2`: whether TensorFlow 2 behaviour is enabled."""


def enabled() -> bool:
    """Returns False: TensorFlow 1 behaviour is the only one."""
    return False
