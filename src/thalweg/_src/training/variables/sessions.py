"""What variables, checkpoints and hooks need of a session: a protocol, so that they accept wrapped sessions as well."""

from __future__ import annotations

from typing import Any, Protocol


class SessionLike(Protocol):
    """A session, or what wraps one, such as a monitored session: it runs steps of its graph."""

    @property
    def graph(self) -> Any:
        """The graph of the session."""

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Runs a step and returns the values of its fetches."""
