"""What is not there: a world that cannot be made, a package that is not installed."""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType

from spanproof_evaluators.errors import EvaluatorError


class NoWorldError(EvaluatorError):
    """There is no world for a recording. ``reason`` is a word for machines."""

    def __init__(self, reason: str, why: str) -> None:
        super().__init__(why)
        self.reason = reason


class MissingExtraError(EvaluatorError):
    """A package that an environment is made of is not installed."""

    def __init__(self, environment: str, package: str) -> None:
        self.command = f"pip install 'spanproof[{environment}]'"
        super().__init__(f"the environment {environment} needs the package {package}: {self.command}")
        self.environment = environment
        self.package = package


def load(module: str, *, environment: str, package: str) -> ModuleType:
    """Return a module of an optional package.

    Raises:
        MissingExtraError: the package is not installed.
    """
    if installed(package) is None:
        raise MissingExtraError(environment, package)
    return import_module(module)


def installed(package: str) -> str | None:
    """Return the version of an installed package, ``None`` where it is not there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
