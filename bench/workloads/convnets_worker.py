"""One system that trains one network, in its own process: answers requests, one JSON object per line."""

from __future__ import annotations

import gc
import importlib
import time
import warnings
from typing import Any

from worker import serve

from workloads.convnets import NETWORKS, Training

CHECK_STEPS = 3
WARM_STEPS = 5
BEFORE_STEPS = 3  # of a round that are not timed
SHOWN = 40
_SYNCHRONIZING = "synchronizing CUDA operation"
_WAITS = ("cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize", "cudaMemcpy")


class Trainer:
    """A library and the network that it trains."""

    def __init__(self, name: str) -> None:
        library, _, self._variant = name.partition("_")
        self._programs = importlib.import_module(f"workloads.convnets_{library}")
        self._on_torch = library != "jax"
        self._training: Training | None = None

    def hello(self, device: str) -> dict[str, Any]:
        """Initializes the device, which is not part of the first step."""
        self._device = device
        return {"device": self._programs.start(device), "version": self._programs.VERSION}

    def prime(self, network: str, precision: str, tiny: bool) -> dict[str, Any]:
        """Compiles a network, to fill the compiler's cache on disk."""
        training = self._built(network, precision, tiny)
        for _ in range(CHECK_STEPS):
            training.step()
        training.wait()
        return {}

    def prepare(self, network: str, precision: str, tiny: bool, settle: float) -> dict[str, Any]:
        """Builds a network, times its first step, keeps the losses of the first ones, and warms it up."""
        start = time.perf_counter()
        training = self._training = self._built(network, precision, tiny)
        built = time.perf_counter()
        training.step()
        training.wait()
        first = time.perf_counter() - built
        losses = [training.loss()]
        for _ in range(CHECK_STEPS - 1):
            training.step()
            losses.append(training.loss())
        self._timed(WARM_STEPS)
        compiled = time.perf_counter()
        while time.perf_counter() - compiled < settle:
            self._timed(WARM_STEPS)
        seconds = self._timed(WARM_STEPS)
        return {"build": built - start, "first": first, "losses": losses, "seconds": seconds}

    def _built(self, network: str, precision: str, tiny: bool) -> Training:
        described = NETWORKS[network].tiny() if tiny else NETWORKS[network]
        training: Training = self._programs.train(described, precision, self._device, self._variant)
        gc.collect()
        return training

    def run(self, steps: int) -> dict[str, Any]:
        """Runs steps one after another, synchronizes once, and returns the seconds of one."""
        self._timed(BEFORE_STEPS)
        return {"seconds": self._timed(steps)}

    def _timed(self, steps: int) -> float:
        assert self._training is not None
        step, wait = self._training.step, self._training.wait
        start = time.perf_counter()
        for _ in range(steps):
            step()
        wait()
        return (time.perf_counter() - start) / steps

    def syncs(self, steps: int) -> dict[str, Any]:
        """Counts the synchronizations of a step, by torch's own warnings."""
        if not self._on_torch or self._device != "gpu":
            return {}
        import torch

        assert self._training is not None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.cuda.set_sync_debug_mode("warn")
            for _ in range(steps):
                self._training.step()
            torch.cuda.set_sync_debug_mode("default")
        self._training.wait()
        return {"syncs": sum(_SYNCHRONIZING in str(warning.message) for warning in caught) / steps}

    def profile(self, steps: int) -> dict[str, Any]:
        """Returns a profile of a step: kernels, their times, and synchronizing calls."""
        if not self._on_torch:
            return {}
        from torch import profiler
        from torch.autograd import DeviceType

        with profiler.profile() as profile:
            self._timed(steps)
        entries = profile.key_averages()
        kernels = [e for e in entries if e.device_type != DeviceType.CPU and not e.is_user_annotation]
        kernels.sort(key=lambda entry: -entry.self_device_time_total)
        lines = [
            f"{e.self_device_time_total / steps:10.1f} us {e.count / steps:7.1f} x  {e.key}" for e in kernels[:SHOWN]
        ]
        calls = {e.key: e.count / steps for e in entries if e.key in (*_WAITS, "cudaLaunchKernel", "cudaGraphLaunch")}
        return {
            "kernels": sum(e.count for e in kernels) / steps,
            "busy": sum(e.self_device_time_total for e in kernels) / steps / 1e6,
            "waits": sum(count for key, count in calls.items() if key in _WAITS),
            "text": "\n".join([*lines, *(f"{count:10.1f} a step  {key}" for key, count in calls.items())]) + "\n",
        }

    def program(self) -> dict[str, Any]:
        assert self._training is not None
        return {"text": self._training.program()}


if __name__ == "__main__":
    serve(Trainer)
