"""Learned placement: a REINFORCE policy trained on the simulated step, then on the step as it runs on this machine."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from thalweg._src.base.config import ConfigProto
from thalweg._src.compiler.place.cost import CostModel
from thalweg._src.compiler.place.policy import Policy, learn
from thalweg._src.compiler.place.problem import Choice
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.scopes import GraphKeys
from thalweg._src.runtime.session.measured_costs import learn_costs, time_of
from thalweg._src.runtime.session.session import Session

_WARM_STEPS = 2
_READY = 4  # cached sessions, for placements that are measured again


def learn_placement(
    fetches: Any,
    feed_dict: Any = None,
    config: ConfigProto | None = None,
    *,
    path: str | Path | None = None,
    setup: Callable[[Session], Any] | None = None,
    policy: Policy | None = None,
    trials: int = 60,
    heats: int = 5,
    seconds: float = 0.2,
    seed: int = 0,
    graph: Graph | None = None,
) -> Policy:
    """Learns a placement of a step, and returns the policy with the best placement found.

    Training starts in the simulator, with the cost model of the configuration and the times of a traced run on one
    device; then promising placements are run. Every trial has a session of its own, so no variable of another session
    changes. A single device is used unless another placement is faster by a few percent, measured alternately.

    path: a file that receives the policy; `config.experimental.placer = path` then applies its placement
    setup: prepares a session before the step can run; by default it runs all initializers
    policy: an earlier policy to continue from
    trials, seconds: how many placements are run, and for how long each; with 0 trials only the simulator is used
    heats: how often the best of them are run again, alternately, to find the fastest
    """
    if path is not None and Path(path).suffix != ".json":
        raise ValueError(f"path: expected a file name that ends in .json, received '{path}'")
    trial = _Trial(fetches, feed_dict or {}, config, setup or initialize, graph or get_default_graph(), seconds)
    measure = trial.measure if trials > 0 else None
    try:
        learned = learn(trial.problem(), measure, policy=policy, seed=seed, trials=trials, heats=heats)
    finally:
        trial.close()
    if path is not None:
        learned.save(path)
    return learned


def initialize(session: Session) -> None:
    """Runs all initializers of a session's graph: of global and local variables, and of tables."""
    graph = session.graph
    variables = [*graph.get_collection(GraphKeys.GLOBAL_VARIABLES), *graph.get_collection(GraphKeys.LOCAL_VARIABLES)]
    session.run([*(v.initializer for v in variables), *graph.get_collection(GraphKeys.TABLE_INITIALIZERS)])


class _Trial:
    """Runs a step in sessions that differ only in their placement."""

    def __init__(
        self,
        fetches: object,
        feeds: dict[Any, Any],
        config: ConfigProto | None,
        setup: Callable[[Session], Any],
        graph: Graph,
        seconds: float,
    ) -> None:
        self._fetches = fetches
        self._feeds = feeds
        self._config = config
        self._setup = setup
        self._graph = graph
        self._seconds = seconds
        self._ready: dict[tuple[str, ...], tuple[Session, Callable[[], Any]]] = {}

    def _session(self, placer: str, costs: str) -> Session:
        config = ConfigProto()
        if self._config is not None:
            config.CopyFrom(self._config)
        config.experimental.placer = placer
        config.experimental.cost_model = costs
        return Session(graph=self._graph, config=config)

    def problem(self) -> Any:
        """Returns the placement problem, with the times of a traced run on the best single device."""
        cost_file = self._config.experimental.cost_model if self._config is not None else ""
        costs = CostModel.load(cost_file) if cost_file else CostModel()
        with self._session("single", cost_file) as session:
            self._setup(session)
            learn_costs(session, self._fetches, self._feeds, costs)
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "costs.json")
            costs.save(path)
            with self._session("single", path) as session:
                placement = session._plan(self._fetches, tuple(self._feeds)).executable.placement
        if placement.schedule is None:
            raise ValueError("there is nothing to learn: the session has one device, or the step cannot be partitioned")
        return placement.schedule.problem

    def measure(self, choice: Choice) -> float:
        """Returns the seconds of a step with a placement."""
        placement = {node.name: device for group, device in choice.items() for node in group.nodes}
        key = tuple(placement.values())
        ready = self._ready.pop(key) if key in self._ready else self._prepare(placement)
        self._ready[key] = ready  # least recently used first
        while len(self._ready) > _READY:
            self._ready.pop(next(iter(self._ready)))[0].close()
        return time_of(ready[1], self._seconds)

    def _prepare(self, placement: dict[str, str]) -> tuple[Session, Callable[[], Any]]:
        """Returns a session that uses a placement, and a function that runs the step in it."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "placement.json"
            path.write_text(json.dumps({"placement": placement}), encoding="utf-8")
            session = self._session(str(path), "")
            self._setup(session)
            step = session.make_callable(self._fetches, list(self._feeds))
        values = list(self._feeds.values())
        for _ in range(_WARM_STEPS):
            step(*values)
        return session, lambda: step(*values)

    def close(self) -> None:
        for session, _ in self._ready.values():
            session.close()
