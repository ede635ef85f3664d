import pickle

import pytest

from thalweg._src import errors


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
