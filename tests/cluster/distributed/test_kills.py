"""Training programs of which tasks are killed: every state that is read is that of whole updates."""

import pytest

from tests.cluster.distributed import kills


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["async", "sync"])
def test_updates_are_whole_when_tasks_are_killed(mode, tmp_path):
    kills.run(tmp_path, mode, kills=12, seed=3)
    count, wrong = kills.check(tmp_path, mode)
    assert count > 50 and not wrong


def test_a_state_with_half_an_update_is_found(tmp_path):
    for index in range(kills.WORKERS):
        (tmp_path / f"worker{index}").write_text(
            "3.0 3.0 3.0 3.0 1.0 .\n4.0 4.0 3.0 4.0 1.0 .\n5.0 5.0 5.0 5.0 2.0 .\n5"
        )
    (tmp_path / "model").mkdir()
    count, wrong = kills.check(tmp_path, "async")
    assert count == 3 * kills.WORKERS
    assert [values[:5] for _, values in wrong] == [[4.0, 4.0, 3.0, 4.0, 1.0], [5.0, 5.0, 5.0, 5.0, 2.0]] * kills.WORKERS
