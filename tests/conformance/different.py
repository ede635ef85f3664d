"""Where Thalweg differs from TensorFlow by decision, or TensorFlow has no meaning to compare with."""

from typing import NamedTuple

# Operations that do nothing by themselves that a single call could show.
NOT_CALLED = {
    "Const": "its value is an attribute: test_graphdef compares tensors of every type",
    "Placeholder": "is fed",
    "PyFunc": "runs a function of this process",
    "PyFuncStateless": "runs a function of this process",
    "VarHandleOp": "every call on a variable starts with one",
}

# Numbers are drawn from generators of our own: types, shapes and errors are compared, values are not.
RANDOM = {
    "Multinomial",
    "RandomGamma",
    "RandomPoissonV2",
    "RandomShuffle",
    "RandomStandardNormal",
    "RandomUniform",
    "RandomUniformInt",
    "StatelessMultinomial",
    "StatelessRandomNormal",
    "StatelessRandomUniform",
    "StatelessRandomUniformInt",
    "StatelessTruncatedNormal",
    "TruncatedNormal",
}


class Different(NamedTuple):
    """Cases that differ, as "operation/variant", in lines of the report, and why; * stands for any text.

    An entry that matches no line any more fails the test of its operation.
    """

    case: str
    line: str
    reason: str


# Cases that end or hang TensorFlow's process; they are not asked.
KILLS: tuple[str, ...] = ()

DIFFERENT: list[Different] = []

# Programs of `corners` that differ, and why.
DIFFERENT_PROGRAMS: dict[str, str] = {}
