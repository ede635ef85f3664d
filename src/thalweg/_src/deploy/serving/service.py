"""The calls of clients, whatever their protocol: each finds its version, is computed, counted and measured."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from thalweg._src.base import errors, logging
from thalweg._src.deploy.serving.config import Model
from thalweg._src.deploy.serving.inference import READERS, Classes, Inference, Outputs, Runner, inference_on_examples
from thalweg._src.deploy.serving.manager import Manager, Spec
from thalweg._src.deploy.serving.metrics import Metrics
from thalweg._src.deploy.serving.servable import Signature

# Serves other models, as a client asks for; returns whether all of them can be used before a timeout.
Reload = Callable[[Sequence[Model], float | None], bool]
Report = Callable[[], Awaitable[str]]  # returns the page that Prometheus reads
CODES = {code: name for name, code in vars(errors).items() if name.isupper() and isinstance(code, int)}


@dataclass(slots=True)
class Call:
    """A call of a client: the API, such as Predict, the protocol, and when it has to be answered.

    deadline: on the monotonic clock, or None
    size: of the request, in bytes
    """

    api: str
    entry: str
    deadline: float | None = None
    size: int = 0


class Service:
    """Answers calls with the models of a manager.

    Args:
        manager: Holds the models.
        run: Computes inferences, at once or in batches.
        metrics: Counts the calls.
        latency_bound: The most seconds that any call may take, or None.
        log: A function that takes a line for each call, or None.
        reload: Serves other models; by default the manager does.
        report: Returns the page that Prometheus reads; by default that of the metrics.
    """

    def __init__(
        self,
        manager: Manager,
        run: Runner,
        metrics: Metrics,
        latency_bound: float | None = None,
        log: Callable[[str], None] | None = None,
        reload: Reload | None = None,
        report: Report | None = None,
    ) -> None:
        self.manager = manager
        self.metrics = metrics
        self._run = run
        self._bound = latency_bound
        self._log = log
        self.reload: Reload = reload or manager.reload
        self.report: Report = report or self._report

    @contextmanager
    def signature(self, call: Call, spec: Spec, examples: int = 0) -> Iterator[tuple[int, Signature]]:
        """Lends the signature that a call addresses, with its version; measures the call, which ends with the context.

        examples: how many the call has, 0 if that is not known
        """
        with self._measured(call, spec, examples), self.manager.use(spec) as (version, servable):
            yield version, servable.signature(spec.signature)

    async def predict(self, call: Call, inference: Inference) -> Outputs:
        """Returns the outputs of an inference."""
        start = time.monotonic()
        try:
            return await self._run(inference)
        finally:
            seconds = time.monotonic() - start
            self.metrics.runtime.add(inference.signature.model, call.api, "TF1", value=seconds * 1e6)

    async def classify_or_regress(
        self, call: Call, spec: Spec, method: str, examples: list[bytes]
    ) -> tuple[int, list[Classes] | list[float]]:
        """Returns the version that answers, and the classes or the number of each example."""
        with self.signature(call, spec, len(examples)) as (version, signature):
            return version, await self._on_examples(call, signature, method, examples)

    async def multi_inference(
        self, call: Call, tasks: list[tuple[Spec, str]], examples: list[bytes]
    ) -> tuple[int, list[list[Classes] | list[float]]]:
        """Returns the version that answers, and for each signature and method the results of all examples."""
        if not tasks:
            raise errors.invalid("the request has no tasks")
        first = tasks[0][0]
        with self._measured(call, first, len(examples)):
            if {spec.name for spec, _ in tasks} != {first.name}:
                raise errors.invalid("All ModelSpecs in a MultiInferenceRequest must access the same model name.")
            keys = [spec.signature for spec, _ in tasks]
            if len(set(keys)) < len(keys):
                raise errors.invalid(f"Duplicate evaluation of signature: {keys}")
            with self.manager.use(first) as (version, servable):
                answers = []
                for spec, method in tasks:
                    if method not in READERS:
                        raise errors.UnimplementedError(None, None, f"Unsupported signature method_name: {method}")
                    signature = servable.signature(spec.signature)
                    answers.append(await self._on_examples(call, signature, method, examples))
                return version, answers

    async def _on_examples(
        self, call: Call, signature: Signature, method: str, examples: list[bytes]
    ) -> list[Classes] | list[float]:
        inference = inference_on_examples(signature, method, examples, call.deadline)
        return READERS[method](inference, await self.predict(call, inference))

    def definitions(self, spec: Spec) -> tuple[int, Any]:
        """Returns the version and the signatures of a model."""
        with self.manager.use(spec) as (version, servable):
            return version, servable.definitions

    def signatures(self, spec: Spec) -> tuple[int, dict[str, Signature]]:
        """Returns the version and the signatures of a model, with types and shapes."""
        with self.manager.use(spec) as (version, servable):
            return version, servable.signatures

    async def _report(self) -> str:
        return self.metrics.text()

    @contextmanager
    def _measured(self, call: Call, spec: Spec, examples: int = 0) -> Iterator[None]:
        start, status = time.monotonic(), errors.OK
        if self._bound is not None:
            call.deadline = min(start + self._bound, call.deadline or start + self._bound)
        try:
            if call.deadline is not None and call.deadline <= start:
                raise errors.DeadlineExceededError(None, None, "the deadline of the request has passed")
            yield
        except asyncio.CancelledError:
            status = errors.CANCELLED
            raise
        except Exception as error:
            status = typed(error).error_code
            raise
        finally:
            seconds = time.monotonic() - start
            name = spec.name if spec.name in self.manager.models() else ""  # the labels of strangers would add up
            self.metrics.requests.add(name, CODES[status])
            self.metrics.latency.add(name, call.api, call.entry, value=seconds * 1e6)
            if examples:
                self.metrics.examples.add(name, value=examples)
                self.metrics.example_total.add(name, count=examples)
            if self._log is not None:
                self._log(f"{call.entry} {call.api} {spec.name!r:.200} {CODES[status]} {seconds * 1e3:.2f} ms")


def typed(error: Exception) -> errors.OpError:
    """Returns the error for a client; one that was not foreseen is logged, and has its type and message alone."""
    if isinstance(error, errors.OpError):
        return error
    if isinstance(error, ValueError | TypeError):
        return errors.invalid(str(error))
    if isinstance(error, MemoryError):
        return errors.ResourceExhaustedError(None, None, "the server is out of memory")
    logging.error("a call failed: %s: %s", type(error).__name__, error)
    return errors.InternalError(None, None, f"{type(error).__name__}: {error}")
