import numpy as np
import pytest

from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.scopes import device
from thalweg._src.runtime.session.session import Session
from thalweg._src.training.nn.embedding import embedding_lookup
from thalweg._src.training.variables.variables import Variable

TABLE = np.random.default_rng(0).normal(size=(7, 3)).astype("float32")
IDS = np.array([[0, 6, 3], [2, 2, 5]], "int32")


def parts(count: int, strategy: str) -> list[np.ndarray]:
    if strategy == "mod":
        return [TABLE[i::count] for i in range(count)]
    return np.array_split(TABLE, count)


@pytest.mark.parametrize("strategy", ["mod", "div"])
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_lookup(strategy: str, count: int, dtype: str) -> None:
    with Graph().as_default(), Session() as session:
        tables = [constant(part) for part in parts(count, strategy)]
        ids = placeholder(dtype, [2, 3])
        rows = embedding_lookup(tables, ids, strategy)
        assert rows.shape.as_list() == [2, 3, 3]
        np.testing.assert_array_equal(session.run(rows, {ids: IDS.astype(dtype)}), TABLE[IDS])


@pytest.mark.parametrize("count", [1, 2])
def test_rows_are_gathered_on_the_device_of_the_table(count: int) -> None:
    with Graph().as_default() as graph:
        with device("/job:ps/task:0"):
            tables = [Variable(part) for part in parts(count, "mod")]
        with device("/job:worker/task:0"):
            rows = embedding_lookup(tables, constant(IDS))
        gathered = [op.device for op in graph.get_operations() if op.type == "GatherV2"]
        assert gathered == ["/job:ps/task:0"] * count
        assert rows.device == "/job:worker/task:0"


def test_norms_are_clipped() -> None:
    with Graph().as_default(), Session() as session:
        for tables in (constant(TABLE), [constant(part) for part in parts(2, "mod")]):
            rows = session.run(embedding_lookup(tables, constant(IDS), max_norm=1.0))
            norms = np.linalg.norm(TABLE[IDS], axis=-1, keepdims=True)
            np.testing.assert_allclose(rows, TABLE[IDS] / np.maximum(norms, 1), rtol=1e-5)


def test_gradients_of_partitioned_tables() -> None:
    with Graph().as_default(), Session() as session:
        tables = [constant(part) for part in parts(2, "mod")]
        grads = gradients(embedding_lookup(tables, constant(IDS)), tables)
        for index, (table, grad) in enumerate(zip(tables, grads)):
            indices, values = session.run([grad.indices, grad.values])
            total = np.zeros(table.shape.as_list(), "float32")
            np.add.at(total, indices, values)
            counts = np.bincount(IDS.ravel(), minlength=7)[index::2]
            np.testing.assert_array_equal(total, np.repeat(counts[:, None], 3, 1))


def test_invalid_arguments() -> None:
    with pytest.raises(ValueError, match="at least one"):
        embedding_lookup([], constant(IDS))
    with pytest.raises(ValueError, match="strategy"):
        embedding_lookup(constant(TABLE), constant(IDS), "odd")
