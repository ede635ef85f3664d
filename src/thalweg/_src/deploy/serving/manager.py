"""The models of a server: it looks into their folders, loads and unloads versions in the background, and lends them."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from thalweg._src.base import errors, logging
from thalweg._src.base.formats.paths import is_below
from thalweg._src.deploy.saved_model.files import SAVED_MODEL_FILENAME_PB, SAVED_MODEL_FILENAME_PBTXT
from thalweg._src.deploy.serving.config import Model
from thalweg._src.deploy.serving.servable import Servable
from thalweg._src.deploy.serving.versions import Contents, Instruction, Status, Versions

Result = TypeVar("Result")
_MAX_VERSION = 1 << 63  # what the messages of the protocols have room for


@dataclass(frozen=True, slots=True)
class Spec:
    """What a request addresses: a model, perhaps one of its versions by number or by label, and a signature."""

    name: str
    version: int | None = None
    label: str | None = None
    signature: str = ""


@dataclass(slots=True)
class _Loaded:
    """A version in memory, the requests that use it, and whether it is unloaded after the last of them."""

    servable: Servable
    users: int = 0
    is_leaving: bool = False


class Manager:
    """Keeps the versions in memory that the configuration asks for.

    Args:
        load: A function from model name, version and path to a servable that is ready for requests.
        poll_seconds: The time between two looks into the folders.
        reload_below: Folders below which clients may have models loaded, besides those of the configuration.
    """

    def __init__(
        self,
        load: Callable[[str, int, str], Servable],
        poll_seconds: float = 1.0,
        reload_below: Iterable[str] = (),
    ) -> None:
        self._load_servable = load
        self._poll_seconds = poll_seconds
        self._lock = threading.Condition()
        self._reload_below = list(reload_below)
        self._configured: list[str] = []  # the folders of the models that were configured, and not by a client
        self._models: dict[str, Model] = {}
        self._versions: dict[str, Versions] = {}
        self._loaded: dict[tuple[str, int], _Loaded] = {}
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="thalweg serving load")
        self._reloads = ThreadPoolExecutor(1, thread_name_prefix="thalweg serving reload")  # one after another
        self._poller: threading.Thread | None = None
        self._is_closed = False
        self._stops = threading.Event()

    def start(self) -> None:
        """Starts to look into the folders from time to time."""
        self._poller = threading.Thread(target=self._poll, name="thalweg serving poll", daemon=True)
        self._poller.start()

    def configure(self, models: Iterable[Model]) -> None:
        """Serves these models, and no others; versions that both configurations ask for stay."""
        models_by_name = {model.name: model for model in models}
        self._configured = [model.base_path for model in models_by_name.values()]
        self._configure(models_by_name)

    def reload(self, models: Iterable[Model], timeout: float | None = None) -> bool:
        """Serves the models that a client asks for, and no others, once all of them can be used.

        Returns whether they can be before the timeout; if they are not by then, the reload goes on. A model that
        cannot be used raises its error, and what was served before stays.
        """
        models_by_name = {model.name: model for model in models}
        for model in models_by_name.values():
            self._require_reloadable(model)
        try:
            self._reloads.submit(self._replace, models_by_name).result(timeout)
        except TimeoutError:
            return False
        return True

    def _require_reloadable(self, model: Model) -> None:
        if not any(is_below(model.base_path, folder) for folder in (*self._configured, *self._reload_below)):
            raise errors.PermissionDeniedError(
                None,
                None,
                f"model {model.name!r}: clients may not have this server load models from {model.base_path!r:.1000}\n"
                "  expected: a folder of a model that the server was started with, or one below\n"
                "  hint: start it with --reload-below FOLDER",
            )

    def _replace(self, requested: dict[str, Model]) -> None:
        """Loads models beside those that are served, which go once all of the others can be used."""
        for name, model in requested.items():
            try:
                list_versions(model.base_path)
            except OSError as error:
                text = f"{name} did not become available: its folder cannot be listed: {error}"
                raise errors.UnknownError(None, None, text) from None
        with self._lock:
            before = self._models
        both = {**before, **requested}
        self._configure(both)
        self.wait()
        with self._lock:
            if self._is_closed or self._models is not both:
                raise errors.AbortedError(None, None, "another configuration took the place of this one")
            missing = [name for name in requested if not self._serves(requested[name])]
            reasons = "; ".join(self._why_missing(name) for name in missing)
        self._configure(before if missing else requested)
        if missing:
            text = f"{len(missing)} of {len(requested)} models did not become available: {reasons}"
            raise errors.UnknownError(None, None, f"{text}\n  what was served before stays")

    def _serves(self, model: Model) -> bool:
        """Returns whether all versions that a model has are available; the lock is held."""
        versions = self._versions[model.name]
        return bool(versions.available()) and versions.target() <= set(versions.available())

    def _why_missing(self, name: str) -> str:
        """Returns why a model has no version, in words; the lock is held."""
        versions = self._versions[name]
        for number in sorted(versions.target(), reverse=True):
            error = versions.status[number].error
            if error is not None:
                return f"{name} version {number}: {error.message}"
        return f"{name} has no versions in {self._models[name].base_path!r:.1000}"

    def _configure(self, models: dict[str, Model]) -> None:
        with self._lock:
            self._models = models
            for name in self._versions.keys() - self._models.keys():
                self._follow(name, self._versions[name].remove())
            for name, model in self._models.items():
                versions = self._versions.setdefault(name, Versions(name))
                self._follow(name, versions.configure(model.policy, model.labels))
        self.look()

    def look(self) -> None:
        """Looks into the folders of all models."""
        for name, model in list(self._models.items()):
            try:
                contents = list_versions(model.base_path)
            except OSError as error:
                logging.log_every_n(logging.WARN, "%s: the folder cannot be listed: %s", 60, name, error)
                continue
            with self._lock:
                if self._models.get(name) is model:
                    self._follow(name, self._versions[name].listed(contents))

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until nothing is being loaded; returns whether every model has a version that takes requests."""
        with self._lock:
            self._lock.wait_for(
                lambda: self._is_closed or all(versions.is_settled() for versions in self._versions.values()), timeout
            )
            return all(self._versions[name].available() for name in self._models)

    @contextlib.contextmanager
    def use(self, spec: Spec) -> Iterator[tuple[int, Servable]]:
        """Lends a version, which stays in memory for the time of the context."""
        with self._lock:
            version = self._find(spec.name).find(spec.version, spec.label)
            loaded = self._loaded[spec.name, version]
            loaded.users += 1
        try:
            yield version, loaded.servable
        finally:
            with self._lock:
                loaded.users -= 1
                if loaded.is_leaving and not loaded.users:
                    self._pool.submit(self._unload, spec.name, version)

    def status(self, spec: Spec) -> dict[int, Status]:
        """Returns the states of the versions of a model, or of one of them."""
        with self._lock:
            versions = self._versions.get(spec.name)
            if versions is None or not versions.status:
                message = f"Could not find any versions of model {spec.name}"
                raise errors.NotFoundError(None, None, message)
            number = spec.version if spec.label is None else versions.labelled(spec.label)
            if number is None:
                return {version: versions.status[version] for version in sorted(versions.status, reverse=True)}
            if number not in versions.status:
                message = f"Could not find version {number} of model {spec.name}"
                raise errors.NotFoundError(None, None, message)
            return {number: versions.status[number]}

    def models(self) -> list[str]:
        """Returns the names of all models."""
        return list(self._models)

    def is_ready(self) -> bool:
        """Returns whether every model has a version that takes requests."""
        with self._lock:
            return all(self._versions[name].available() for name in self._models)

    def close(self) -> None:
        """Ends all loads and frees all versions."""
        self._stops.set()
        if self._poller is not None:
            self._poller.join()
        with self._lock:
            self._is_closed = True
            self._lock.notify_all()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._reloads.shutdown(wait=True, cancel_futures=True)
        with self._lock:
            for loaded in self._loaded.values():
                loaded.servable.close()
            self._loaded.clear()

    def _poll(self) -> None:
        while not self._stops.wait(self._poll_seconds):
            self.look()

    def _find(self, name: str) -> Versions:
        if not name:
            raise errors.invalid("Missing model name in request.")
        if name not in self._versions:
            raise errors.NotFoundError(None, None, f"Servable not found for request: Latest({name})")
        return self._versions[name]

    def _follow(self, name: str, instructions: Iterable[Instruction]) -> None:
        """Starts what the state machine asks for; the lock is held."""
        for instruction in instructions:
            version = instruction.version
            if instruction.is_load:
                folder = self._versions[name].status[version].contents.folder
                self._pool.submit(self._load, name, version, os.path.join(self._models[name].base_path, folder))
            else:
                loaded = self._loaded[name, version]
                loaded.is_leaving = True
                if not loaded.users:
                    self._pool.submit(self._unload, name, version)
        self._lock.notify_all()

    def _load(self, name: str, version: int, path: str) -> None:
        try:
            servable = _on_new_thread(self._load_servable, name, version, path)
        except Exception as error:
            logging.error("%s: version %d cannot be loaded: %s", name, version, error)
            with self._lock:
                self._follow(name, self._versions[name].failed(version, _typed(error)))
            return
        with self._lock:
            self._loaded[name, version] = _Loaded(servable)
            logging.info("%s: version %d is available", name, version)
            self._follow(name, self._versions[name].loaded(version))

    def _unload(self, name: str, version: int) -> None:
        with self._lock:
            loaded = self._loaded.pop((name, version))
        loaded.servable.close()
        del loaded
        gc.collect()  # compiled steps are cycles of objects, and hold weights
        with self._lock:
            logging.info("%s: version %d is unloaded", name, version)
            self._follow(name, self._versions[name].unloaded(version))


