"""The page on verifiers: its examples are read as they stand there."""

import json
import re
from pathlib import Path

import yaml

from spanproof_evaluators.errors import VerifierFileError
from spanproof_evaluators.model.checks import BUILT_IN
from spanproof_evaluators.model.documents import yaml_as_json
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.model.verifier_files import parse_verifier_file

PAGE = (Path(__file__).parents[3] / "docs" / "verifiers.md").read_text(encoding="utf-8")


def test_every_kind_has_an_example_that_is_one() -> None:
    examples = [yaml.safe_load(text) for text in re.findall(r"`(\{kind: [^`]*\})` \|", PAGE)]
    assert {one["kind"] for one in examples} == BUILT_IN.keys()
    for one in examples:
        Task.model_validate({"id": "t", "checks": [one]})


def test_the_verifier_file_is_one() -> None:
    text = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0]
    parse_verifier_file(yaml_as_json(text, "verifiers.md", VerifierFileError), name="verifiers.md")


def test_the_weighted_checks_are_some() -> None:
    text = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[1]
    task = Task.model_validate({"id": "t", **json.loads(yaml_as_json(text, "verifiers.md", VerifierFileError))})
    assert (len(task.checks), task.pass_score) == (2, 0.75)


def test_the_program_runs() -> None:
    programs = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    exec(programs[0], names)
    assert getattr(names["outcome"], "reason", "") in ("connection_failed", "sqlalchemy_not_installed")
    names = {"__name__": "my_package"}
    exec(programs[1], names)
    assert "mail" in names
