"""What a judge said: one JSON object by the schema of its questions, or nothing that counts.

JSON is never looked for inside of other text: a judge that repeats what the work says would hand over the work's own
verdict.
"""

import json
import re
from typing import Final, cast

from jsonschema import Draft202012Validator

from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.judge_inputs import JudgeInput
from spanproof_evaluators.model.rubrics import Answer

_FENCE: Final = re.compile(r"\A\s*```(?:json)?[ \t]*\n(?P<inside>.*?)\n?```\s*\Z", re.DOTALL | re.IGNORECASE)


class MalformedError(ValueError):
    """An answer that is not what was asked for. The message says why, without the answer's text."""


def answer_schema(given: JudgeInput) -> dict[str, Plain]:
    """Return the JSON Schema of the answer: every criterion once, its rationale before its answer."""
    return {
        "type": "object",
        "properties": {
            one.id: {
                "type": "object",
                "properties": {
                    "rationale": {"type": "string"},
                    "answer": {"type": "string", "enum": list(one.answers)},
                },
                "required": ["rationale", "answer"],
                "additionalProperties": False,
            }
            for one in given.criteria
        },
        "required": [one.id for one in given.criteria],
        "additionalProperties": False,
    }


def read(text: str, given: JudgeInput) -> dict[str, tuple[Answer, str]]:
    """Return answer and rationale of every criterion.

    Raises:
        MalformedError: the text is no JSON object of that schema, or one with more around it.
    """
    fenced = _FENCE.match(text)
    try:
        found = json.loads(fenced["inside"] if fenced else text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise MalformedError(f"no JSON object: {type(error).__name__}") from error
    wrong = next(iter(Draft202012Validator(answer_schema(given)).iter_errors(found)), None)
    if wrong is not None:
        place = ".".join(str(part) for part in wrong.absolute_path) or "the answer"
        raise MalformedError(f"{place} breaks the rule {wrong.validator!r}")
    answers = cast("dict[str, dict[str, str]]", found)
    return {name: (cast("Answer", one["answer"]), one["rationale"]) for name, one in answers.items()}


def _once(pairs: list[tuple[str, Plain]]) -> dict[str, Plain]:
    """Return an object whose keys stand once: of two verdicts nobody can say which was meant."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key stands twice")
    return made
