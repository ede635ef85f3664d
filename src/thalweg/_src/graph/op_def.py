"""OpDef: the schema of an operation, its properties, and the call that adds one to a graph."""

from __future__ import annotations

import functools
import sys
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import require_text
from thalweg._src.base.export import export
from thalweg._src.base.hook import Hook
from thalweg._src.base.registry import Registry
from thalweg._src.base.shapes import Shape
from thalweg._src.graph import attr
from thalweg._src.graph.attr import AttrDef
from thalweg._src.graph.default_stacks import stacks
from thalweg._src.graph.dispatch import ERRORS, implementation_for

if TYPE_CHECKING:
    from thalweg._src.graph.infer import Inference
    from thalweg._src.graph.operation import Operation
    from thalweg._src.graph.tensor import Tensor

Infer = Callable[["Inference"], Sequence[Shape]]
Evaluate = Callable[["Inference"], Any]
FromShapes = Callable[[Sequence[Any]], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class ArgDef:
    """One input or output: of a fixed type, of an attribute's type, `N*T` (a list), or `list(T)` (a typed list).

    is_ref: a reference to a variable, `Ref(T)`, which can be written to
    """

    name: str
    dtype: DType | None = None
    type_attr: str | None = None
    number_attr: str | None = None
    type_list_attr: str | None = None
    is_ref: bool = False

    @property
    def is_list(self) -> bool:
        return self.number_attr is not None or self.type_list_attr is not None


EXTERNAL = ("reads files", "writes files", "reads checkpoints", "writes checkpoints", "calls Python")


@dataclass(frozen=True, slots=True)
class Facts:
    """What the compiler and the executors may assume of an op; no pass keeps a list of op names for such a fact.

    stateful: keeps or changes state outside the graph, so that calls are neither merged nor dropped
    commutative: its two inputs may be exchanged
    waits: may block until another party acts (Recv, Dequeue)
    traceable: its kernel is made of torch functions that torch.fx can trace, so that Inductor may fuse it
    fails: for which inputs its kernel may raise an error: "never", "by shape", or "by value"
    forwards: the output has the elements of the first input: "same", "reshaped", "cast", or "chosen" among inputs
    view: the input whose memory the outputs share
    reads, writes: what it does with the resources that it is given
    random: draws from a random number generator that it keeps
    capturable: may be captured in a CUDA graph; by default, if it is not stateful
    control_flow: a primitive of conditionals and loops
    instant: does nothing in a step
    shape_only: looks only at types and shapes
    external: what it reaches outside of the graph, one of EXTERNAL; a function of the attributes where they decide
    compiler: only passes create it, and no GraphDef may contain it
    """

    stateful: bool = False
    commutative: bool = False
    waits: bool = False
    traceable: bool = False
    fails: str = "by value"
    forwards: str = ""
    view: str = ""
    reads: bool = False
    writes: bool = False
    random: bool = False
    capturable: bool | None = None
    control_flow: bool = False
    instant: bool = False
    shape_only: bool = False
    external: str | Callable[[Mapping[str, Any]], str] = ""
    compiler: bool = False

    def __post_init__(self) -> None:
        if self.stateful and self.fails == "never":
            raise ValueError('fails: expected "by value" of a stateful op, which is never moved, received "never"')
        if self.fails not in ("never", "by shape", "by value"):
            raise ValueError(f'fails: expected "never", "by shape" or "by value", received {self.fails!r}')
        if self.forwards not in ("", "same", "reshaped", "cast", "chosen"):
            raise ValueError(f'forwards: expected "same", "reshaped", "cast" or "chosen", received {self.forwards!r}')
        if isinstance(self.external, str) and self.external not in ("", *EXTERNAL):
            raise ValueError(f"external: expected one of {', '.join(EXTERNAL)}, received {self.external!r}")

    def reach(self, attrs: Mapping[str, Any]) -> str:
        """Returns what an operation with these attributes reaches outside of the graph; the empty string if nothing."""
        return self.external if isinstance(self.external, str) else self.external(attrs)

    @property
    def is_capturable(self) -> bool:
        return not self.stateful if self.capturable is None else self.capturable

    @property
    def is_alias(self) -> bool:
        """Whether the output is an input itself, under another name or shape: it takes no time and no memory."""
        return self.forwards in ("same", "reshaped", "chosen")


_FACTS = frozenset(field.name for field in fields(Facts))
_MAX_OUTPUTS = 1 << 20  # more would fill memory with unusable tensors
OPS: Registry[OpDef] = export("OPS")(Registry("operation"))


class OpDef:
    """The inputs and outputs of an operation, and the properties that passes and executors rely on.

    Calling it adds an operation to the graph of its inputs. For readers and type checkers the call states what is
    returned: `d(...)` one tensor, `d.many(...)` several, `d.operation(...)` none.
    """

    apply: ClassVar[Hook[Callable[..., Any]]]  # set by thalweg._src.graph.apply
    execute: ClassVar[Hook[Callable[..., Any]]]  # set by thalweg._src.runtime.eager.execute

    def __init__(
        self,
        name: str,
        inputs: tuple[ArgDef, ...],
        outputs: tuple[ArgDef, ...],
        attrs: dict[str, AttrDef],
        *,
        infer: Infer,
        evaluate: Evaluate | None,
        facts: Facts,
        host: frozenset[str],
        numbers: frozenset[str],
        differentiable: bool,
        from_shapes: FromShapes | None,
        doc: str,
    ) -> None:
        self.name = name
        self.inputs = inputs
        self.outputs = outputs
        self.attrs = attrs
        self.infer = infer
        self.evaluate = evaluate
        self.facts = facts
        self.stateful = facts.stateful
        self.commutative = facts.commutative
        self.waits = facts.waits
        self.host = host
        self.numbers = numbers
        self.differentiable = differentiable
        self.from_shapes = from_shapes
        # The modules that declare `keeps_places`, and the twin of an op on references, set them after registration.
        self.keeps_places = False  # may be applied to the values of a sparse tensor
        self.takes_refs = any(arg.is_ref for arg in inputs)
        self.on_refs: OpDef | None = None  # the op that does the same with references instead of handles
        self.on_handles: OpDef | None = None  # the inverse of `on_refs`
        self.bindings: dict[Any, Any] = {}  # kernels that eager execution has bound
        self.calls: dict[Any, Any] = {}  # the same, by the arguments of a call
        self.doc = doc
        self.module = _declaring_module()
        self.__name__ = name
        self.__doc__ = doc
        # Computed once, since every operation that is added asks for these: which attributes follow from inputs, which
        # ones the caller has to pass, and whether lists have to be counted at all.
        self.defaults = {key: a.default for key, a in attrs.items() if a.default is not attr.REQUIRED}
        self.implied = {
            key for arg in inputs for key in (arg.type_attr, arg.number_attr, arg.type_list_attr) if key is not None
        }
        self.explicit = tuple(key for key in attrs if key not in self.implied)
        self.host_places = tuple(i for i, arg in enumerate(inputs) if arg.name in host and not arg.is_list)
        self.plain_inputs = not any(arg.is_list for arg in inputs)
        self.plain_outputs = not any(arg.is_list for arg in outputs)
        self.single_output = len(outputs) == 1 and self.plain_outputs

    @functools.cached_property
    def result(self) -> Any:
        """The named tuple of several outputs; created on first use, since creating one is slow."""
        return namedtuple(self.name.lstrip("_"), [arg.name for arg in self.outputs]) if len(self.outputs) > 1 else None

    @property
    def facts_in_steps(self) -> Facts:
        """The facts of what a step runs for it: of an op on references, those of the op on handles."""
        return self.facts if self.on_handles is None else self.on_handles.facts

    def __call__(self, *args: Any, name: str | None = None, **attrs: Any) -> Tensor:
        """Adds the operation and returns its one output."""
        # Eager execution has bound the kernels of earlier calls. NotImplemented says that this call is not among them,
        # or not plain, and takes the way of a graph, by which eager execution also makes its operations.
        if stacks.is_plain:
            done = self.execute(args, attrs)
            if done is not NotImplemented:
                return done  # type: ignore[no-any-return]
        try:
            return self.apply(args, attrs, name)  # type: ignore[no-any-return]
        except ERRORS:
            implementation = implementation_for(self, args, attrs)
            if implementation is None:
                raise
        return implementation(*args, **attrs, name=name)  # type: ignore[no-any-return]

    def many(self, *args: Any, name: str | None = None, **attrs: Any) -> Any:
        """Adds the operation and returns its outputs: a list, or a named tuple."""
        if stacks.is_plain:
            done = self.execute(args, attrs)
            if done is not NotImplemented:
                return done
        return self.apply(args, attrs, name)

    def operation(self, *args: Any, name: str | None = None, **attrs: Any) -> Operation:
        """Adds the operation and returns it; in eager execution, runs it and returns its result."""
        outputs = self.many(*args, name=name, **attrs)
        return outputs.op if hasattr(outputs, "op") else outputs  # type: ignore[no-any-return]

    def __deepcopy__(self, memo: dict[int, Any]) -> OpDef:
        """Returns itself: an op is registered once, also if a layer that has it as its activation is copied."""
        return self

    def __repr__(self) -> str:
        def show(args: tuple[ArgDef, ...]) -> str:
            return ", ".join(f"{arg.name}: {show_type(arg)}" for arg in args)

        return f"<op {self.name}({show(self.inputs)}) -> ({show(self.outputs)})>"


def _declaring_module() -> str:
    """Returns the name of the module that is being run, which may declare ops through functions of other modules."""
    # The registry compares the module with the files of kernels and gradients, which have the same name. Ops that a
    # table declares through a function of another module belong to the module with the table.
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return str(frame.f_globals["__name__"])


def show_type(arg: ArgDef) -> str:
    if arg.type_list_attr:
        return f"list({arg.type_list_attr})"
    base = arg.type_attr or (arg.dtype.name if arg.dtype else "?")
    base = f"Ref({base})" if arg.is_ref else base
    return f"{arg.number_attr}*{base}" if arg.number_attr else base


def _parse_args(text: str, attrs: dict[str, AttrDef]) -> tuple[ArgDef, ...]:
    return tuple(_parse_arg(word.strip(), attrs) for word in text.split(",") if word.strip())


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split(",") if name.strip())


