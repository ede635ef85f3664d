"""Cluster: a cluster on Ray, whose tasks are actors in placement groups."""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thalweg._src.base import errors, logging
from thalweg._src.base.export import export
from thalweg._src.cluster.distributed.cluster_spec import ClusterSpec
from thalweg._src.cluster.distributed.credentials import INSECURE, TLS_CERT, TOKEN, TOKEN_FILE
from thalweg._src.tools.ray.membership import Member, Membership, Stage
from thalweg._src.tools.ray.task import Program, Task

STRATEGIES = ("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD")
_POLL_SECONDS = 0.5  # after which tasks that were added meanwhile are watched too
_STOP_SECONDS = 10.0
_ACTOR_OPTIONS = {"CPU": "num_cpus", "GPU": "num_gpus", "memory": "memory"}  # of actors; others are `resources`


@export("ray.TaskError")
class TaskError(RuntimeError):
    """An error of the program of a task, with its traceback there; the error itself is the cause."""

    def __init__(self, job: str, index: int, traceback: str) -> None:
        super().__init__(f"{job} {index} failed:\n{traceback}")
        self.job = job
        self.index = index
        self.traceback = traceback

    def __reduce__(self) -> Any:
        return type(self), (self.job, self.index, self.traceback)


@export("ray.Cluster")
class Cluster:
    """A cluster of parameter servers, workers and perhaps a chief on Ray, which runs a training program.

    Each task is an actor. Chief and workers run the program with the cluster in TF_CONFIG; parameter servers serve. A
    task whose process ends is restarted at its address; if that is not possible, all tasks are, with new addresses.
    """

    def __init__(
        self,
        train_fn: Callable[[], Any] | None = None,
        *,
        script: str | os.PathLike[str] | None = None,
        arguments: Sequence[str] = (),
        ps: int = 1,
        workers: int = 1,
        chief: bool = False,
        ps_resources: Mapping[str, float] | None = None,
        worker_resources: Mapping[str, float] | None = None,
        strategy: str = "PACK",
        max_restarts: int = 3,
        start_timeout: float = 600.0,
        runtime_env: Mapping[str, Any] | None = None,
    ) -> None:
        if (train_fn is None) == (script is None):
            raise ValueError("give either train_fn or script")
        if not workers and not chief:
            raise ValueError("a cluster needs a worker or a chief")
        if strategy not in STRATEGIES:
            raise ValueError(f"strategy must be one of {', '.join(STRATEGIES)}, got {strategy!r}")
        script = "" if script is None else os.fspath(script)
        self._program = Program(train_fn, script, tuple(arguments))
        self._jobs = {"ps": ps, "chief": int(chief), "worker": workers}
        worker_needs = dict(worker_resources or {"CPU": 1})
        self._needs = {"ps": dict(ps_resources or {"CPU": 1}), "chief": worker_needs, "worker": worker_needs}
        self._strategy = strategy
        self._max_restarts = max_restarts
        self._start_timeout = start_timeout
        self._runtime_env = _runtime_env(runtime_env or {})
        self._members = Membership()
        self._actors: dict[Member, Any] = {}
        self._pending: dict[Member, Any] = {}  # what each actor is doing, as a reference of Ray
        self._deadlines: dict[Member, float] = {}  # for those that are being located
        self._groups: list[Any] = []
        self._free: list[tuple[Any, int]] = []  # the bundles of removed workers
        self._bundles: dict[Member, tuple[Any, int]] = {}
        self._failure: BaseException | None = None
        self._changed = threading.Condition()
        self._stopped = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="thalweg_ray", daemon=True)

    def start(self) -> Cluster:
        """Reserves the resources in Ray and starts all tasks; `with` does so, and stops them."""
        ray = _import_ray()
        if self._groups or self._stopped.is_set():
            raise errors.FailedPreconditionError(None, None, "a cluster can be started once; make another one")
        if not ray.is_initialized():
            ray.init()
        try:
            self._shared_program = ray.put(self._program)
            jobs = [job for job, count in self._jobs.items() for _ in range(count)]
            bundles = self._reserve(jobs)
            with self._changed:
                for job, bundle in zip(jobs, bundles):
                    self._add(job, bundle, is_awaited=True)
            self._watcher.start()
        except BaseException:
            self.stop()
            raise
        return self

    def wait(self, timeout: float | None = None) -> dict[str, dict[int, Any]]:
        """Waits until chief and workers have run to their end; returns what `train_fn` returned, by job and number.

        Raises `TaskError` if the program fails at a task, `UnavailableError` if a task is lost more often than it may
        be restarted, `DeadlineExceededError` after `timeout` seconds, if that is given, and `FailedPreconditionError`
        if the cluster does not run.
        """
        with self._changed:
            self._changed.wait_for(self._is_over, timeout)
            if self._failure is not None:
                raise self._failure
            if (results := self._members.results()) is None:
                self._require_running()
                states = ", ".join(f"{member} {member.stage.value}" for member in self._members if member.trains)
                raise errors.DeadlineExceededError(None, None, f"the training has not ended in {timeout} s: {states}")
            return results

    @property
    def spec(self) -> ClusterSpec:
        """The addresses of the tasks that there are now."""
        with self._changed:
            return self._members.spec()

    def add_workers(self, count: int = 1) -> list[int]:
        """Starts further workers, which the other tasks need not wait for; returns their numbers."""
        if count < 1:
            raise ValueError(f"count must be 1 or more, got {count}")
        with self._changed:
            self._require_running()
            bundles = [self._free.pop() for _ in range(min(count, len(self._free)))]
        try:
            if missing := count - len(bundles):
                bundles += self._reserve(["worker"] * missing)
        except BaseException:
            with self._changed:
                self._free += bundles
            raise
        with self._changed:
            added = [self._add("worker", bundle, is_awaited=False) for bundle in bundles]
        logging.info("%s: added to the cluster", ", ".join(map(str, added)))
        return [member.index for member in added]

    def remove_worker(self, index: int) -> None:
        """Ends the process of a worker; the others keep their numbers, and the next that is added has its resources."""
        with self._changed:
            member = self._members.remove("worker", index)
            self._pending.pop(member, None)
            self._deadlines.pop(member, None)
            self._free.append(self._bundles.pop(member))
            _import_ray().kill(self._actors.pop(member))
            self._changed.notify_all()
        logging.info("%s: removed from the cluster", member)

    def stop(self) -> None:
        """Ends all tasks and returns their resources to Ray."""
        ray = _import_ray()
        with self._changed:
            self._stopped.set()
            self._changed.notify_all()
        if self._watcher.is_alive():
            self._watcher.join(_STOP_SECONDS)
        if not ray.is_initialized():
            return  # all that this program had in Ray has ended with its connection
        for actor in self._actors.values():
            ray.kill(actor)
        for group in self._groups:
            ray.util.remove_placement_group(group)
        self._actors, self._groups = {}, []

    def __enter__(self) -> Cluster:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.stop()

    # -- resources ----------------------------------------------------------------------------------------------------

    def _reserve(self, jobs: Sequence[str]) -> list[tuple[Any, int]]:
        """Returns a bundle of a new placement group for each task."""
        ray = _import_ray()
        needs = [self._needs[job] for job in jobs]
        group = ray.util.placement_group(needs, strategy=self._strategy)
        if not group.wait(self._start_timeout):
            ray.util.remove_placement_group(group)
            total = sum((Counter(need) for need in needs), Counter())
            free = {name: ray.available_resources().get(name, 0) for name in total}
            what = f"Ray has no room for {len(jobs)} tasks after {self._start_timeout:g} s"
            expected = f"{dict(total)} in all, by the strategy {self._strategy}"
            hint = "add nodes, end other programs, or lower ps_resources and worker_resources"
            text = errors.describe(what, expected=expected, received=f"{free} free", hint=hint)
            raise errors.ResourceExhaustedError(None, None, text)
        self._groups.append(group)
        return [(group, number) for number in range(len(jobs))]

    def _add(self, job: str, bundle: tuple[Any, int], is_awaited: bool) -> Member:
        ray = _import_ray()
        member = self._members.add(job, is_awaited)
        group, number = bundle
        needs = self._needs[job]
        options: dict[str, Any] = {option: needs[name] for name, option in _ACTOR_OPTIONS.items() if name in needs}
        options["resources"] = {name: amount for name, amount in needs.items() if name not in _ACTOR_OPTIONS}
        self._bundles[member] = bundle
        self._actors[member] = (
            ray.remote(Task)
            .options(
                **{"num_cpus": 0, **options},
                runtime_env=self._runtime_env,
                scheduling_strategy=ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(group, number),
                max_restarts=-1,  # the limit is counted here: replaced processes do not count
                max_task_retries=-1,
            )
            .remote(job, member.index)
        )
        self._locate(member)
        return member

    # -- events -------------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        """Handles what happens to the actors, until the cluster stops or has failed."""
        ray = _import_ray()
        try:
            while not self._stopped.is_set():
                with self._changed:
                    pending = {reference: member for member, reference in self._pending.items()}
                if not pending:
                    self._stopped.wait(_POLL_SECONDS)
                    continue
                done, _ = ray.wait(list(pending), timeout=_POLL_SECONDS)
                with self._changed:
                    for reference in done:
                        if self._pending.get(pending[reference]) is reference:
                            self._handle(pending[reference], self._pending.pop(pending[reference]))
                    for member in self._members.start():
                        self._run(member)
                    self._check_deadlines()
                    self._changed.notify_all()
        except BaseException as error:
            logging.error("the cluster has failed: %s", error)
            with self._changed:
                self._failure = error
                self._changed.notify_all()

    def _handle(self, member: Member, reference: object) -> None:
        """Handles the end of a call of an actor."""
        ray = _import_ray()
        try:
            value = ray.get(reference)
        except ray.exceptions.RayTaskError as error:
            cause = error.cause if isinstance(error.cause, BaseException) else None
            raise TaskError(member.job, member.index, str(error)) from cause
        except ray.exceptions.ActorDiedError as error:
            raise errors.UnavailableError(None, None, f"{member} cannot run on Ray: {error}") from None
        except ray.exceptions.RayActorError as error:
            self._lose(member, error)
            return
        if member.stage is Stage.LOCATING:
            self._place(member, value)
        else:
            self._members.end(member, value)
            logging.info("%s: has ended", member)

    def _place(self, member: Member, address: str) -> None:
        ray = _import_ray()
        self._deadlines.pop(member)
        before = member.address
        for other in self._members.locate(member, address):
            ray.kill(self._actors[other], no_restart=False)
        if before == address:
            logging.info("%s: is back at %s", member, address)
        elif before:
            logging.warning("%s: has moved from %s to %s; all tasks are restarted", member, before, address)
        else:
            logging.info("%s: has the address %s", member, address)

    def _run(self, member: Member) -> None:
        run = self._actors[member].run.options(max_task_retries=0)  # its task may have another cluster next time
        self._pending[member] = run.remote(self._members.spec().as_dict(), self._shared_program)

    def _locate(self, member: Member) -> None:
        self._deadlines[member] = time.monotonic() + self._start_timeout
        self._pending[member] = self._actors[member].locate.remote(member.address)

    def _lose(self, member: Member, error: Exception) -> None:
        if self._members.lose(member):
            if member.restarts > self._max_restarts:
                what = f"{member} was lost {member.restarts} times, and may be restarted {self._max_restarts} times"
                hint = "its log says what ended it; max_restarts of the cluster is the limit"
                text = errors.describe(what, received=str(error), hint=hint)
                raise errors.UnavailableError(None, None, text)
            logging.warning("%s: was lost; restart %d of %d", member, member.restarts, self._max_restarts)
        self._locate(member)

    def _check_deadlines(self) -> None:
        late = [member for member, until in self._deadlines.items() if time.monotonic() > until]
        if late:
            what = f"{late[0]} has not started on Ray in {self._start_timeout:g} s"
            hint = "`ray status` shows whether nodes with its resources are there"
            raise errors.UnavailableError(None, None, errors.describe(what, hint=hint))

    def _is_over(self) -> bool:
        is_running = self._groups and not self._stopped.is_set()
        return not is_running or self._failure is not None or self._members.results() is not None

    def _require_running(self) -> None:
        if not self._groups or self._stopped.is_set():
            raise errors.FailedPreconditionError(None, None, "the cluster does not run: use it in a `with` statement")


def _import_ray() -> Any:
    try:
        import ray
        import ray.util.scheduling_strategies
    except ImportError as error:
        raise errors.MissingPackageError("thalweg.ray", "ray", "'thalweg[ray]'") from error
    return ray


def _runtime_env(environment: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the runtime environment of the actors: a given one, the cluster variables of this process, and a token.

    Tasks on several hosts need credentials; those of this process apply if there are any.
    """
    variables = {name: value for name, value in os.environ.items() if name.startswith("THALWEG_CLUSTER_")}
    variables |= environment.get("env_vars", {})
    if not any(variables.get(name) for name in (TOKEN, TOKEN_FILE, TLS_CERT, INSECURE)):
        variables[TOKEN] = secrets.token_hex(32)
    return {**environment, "env_vars": variables}
