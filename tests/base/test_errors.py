import io
import pickle

import pytest

from thalweg._src.base import errors


def test_codes_and_types_are_one_to_one() -> None:
    for code in range(1, 17):
        cls = errors.exception_type_from_error_code(code)
        assert errors.error_code_from_exception_type(cls) == code
        error = cls(None, None, "it broke")
        assert isinstance(error, errors.OpError)
        assert (error.error_code, error.message, str(error)) == (code, "it broke", "it broke")
    with pytest.raises(KeyError):
        errors.exception_type_from_error_code(99)


def test_constants_have_tensorflows_numbers() -> None:
    assert (errors.OK, errors.CANCELLED, errors.INVALID_ARGUMENT, errors.DATA_LOSS) == (0, 1, 3, 15)
    assert errors.UNAUTHENTICATED == 16
    assert errors.exception_type_from_error_code(errors.OUT_OF_RANGE) is errors.OutOfRangeError


def test_a_subclass_has_the_code_of_its_base() -> None:
    class WorkerLost(errors.UnavailableError):
        pass

    assert WorkerLost(None, None, "gone").error_code == errors.UNAVAILABLE
    assert errors.exception_type_from_error_code(errors.UNAVAILABLE) is errors.UnavailableError


@pytest.mark.parametrize(
    "error",
    [
        errors.OpError({"name": "a"}, None, "m", 42),
        errors.NotFoundError({"name": "a"}, None, "m"),
        errors.ShapeError("w", "e", "h"),
    ],
)
def test_errors_pickle(error: Exception) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert again.__dict__ == error.__dict__
    assert str(again) == str(error)


def test_pickling_leaves_the_operation_behind() -> None:
    error = errors.AbortedError(None, lambda: "an operation cannot be pickled", "m")
    error.add_note("while testing")
    again = pickle.loads(pickle.dumps(error))
    assert again.op is None
    assert again.__notes__ == ["while testing"]


def test_describe_leaves_out_what_is_not_known() -> None:
    assert errors.describe("It broke.") == "It broke."
    assert errors.describe("It broke.", expected="a", received="b", hint="c", made_at="train.py:31 in model") == (
        "It broke.\n  expected: a\n  received: b\n  hint: c\n  defined at: train.py:31 in model"
    )


def test_shape_error_is_a_value_error_with_fields() -> None:
    error = errors.ShapeError("ranks differ.", expected="rank 2")
    assert isinstance(error, ValueError)
    assert (error.what, error.expected, error.hint) == ("ranks differ.", "rank 2", None)
    assert str(error) == "ranks differ.\n  expected: rank 2"


def test_a_wrong_kind_names_the_parameter_what_is_expected_and_what_came() -> None:
    assert str(errors.wrong_kind("graph", "a Graph", 3)) == "graph: expected a Graph, received the int 3"
    assert (
        str(errors.wrong_kind("graph", "a Graph", int)) == "graph: expected a Graph, received the class <class 'int'>"
    )


def test_kinds_are_required_by_class_or_by_members() -> None:
    errors.require_kind("count", 3, (int, float), "a number")
    errors.require_text("mode", "SAME")
    errors.require_members("path", io.BytesIO(), "a file", "read", "seek")
    with pytest.raises(TypeError, match="count: expected a number, received the str 'x'"):
        errors.require_kind("count", "x", (int, float), "a number")
    with pytest.raises(TypeError, match="mode: expected a string, received the NoneType None"):
        errors.require_text("mode", None)
    with pytest.raises(TypeError, match=r"path: expected a file, received the list \[\]"):
        errors.require_members("path", [], "a file", "read", "seek")
    with pytest.raises(TypeError, match="path: expected a file, received the class"):
        errors.require_members("path", io.BytesIO, "a file", "read", "seek")