def _on_new_thread(function: Callable[..., Result], *arguments: Any) -> Result:
    """Calls a function on a thread that ends with it, and with it its OpenMP threads.

    Once there are more of those than cores, they sleep between kernels instead of spinning, and all steps take longer.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="thalweg serving version") as pool:
        return pool.submit(function, *arguments).result()


def list_versions(base_path: str) -> dict[int, Contents]:
    """Returns the versions in a folder, which are its folders with numbers for names."""
    contents: dict[int, Contents] = {}
    with os.scandir(base_path) as entries:
        for entry in entries:
            is_number = entry.name.isdecimal() and entry.name.isascii() and int(entry.name) < _MAX_VERSION
            if is_number and entry.is_dir():
                contents[int(entry.name)] = _contents(entry.path)
    return contents


def _contents(path: str) -> Contents:
    for name in (SAVED_MODEL_FILENAME_PB, SAVED_MODEL_FILENAME_PBTXT):
        with contextlib.suppress(OSError):
            status = os.stat(os.path.join(path, name))
            return Contents(os.path.basename(path), status.st_mtime_ns, status.st_size)
    return Contents(os.path.basename(path))


def _typed(error: Exception) -> errors.OpError:
    if isinstance(error, errors.OpError):
        return error
    return errors.UnknownError(None, None, f"{type(error).__name__}: {error}")
