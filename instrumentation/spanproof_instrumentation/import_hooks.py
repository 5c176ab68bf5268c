"""Something to do when a module has been imported: now where it is here already, else right after its import."""

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from types import CodeType, ModuleType
from typing import Final

from spanproof_instrumentation.barrier import attempt

Work = Callable[[], None]

_waiting: dict[str, list[Work]] = {}


def when_imported(name: str, work: Work) -> None:
    """Do the work once, after the module's own code has run and before its importer goes on."""
    if name in sys.modules and not _in_the_making(sys.modules[name]):
        attempt(None, work)
        return
    _waiting.setdefault(name, []).append(work)
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds nothing itself: it asks the other finders, and puts a loader in front of the one that they found."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in _waiting:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec: object = find(fullname, path, target)
            if isinstance(spec, importlib.machinery.ModuleSpec):
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, fullname)
                return spec
        return None


class _Loader(importlib.abc.Loader):
    """Lets the true loader do its work, then does what was asked for."""

    def __init__(self, loader: importlib.abc.Loader, name: str) -> None:
        self._loader = loader
        self._name = name

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # The module must not see that anybody stood in between.
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        for work in _waiting.pop(self._name, []):
            attempt(None, work)

    def get_code(self, fullname: str) -> CodeType | None:
        """Serve ``python -m``, which asks the loader that it found."""
        get_code = getattr(self._loader, "get_code", None)
        code: object = get_code(fullname) if callable(get_code) else None
        return code if isinstance(code, CodeType) else None

    def is_package(self, fullname: str) -> bool:
        """Serve ``python -m``."""
        is_package = getattr(self._loader, "is_package", None)
        return bool(is_package(fullname)) if callable(is_package) else False


_FINDER: Final = _Finder()


def _in_the_making(module: ModuleType) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))
