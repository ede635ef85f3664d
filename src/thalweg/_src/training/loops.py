"""basic_train_loop: calls a function in a supervised session until it is to stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import errors, logging
from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.training.supervisor import Supervisor


@export("train.basic_train_loop")
def basic_train_loop(
    supervisor: Supervisor,
    train_step_fn: Callable[..., Any],
    args: Sequence[Any] | None = None,
    kwargs: dict[str, Any] | None = None,
    master: str = "",
) -> None:
    """Calls `train_step_fn(session, *args, **kwargs)` until the supervisor stops; restarts after AbortedError.

    Args:
        supervisor: The supervisor.
        train_step_fn: Function that takes one step.
        args: Positional arguments of the function.
    """
    require_members("supervisor", supervisor, "a tf.train.Supervisor", "managed_session", "should_stop")
    while True:
        try:
            with supervisor.managed_session(master) as session:
                while not supervisor.should_stop():
                    train_step_fn(session, *(args or ()), **(kwargs or {}))
            return
        except errors.AbortedError as error:
            logging.info("training restarts from the last checkpoint: %s", error)