def _parse_arg(text: str, attrs: dict[str, AttrDef]) -> ArgDef:
    name, colon, kind = (word.strip() for word in text.partition(":"))
    # The forms are `x: T`, `x: int32`, `x: N*T`, `x: list(T)`, and Ref( ) around a type.
    number, _, base = (word.strip() for word in kind.rpartition("*"))
    is_ref = base.startswith("Ref(") and base.endswith(")")
    base = base[4:-1] if is_ref else base
    if not colon or not name.isidentifier() or not kind:
        raise ValueError(f"cannot read the argument {text!r}: write 'x: T', 'x: int32', 'x: N*T' or 'x: list(T)'")
    if kind.startswith("list(") and kind.endswith(")"):
        return ArgDef(name, type_list_attr=kind[5:-1])
    if base in attrs:
        return ArgDef(name, type_attr=base, number_attr=number or None, is_ref=is_ref)
    return ArgDef(name, dtype=dtypes.as_dtype(base), number_attr=number or None)


def mismatch(definition: OpDef, arg: ArgDef, tensor: Tensor, expected: DType) -> str:
    text = f"Input {arg.name!r} of {definition.name!r} Op has type {tensor.dtype.name} that does not match "
    if arg.type_attr is None:
        return text + f"expected type of {expected.name}."
    first = next(other for other in definition.inputs if other.type_attr == arg.type_attr)
    return text + f"type {expected.name} of argument {first.name!r}; use tf.cast to convert one of them."


