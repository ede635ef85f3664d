"""RunConfig: where and how an Estimator runs: its folder, its intervals, its session, its place in a cluster."""

from __future__ import annotations

import copy
import inspect
import numbers
import os
from collections.abc import Callable
from typing import Any

from thalweg._src.base import logging
from thalweg._src.base.config import ConfigProto, RewriterConfig
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.signatures import parameters_of
from thalweg._src.cluster.distributed.cluster_spec import ClusterSpec
from thalweg._src.estimator.tf_config import CHIEF, MASTER, PS, WORKER, environment, tf_config
from thalweg._src.training.distribute.strategy import Strategy

_USE_DEFAULT: Any = object()
_DEFAULT_SECONDS = 600
_SECS, _STEPS = "save_checkpoints_secs", "save_checkpoints_steps"
_PROTOCOLS = (None, "grpc", "grpc+verbs")
_POSITIVE = "keep_checkpoint_every_n_hours", "log_step_count_steps", "session_creation_timeout_secs"
_NOT_NEGATIVE = "save_summary_steps", _SECS, _STEPS, "keep_checkpoint_max"


def _parameters(
    self: RunConfig,
    model_dir: PathLike | None = None,
    tf_random_seed: int | None = None,
    save_summary_steps: int | None = 100,
    save_checkpoints_steps: int | None = _USE_DEFAULT,
    save_checkpoints_secs: float | None = _USE_DEFAULT,
    session_config: ConfigProto | None = None,
    keep_checkpoint_max: int | None = 5,
    keep_checkpoint_every_n_hours: float = 10000,
    log_step_count_steps: int | None = 100,
    train_distribute: Strategy | None = None,
    device_fn: Callable[..., Any] | None = None,
    protocol: str | None = None,
    eval_distribute: Strategy | None = None,
    experimental_distribute: object = None,
    experimental_max_worker_delay_secs: int | None = None,
    session_creation_timeout_secs: float = 7200,
) -> None:
    """The parameters of a RunConfig, which are its options too."""


@export("estimator.RunConfig")
class RunConfig:
    """How an Estimator runs; the environment variable TF_CONFIG gives the place of this process in a cluster.

    Args:
        tf_random_seed: Seed of the graphs; None makes each run different.
        save_summary_steps: Steps between summaries; None or 0 writes none.
        save_checkpoints_steps: Steps between checkpoints; give this or `save_checkpoints_secs`.
        save_checkpoints_secs: Seconds between checkpoints; 600 if neither interval is given.
        keep_checkpoint_max: Number of checkpoints to keep; None or 0 keeps all.
        log_step_count_steps: Steps between reports of the loss and the speed; None reports nothing.
        train_distribute: A `tf.distribute.Strategy` for training, or None.
        device_fn: Function `device_fn(op)` that returns a device; by default that of parameter servers.
        protocol: Protocol of the servers: "grpc", or None for the default.
        eval_distribute: A `tf.distribute.Strategy` for evaluation, or None.
        experimental_distribute: A `DistributeConfig` with the strategies, in place of the other two.
        experimental_max_worker_delay_secs: Longest delay of a worker's start, in seconds; None is 60.
        session_creation_timeout_secs: Seconds that a worker waits for the chief.
    """

    model_dir = ReadOnly[str | None]("The folder of checkpoints and summaries.")
    tf_random_seed = ReadOnly[int | None]("The seed of graphs.")
    save_summary_steps = ReadOnly[int | None]("The number of steps between summaries.")
    save_checkpoints_steps = ReadOnly[int | None]("The number of steps between checkpoints.")
    save_checkpoints_secs = ReadOnly[float | None]("The number of seconds between checkpoints.")
    session_config = ReadOnly[Any]("The ConfigProto of sessions, or None.")
    keep_checkpoint_max = ReadOnly[int | None]("The number of checkpoints to keep.")
    keep_checkpoint_every_n_hours = ReadOnly[float]("The interval of checkpoints that are never deleted, in hours.")
    log_step_count_steps = ReadOnly[int | None]("The number of steps between reports of the loss.")
    train_distribute = ReadOnly[Any]("The strategy of training, or None.")
    eval_distribute = ReadOnly[Any]("The strategy of evaluation, or None.")
    device_fn = ReadOnly[Callable[..., Any] | None]("The function that chooses devices, or None.")
    protocol = ReadOnly[str | None]("The protocol of servers; None is the default one.")
    experimental_max_worker_delay_secs = ReadOnly[int | None]("The longest delay of a worker's start, in seconds.")
    session_creation_timeout_secs = ReadOnly[float]("How long a worker waits for the chief, in seconds.")
    cluster_spec = ReadOnly[ClusterSpec]("The cluster; empty without one.", "_environment.cluster_spec")
    task_type = ReadOnly[str]("The job of this process.", "_environment.task_type")
    task_id = ReadOnly[int]("The number of this process in its job.", "_environment.task_id")
    master = ReadOnly[str]("The target of sessions of training.", "_environment.master")
    evaluation_master = ReadOnly[str]("The target of sessions of evaluation.", "_environment.evaluation_master")
    is_chief = ReadOnly[bool]("Whether this process initializes and saves the model.", "_environment.is_chief")
    num_ps_replicas = ReadOnly[int]("The number of parameter servers.", "_environment.num_ps_replicas")
    num_worker_replicas = ReadOnly[int]("The number of workers, chief included.", "_environment.num_worker_replicas")
    global_id_in_cluster = ReadOnly[int | None]("The number of this process in the cluster.", "_environment.global_id")
    service = ReadOnly[Any]("The service of TF_CONFIG, or None.", "_environment.service")

    @parameters_of(_parameters)
    def __init__(self, **options: Any) -> None:
        if options[_STEPS] is _USE_DEFAULT and options[_SECS] is _USE_DEFAULT:
            options |= {_STEPS: None, _SECS: _DEFAULT_SECONDS}
        else:
            options |= {name: None for name in (_STEPS, _SECS) if options[name] is _USE_DEFAULT}
        if options[_STEPS] is not None and options[_SECS] is not None:
            raise ValueError(_BOTH)
        for name in ("train_distribute", "eval_distribute"):
            options[name] = _strategy(name, options[name], options["experimental_distribute"])
        self._environment = environment(tf_config())
        if options["session_config"] is None:
            options["session_config"] = self._default_session_config()
        options["model_dir"] = _model_dir(options["model_dir"], self._environment.model_dir)
        self._set(options)

    def _default_session_config(self) -> ConfigProto:
        """Returns a configuration in which a task connects to those that it needs alone."""
        job, index = self._environment.task_type, self._environment.task_id
        filters = {
            CHIEF: ["/job:ps", "/job:chief"],
            MASTER: ["/job:ps", "/job:master"],
            WORKER: ["/job:ps", f"/job:worker/task:{index}"],
            PS: ["/job:ps", "/job:worker", "/job:chief", "/job:master"],
        }
        config = ConfigProto(allow_soft_placement=True)
        config.graph_options.rewrite_options.meta_optimizer_iterations = RewriterConfig.ONE
        if self._environment.cluster_spec:
            config.device_filters.extend(filters.get(job, []))
        return config

    def _set(self, options: dict[str, Any]) -> None:
        _check(options)
        for name, value in options.items():
            setattr(self, f"_{name}", value)

    def replace(self, **kwargs: Any) -> RunConfig:
        """Returns a copy with other values of some of its options, those that the constructor takes."""
        unknown = sorted(set(kwargs) - set(_OPTIONS))
        if unknown:
            raise ValueError(f"Replacing {unknown} is not supported; allowed: {sorted(_OPTIONS)}")
        if kwargs.get(_STEPS) is not None and kwargs.get(_SECS) is not None:
            raise ValueError(_BOTH)
        options = {name: getattr(self, f"_{name}") for name in _OPTIONS} | kwargs
        if _STEPS in kwargs and _SECS not in kwargs:
            options[_SECS] = None
        if _SECS in kwargs and _STEPS not in kwargs:
            options[_STEPS] = None
        replaced = copy.copy(self)
        replaced._set(options)
        return replaced

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={getattr(self, f'_{name}')!r}" for name in _OPTIONS)
        return f"RunConfig({inner}, task={self.task_type}:{self.task_id})"


