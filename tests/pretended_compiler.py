"""The compiler of the pretended GPU: Inductor compiles its clusters as those of a GPU, but for the CPU.

Kernels are bound as on a GPU, and the graph is compiled in this process and without further decomposition, which is the
way of accelerators. So a cluster without a lowering there is noticed, and compiled clusters are captured and replayed.
"""

import contextlib
from dataclasses import replace
from types import SimpleNamespace

import torch
from torch.utils._python_dispatch import _disable_current_modes, _get_current_dispatch_mode

from tests import away_tensors
from tests.away_tensors import Away
from tests.stream_capture import Capture
from thalweg._src.runtime.compile import inductor, lowering


class Library:
    """A compiled function of tensors of the host, as one of tensors of the device: a single kernel."""

    def __init__(self, function):
        self._kernel = _Kernel(function)

    def __call__(self, values):
        mode = _get_current_dispatch_mode()
        if isinstance(mode, Capture):
            return mode.__torch_dispatch__(self._kernel, (), tuple(values))
        return self._kernel(*values)


class _Kernel:
    """The kernel of a library, with what a capture asks of one."""

    _schema = SimpleNamespace(is_mutable=True)  # it may change the buffers of variables
    overloadpacket = None

    def __init__(self, function):
        self._function = function

    def __call__(self, *values):
        device = next((value.device for value in values if isinstance(value, Away)), None)
        if device is None:  # of a test that hides the device
            return self._function(list(values))
        outer = {id(value.on_host): value for value in values}
        with _disable_current_modes(), _in_turn(device):
            results = self._function([value.on_host for value in values])
        return [
            result if not isinstance(result, torch.Tensor) else outer.get(id(result)) or Away(result, device)
            for result in results
        ]


@contextlib.contextmanager
def _in_turn(device):
    """Computes after what was launched before, if kernels run behind the host."""
    streams = away_tensors.streams
    if streams is None:
        yield
        return
    streams.current_stream(device).catch_up()
    with streams.at_once():
        yield


def install():
    """Makes clusters of the device compiled by Inductor."""
    trace, build, compile_now = lowering.traced, lowering.build_here, inductor.compile_now

    def answer(compiler, request):
        """Compiles in this process, as the other one has no such device."""
        try:
            compile_now(request)
            return ""
        except Exception as error:
            return inductor._told(error)

    lowering.traced = lambda request: trace(replace(request, device=(request.device[0], "cpu")))
    inductor.build_here = lambda request, folder: Library(build(request, folder))
    inductor.Compiler._answer = answer
