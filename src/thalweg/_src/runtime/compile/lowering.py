"""Lowering: a fusion cluster as one FX graph, compiled by Inductor into a shared library.

A request is a self-contained description of a cluster without objects of the running program: it is sent to another
process, and its digest is the key of the result in the cache. The compiler binds the nodes again, on a placeholder
device, and traces them on fake tensors.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from thalweg._src.base import determinism, dtypes
from thalweg._src.graph.ir.step_graph import Node, Output
from thalweg._src.graph.op_def import OPS
from thalweg._src.runtime.compile.bind import bind_node
from thalweg._src.runtime.compile.codegen import generate
from thalweg._src.runtime.compile.index_checks import Checks, clamp_pool_indices, index_checks
from thalweg._src.runtime.compile.layout import propagate_layouts
from thalweg._src.runtime.compile.segment import Segment
from thalweg._src.runtime.kernels.registry import Call, Constant, select
from thalweg._src.runtime.resources.containers import Containers
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.resources.thread_pool import Kernels

Layout = tuple[tuple[int, ...], tuple[int, ...], torch.dtype]  # sizes, strides, type


@dataclass(slots=True)
class Request:
    """A cluster: its nodes in execution order, with outer values by number, and the layouts of its inputs."""

    nodes: list[tuple[str, dict[str, Any], tuple[str, ...], tuple[Any, ...], list[tuple[int, int]]]]
    members: list[int]
    inputs: list[tuple[int, int]]
    outputs: list[tuple[int, int]]
    handles: list[int]
    written: list[bool]
    layouts: list[Layout]
    device: tuple[str, str]
    threads: int
    deterministic: bool
    modules: tuple[str, ...] = ()  # of users' ops and kernels, which the compiler process imports first

    def digest(self) -> str:
        """Returns a digest of the request, the same in every process."""
        # Whatever the library depends on is part of the digest: the sources of this package and of users' ops, the
        # versions and the instruction set of the machine, and the request itself. Names are not, so that the same layer
        # under another name, or in another program, is a hit.
        facts = [getattr(self, name) for name in self.__slots__]
        return hashlib.sha256(
            repr((_fingerprint(), *map(_changed, self.modules), self._machine(), _plain(facts))).encode()
        ).hexdigest()[:40]

    def _machine(self) -> tuple[str, ...]:
        gpu = torch.cuda.get_device_name(self.device[1]) if self.device[1].startswith("cuda") else ""
        return torch.__version__, gpu, torch.backends.cpu.get_cpu_capability()


def _plain(value: object) -> Any:
    """Returns a value in a form that is the same in every process."""
    if isinstance(value, dict):
        return sorted((key, _plain(item)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tobytes() if value.dtype != object else value.tolist()
    return value.name if isinstance(value, dtypes.DType) else repr(value)


@functools.cache
def _fingerprint() -> str:
    """Returns a fingerprint of this package's sources, so that code compiled from other versions is not used."""
    folders = [Path(__file__).parent, Path(__file__).parent.parent / "kernels"]
    files = sorted(path for folder in folders for path in folder.glob("*.py"))
    return hashlib.sha256(repr([(p.name, os.stat(p).st_mtime_ns) for p in files]).encode()).hexdigest()


