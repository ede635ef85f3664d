"""docs/coverage.md is up to date."""

import importlib.util
import pathlib

ROOT = pathlib.Path(__file__).parents[1]


def load():
    spec = importlib.util.spec_from_file_location("coverage_page", ROOT / "docs" / "coverage.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date():
    coverage = load()
    assert coverage.PAGE.read_text() == coverage.page(), "names have come or gone: run `python docs/coverage.py`"


def test_every_missing_name_has_a_reason():
    coverage = load()
    names = [f"{space}.{name}" for space, found in coverage.read().items() for name in found.missing]
    assert [name for name in names if coverage.reason(name) is None] == []


def test_the_longest_reason_applies():
    coverage = load()
    assert coverage.reason("tf.distribute.Server") != coverage.reason("tf.distribute.experimental.TPUStrategy")
    assert coverage.reason("tf.no_such_namespace.name") is None
