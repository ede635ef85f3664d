"""Variable scopes: names, sharing, inheritance and the errors of each."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from thalweg._src.base import dtypes
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.scopes import GraphKeys, control_dependencies, get_collection, name_scope
from thalweg._src.graph.variable_creators import variable_creator_scope
from thalweg._src.runtime.session.session import Session
from thalweg._src.training.variables.initializers import constant_initializer, ones_initializer, zeros_initializer
from thalweg._src.training.variables.replication import VariableSynchronization
from thalweg._src.training.variables.variable_scope import (
    AUTO_REUSE,
    get_local_variable,
    get_variable,
    get_variable_scope,
    no_regularizer,
    variable_op_scope,
    variable_scope,
)
from thalweg._src.training.variables.variables import (
    Variable,
    global_variables,
    global_variables_initializer,
    local_variables,
    trainable_variables,
)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with Graph().as_default() as graph:
        yield graph


def op_name() -> str:
    return constant(1).op.name


def test_a_reopened_scope_has_a_new_name_scope_and_the_same_variables() -> None:
    with variable_scope("a") as first:
        v = get_variable("v", [1])
        assert (v.name, op_name(), first.original_name_scope) == ("a/v:0", "a/Const", "a/")
    with variable_scope("a", reuse=True) as second:
        assert get_variable("v", [1]) is v
        assert (op_name(), second.original_name_scope) == ("a_1/Const", "a_1/")


def test_names_depend_on_variable_scopes_alone() -> None:
    with name_scope("n"):
        assert get_variable("v", [1]).name == "v:0"
        with variable_scope("a"):
            assert get_variable("v", [1]).name == "a/v:0"
            assert op_name() == "n/a/Const"
            assert Variable(0, name="plain").name == "n/a/plain:0"
    with variable_scope("b"), variable_scope("c/d") as scope:
        assert get_variable("v", [1]).name == "b/c/d/v:0"
        assert scope.name == "b/c/d"


def test_reentering_a_scope_from_another_one() -> None:
    with variable_scope("a") as a:
        v = get_variable("v", [1])
    with variable_scope("b"):
        with variable_scope(a, reuse=True) as again:
            assert get_variable("v", [1]) is v
            assert (again.name, again.original_name_scope, op_name()) == ("a", "a/", "b/a/Const")
        with variable_scope(a, auxiliary_name_scope=False):
            assert op_name() == "b/Const"
            assert get_variable("w", [1]).name == "a/w:0"
        with variable_scope("c", auxiliary_name_scope=False) as inner:
            assert (inner.original_name_scope, op_name()) == ("b/", "b/Const_1")
    assert get_variable_scope().name == ""


def test_default_names_are_unique() -> None:
    found = []
    for _ in range(2):
        with variable_scope(None, default_name="d") as outer:
            found.append(get_variable("v", [1]).name)
            with variable_scope(None, default_name="e") as inner:
                found.append(inner.name)
        assert outer.original_name_scope == f"{outer.name}/"
    assert found == ["d/v:0", "d/e", "d_1/v:0", "d_1/e"]
    with variable_scope("named", default_name="d") as scope:
        assert scope.name == "named"


def test_reuse_is_inherited() -> None:
    with variable_scope("a"):
        v = get_variable("v", [1])
        with variable_scope("b"):
            w = get_variable("w", [1])
    with variable_scope("a", reuse=True), variable_scope("b", reuse=False) as scope:
        assert scope.reuse is True
        assert get_variable("w", [1]) is w
    with variable_scope("a") as scope:
        scope.reuse_variables()
        assert get_variable("v", [1]) is v
    with variable_scope(get_variable_scope(), reuse=AUTO_REUSE) as root:
        assert (root.name, op_name()) == ("", "Const")
        assert get_variable("new", [1]) is get_variable("new", [1])
        with variable_scope("c") as inner:
            assert inner.reuse is AUTO_REUSE


def test_errors_of_sharing() -> None:
    get_variable("v", [2, 3])
    with pytest.raises(ValueError, match=r"(?s)v already exists.*test_variable_scope.py:\d+ in test_errors_of_sharing"):
        get_variable("v", [2, 3])
    with variable_scope("", reuse=True), pytest.raises(ValueError, match="w does not exist"):
        get_variable("w", [1])
    with variable_scope(get_variable_scope(), reuse=True):
        with pytest.raises(ValueError, match=r"specified shape \(3, 2\) and found shape \(2, 3\)"):
            get_variable("v", [3, 2])
        with pytest.raises(ValueError, match="specified dtype int32 and found dtype float32"):
            get_variable("v", [2, 3], dtypes.int32)
        assert get_variable("v").shape.as_list() == [2, 3]
        assert get_variable("v", [2, None]).shape.as_list() == [2, 3]


def test_errors_of_creation() -> None:
    with pytest.raises(ValueError, match="must be fully defined"):
        get_variable("v", [None, 2])
    with pytest.raises(ValueError, match="must be fully defined"):
        get_variable("v")
    with pytest.raises(ValueError, match="do not specify shape"):
        get_variable("v", [1], initializer=1.0)
    with pytest.raises(ValueError, match="don't match"):
        get_variable("v", initializer=1.0, dtype=dtypes.int32)
    with pytest.raises(ValueError, match="initializer for variable v of"):
        get_variable("v", [1], dtypes.complex64)
    with pytest.raises(TypeError, match="If default_name is None then name_or_scope is required"):
        variable_scope(None)
    with pytest.raises(TypeError, match="must be a string or VariableScope"):
        variable_scope(3)
    with pytest.raises(ValueError, match="reuse: expected"):
        variable_scope("a", reuse="yes")
    with pytest.raises(ValueError, match="needs name_or_scope"), variable_scope(None, "d", reuse=True):
        pass
    with pytest.raises(TypeError, match="auxiliary_name_scope"):
        variable_scope("a", auxiliary_name_scope=1)  # type: ignore[arg-type]
    assert get_variable_scope().name == ""


def test_initial_values() -> None:
    made = [
        get_variable("function", [2], initializer=constant_initializer(3.0)),
        get_variable("class", [2], initializer=ones_initializer),
        get_variable("value", initializer=[1, 2]),
        get_variable("tensor", initializer=constant([5.0])),
        get_variable("called", initializer=lambda: constant(7.0)),
        get_variable("int", [2], dtypes.int32),
        get_variable("bool", [2], dtypes.bool),
        get_variable("string", [1], dtypes.string),
    ]
    with Session() as session:
        session.run(global_variables_initializer())
        values = [value.tolist() for value in session.run(made)]
    assert values == [[3, 3], [1, 1], [1, 2], [5], 7, [0, 0], [False, False], [b""]]
    assert made[2].dtype.base_dtype is dtypes.int32


def test_inherited_scope_properties() -> None:
    initializer = constant_initializer(2.0)
    with variable_scope("a", initializer=initializer, dtype=dtypes.float64, constraint=abs, use_resource=True) as scope:
        v = get_variable("v", [1])
        with variable_scope("b") as inner:
            assert inner.initializer is initializer and inner.dtype is dtypes.float64 and inner.constraint is abs
        with variable_scope("c", initializer=zeros_initializer()) as other:
            assert other.initializer is not initializer
        scope.set_dtype(dtypes.float16)
        scope.set_initializer(None)
        assert get_variable("w", [1]).dtype is dtypes.float16
        assert scope.global_variables()[0] is v and scope.trainable_variables()[0] is v
        assert scope.use_resource and scope.caching_device is None and scope.partitioner is None
    assert v.dtype is dtypes.float64 and v.constraint is abs
    get_variable("outside", [1])
    assert [x.name for x in scope.get_collection(GraphKeys.GLOBAL_VARIABLES)] == ["a/v:0", "a/w:0"]
    with Session() as session:
        session.run(v.initializer)
        assert session.run(v).tolist() == [2]


def test_regularizers() -> None:
    with variable_scope("a", regularizer=lambda v: reduce_sum(v)):
        get_variable("v", [2])
        get_variable("w", [2], regularizer=no_regularizer)
        with variable_scope("b", regularizer=no_regularizer):
            get_variable("v", [2])
    with variable_scope("a", reuse=True):
        get_variable("v", [2])
    assert [loss.op.name for loss in get_collection(GraphKeys.REGULARIZATION_LOSSES)] == ["a/v/Regularizer/Sum"]


def test_a_custom_getter_receives_all_settings_by_name() -> None:
    received: list[dict[str, Any]] = []

    def getter(getter: Any, **settings: Any) -> Any:
        received.append(settings)
        return getter(**settings)

    with variable_scope("s", custom_getter=getter):
        get_variable("x", [2])
        get_variable("y", [2], trainable=False)
        get_variable("z", [2], synchronization=VariableSynchronization.ON_READ)
    assert [settings["trainable"] for settings in received] == [True, False, False]
    assert " ".join(received[0]) == (
        "name shape dtype initializer regularizer reuse trainable collections caching_device partitioner "
        "validate_shape use_resource constraint synchronization aggregation"
    )


def test_a_getter_stores_trainable_variables_in_full_precision() -> None:
    def getter(getter: Any, name: Any, shape: Any = None, dtype: Any = None, trainable: Any = True, **rest: Any) -> Any:
        stored = getter(name, shape, dtype=dtypes.float32 if trainable else dtype, trainable=trainable, **rest)
        return cast(stored, dtype) if trainable and dtype != dtypes.float32 else stored

    with variable_scope("s", custom_getter=getter, dtype=dtypes.float16):
        used = get_variable("x", [2])
        kept = get_variable("y", [2], trainable=False)
    assert [v.dtype.base_dtype for v in trainable_variables()] == [dtypes.float32]
    assert used.dtype.base_dtype == kept.dtype.base_dtype == dtypes.float16


def test_custom_getters_wrap_each_other() -> None:
    calls: list[str] = []

    def getter_of(tag: str) -> Any:
        def custom(getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
            calls.append(f"{tag} {name}")
            return getter(name, *args, **kwargs)

        return custom

    def renamed(getter: Any, name: str, **kwargs: Any) -> Any:
        return getter(f"{name}_renamed", **kwargs) + 1.0

    with variable_scope("a", custom_getter=getter_of("outer")), variable_scope("b", custom_getter=getter_of("inner")):
        assert get_variable("v", [1]).name == "a/b/v:0"
    assert calls == ["inner a/b/v", "outer a/b/v"]
    assert get_variable("x", [1], custom_getter=renamed).op.type in ("Add", "AddV2")
    assert global_variables()[-1].name == "x_renamed:0"
    with pytest.raises(ValueError, match="expected a callable"):
        get_variable("y", [1], custom_getter=3)  # type: ignore[arg-type]


def test_local_variables_and_creators() -> None:
    v = get_local_variable("v", [1])
    assert local_variables() == [v] and not global_variables() and not trainable_variables()
    with variable_creator_scope(lambda next_creator, **kwargs: next_creator(**{**kwargs, "trainable": False})):
        assert not get_variable("w", [1]).trainable


def test_initializers_are_lifted_out_of_control_dependencies() -> None:
    x = placeholder(dtypes.float32, ())
    with control_dependencies([x]):
        v = get_variable("v", [3])
    with Session() as session:
        session.run(v.initializer)
        assert session.run(v).shape == (3,)


def test_scopes_are_per_thread_and_graph(graph: Graph) -> None:
    names: list[str] = []

    def other() -> None:
        with graph.as_default():
            names.append(get_variable_scope().name)
            names.append(get_variable("t", [1]).name)

    with variable_scope("a"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        with Graph().as_default():
            names.append(get_variable("v", [1]).name)
    assert names == ["", "t:0", "v:0"]


def test_variable_op_scope_and_entering_twice() -> None:
    with variable_op_scope([constant(1)], "s", "default") as scope:
        assert scope.name == "s"
    reusable = variable_scope("r", reuse=AUTO_REUSE)
    with reusable:
        v = get_variable("v", [1])
    with reusable:
        assert get_variable("v", [1]) is v
    with pytest.raises(RuntimeError, match="inside"), variable_scope("e"):
        raise RuntimeError("inside")
    assert get_variable_scope().name == ""