def normalize(definition: OpDef, key: str, attr: AttrDef, value: object) -> Any:
    try:
        return attr.normalize(value)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        colon = "" if str(error).startswith(("passed ", "has ")) else ":"
        raise kind(f"Attr {key!r} of {definition.name!r} Op{colon} {error}") from None


def output_types(definition: OpDef, attrs: dict[str, Any]) -> list[DType]:
    """Returns the dtypes of all outputs, with lists expanded."""
    types: list[DType] = []
    for arg in definition.outputs:
        # A typed list brings its types itself; the other forms repeat one.
        if arg.type_list_attr is not None:
            types += attrs[arg.type_list_attr]
            continue
        dtype: DType = arg.dtype or attrs[arg.type_attr or ""]
        if arg.is_ref:
            dtype = dtype._as_ref
        count = 1 if arg.number_attr is None else attrs[arg.number_attr]
        if count > _MAX_OUTPUTS:
            raise ValueError(f"{definition.name} cannot have {count} outputs; {arg.number_attr} is too large.")
        types += [dtype] * count
    return types


def unknown_shapes(c: Inference) -> Sequence[Shape]:
    """Infers nothing: every output has unknown rank."""
    return [None] * c.num_outputs


@export("op")
def op(
    name: str,
    signature: str,
    *,
    infer: Infer = unknown_shapes,
    evaluate: Evaluate | None = None,
    host: str = "",
    numbers: str = "",
    differentiable: bool = True,
    from_shapes: FromShapes | None = None,
    doc: str = "",
    **attrs_and_facts: Any,
) -> OpDef:
    """Registers an operation and returns the function that adds it to a graph.

    Args:
        name: Name of the op type.
        signature: Inputs and outputs, such as "a: T, b: T -> product: T".
        infer: Function that infers the static shapes of the outputs.
        evaluate: Function that returns the value of a small integer output if static facts decide it.
        host: Names of the inputs and outputs that are in host memory on every device.
        numbers: Names of the inputs that the kernel also takes as Python numbers.
        differentiable: Whether gradients may flow through it.
        from_shapes: Function that returns the outputs' values if the inputs' shapes decide them.
        doc: Its docstring.
        **attrs_and_facts: Attributes by name, each an AttrDef, a set of types or a default; and `Facts` by name.
    """
    require_text("name", name)
    require_text("signature", signature)
    facts = Facts(**{key: attrs_and_facts.pop(key) for key in _FACTS & attrs_and_facts.keys()})
    attr_defs = {key: attr.from_default(value) for key, value in attrs_and_facts.items()}
    # A list brings the attribute of its length or of its types, as in TensorFlow's own OpDefs.
    for word in signature.replace(",", " ").replace("->", " ").split():
        if word.startswith("list("):
            attr_defs.setdefault(word[5:-1], attr.type_list(0))
        elif "*" in word:
            attr_defs.setdefault(word.partition("*")[0], attr.integer(1))
    left, arrow, right = signature.partition("->")
    if not arrow:
        raise ValueError(f"the signature of {name} is missing '->': {signature!r}")
    definition = OpDef(
        name,
        _parse_args(left, attr_defs),
        _parse_args(right, attr_defs),
        attr_defs,
        infer=infer,
        evaluate=evaluate,
        facts=facts,
        host=_names(host),
        numbers=_names(numbers),
        differentiable=differentiable,
        from_shapes=from_shapes,
        doc=doc,
    )
    return OPS.register(name, definition)
