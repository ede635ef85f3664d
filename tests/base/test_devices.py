from types import SimpleNamespace

import pytest

from thalweg._src.base.devices import DeviceSpec, canonical_name, matches, merge_device, merge_devices

FULL = "/job:ps/replica:0/task:1/device:GPU:0"


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        (FULL, FULL),
        ("/cpu:0", "/device:CPU:0"),
        ("CPU:0", "/device:CPU:0"),
        ("cpu", "/device:CPU:*"),
        ("/gpu:*", "/device:GPU:*"),
        ("/device:cpu:0", "/device:CPU:0"),
        ("/device:xla_cpu:1", "/device:XLA_CPU:1"),
        ("gpu:0/job:x", "/job:x/device:GPU:0"),
        ("/job:a/job:b", "/job:b"),
        ("/job:*/task:*", ""),
        ("//gpu:01/", "/device:GPU:1"),
        ("", ""),
        ("/", ""),
    ],
)
def test_names(name: str, canonical: str) -> None:
    assert canonical_name(name) == canonical
    assert DeviceSpec.from_string(name).to_string() == canonical
    assert DeviceSpec.from_string(canonical) == DeviceSpec.from_string(name)


@pytest.mark.parametrize(
    "name",
    ["/foo", "/foo:0", "/device:GPU", "/job", "/job:", "/job:a:b", "/task:a", "/cpu:-1", "/cpu:0/gpu:0", "/cpu:"],
)
def test_invalid_names(name: str) -> None:
    with pytest.raises(ValueError, match="expected '/job:worker") as caught:
        DeviceSpec.from_string(name)
    assert repr(name) in str(caught.value)


def test_canonical_name_of_other_types() -> None:
    assert canonical_name(None) == ""
    assert canonical_name(DeviceSpec(job="a", device_type="gpu", device_index=1)) == "/job:a/device:GPU:1"


def test_spec_fields() -> None:
    spec = DeviceSpec.from_string(FULL)
    assert (spec.job, spec.replica, spec.task, spec.device_type, spec.device_index) == ("ps", 0, 1, "GPU", 0)
    spec.device_type = "cpu"
    spec.device_index = "2"  # type: ignore[assignment]
    assert spec.to_string() == "/job:ps/replica:0/task:1/device:CPU:2"
    assert spec.replace(task=5, job=None).to_string() == "/replica:0/task:5/device:CPU:2"
    with pytest.raises(AttributeError):
        spec.tusk = 3  # type: ignore[attr-defined]


def test_spec_merging() -> None:
    spec = DeviceSpec.from_string("/cpu:0")
    assert spec.make_merged_spec(DeviceSpec.from_string("/job:a/gpu:1")).to_string() == "/job:a/device:GPU:1"
    assert spec.to_string() == "/device:CPU:0"
    spec.merge_from(DeviceSpec(task=2))
    assert spec.to_string() == "/task:2/device:CPU:0"
    assert spec.parse_from_string("/job:a") is spec
    assert spec.to_string() == "/job:a"


def test_spec_equality() -> None:
    assert DeviceSpec.from_string("/cpu:0") == DeviceSpec(device_type="CPU", device_index=0)
    assert len({DeviceSpec.from_string("/cpu:0"), DeviceSpec.from_string("/device:CPU:0")}) == 1
    assert DeviceSpec() != "/cpu:0"


@pytest.mark.parametrize(
    ("outer", "inner", "merged"),
    [
        ("/job:ps", "/cpu:0", "/job:ps/device:CPU:0"),
        ("/cpu:0", "/job:ps", "/job:ps/device:CPU:0"),
        ("/gpu:1", "/device:CPU:*", "/device:CPU:1"),
        ("/job:a/task:1", "/job:b", "/job:b/task:1"),
        ("/cpu:0", "", "/device:CPU:0"),
    ],
)
def test_nested_scopes(outer: str, inner: str, merged: str) -> None:
    assert merge_devices(outer, inner) == merged
    assert merge_device(outer)(SimpleNamespace(device=inner)) == merged


def test_matches() -> None:
    assert matches("", FULL)
    assert matches("/job:ps", FULL)
    assert matches("/gpu:*", FULL)
    assert matches(FULL, FULL)
    assert not matches("/cpu:0", FULL)
    assert not matches("/task:0", FULL)
