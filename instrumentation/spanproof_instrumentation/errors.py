"""What can go wrong, for every part.

SpanproofError
├── MissingExtraError      a part that is not installed; prints the install command
└── CollectorError, EvaluatorError and their kinds, in their own parts
"""


class SpanproofError(Exception):
    """Anything that spanproof refuses on purpose. Its message says what is wrong and what to do."""


class MissingExtraError(SpanproofError):
    """A part that is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the extra [{extra}]: pip install 'spanproof[{extra}]'")
        self.extra = extra
