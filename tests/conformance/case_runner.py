"""Runs calls of single operations and writes down what comes of each: shapes, types, values, gradients, errors.

Needs neither Thalweg nor TensorFlow itself, so both Pythons can load it: `tf` is either, `apply` adds an operation of
a given type to the default graph.
"""

import base64

import numpy as np

# What is known while the graph is built: shapes and the values of host arguments, shapes alone, nothing.
MODES = ("host", "static", "unknown")


def encode(array):
    """Returns an array as plain JSON values."""
    array = np.asarray(array)
    if array.dtype.kind in "OSU":
        items = [item if isinstance(item, bytes) else str(item).encode() for item in array.ravel().tolist()]
        return {"dtype": "string", "shape": list(array.shape), "items": [item.decode("latin-1") for item in items]}
    if array.dtype.names:
        return {**encode(array.view(array.dtype[0])), "dtype": array.dtype.names[0]}
    data = base64.b64encode(array.tobytes()).decode()
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": data}


def decode(plain, tf):
    """Returns the array that was encoded, in the type that `tf` has under its name."""
    if "items" in plain:
        array = np.empty(len(plain["items"]), object)
        array[:] = [item.encode("latin-1") for item in plain["items"]]
    else:
        array = np.frombuffer(base64.b64decode(plain["data"]), tf.as_dtype(plain["dtype"]).as_numpy_dtype)
    return array.reshape(plain["shape"])


def describe_error(tf, error):
    """Returns the class of an error that a program would catch, and the text for people."""
    known = {getattr(tf.errors, name) for name in dir(tf.errors) if name.endswith("Error")} - {tf.errors.OpError}
    known |= {ValueError, TypeError, LookupError, AttributeError, RuntimeError, NotImplementedError}
    kinds = [kind for kind in type(error).__mro__ if kind in known]
    return {"class": (kinds[0] if kinds else type(error)).__name__, "text": _told(error)}


def _told(error):
    """Returns what an error says, without the places in files that it comes from."""
    lines = str(error).partition("\nOriginal stack trace")[0].splitlines()
    places = ("File", "Graph exec", "Detected", "Node:")
    return " ".join(line for line in lines if line.strip() and not line.lstrip().startswith(places))[:240]


def run_case(tf, apply, case, config=None):
    """Returns what came of a case in each mode; `apply(op, inputs, attrs, name)` adds the operation."""
    # Without host arguments there is nothing between knowing the shapes and knowing nothing.
    modes = [mode for mode in MODES if mode != "static" or case["host"]]
    return {mode: _Attempt(tf, apply, case, mode).report(config) for mode in modes}


def run_eagerly(tf, apply, case):
    """Returns what came of a case in eager execution; `apply(op, inputs, attrs, name)` returns the outputs."""
    return _EagerAttempt(tf, apply, case, "host").report()


class _Attempt:
    def __init__(self, tf, apply, case, mode):
        self.tf, self.apply, self.case, self.mode = tf, apply, case, mode
        self.feeds, self.setup, self.handles, self.floating = {}, [], [], []

    def report(self, config):
        tf = self.tf
        with tf.Graph().as_default() as graph, tf.Session(config=config) as session:
            inputs = self._inputs()
            if self.setup:
                session.run(self.setup)
            try:
                self.apply(self.case["op"], inputs, self.case["attrs"], "tried")
            except Exception as error:
                return {"building": describe_error(tf, error)}
            outputs = list(graph.get_operation_by_name("tried").outputs)
            report = {"shapes": [_shape(tensor) for tensor in outputs], "dtypes": [t.dtype.name for t in outputs]}
            if self.mode == "static":
                return report
            outputs = [tensor for tensor in outputs if tensor.dtype.name not in ("resource", "variant")]
            try:
                values = session.run(outputs or graph.get_operation_by_name("tried"), self.feeds) or []
                values += [session.run(self._read(*handle)) for handle in self.handles]
            except Exception as error:
                return {**report, "running": describe_error(tf, error)}
            choices = self._add_values(report, values)
            if self.floating and self.mode in self.case["gradients"]:
                report |= self._gradients(session, outputs, values, choices)
            return report

    def _add_values(self, report, values):
        """Adds the values to a report, and returns what a decomposition has chosen."""
        if self.case["random"]:  # each system draws numbers of its own: types and shapes are compared
            values = [np.zeros_like(value) for value in values]
        choices = _choices(values) if self.case["decomposes"] else [None] * len(values)
        report["values"] = [encode(_settled(value, choice)) for value, choice in zip(values, choices)]
        return choices

    def _inputs(self):
        return [
            [self._input(i, item) for item in value] if isinstance(value, list) else self._input(i, value)
            for i, value in enumerate(self.case["inputs"])
        ]

    def _input(self, index, plain):
        tf = self.tf
        if "variable" in plain:
            dtype, shape = plain["variable"], plain["shape"] if self.mode != "unknown" else None
            attrs = {"dtype": dtype, "shape": shape, "shared_name": self._variable_name()}
            handle = self._apply("VarHandleOp", [], attrs)
            self.handles.append((handle, dtype))
            if plain["value"] is not None:
                self.setup.append(
                    self._apply("AssignVariableOp", [handle, tf.constant(decode(plain["value"], tf))], {})
                )
            return handle
        value, dtype = decode(plain, tf), tf.as_dtype(plain["dtype"])
        if self.mode == "host" and index in self.case["host"]:
            return tf.constant(value, dtype)
        tensor = self._argument(value, dtype)
        if dtype.is_floating or dtype.is_complex:
            self.floating.append(tensor)
        return tensor

    def _variable_name(self):
        return f"variable{len(self.handles)}"

    def _argument(self, value, dtype):
        tensor = self.tf.placeholder(dtype, None if self.mode == "unknown" else value.shape)
        self.feeds[tensor] = value
        return tensor

    def _apply(self, op, inputs, attrs):
        name = f"{op}_{len(self.handles)}"
        self.apply(op, inputs, attrs, name)
        operation = self.tf.get_default_graph().get_operation_by_name(name)
        return operation.outputs[0] if operation.outputs else operation

    def _read(self, handle, dtype):
        self.read = getattr(self, "read", 0) + 1
        name = f"read_{self.read}"
        self.apply("ReadVariableOp", [handle], {"dtype": dtype}, name)
        return self.tf.get_default_graph().get_tensor_by_name(name + ":0")

    def _gradients(self, session, outputs, values, choices):
        """Differentiates the outputs, weighted by fixed numbers, for every floating input that is fed."""
        tf, found = self.tf, self._weighted(outputs, values, choices)
        if not found:
            return {}
        try:
            slopes = tf.gradients([y for y, _ in found], self.floating, [weights for _, weights in found])
            slopes = [None if slope is None else tf.convert_to_tensor(slope) for slope in slopes]
        except Exception as error:
            return {"differentiating": describe_error(tf, error)}
        try:
            fetched = iter(session.run([slope for slope in slopes if slope is not None], self.feeds))
        except Exception as error:
            return {"running backward": describe_error(tf, error)}
        return {"gradients": [None if slope is None else encode(next(fetched)) for slope in slopes]}

    def _weighted(self, outputs, values, choices):
        """Returns the outputs that have gradients, each with the weights of its elements."""
        return [
            (y, _weights(self.tf, y, value, choice))
            for y, value, choice in zip(outputs, values, choices)
            if y.dtype.is_floating or y.dtype.is_complex
        ]


