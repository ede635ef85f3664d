"""Session creators: create the first session of a monitored session, and replacements for lost ones."""

from __future__ import annotations

from typing import Any

from thalweg._src.base.config import ConfigProto
from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.graph.default import get_default_graph
from thalweg._src.runtime.session.session import Session
from thalweg._src.training.scaffold import Scaffold
from thalweg._src.training.session_manager import SessionManager


@export("train.SessionCreator")
class SessionCreator:
    """Base class of session creators."""

    def create_session(self) -> Any:
        """Returns a new session."""
        raise TypeError(f"{type(self).__name__} does not implement create_session")


class _ManagedCreator(SessionCreator):
    """Creates sessions with a SessionManager."""

    def __init__(self, scaffold: Scaffold | None, master: str, config: ConfigProto | None) -> None:
        self._scaffold = scaffold or Scaffold()
        require_members("scaffold", self._scaffold, "a Scaffold or None", "finalize")
        self._master = master
        self._config = config
        self._session_manager: SessionManager | None = None

    def _get_session_manager(self) -> SessionManager:
        if self._session_manager is None:
            self._session_manager = SessionManager(
                local_init_op=self._scaffold.local_init_op,
                local_init_feed_dict=self._scaffold.local_init_feed_dict,
                ready_op=self._scaffold.ready_op,
                ready_for_local_init_op=self._scaffold.ready_for_local_init_op,
                graph=get_default_graph(),
            )
        return self._session_manager


@export("train.ChiefSessionCreator")
class ChiefSessionCreator(_ManagedCreator):
    """Creates sessions by restoring or initializing the model."""

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: ConfigProto | None = None,
        checkpoint_dir: PathLike | None = None,
        checkpoint_filename_with_path: PathLike | None = None,
    ) -> None:
        super().__init__(scaffold, master, config)
        self._checkpoint_dir = checkpoint_dir
        self._checkpoint_filename_with_path = checkpoint_filename_with_path

    def create_session(self) -> Session:
        """Returns a new session with a restored or initialized model."""
        self._scaffold.finalize()
        return self._get_session_manager().prepare_session(
            self._master,
            saver=self._scaffold.saver,
            checkpoint_dir=self._checkpoint_dir,
            checkpoint_filename_with_path=self._checkpoint_filename_with_path,
            config=self._config,
            init_op=self._scaffold.init_op,
            init_feed_dict=self._scaffold.init_feed_dict,
            init_fn=self._scaffold.init_fn,
        )


@export("train.WorkerSessionCreator")
class WorkerSessionCreator(_ManagedCreator):
    """Creates sessions by waiting until the chief has initialized the model."""

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: ConfigProto | None = None,
        max_wait_secs: float | None = 30 * 60,
    ) -> None:
        super().__init__(scaffold, master, config)
        self._max_wait_secs = max_wait_secs

    def create_session(self) -> Session:
        """Returns a new session, after the chief has initialized the model."""
        self._scaffold.finalize()
        return self._get_session_manager().wait_for_session(
            self._master, config=self._config, max_wait_secs=self._max_wait_secs
        )
