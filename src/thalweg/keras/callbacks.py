"""tf.keras.callbacks: What is called at points of training."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.callbacks.base import (
    Callback as Callback,
    History as History,
    ProgbarLogger as ProgbarLogger,
)
from thalweg._src.keras.callbacks.checkpoints import ModelCheckpoint as ModelCheckpoint
from thalweg._src.keras.callbacks.logs import (
    CSVLogger as CSVLogger,
    RemoteMonitor as RemoteMonitor,
)
from thalweg._src.keras.callbacks.tensor_board import TensorBoard as TensorBoard
from thalweg._src.keras.callbacks.training import (
    BaseLogger as BaseLogger,
    EarlyStopping as EarlyStopping,
    LambdaCallback as LambdaCallback,
    LearningRateScheduler as LearningRateScheduler,
    ReduceLROnPlateau as ReduceLROnPlateau,
    TerminateOnNaN as TerminateOnNaN,
)

__all__ = [
    "BaseLogger", "CSVLogger", "Callback", "EarlyStopping", "History", "LambdaCallback", "LearningRateScheduler",
    "ModelCheckpoint", "ProgbarLogger", "ReduceLROnPlateau", "RemoteMonitor", "TensorBoard", "TerminateOnNaN",
]
