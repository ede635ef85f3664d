"""Variables as a program holds them: names, operators, initialization, containers, collections."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from thalweg._src.base import dtypes, errors
from thalweg._src.base.config import ConfigProto
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.ops.random import random_uniform
from thalweg._src.graph.scopes import GraphKeys, control_dependencies, device, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.variable_creators import variable_creator_scope
from thalweg._src.runtime.session.session import Session
from thalweg._src.training.variables import assign as assignments
from thalweg._src.training.variables.variables import (
    Variable,
    VariableAggregation,
    VariableSynchronization,
    global_variables,
    global_variables_initializer,
    local_variables,
    local_variables_initializer,
    trainable_variables,
    variables_initializer,
)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with Graph().as_default() as graph:
        yield graph


def names(graph: Graph) -> list[str]:
    return [operation.name for operation in graph.get_operations()]


def initialized() -> Session:
    session = Session()
    session.run([global_variables_initializer(), local_variables_initializer()])
    return session


def test_operation_names_match_tensorflow(graph: Graph) -> None:
    Variable([1.0], name="v")
    assert names(graph) == ["v/initial_value", "v", "v/Assign", "v/read"]
    Variable([1.0], name="r", use_resource=True)
    assert names(graph)[4:] == [
        "r/Initializer/initial_value",
        "r",
        "r/IsInitialized/VarIsInitializedOp",
        "r/Assign",
        "r/Read/ReadVariableOp",
    ]
    assert [Variable(0).name, Variable(0).name] == ["Variable:0", "Variable_1:0"]
    with name_scope("a"):
        assert Variable(0, name="v").name == "a/v:0"
    assert Variable(0, name="v").op.name == "v_1"


def test_properties(graph: Graph) -> None:
    v = Variable(np.zeros((2, 3)), name="v", constraint=abs, trainable=False)
    assert v.dtype is dtypes.float64._as_ref and v.shape.as_list() == [2, 3] and v.get_shape().rank == 2
    assert v.graph is graph and v.op.type == "VariableV2" and v._ref().op is v.op and v.device == ""
    assert v.initializer.name == "v/Assign" and v.initial_value.name == "v/initial_value:0"
    assert v.constraint is abs and v.trainable is False
    assert v.synchronization is VariableSynchronization.AUTO and v.aggregation is VariableAggregation.NONE
    assert VariableAggregation.ONLY_FIRST_TOWER is VariableAggregation.ONLY_FIRST_REPLICA
    assert repr(v) == str(v) == "<tf.Variable 'v:0' shape=(2, 3) dtype=float64_ref>"
    assert v in {v} and (v == Variable(0.0)) is False
    assert graph.as_graph_element(v).name == "v:0"
    with pytest.raises(TypeError, match="not iterable"):
        iter(v)


def test_in_place_operators_return_tensors() -> None:
    v = w = Variable([1.0, 2.0])
    v += 1
    w -= 1
    assert isinstance(v, Tensor) and isinstance(w, Tensor)
    with Session() as session:
        session.run(global_variables_initializer())
        assert session.run([v, w])[0].tolist() == [2.0, 3.0]


def test_invalid_arguments() -> None:
    with pytest.raises(ValueError, match="initial_value must be specified"):
        Variable()
    with pytest.raises(ValueError, match="collections: expected"):
        Variable(0, collections="variables")
    with pytest.raises(ValueError, match="constraint"):
        Variable(0, constraint=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"shape of the initial value .* is unknown"):
        Variable(placeholder(dtypes.float32))
    with pytest.raises(ValueError, match="expected shape"):
        Variable([1.0, 2.0], shape=(3,))
    with pytest.raises(TypeError):
        Variable([1.5], dtype=dtypes.int32)


def test_a_variable_may_have_any_shape() -> None:
    x = placeholder(dtypes.float32)
    v = Variable(x, validate_shape=False)
    w = Variable(np.zeros((2, 1), np.float32), shape=(None, None))
    assert v.shape.rank is None and w.shape.as_list() == [None, None]
    with Session() as session:
        session.run([v.initializer, w.initializer], {x: [1, 2, 3]})
        assert session.run(v).tolist() == [1, 2, 3]
        assert session.run(v.assign([[4.0]])).tolist() == [[4]]
        assert session.run(w.assign(np.ones((1, 3), np.float32))).shape == (1, 3)


def test_collections() -> None:
    v, w = Variable(1.0), Variable(2.0, trainable=False)
    u = Variable(3.0, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES])
    t = Variable(3.0, collections=[])
    assert global_variables() == [v, w]
    assert local_variables() == [u]
    assert trainable_variables() == [v, t]
    assert global_variables("Variable_1") == [w]
    assert Variable(0.0, synchronization=VariableSynchronization.ON_READ).trainable is False


def test_operators_read_the_variable() -> None:
    v, m = Variable([1.0, 2.0]), Variable([[1.0, 2.0]])
    session = initialized()
    assert session.run(v + 1).tolist() == [2, 3]  # type: ignore[operator]
    assert session.run(2 * v - v / 2).tolist() == [1.5, 3]  # type: ignore[operator]
    assert session.run(np.array([1.0, 1.0], np.float32) + v).tolist() == [2, 3]
    assert session.run(-v).tolist() == [-1, -2]  # type: ignore[operator]
    assert session.run(v > 1).tolist() == [False, True]  # type: ignore[operator]
    assert session.run(v[1]) == 2
    assert session.run(m @ [[1.0], [1.0]]).tolist() == [[3]]  # type: ignore[operator]
    assert isinstance(convert_to_tensor(v), Tensor)
    assert session.run(convert_to_tensor([v, v])).tolist() == [[1, 2], [1, 2]]
    with pytest.raises(
        ValueError, match="Incompatible type conversion requested to type 'int32' for variable of type 'float32_ref'"
    ):
        convert_to_tensor(v, dtypes.int32)


def test_conversion_reads_after_the_control_dependencies() -> None:
    v = Variable(1.0)
    write = v.assign(5.0, read_value=False)
    with control_dependencies([write]):
        after, again = convert_to_tensor(v), v.read_value()
    session = initialized()
    assert session.run([after, again]) == [5, 5]


def test_assignments_return_what_is_read_after_them() -> None:
    v = Variable(1.0)
    chained = assignments.assign_add(assignments.assign(v, 10.0), 5.0)
    session = initialized()
    assert session.run(v.assign_add(2.0)) == 3
    assert session.run(assignments.assign_sub(v, 1.0)) == 2
    assert session.run(chained) == 15
    assert session.run(v.assign(7.0, read_value=False)) is None
    assert v.eval(session) == 7
    with pytest.raises(TypeError, match="only variables"):
        assignments.assign(constant(1.0), 2.0)
    with pytest.raises(ValueError, match="Shapes must be equal rank, but are 0 and 1"):
        v.assign([1.0])


def test_scatter_functions() -> None:
    v = Variable([1.0, 2.0, 3.0])
    session = initialized()
    assert session.run(assignments.scatter_add(v, [0, 0], [1.0, 1.0])).tolist() == [3, 2, 3]
    assert session.run(assignments.scatter_sub(v, 1, 1.0)).tolist() == [3, 1, 3]
    assert session.run(assignments.scatter_update(v, [2], [5.0])).tolist() == [3, 1, 5]
    assert session.run(assignments.scatter_mul(v, [2], 2.0)).tolist() == [3, 1, 10]
    assert session.run(assignments.scatter_div(v, [2], 5.0)).tolist() == [3, 1, 2]
    assert session.run(assignments.scatter_min(v, [0, 1], 2.0)).tolist() == [2, 1, 2]
    assert session.run(assignments.scatter_max(v, [0, 1], 1.5)).tolist() == [2, 1.5, 2]
    assert session.run(assignments.scatter_nd_update(v, [[0]], [0.0])).tolist() == [0, 1.5, 2]
    assert session.run(assignments.scatter_nd_add(v, [[0]], [4.0])).tolist() == [4, 1.5, 2]
    assert session.run(assignments.scatter_nd_sub(v, [[0]], [3.0])).tolist() == [1, 1.5, 2]
    with pytest.raises(TypeError, match="IndexedSlices"):
        v.scatter_add(constant([1.0]))
    delta = IndexedSlices(constant([1.0]), constant([0]))
    assert session.run(v.scatter_add(delta)).tolist() == [2, 1.5, 2]


def test_scatter_in_batches() -> None:
    v = Variable(np.zeros((2, 4, 2), np.float32))
    session = initialized()
    value = session.run(assignments.batch_scatter_update(v, [[0, 1], [3, 2]], np.arange(8.0).reshape(2, 2, 2)))
    assert value[0, :2].tolist() == [[0, 1], [2, 3]] and value[1, 2:].tolist() == [[6, 7], [4, 5]]


def test_initial_values_that_read_other_variables() -> None:
    v = Variable(random_uniform((4,)))
    w = Variable(v.initialized_value() * 2.0)  # type: ignore[operator]
    session = initialized()
    values = session.run([v, w])
    np.testing.assert_allclose(values[1], values[0] * 2)
    session.run(v.assign(np.ones(4, np.float32)).op)
    session.run(w.initializer)
    assert session.run(w).tolist() == [2] * 4


def test_initializer_functions_ignore_control_dependencies() -> None:
    x = placeholder(dtypes.float32, ())
    with control_dependencies([x]):
        v = Variable(lambda: constant(3.0))
    with Session() as session:
        session.run(v.initializer)
        assert session.run(v) == 3


def test_initialization_queries() -> None:
    v, w = Variable(1.0, name="v"), Variable(2.0, name="w")
    report, check = assignments.report_uninitialized_variables(), assignments.assert_variables_initialized()
    question = assignments.is_variable_initialized(v)
    with Session() as session:
        assert session.run(report).tolist() == [b"v", b"w"]
        session.run(variables_initializer([v]))
        assert session.run(question)
        assert session.run(report).tolist() == [b"w"]
        with pytest.raises(errors.FailedPreconditionError, match="uninitialized value w"):
            session.run(check)
        session.run(w.initializer)
        assert session.run(report).tolist() == []
        session.run(check)


def test_load_needs_no_new_operations(graph: Graph) -> None:
    v = Variable([1.0, 2.0])
    graph.finalize()
    with Session() as session:
        v.load([3.0, 4.0], session)
        assert session.run(v).tolist() == [3, 4]


def test_the_default_container_belongs_to_one_session() -> None:
    v = Variable(1.0)
    write = v.assign_add(1.0)
    first, second = initialized(), initialized()
    first.run(write)
    assert [first.run(v), second.run(v)] == [2, 1]
    first.close()
    assert second.run(v) == 1


def test_a_named_container_is_shared_until_it_is_reset(graph: Graph) -> None:
    with graph.container("shared by sessions"):
        v = Variable(1.0, name="v")
    with Graph().as_default() as other, other.container("shared by sessions"):
        w = Variable(5.0, name="v")
    first, second = Session(graph=graph), Session(graph=other)
    first.run(v.initializer)
    first.run(v.assign_add(1.0).op)
    assert second.run(w) == 2
    second.close()
    assert first.run(v) == 2
    Session.reset("", ["shared by sessions"])
    with pytest.raises(RuntimeError, match="closed"):
        first.run(v)
    with Session(graph=graph) as third, pytest.raises(errors.FailedPreconditionError):
        third.run(v)


def test_a_shared_variable_has_one_type(graph: Graph) -> None:
    with graph.container("one type"):
        v = Variable(1.0, name="v")
    with Graph().as_default() as other, other.container("one type"):
        w = Variable(5, name="v")
    with Session(graph=graph) as session:
        session.run(v.initializer)
        with Session(graph=other) as second, pytest.raises(errors.InvalidArgumentError, match="another type"):
            second.run(w.initializer)
    Session.reset("", ["one type"])


def test_variables_stay_on_their_device() -> None:
    with device("/cpu:1"):
        v = Variable(1.0)
    with device("/cpu:0"):
        value, write = v + 1.0, v.assign_add(1.0)  # type: ignore[operator]
    cached = Variable(3.0, caching_device="/cpu:1")
    with Session(config=ConfigProto(device_count={"CPU": 2})) as session:
        session.run(global_variables_initializer())
        assert session.run(value) == 2
        assert session.run(write) == 2
        assert session.run(cached + 1.0) == 4  # type: ignore[operator]
    assert v.device == "/device:CPU:1" and convert_to_tensor(cached).device == "/device:CPU:1"


def test_creators_are_applied_innermost_first() -> None:
    calls: list[str] = []

    def outer(next_creator: Any, **kwargs: Any) -> Any:
        calls.append("outer")
        return next_creator(**{**kwargs, "name": kwargs["name"] + "_outer"})

    def inner(next_creator: Any, **kwargs: Any) -> Any:
        calls.append("inner")
        return next_creator(**{**kwargs, "trainable": False})

    with variable_creator_scope(outer), variable_creator_scope(inner):
        v = Variable(1.0, name="v")
    assert calls == ["inner", "outer"]
    assert v.name == "v_outer:0" and not v.trainable and global_variables() == [v]
    assert Variable(1.0, name="v").name == "v:0"


def test_set_shape() -> None:
    v = Variable([1.0, 2.0], shape=(None,))
    v.set_shape((2,))
    assert v.shape.as_list() == [2] and v.value().dims == (2,)
    with pytest.raises(ValueError, match="must be equal"):
        v.set_shape((3,))


@pytest.mark.parametrize("use_resource", [False, True])
def test_proto_round_trip(use_resource: bool) -> None:
    v = Variable([1.0, 2.0], name="v", trainable=False, use_resource=use_resource)
    message = v.to_proto()
    assert message.is_resource == use_resource
    assert message.variable_name == "v:0" and not message.trainable
    count = len(v.graph.get_operations())
    for again in (Variable(variable_def=message), Variable.from_proto(message)):
        assert (
            type(again) is type(v)
            and again._handle is v._handle
            and again.initializer is v.initializer
            and not again.trainable
        )
        assert again.shape.as_list() == [2] and again.dtype is v.dtype
    assert len(v.graph.get_operations()) == count and global_variables() == [v]
    assert v.to_proto(export_scope="elsewhere") is None
    with pytest.raises(ValueError, match="mutually exclusive"):
        Variable(1.0, variable_def=message)
    with pytest.raises(TypeError, match="VariableDef"):
        Variable(variable_def="v")
