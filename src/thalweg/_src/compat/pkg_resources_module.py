"""The functions of `pkg_resources`, which setuptools removed, that programs use: versions and files of packages."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version
from importlib.resources import files
from typing import IO, Any

from packaging.version import Version, parse

__all__ = [
    "DistributionNotFound",
    "get_distribution",
    "iter_entry_points",
    "parse_version",
    "resource_exists",
    "resource_filename",
    "resource_stream",
    "resource_string",
]

DistributionNotFound = PackageNotFoundError
parse_version = parse


@dataclass(frozen=True, slots=True)
class Distribution:
    """An installed package."""

    project_name: str
    version: str

    @property
    def parsed_version(self) -> Version:
        """The version, for comparisons."""
        return parse(self.version)


def get_distribution(dist: str) -> Distribution:
    """Returns an installed package; raises DistributionNotFound if there is none of that name."""
    return Distribution(dist, version(dist))


def iter_entry_points(group: str, name: str | None = None) -> list[EntryPoint]:
    """Returns the entry points of a group."""
    return [entry for entry in entry_points(group=group) if name in (None, entry.name)]


def _file(package: str, name: str) -> Any:
    return files(package).joinpath(*name.split("/"))


def resource_exists(package_or_requirement: str, resource_name: str) -> bool:
    """Returns whether a package has a file."""
    file = _file(package_or_requirement, resource_name)
    return bool(file.is_file() or file.is_dir())


def resource_filename(package_or_requirement: str, resource_name: str) -> str:
    """Returns the path of a file of a package."""
    return str(_file(package_or_requirement, resource_name))


def resource_stream(package_or_requirement: str, resource_name: str) -> IO[bytes]:
    """Opens a file of a package."""
    return _file(package_or_requirement, resource_name).open("rb")  # type: ignore[no-any-return]


def resource_string(package_or_requirement: str, resource_name: str) -> bytes:
    """Returns the contents of a file of a package."""
    return _file(package_or_requirement, resource_name).read_bytes()  # type: ignore[no-any-return]