def _changed(module: str) -> Any:
    """Returns a fingerprint of a user's module."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return module, file and os.stat(file).st_mtime_ns


def user_modules(node: Node, device_type: str) -> set[str]:
    """Returns the modules outside this package that declare the op of a node and its kernel."""
    modules = {node.definition.module, select(node, device_type).bind.__module__}
    return {module for module in modules if not module.startswith("thalweg._src.")}


def is_importable(module: str) -> bool:
    """Returns whether another process can import a module by its name."""
    return module != "__main__" and getattr(sys.modules.get(module), "__spec__", None) is not None


_FOLDERS = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")


def describe(
    members: Sequence[Node],
    inputs: Sequence[Output],
    outputs: Sequence[Output],
    handles: Sequence[Node],
    written: Sequence[bool],
    layouts: Sequence[Layout],
    device: Device,
) -> Request:
    """Returns the request for a cluster with the layouts of given values and buffers."""
    numbers: dict[Node, int] = {}
    nodes: list[Any] = []

    def add(node: Node, op_type: str, attrs: dict[str, Any], sources: list[tuple[int, int]]) -> None:
        numbers[node] = len(nodes)
        nodes.append((op_type, attrs, tuple(d.name for d in node.dtypes), tuple(node.shapes), sources))

    # Nodes are named by their numbers. Variables get names by number as well, so that the compiler creates one for each
    # handle; constants that are not inputs travel with their values, since kernels may be bound for them.
    inside = set(members)
    for node in members:
        for producer, _ in node.inputs:
            if producer in numbers or producer in inside:
                continue
            if producer.type == "VarHandleOp":
                attrs = {**producer.attrs, "container": "", "shared_name": f"variable_{len(nodes)}"}
                add(producer, "VarHandleOp", attrs, [])
            elif producer.type == "Const" and Output(producer, 0) not in inputs:
                add(producer, "Const", producer.attrs, [])
            else:
                add(producer, "_Arg", {"T": producer.dtypes[0]}, [])
        add(node, node.type, node.attrs, [(numbers[p], i) for p, i in node.inputs if p in numbers])
    where = (device.type, str(device.torch))
    return Request(
        nodes,
        [numbers[node] for node in members],
        [(numbers[node], i) for node, i in inputs],
        [(numbers[node], i) for node, i in outputs],
        [numbers[node] for node in handles],
        list(written),
        list(layouts),
        where,
        Kernels.threads,
        determinism.is_required(),
        tuple(sorted({module for node in members for module in user_modules(node, device.type)})),
    )


def lowered(request: Request) -> Callable[..., tuple[Any, ...]]:
    """Returns a cluster as a function of its inputs, followed by the buffers of its variables."""
    device = Device("", request.device[0], torch.device(request.device[1]), Containers(), compiling=True)
    nodes: list[Node] = []
    for number, (op_type, attrs, types, shapes, sources) in enumerate(request.nodes):
        inputs = [Output(nodes[source], index) for source, index in sources]
        output_dtypes = [dtypes.as_dtype(name) for name in types]
        nodes.append(Node(f"node_{number}", OPS.lookup(op_type), inputs, attrs, output_dtypes, shapes))
    calls: dict[Node, Call] = {}
    constants: dict[Output, Any] = {}
    for node in nodes:
        if node.type == "_Arg":
            continue
        kernel = bind_node(node, device)
        if isinstance(kernel, Constant):
            constants.update((Output(node, i), kernel.value) for i in range(len(node.dtypes)))
        else:
            calls[node] = kernel
    inputs = [Output(nodes[number], index) for number, index in request.inputs]
    outputs = [Output(nodes[number], index) for number, index in request.outputs]
    segment = Segment(0, [nodes[number] for number in request.members], inputs, outputs)
    function = generate(segment, calls, constants).function
    variables = [constants[Output(nodes[number], 0)] for number in request.handles]
    needs_copy = [bool(node.facts.view or node.facts.forwards) and any(request.written) for node, _ in outputs]

    # The function that is traced is pure but for copies into buffers at its end: while it runs, a variable refers to a
    # tensor that nothing else holds. Outputs that may be views of a buffer are copied first, or a caller would see the
    # update in a value that was read before it.
    def cluster(*tensors: torch.Tensor) -> tuple[Any, ...]:
        values, buffers = tensors[: len(inputs)], tensors[len(inputs) :]
        for variable, buffer in zip(variables, buffers):
            variable.value = buffer
        results = function(Step(), *values)
        results = tuple(value.clone() if copy else value for value, copy in zip(results, needs_copy))
        for variable, buffer, written in zip(variables, buffers, request.written):
            if written:
                buffer.copy_(variable.value)
        return results

    return cluster


def build(request: Request, folder: str) -> tuple[str, Checks]:
    """Compiles a cluster for the CPU into a library in a folder; returns its file, and what to check at each call."""
    with _compiling(folder, request.deterministic):
        import torch._inductor as inductor

        torch.set_num_threads(request.threads)
        graph, examples = traced(request)
        checks = index_checks(graph)
        options = {
            "cpp.threads": -1 if checks is not None else 1,  # an exception cannot leave a thread of OpenMP
            "aot_inductor.compile_wrapper_opt_level": "O1",
            "aot_inductor.precompile_headers": False,  # they take longer than several clusters, and 300 MB
            "compile_threads": 1,
        }
        with _quiet():
            library = inductor.aot_compile(graph, tuple(examples), options=options)
    assert isinstance(library, str)
    if os.path.exists(library.removesuffix(".so") + ".json"):
        raise RuntimeError("a kernel that is called through Python")
    return library, checks or []


_NO_OUTPUT = """
#include <iostream>
namespace std { static ostream no_output(nullptr); }
#define cerr no_output
"""


@contextmanager
def _quiet() -> Iterator[None]:
    """Makes libraries write nothing: the text of an error, with a backtrace, is asked for and raised."""
    from torch._inductor.codegen.cpp_wrapper_cpu import CppWrapperCpu

    wrapper: Any = CppWrapperCpu
    write = wrapper.write_header

    def write_header(self: Any) -> None:
        self.header.splice(_NO_OUTPUT)
        write(self)

    wrapper.write_header = write_header
    try:
        yield
    finally:
        wrapper.write_header = write


def build_here(request: Request, folder: str) -> Callable[[list[Any]], Sequence[Any]]:
    """Compiles a cluster in this process, reusing cached kernels of a folder."""
    with _compiling(folder, request.deterministic):
        from torch._guards import TracingContext, detect_fake_mode, tracing
        from torch._inductor.compile_fx import compile_fx_inner

        graph, examples = traced(request)
        with tracing(TracingContext(detect_fake_mode(examples))):  # without one, torch does not read its cache
            compiled: Any = compile_fx_inner(graph, examples)
    return lambda values: compiled(values)


@contextmanager
def _compiling(folder: str, deterministic: bool) -> Iterator[None]:
    """Sets up torch as the compiler needs it: results in a folder, and no inference mode.

    deterministic: no atomic additions, and no choice between kernels by measured times
    """
    import torch._inductor.config as options

    if deterministic:
        torch.use_deterministic_algorithms(True)
    before = {name: os.environ.get(name) for name in _FOLDERS}
    os.environ.update(zip(_FOLDERS, (folder, os.path.join(folder, "triton"))))
    try:
        with torch.inference_mode(False), torch.no_grad(), options.patch(deterministic=deterministic):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def traced(request: Request) -> tuple[Any, list[torch.Tensor]]:
    """Returns a cluster as a graph of core ATen operations, and example inputs with the requested layouts."""
    import torch._inductor.lowering
    from torch._inductor.decomposition import select_decomp_table
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    where = torch.device(request.device[1])
    # Fake tensors have sizes and strides but no memory: tracing allocates and computes nothing.
    with FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv()):
        examples = [torch.empty_strided(s, t, dtype=d, device=where) for s, t, d in request.layouts]
    # Traced twice. The first time functionalization turns updates in place into values, and decomposition leaves ops of
    # core ATen, on which permutes can be propagated; the second time records the graph with the permutes moved.
    function: Any = torch.func.functionalize(lowered(request), remove="mutations")
    graph = make_fx(function, select_decomp_table(), tracing_mode="fake", _allow_non_fake_inputs=True)(*examples)
    moved = propagate_layouts(graph)
    graph = make_fx(moved, tracing_mode="fake", _allow_non_fake_inputs=True)(*examples)
    clamp_pool_indices(graph)
    return graph, examples