class _EagerAttempt(_Attempt):
    """A call that runs at once, in the eager mode of the caller, and is differentiated by a tape."""

    def report(self):
        tf, case = self.tf, self.case
        with tf.GradientTape() as tape:
            inputs = self._inputs()
            if "host" in case["gradients"]:
                tape.watch(self.floating)
            try:
                outputs = self.apply(case["op"], inputs, case["attrs"], "tried")
                found = [tensor for tensor in outputs if tensor.dtype.name not in ("resource", "variant")]
                values = [tensor.numpy() for tensor in found]
                for handle, dtype in self.handles:
                    values.append(self._apply("ReadVariableOp", [handle], {"dtype": dtype}).numpy())
            except Exception as error:
                return {"running": describe_error(tf, error)}
        report = {"shapes": [_shape(tensor) for tensor in outputs], "dtypes": [t.dtype.name for t in outputs]}
        choices = self._add_values(report, values)
        weighted = self._weighted(found, values, choices)
        if not weighted or not self.floating or "host" not in case["gradients"]:
            return report
        try:
            slopes = tape.gradient([y for y, _ in weighted], self.floating, [weights for _, weights in weighted])
            slopes = [None if slope is None else encode(tf.convert_to_tensor(slope).numpy()) for slope in slopes]
        except Exception as error:
            return {**report, "differentiating": describe_error(tf, error)}
        return {**report, "gradients": slopes}

    def _variable_name(self):
        return ""  # of its own

    def _argument(self, value, dtype):
        return self.tf.constant(value, dtype)

    def _apply(self, op, inputs, attrs):
        outputs = self.apply(op, inputs, attrs, None)
        return outputs[0] if outputs else None


def _shape(tensor):
    return None if tensor.shape.ndims is None else tensor.shape.as_list()


def _weights(tf, tensor, value, choice):
    size = int(np.prod(np.shape(value)))
    weights = np.cos(np.arange(size) * 1.7 + 1).reshape(np.shape(value))
    if choice is not None:
        weights = _as_chosen(weights, *choice)
    return tf.constant(weights.astype(tensor.dtype.as_numpy_dtype), tensor.dtype)


# -- what decompositions leave open -----------------------------------------------------------------------------------


def _choices(values):
    """Returns for each output the order of its columns, and factors by which they may have been multiplied.

    Eigenvalues come in any order, and a vector may point either way, or as any number of length 1 turns it; singular
    vectors turn in pairs.
    """
    order, factors = np.argsort(values[0].real + 0.6 * values[0].imag, axis=-1), None
    choices = [(order, np.ones(order.shape))]
    for vectors in values[1:]:
        if vectors.ndim <= order.ndim:  # they were not asked for
            choices.append(None)
            continue
        count, size = order.shape[-1], vectors.shape[-1]
        side = np.einsum("...ij,i->...j", vectors, np.cos(np.arange(vectors.shape[-2])))
        turned = np.where(np.abs(side) > 0, side / np.where(np.abs(side) > 0, np.abs(side), 1), 1)
        if factors is not None:
            turned[..., :count] = factors
        factors = turned[..., :count]
        rest = np.broadcast_to(np.arange(count, size), (*order.shape[:-1], size - count))
        choices.append((np.concatenate([order, rest], -1)[..., None, :], turned[..., None, :]))
    return choices


def _settled(value, choice):
    """Returns an output as it would be after one and the same choice."""
    if choice is None:
        return value
    order, factors = choice
    return np.take_along_axis((value * np.conj(factors)).astype(value.dtype), order, -1)


def _as_chosen(weights, order, factors):
    """Returns weights of settled columns as weights of those that were chosen."""
    found = np.empty_like(weights)
    np.put_along_axis(found, np.broadcast_to(order, weights.shape), weights, -1)
    return found * factors
