"""Texts that are compared loosely, where a reference says so, and how."""

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Final

from spanproof_evaluators.model.suites import Normalisation

_BFCL_DROPS: Final = re.compile(r"[ ,./\-_*^]")


def text(value: str) -> str:
    """Return a text with white space folded, letters in one case and one form (Unicode NFC). Marks stay: 10.5, -5."""
    return " ".join(unicodedata.normalize("NFC", value).casefold().split())


def bfcl(value: str) -> str:
    """Return a text as the Berkeley Function-Calling Leaderboard compares it.

    Blanks and the marks ``, . / - _ * ^`` are taken out, letters are lower-cased, single quotes become double ones. It
    takes "10.5" for "105", "-5" for "5" and 2024-1-12 for 2024-11-2: for free text without figures only.

    Source: ``standardize_string`` in bfcl_eval/eval_checker/ast_eval/ast_checker.py, ShishirPatil/gorilla a6da28ee.
    """
    return _BFCL_DROPS.sub("", value).lower().replace("'", '"')


NORMALISED: Final[Mapping[Normalisation, Callable[[str], str]]] = {"text": text, "bfcl": bfcl}
