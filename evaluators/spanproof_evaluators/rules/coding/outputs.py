"""What the output of a check says: how many tests ran, and whether any failed."""

import re
from typing import Final

from spanproof_collector.model.trials import ToolCall
from spanproof_collector.model.values import Json

_FIELDS: Final = ("output", "stdout", "stderr", "content", "text", "result", "error", "message", "aggregated_output")
_LOOKED_AT: Final = 20_000
"""Characters at the beginning and at the end of an output that are looked at: totals stand there."""

_PASSED: Final = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        r"\b(\d+) (?:tests? |specs? |assertions? )?pass(?:ed|ing)\b",
        r"^Ran (\d+) tests? in",
        r"\bTests run: (\d+)",
        r"\b(\d+) examples?, ",
        r"\bPassed:\s+(\d+)",
        r"^OK \((\d+) tests?",
        r"\bout of (\d+)\s*$",
        r"^# pass (\d+)",
        r"^Executed (\d+) (?:of|tests?)",
        r"\b(\d+) tests? completed",
        r"^(?:Result: )?(\d+) tests?, \d+ failures?",
        r"^ok (\d+)\b",
    )
)
_GO_OK: Final = re.compile(r"^ok\s+\S+\s+(?:\(cached\)|[\d.]+m?s)(?!.*\[no tests to run\])", re.MULTILINE)
_NONE: Final = re.compile(
    r"no tests ran|collected 0 items|\bran 0 tests|no tests? (?:were |was )?(?:found|executed|collected)"
    r"|no tests to run|\b0 (?:tests? )?(?:passed|passing)\b|\[no test files\]|\btests:\s+0 total|no test files? found"
    r"|\b0 examples,|\brunning 0 tests|\bno test suites? found|\bno specs found|^1\.\.0\b|\btests run: 0\b"
    r"|there are no tests|no test is available|0 tests? completed",
    re.IGNORECASE | re.MULTILINE,
)
_FAILED: Final = re.compile(
    r"\b[1-9]\d* (?:tests? |specs? )?(?:failed|failing|failures?|errors?)\b|^FAILED\b|^FAIL\b|^--- FAIL|\bFAILED \("
    r"|test result: FAILED|\bBUILD FAIL(?:ED|URE)\b|(?i:\bfailures: [1-9]|\berrors: [1-9])|\bFailed:\s+[1-9]"
    r"|\berror TS\d+|error: could not compile|npm ERR!|^make: \*\*\*|^E\s{3}\w*Error\b|^not ok \d",
    re.MULTILINE,
)
_CUT: Final = re.compile(
    r"\btruncated\b|output (?:was )?(?:omitted|elided|too (?:long|large))|<redacted|\bredacted\b", re.I
)


def output_of(call: ToolCall) -> str | None:
    """Return what a command put out, ``None`` where nothing of it was recorded."""
    if call.result_source is None and call.error is None:
        return None
    said = [*_texts(call.result)]
    if call.error is not None and call.error not in said:
        said.append(call.error)
    text = "\n".join(said)
    return text if len(text) <= 2 * _LOOKED_AT else text[:_LOOKED_AT] + "\n" + text[-_LOOKED_AT:]


def _texts(value: Json) -> list[str]:
    match value:
        case str(text):
            return [text]
        case list(items):
            return [text for item in items[:50] for text in _texts(item)]
        case dict(members):
            known = [members[key] for key in _FIELDS if key in members]
            return [text for member in known for text in _texts(member)]
        case _:
            return []


def count_tests(output: str) -> int | None:
    """Return how many tests ran as far as the output says: 0 where it says none did, ``None`` where it is silent."""
    counts = [int(match[1][:9]) for pattern in _PASSED for match in pattern.finditer(output)]
    most = max(counts, default=0) or len(_GO_OK.findall(output))
    if most:
        return most
    return 0 if counts or _NONE.search(output) else None


def says_failed(output: str) -> bool:
    """Return whether an output tells of failures."""
    return bool(_FAILED.search(output))


def cut(output: str) -> bool:
    """Return whether something says that the output was cut or taken out."""
    return bool(_CUT.search(output))
