"""Templates: scopes, sharing between calls, and the errors of each."""

from __future__ import annotations

from typing import Any

import pytest

import thalweg as tf
from thalweg._src.training.variables.templates import make_template


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def body(x: Any, size: int = 2) -> Any:
    return x * tf.get_variable("v", [size], initializer=tf.ones_initializer())


def test_calls_share_variables_but_not_operation_names() -> None:
    template = make_template("t", body, size=3)
    assert template.variables == [] and template.variable_scope is None
    assert [template(1.0).name, template(2.0).name] == ["t/mul:0", "t_1/mul:0"]
    assert [v.name for v in template.variables] == ["t/v:0"]
    assert (template.name, template.variable_scope_name) == ("t", "t/")
    other = make_template("t", body)
    other(1.0)
    assert [v.name for v in other.trainable_variables] == ["t_1/v:0"] and other.non_trainable_variables == []
    assert len(tf.global_variables()) == 2


def test_the_scope_is_created_at_the_first_call_or_immediately() -> None:
    late, now = make_template("late", body), None
    with tf.variable_scope("a"):
        now = make_template("now", body, create_scope_now_=True)
        late(1.0)
    with tf.variable_scope("b"):
        assert now.variable_scope.name == "a/now"
        assert now(1.0).name == "b/now/mul:0"
        assert late(1.0).name == "b/late/mul:0"
    assert [v.name for v in tf.global_variables()] == ["a/late/v:0", "a/now/v:0"]


def test_a_unique_name_is_not_changed() -> None:
    make_template("t", body, unique_name_="u")(1.0)
    again = make_template("t", body, unique_name_="u")
    with pytest.raises(ValueError, match="already exists") as caught:
        again(1.0)
    assert "test_templates.py" in caught.value.__notes__[0]
    with tf.variable_scope("", reuse=True):
        make_template("t", body, unique_name_="u")(1.0)


def test_a_custom_getter() -> None:
    template = make_template("t", body, custom_getter_=lambda getter, *args, **kwargs: getter(*args, **kwargs) + 1.0)
    y = template(1.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(y).tolist() == [2.0, 2.0]


def test_a_later_call_may_not_create_trainable_variables() -> None:
    bad = make_template("bad", lambda: tf.Variable(1.0))
    bad()
    with pytest.raises(ValueError, match="new trainable variables"):
        bad()
    make_template("counter", lambda: tf.Variable(1, trainable=False))()
    with pytest.raises(ValueError, match="name cannot be None"):
        make_template(None, body)  # type: ignore[arg-type]


def test_a_first_call_that_failed_may_be_repeated() -> None:
    template = make_template("t", body)
    with pytest.raises(TypeError, match="nope"):
        template(1.0, nope=1)
    assert template.variables == []
    assert template(1.0).name == "t_1/mul:0" and template.variables[0].name == "t/v:0"
