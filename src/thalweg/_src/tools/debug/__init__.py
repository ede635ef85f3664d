"""tfdbg: the debugger of sessions, `from tensorflow.python import debug as tf_debug`."""
