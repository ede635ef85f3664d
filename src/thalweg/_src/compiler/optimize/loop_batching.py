"""Loop batching: matrix products that do not depend on a loop's state become one batched product outside of it.

- Before: `read(xs, i) @ w` in each iteration is a row of `xs @ w`. Cells multiply `concat([x, h], 1) @ w`, which is
  `x @ w[:n] + h @ w[n:]`, so that half of the work leaves the loop.
- After: the sum over iterations of `transpose(a) @ b`, as gradients of weights are, is one product of all rows of `a`
  and `b`.
- A product of which only some columns are used computes only those.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.shapes import Shape
from thalweg._src.compiler.optimize.loop_invariants import captured, constant_like, mirrors
from thalweg._src.graph.ir.step_graph import Node, Output, Region, StepGraph
from thalweg._src.graph.op_def import OPS


def batch(step: StepGraph) -> None:
    """Moves matrix products out of the loops of a step."""
    for loop in [node for node in step.nodes if node.type == "_While"]:
        _Products(step, loop).batch()


class _Products:
    """The matrix products of one loop's body."""

    def __init__(self, step: StepGraph, loop: Node) -> None:
        self._step = step
        self._set_loop(loop)
        self._slices: dict[tuple[Output, int, int, int], Output] = {}
        self._products_read: dict[tuple[Any, ...], Output] = {}

    def _set_loop(self, loop: Node) -> None:
        """Sets the current loop: the first one, or its replacement."""
        self._loop = loop
        self._region: Region = loop.attrs["region"]
        self._body = self._region.body
        count = len(loop.dtypes)
        self._outside = dict(zip(self._body.feeds[count:], loop.inputs[count:]))

    def batch(self) -> None:
        self._narrow_columns()
        self._batch_before()
        self._save_operands()
        self._batch_after()

    def _find(self, op_type: str) -> list[Node]:
        return [n for n in self._body.nodes if n.type == op_type and not n.guard and not n.controls]

    def _uses(self) -> dict[Output, list[Node]]:
        """Returns the consumers of each value of the body; for a result of the body, the loop itself."""
        uses: dict[Output, list[Node]] = {}
        for node in self._body.nodes:
            for output in [*node.inputs, *(predicate for predicate, _ in node.guard)]:
                uses.setdefault(output, []).append(node)
        for output in [*self._body.fetches, *(Output(target, 0) for target in self._body.targets)]:
            uses.setdefault(output, []).append(self._loop)
        return uses

    def _weights(self, product: Node, side: int) -> Output | None:
        """Returns the loop-invariant matrix that a product multiplies by."""
        weights = self._outside.get(product.inputs[side].node)
        return weights if weights is not None and product.dtypes[0] in dtypes.FLOATING else None

    # -- columns ------------------------------------------------------------------------------------------------------

    def _narrow_columns(self) -> None:
        """Replaces `split(a @ w)`, if only one part is used, by a product with the columns of that part."""
        # A column of a product depends on the same column of the weights alone. The columns are cut out once, before
        # the loop, if everything else that the product computes is unused in the body.
        uses = self._uses()
        replaced: dict[Output, Output] = {}
        for node in [*self._find("Split"), *self._find("SplitV")]:
            axis, value = (0, 1) if node.type == "Split" else (2, 0)
            product = node.inputs[value].node
            used = [i for i in range(len(node.dtypes)) if Output(node, i) in uses]
            sizes = [shape[1] if shape and len(shape) == 2 else None for shape in node.shapes]
            along = node.constant(axis)
            if product.type != "MatMul" or uses[Output(product, 0)] != [node] or len(used) != 1 or None in sizes:
                continue
            weights = self._weights(product, 1)
            if weights is None or along is None or int(along) not in (1, -1) or product.controls or product.guard:
                continue
            (index,) = used
            begin = sum(sizes[:index])  # type: ignore[arg-type]
            columns = self._weight_slice(weights, begin, sizes[index] or 0, 0 if product.attrs["transpose_b"] else 1)
            inputs = [product.inputs[0], captured(self._loop, columns)]
            replaced[Output(node, index)] = Output(
                product.like("MatMul", inputs, product.attrs, shapes=[node.shapes[index]]), 0
            )
        if replaced:
            self._body.rewrite(replaced)
            self._step.prune_and_sort()

    def _weight_slice(self, matrix: Output, begin: int, size: int, axis: int) -> Output:
        """Returns a slice of a matrix along an axis, computed once before the loop."""
        key = (matrix, begin, size, axis)
        if key not in self._slices:
            self._slices[key] = self._slice(*key)
        return self._slices[key]

    def _slice(self, matrix: Output, begin: int, size: int, axis: int) -> Output:
        producer, slot = matrix
        shape = producer.shapes[slot]
        assert shape is not None and len(shape) == 2
        begins, sizes = [0, 0], [-1, -1]
        begins[axis], sizes[axis] = begin, size
        slice_shape: Shape = tuple(size if i == axis else n for i, n in enumerate(shape))
        indices = [self._constant(np.array(value, np.int32), producer.name) for value in (begins, sizes)]
        attrs = {"T": producer.dtypes[slot], "Index": dtypes.int32}
        return Output(self._outer("Slice", f"{producer.name}/part", [matrix, *indices], attrs, slice_shape, matrix), 0)

    # -- before -------------------------------------------------------------------------------------------------------

    def _batch_before(self) -> None:
        """Multiplies the elements that a loop reads from an array by its weights for all iterations at once."""
        # concat([x, h], 1) @ w = x @ w[:n] + h @ w[n:]: the term with the sequence leaves the loop, the term with the
        # state stays. Each sum is rounded on its own then, so that results differ in the last bits; an option turns
        # that off. Only one of several sequences in a concatenation is taken, since each further one would add a read
        # and a sum per iteration.
        uses = self._uses()
        replaced: dict[Output, Output] = {}
        for product in self._find("MatMul"):
            weights = self._weights(product, 1)
            if weights is None or product.attrs["transpose_a"]:
                continue
            operands, reads = _operands(product.inputs[0])
            reading = [operand for operand in reads if self._sequence(operand.node) is not None]
            if not reading or any(_width(operand) is None for operand in operands):
                continue
            last, bias = self._biased(product, uses)
            replaced[Output(last, 0)] = self._split_product(product, operands, reading[0], weights, bias)
        if replaced:
            self._body.rewrite(replaced)
            self._step.prune_and_sort()

    def _biased(self, product: Node, uses: dict[Output, list[Node]]) -> tuple[Node, Output | None]:
        """Returns the node that adds a loop-invariant vector to a product, and that vector; or the product alone."""
        user = _only_user(uses, Output(product, 0))
        if user is None or user.type not in ("BiasAdd", "Add", "AddV2"):
            return product, None
        other = user.inputs[1] if user.inputs[0] == Output(product, 0) else user.inputs[0]
        shape = other.shape
        fits = shape is not None and len(shape) == 1 and shape[0] is not None and shape[0] == _width(Output(product, 0))
        bias = self._outside.get(other.node)
        return (user, bias) if fits and bias is not None else (product, None)

    def _sequence(self, read: Node) -> Output | None:
        """Returns the tensor whose elements a node reads by a loop index, if it was computed before the loop."""
        # The array must have been filled before the loop by one scatter of a whole tensor to the indices 0, 1, 2, ...,
        # and by nothing else: then the element of iteration i is row i of that tensor, whatever index the loop
        # computes.
        if read.type != "TensorArrayReadV3" or read.guard or read.controls:
            return None
        handle, flow = self._outside.get(read.inputs[0].node), self._outside.get(read.inputs[2].node)
        if handle is None or flow is None or flow.node.type != "TensorArrayScatterV3" or flow.node.inputs[0] != handle:
            return None
        scatter: Node = flow[0]
        value, shape = scatter.inputs[2], scatter.input_shape(2)
        first = scatter.inputs[3].node
        if first is not handle[0] or shape is None or len(shape) != 3 or not _counts_up(scatter):
            return None
        return value

    def _split_product(
        self, product: Node, operands: list[Output], read: Output, weights: Output, bias: Output | None
    ) -> Output:
        """Returns a product as the sum of a row that is computed before the loop and of the remaining product."""
        axis = 1 if product.attrs["transpose_b"] else 0
        # Each operand multiplies the rows of the weights that belong to its columns. With the sequence as only operand
        # these are all rows, and nothing is left to multiply in the loop.
        begin = 0
        remaining: list[tuple[Output, int, int]] = []
        for operand in operands:
            width = _width(operand) or 0
            if operand == read:
                read_rows = (begin, width)
            else:
                remaining.append((operand, begin, width))
            begin += width
        whole = not remaining
        rows = weights if whole else self._weight_slice(weights, *read_rows, axis)
        total = self._element_of_products(product, read, rows, bias)
        for operand, start, width in remaining:
            left = captured(self._loop, self._weight_slice(weights, start, width, axis))
            term = product.like("MatMul", [operand, left], product.attrs, name=f"{product.name}/rest")
            total = Output(product.like("AddV2", [Output(term, 0), total], {"T": product.dtypes[0]}), 0)
        return total

    def _element_of_products(self, product: Node, read: Output, weights: Output, bias: Output | None) -> Output:
        """Returns an element of the products of a sequence, read where the sequence itself is read.

        It is read once per iteration, like the sequence: arrays release elements that were read.
        """
        key = (read, weights, bias, product.attrs["transpose_b"])
        if key not in self._products_read:
            self._products_read[key] = self._read_product(product, read, weights, bias)
        return self._products_read[key]

    def _read_product(self, product: Node, read: Output, weights: Output, bias: Output | None) -> Output:
        scatter = self._all_products(product, read.node, weights, bias).node
        array, flow = (captured(self._loop, output) for output in (scatter.inputs[0], Output(scatter, 0)))
        element = read.node.like(
            read.node.type,
            [array, read.node.inputs[1], flow],
            {**read.node.attrs, "dtype": product.dtypes[0]},
            shapes=list(product.shapes),
            name=f"{product.name}/row",
        )
        return Output(element, 0)

    def _all_products(self, product: Node, read: Node, weights: Output, bias: Output | None) -> Output:
        """Returns a new array outside the loop with the products of all elements of another one."""
        sequence = self._sequence(read)
        flow = self._outside[read.inputs[2].node]
        assert sequence is not None
        old, dtype, name = flow.node, product.dtypes[0], product.name
        products = self._products_of(product, sequence, weights, bias, flow)
        array = old.inputs[0].node
        products_array = array.like(array.type, array.inputs, {**array.attrs, "dtype": dtype, "element_shape": None})
        products_array.name, products_array.order = f"{name}/array", old.order
        inputs = [Output(products_array, 0), old.inputs[1], products, Output(products_array, 1)]
        scatter = old.like(old.type, inputs, {**old.attrs, "T": dtype}, name=f"{name}/scatter")
        self._step.nodes += [products_array, scatter]
        return Output(scatter, 0)

    def _products_of(
        self, product: Node, sequence: Output, weights: Output, bias: Output | None, near: Output
    ) -> Output:
        """Returns the products of all elements of a sequence, as one matrix product if the shapes allow it."""
        # One large product of all rows is faster than a batch of small ones, but needs a reshape that restores the
        # first two dimensions: at most one of them may be unknown.
        size, m = sequence.shape, _width(Output(product, 0))
        assert size is not None
        dtype, name = product.dtypes[0], f"{product.name}/all"
        shape: Shape = (*size[:2], m)
        one_matrix = size[2] is not None and m is not None and size[:2].count(None) < 2
        if one_matrix:
            back = self._constant(np.array([-1 if n is None else n for n in (*size[:2], m)], np.int32), name)
            rows = self._reshaped(sequence, self._constant(np.array([-1, size[2]], np.int32), name), (None, size[2]))
            products = Output(self._outer("MatMul", name, [rows, weights], product.attrs, (None, m), near), 0)
        else:
            attrs = {"T": dtype, "adj_x": False, "adj_y": product.attrs["transpose_b"]}
            products = Output(self._outer("BatchMatMulV2", name, [sequence, weights], attrs, shape, near), 0)
        if bias is not None:
            attrs = {"T": dtype, "data_format": "NHWC"}
            biased = (None, m) if one_matrix else shape
            products = Output(self._outer("BiasAdd", f"{name}_biased", [products, bias], attrs, biased, near), 0)
        return self._reshaped(products, back, shape) if one_matrix else products

    def _reshaped(self, value: Output, sizes: Output, shape: Shape) -> Output:
        attrs = {"T": value.dtype, "Tshape": dtypes.int32}
        return Output(self._outer("Reshape", f"{value.node.name}/reshaped", [value, sizes], attrs, shape, value), 0)

    # -- values saved for the gradient --------------------------------------------------------------------------------

    def _save_operands(self) -> None:
        """Makes the forward loop save the parts of a concatenated matrix, if it concatenates them only to save it."""
        # A gradient saves the concatenation [x, h] of each iteration only to multiply it by a gradient. Saved
        # separately, the operands are needed anyway (h) or are an element of an array (x), and the forward loop no
        # longer builds the matrix. The backward loop concatenates them again, until `_batch_after` takes the saved
        # lists as whole matrices. The forward loop must save the value once per iteration of the backward loop, in the
        # opposite order, which `mirrors` proves.
        uses = self._uses()
        for index in range(len(self._loop.dtypes)):
            forward, saved = self._loop.inputs[index]
            pop = self._body.fetches[index][0]
            if forward.type != "_While" or pop.type != "TensorListPopBack" or pop.attrs.get("_swap_memory"):
                continue
            if (
                Output(pop, 1) not in uses
                or pop.inputs[0] != Output(self._body.feeds[index], 0)
                or pop.guard
                or not mirrors(self._loop, forward)
            ):
                continue
            push = forward.attrs["region"].body.fetches[saved][0]
            if push.type != "TensorListPushBack" or push.guard or push.inputs[0].node.type != "_Arg":
                continue
            before = _Products(self._step, forward)
            operands, _ = _operands(push.inputs[1])
            if len(operands) > 1 and before._uses()[push.inputs[1]] == [push] and None not in map(_width, operands):
                self._save_separately(before, operands, Output(pop, 1), push.inputs[1].node)
                self._save_operands()  # of the current loop
                return

    def _save_separately(self, before: _Products, operands: list[Output], popped: Output, join: Node) -> None:
        lists: dict[Output, int] = {}
        wider = before._widened(operands, lists)
        count, old = len(self._loop.dtypes), before._loop
        self._step.rewrite({Output(old, i): Output(wider, i) for i in range(len(old.dtypes))}, {old: wider})
        arguments, pops = [], []
        for operand in operands:
            name = f"{join.name}/{operand.node.name.rpartition('/')[2]}"
            argument = _list_argument(popped.node, name)
            inputs: list[Output] = [Output(argument, 0), popped.node.inputs[1]]
            shapes: list[Shape] = [(), operand.shape]
            pops.append(
                popped.node.like("TensorListPopBack", inputs, popped.node.attrs, name=f"{name}/pop", shapes=shapes)
            )
            arguments.append(argument)
        axis = constant_like(join.inputs[-1].node)
        again = join.like("ConcatV2", [*(Output(pop, 1) for pop in pops), axis], join.attrs, name=f"{join.name}/again")
        loop = _with_variables(
            self._loop,
            arguments,
            [Output(wider, lists[operand]) for operand in operands],
            [Output(pop, 0) for pop in pops],
        )
        loop.attrs["region"].body.rewrite({popped: Output(again, 0)})
        replaced: dict[Output, Output] = {Output(self._loop, i): Output(loop, i) for i in range(count)}
        self._step.rewrite(replaced, {self._loop: loop})
        self._set_loop(loop)

    # -- after --------------------------------------------------------------------------------------------------------

    def _batch_after(self) -> None:
        """Computes products that a gradient accumulates over all iterations at once, after the loop."""
        # sum_i a_i^T b_i is A^T B for A and B with the rows of all a_i and b_i. So the loop saves its operands instead
        # of adding up products, and one product follows the loop. The order of the rows does not matter as long as it
        # is the same for both. This takes memory for the operands of all iterations: it is done only for loops of
        # gradients, for which as much is saved already, and not if the user asked for that to be swapped out.
        uses = self._uses()
        arguments, count = self._body.feeds, len(self._loop.dtypes)
        lists: dict[Output, int] = {}  # the value saved in each iteration, by its new loop variable
        totals: dict[int, tuple[Node, list[Output]]] = {}
        for index in range(count):
            term = self._accumulated(index, uses)
            if term is not None:
                totals[index] = (term, term.inputs if term.type == "MatMul" else term.inputs[:1])
        terms = [term for term, _ in totals.values()]
        operands_of = {o: _operands_of(o, terms, uses) for _, inputs in totals.values() for o in inputs}
        saved = list(dict.fromkeys(operand for operands in operands_of.values() for operand in operands))
        popped = [output.node for output in saved if output.node.type == "TensorListPopBack"]
        if not popped or any(pop.attrs.get("_swap_memory") for pop in popped):
            return  # the gradient saves nothing in memory, or swaps it out
        wider = self._widened(saved, lists)
        replaced: dict[Output, Output] = {Output(self._loop, i): Output(wider, i) for i in range(count)}
        rows_of = {o: self._joined_rows(o, Output(wider, lists[o])) for o in saved}
        joined = {
            o: self._concatenated_columns([rows_of[operand] for operand in operands], o)
            for o, operands in operands_of.items()
        }
        for index, (term, inputs) in totals.items():
            rows = [joined[output] for output in inputs]
            extra = term.inputs[len(inputs) :]
            constants = [self._constant(node.attrs["value"], term.name) for node, _ in extra]
            name, first = f"{term.name}/total", self._loop.inputs[index]
            total = self._outer(term.type, name, [*rows, *constants], term.attrs, term.shapes[0], rows[0])
            if first.node.type != "Const" or np.any(first.node.attrs["value"]):
                attrs = {"T": term.dtypes[0]}
                total = self._outer(
                    "AddV2", f"{name}_and_first", [first, Output(total, 0)], attrs, term.shapes[0], rows[0]
                )
            replaced[Output(self._loop, index)] = Output(total, 0)
            self._body.fetches[index] = Output(arguments[index], 0)  # now constant and unused
        wider.attrs["region"].body.fetches[:count] = self._body.fetches[:count]
        self._step.rewrite(replaced, {self._loop: wider})

    def _accumulated(self, index: int, uses: dict[Output, list[Node]]) -> Node | None:
        """Returns what each iteration adds to a loop variable, if it is a matrix product or a sum of rows."""
        # The variable must be a pure accumulator: next value = argument + term, read by nothing else in the body and
        # not by the condition. Then all that leaves the loop is the sum of the terms and the initial value, in any
        # order.
        argument = Output(self._body.feeds[index], 0)
        total: Node = self._body.fetches[index][0]
        if total.type not in ("Add", "AddV2") or total.guard or total.controls or argument not in total.inputs:
            return None
        if (
            uses[argument] != [total]
            or uses[Output(total, 0)] != [self._loop]
            or argument in self._asked_by_condition()
        ):
            return None
        term, slot = total.inputs[1 - total.inputs.index(argument)]
        if (
            slot
            or term.guard
            or term.controls
            or uses[Output(term, 0)] != [total]
            or term.dtypes[0] not in dtypes.FLOATING
        ):
            return None
        if term.shapes[0] is None or term.shapes[0] != total.shapes[0]:
            return None
        if term.type == "MatMul" and term.attrs["transpose_a"] and not term.attrs["transpose_b"]:
            return term if all(_width(output) is not None for output in term.inputs) else None
        of_columns = term.type == "BiasAddGrad" and term.attrs["data_format"] == "NHWC"
        if term.type == "Sum" and not term.attrs["keep_dims"]:
            axes = term.constant(1)
            of_columns = axes is not None and np.array_equal(np.ravel(axes), [0])
        return term if of_columns and _width(term.inputs[0]) is not None else None

    def _asked_by_condition(self) -> set[Output]:
        return {output for node in self._region.condition.nodes for output in node.inputs}

    def _widened(self, saved: list[Output], lists: dict[Output, int]) -> Node:
        """Returns the loop with one more list for each value that is saved in every iteration."""
        # Lists grow by one element per iteration, without a copy. New variables come after the present ones and before
        # captured values, so that the indices of results stay what they are.
        arguments: list[Node] = []
        initial: list[Output] = []
        pushed: list[Output] = []
        for output in saved:
            producer, slot = output
            dtype, name = producer.dtypes[slot], f"{producer.name}/kept"
            scalar = self._constant(np.array(-1, np.int32), name)
            attrs = {"element_dtype": dtype, "shape_type": dtypes.int32}
            empty = self._outer(
                "EmptyTensorList", name, [scalar, scalar], attrs, (), Output(self._loop, 0), dtypes.variant
            )
            argument = _list_argument(producer, name)
            push = producer.like(
                "TensorListPushBack",
                [Output(argument, 0), output],
                {"element_dtype": dtype},
                dtypes=[dtypes.variant],
                shapes=[()],
                controls=[],
                name=f"{name}/push",
            )
            lists[output] = len(self._loop.dtypes) + len(arguments)
            arguments.append(argument)
            initial.append(Output(empty, 0))
            pushed.append(Output(push, 0))
        return _with_variables(self._loop, arguments, initial, pushed)

    def _joined_rows(self, saved: Output, saved_list: Output) -> Output:
        producer, slot = saved
        shape = producer.shapes[slot]
        assert shape is not None
        attrs = {"element_dtype": producer.dtypes[slot], "width": shape[1]}
        rows: Shape = (None, shape[1])
        name = f"{producer.name}/rows"
        return Output(self._outer("_ListRows", name, [saved_list], attrs, rows, saved_list, producer.dtypes[slot]), 0)

    def _concatenated_columns(self, columns: list[Output], near: Output) -> Output:
        """Returns matrices concatenated along their columns."""
        if len(columns) == 1:
            return columns[0]
        dtype = columns[0].dtype
        axis = self._constant(np.array(1, np.int32), near.node.name)
        attrs = {"N": len(columns), "T": dtype, "Tidx": dtypes.int32}
        width = sum(_width(column) or 0 for column in columns)
        name = f"{near.node.name}/beside"
        return Output(self._outer("ConcatV2", name, [*columns, axis], attrs, (None, width), columns[0]), 0)

    # -- nodes outside the loop ---------------------------------------------------------------------------------------

    def _outer(
        self,
        op_type: str,
        name: str,
        inputs: list[Output],
        attrs: dict[str, Any],
        shape: Shape,
        near: Output,
        dtype: Any = None,
    ) -> Node:
        """Adds a node to the step, at the position of another one."""
        node = Node(
            name,
            OPS.lookup(op_type),
            inputs,
            attrs,
            [dtype or attrs["T"]],
            [shape],
            device=self._loop.device,
            order=near.node.order,
            stack=self._loop.stack,
            guard=self._loop.guard,
        )
        self._step.nodes.append(node)
        return node

    def _constant(self, value: Any, name: str) -> Output:
        dtype = dtypes.as_dtype(value.dtype)
        node = Node(
            f"{name}/constant", OPS.lookup("Const"), [], {"value": value, "dtype": dtype}, [dtype], [value.shape]
        )
        self._step.nodes.append(node)
        return Output(node, 0)


