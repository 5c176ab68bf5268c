"""Secrets: filled in from the environment when somebody looks, and taken out of whatever is said of it."""

import base64
import os
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from spanproof_evaluators.model.destinations import REFERENCE

_SHORTEST: Final = 3
"""A shorter value is no secret, and would be found in every text."""


class MissingVariableError(Exception):
    """A variable of the environment that a reference names is not set."""

    def __init__(self, name: str) -> None:
        super().__init__(f"variable {name} is not set")
        self.name = name


class Secrets:
    """Fills references in, and remembers with what."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment
        self._known: dict[str, str] = {}

    def filled(self, text: str) -> str:
        """Return a text with every ``${NAME}`` filled in.

        Raises:
            MissingVariableError: a variable is not set.
        """
        for name in REFERENCE.findall(text):
            if name not in self._environment:
                raise MissingVariableError(name)
            self.remember(name, self._environment[name])
        return REFERENCE.sub(lambda found: self._environment[found[1]], text)

    def remember(self, name: str, value: str) -> None:
        """Take a value out of every text from now on, as it is and as it is written in addresses and headers."""
        for line in {value, *value.splitlines()}:
            if len(line) < _SHORTEST:
                continue
            encoded = base64.b64encode(line.encode("utf-8", "surrogateescape")).decode("ascii")
            for form in (line, quote(line, safe=""), quote(line), repr(line)[1:-1], encoded):
                self._known[form] = name

    def masked(self, text: str) -> str:
        """Return a text without the secrets that were filled in: their names stand there."""
        for form in sorted(self._known, key=len, reverse=True):
            text = text.replace(form, f"${{{self._known[form]}}}")
        return text
