"""A case of the fuzzer: one byte that says how a request is sent, and the body as sent."""

from dataclasses import dataclass
from typing import Final, Literal

from spanproof_collector.otlp import Form
from spanproof_collector.otlp.compression import ENCODINGS

WORK: Final = "work"
"""The folder beside the findings that a run works in, and that is gone after it."""

_SIGNALS: Final[tuple[Literal["traces", "logs"], ...]] = ("traces", "logs")
_FORMS: Final[tuple[Form, ...]] = ("protobuf", "json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A request as it would come over the wire."""

    signal: Literal["traces", "logs"]
    form: Form
    encoding: str
    body: bytes


def pack(case: Case) -> bytes:
    """Return the case as bytes, for a corpus."""
    place = ENCODINGS.index(case.encoding) * 4 + _FORMS.index(case.form) * 2 + _SIGNALS.index(case.signal)
    return bytes([place]) + case.body


def unpack_case(data: bytes) -> Case:
    """Return the case that bytes hold; any bytes hold one."""
    place = data[0] if data else 0
    return Case(
        signal=_SIGNALS[place & 1],
        form=_FORMS[place >> 1 & 1],
        encoding=ENCODINGS[(place >> 2) % len(ENCODINGS)],
        body=data[1:],
    )