_OPTIONS = tuple(inspect.signature(RunConfig).parameters)
_BOTH = "`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set."


def _strategy(name: str, strategy: Strategy | None, experimental: object) -> Strategy | None:
    """Returns a strategy, given itself or in a `DistributeConfig`."""
    from_experimental: Strategy | None = getattr(experimental, name, None)
    if strategy is not None and from_experimental is not None:
        raise ValueError(f"{name} is given twice: by itself, and in experimental_distribute")
    return from_experimental if strategy is None else strategy


def _model_dir(requested: PathLike | None, of_environment: str | None) -> str | None:
    """Returns the folder; one that is given must be that of TF_CONFIG, if it has one."""
    folder = None if requested is None else os.fspath(requested)
    if of_environment is not None and folder is not None and folder != of_environment:
        raise ValueError(
            "`model_dir` provided in RunConfig construct, if set, must have the same value as the model_dir in "
            f"TF_CONFIG: {folder} and {of_environment}"
        )
    if folder is None and of_environment is not None:
        logging.info("Using model_dir in TF_CONFIG: %s", of_environment)
    return of_environment if folder is None else folder


def _check(options: dict[str, Any]) -> None:
    """Raises if an option has a value that it may not have."""

    def require(name: str, is_right: bool, expected: str, error: type[Exception] = ValueError) -> None:
        if not is_right:
            raise error(f"{name}: expected {expected}, received {options[name]!r}")

    for name in _POSITIVE:
        require(name, options[name] is None or options[name] > 0, "a positive number")
    for name in _NOT_NEGATIVE:
        require(name, options[name] is None or options[name] >= 0, "a number that is not negative")
    require("model_dir", options["model_dir"] is None or bool(os.fspath(options["model_dir"])), "a non-empty path")
    seed, session = options["tf_random_seed"], options["session_config"]
    require("tf_random_seed", seed is None or isinstance(seed, numbers.Integral), "an integer")
    require("session_config", session is None or isinstance(session, ConfigProto), "a ConfigProto", ValueError)
    delay = options["experimental_max_worker_delay_secs"]
    is_delay = delay is None or (isinstance(delay, numbers.Integral) and int(delay) >= 0)
    require("experimental_max_worker_delay_secs", is_delay, "an integer that is not negative")
    require("protocol", options["protocol"] in _PROTOCOLS, f"one of {_PROTOCOLS}")
    function = options["device_fn"]
    require("device_fn", function is None or callable(function), "a function of an operation")
    if function is not None:
        names = [name for name in inspect.signature(function).parameters if name != "self"]
        require("device_fn", names == ["op"], f"a function with one parameter `op`, not {names}")
    for name in ("train_distribute", "eval_distribute"):
        require(
            name, options[name] is None or hasattr(options[name], "extended"), "a tf.distribute.Strategy", TypeError
        )