def _list_argument(like: Node, name: str) -> Node:
    """Returns the argument of a loop's regions for a list that it carries."""
    attrs = {"T": dtypes.variant, "index": 0}
    argument = like.like("_Arg", [], attrs, dtypes=[dtypes.variant], shapes=[()], controls=[], guard=(), name=name)
    argument.order = -1e9
    return argument


def _with_variables(loop: Node, arguments: list[Node], initial: list[Output], following: list[Output]) -> Node:
    """Returns a copy of a loop with additional lists as loop variables."""
    region: Region = loop.attrs["region"]
    count = len(loop.dtypes)
    feeds = [*region.body.feeds[:count], *arguments, *region.body.feeds[count:]]
    condition = StepGraph(region.condition.nodes, feeds, region.condition.fetches)
    body = StepGraph(region.body.nodes, feeds, [*region.body.fetches, *following], region.body.targets)
    return loop.like(
        "_While",
        [*loop.inputs[:count], *initial, *loop.inputs[count:]],
        {**loop.attrs, "region": Region(condition, body)},
        dtypes=[*loop.dtypes, *[dtypes.variant] * len(arguments)],
        shapes=[*loop.shapes, *[()] * len(arguments)],
    )


def _operands(value: Output) -> tuple[list[Output], Iterable[Output]]:
    """Returns the parts that a matrix was concatenated from, and those of them that were read from an array."""
    node = value.node
    operands = [value]
    if (
        node.type == "ConcatV2"
        and not node.guard
        and not node.controls
        and node.constant(len(node.inputs) - 1) in (1, -1)
    ):
        operands = node.inputs[:-1]
    return operands, [operand for operand in operands if operand.node.type == "TensorArrayReadV3"]


def _operands_of(matrix: Output, terms: list[Node], uses: dict[Output, list[Node]]) -> list[Output]:
    """Returns the parts that a matrix was concatenated from, if it has no other consumer; or itself."""
    operands, _ = _operands(matrix)
    alone = all(user in terms for user in uses[matrix])
    return operands if alone and None not in map(_width, operands) else [matrix]


def _width(output: Output) -> int | None:
    """Returns the number of columns of a matrix, if it is one."""
    shape = output.shape
    return shape[1] if shape is not None and len(shape) == 2 else None


def _only_user(uses: dict[Output, list[Node]], output: Output) -> Node | None:
    users = uses.get(output, [])
    return users[0] if len(users) == 1 and not users[0].guard and not users[0].controls else None


def _counts_up(scatter: Node) -> bool:
    """Returns whether a scatter writes the elements of its value to indices 0, 1, 2, ..."""
    indices = scatter.constant(1)
    if indices is not None:
        return bool(np.array_equal(indices, np.arange(len(indices))))
    range_ = scatter.inputs[1].node
    if range_.type != "Range":
        return False
    start, step = range_.constant(0), range_.constant(2)
    return start is not None and step is not None and start == 0 and step == 1
