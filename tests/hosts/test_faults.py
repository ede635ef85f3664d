"""Clusters over virtual hosts whose cables, firewalls and power fail while they train."""

import pytest

from tests.hosts import faults


@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", faults.CASES.values(), ids=faults.CASES)
def test_fault(case, tmp_path):
    outcome = faults.run(case, tmp_path)
    assert not outcome.wrong, outcome.report
