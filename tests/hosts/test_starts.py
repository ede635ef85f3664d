"""Clusters over virtual hosts that are started in right and wrong ways: they train, or say what is wrong."""

import pytest

from tests.hosts import starts


@pytest.mark.parametrize("case", starts.CASES.values(), ids=starts.CASES)
def test_start(case, tmp_path):
    starts.run(case, tmp_path)
