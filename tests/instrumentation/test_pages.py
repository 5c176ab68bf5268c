"""The pages say what the code says."""

import argparse
import re
from pathlib import Path
from typing import get_args

import spanproof_instrumentation
from spanproof_instrumentation import evidence, semconv
from spanproof_instrumentation.run import _parser
from spanproof_instrumentation.settings import DEFAULT_EXIT_SECONDS, MOST_EXIT_SECONDS
from tests.instrumentation.sink import run

DOCS = Path(__file__).parents[2] / "docs"
NAMES = {
    value
    for name, value in vars(semconv).items()
    if name.isupper() and isinstance(value, str) and value.startswith("spanproof.")
}


def test_every_name_of_ours_is_explained_and_nothing_else_is() -> None:
    page = (DOCS / "semconv.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| `(spanproof\.[a-z_.]+)(?:<key>)?`(?: †)? \| ([^|]+) \| ([^|]+) \| ([^|]+) \|", page, re.MULTILINE
    )
    events = re.findall(r"^## Event `(spanproof\.[a-z_.]+)`", page, re.MULTILINE)
    explained = [name for name, *_ in rows] + events
    assert sorted(explained) == sorted(set(explained))
    assert set(explained) == NAMES
    for name, kind, meaning, example in rows:
        assert kind.split(",")[0].strip() in {"string", "int", "double", "boolean"}, name
        assert len(meaning) > 10, name
        assert "`" in example, name


def test_the_values_that_a_name_can_have_are_those_that_the_code_takes() -> None:
    page = (DOCS / "semconv.md").read_text(encoding="utf-8")
    choices = {
        semconv.EFFECT_CLASS: evidence.EffectClass,
        semconv.RECEIPT_STATE: evidence.ReceiptState,
        semconv.CLAIM_STATE: evidence.ClaimState,
        semconv.PROGRESS_WINDOW: evidence.Window,
        semconv.TERMINATION_REASON: evidence.Reason,
        semconv.END_STATE_PHASE: evidence.Phase,
    }
    for name, choice in choices.items():
        row = re.search(rf"^\| `{re.escape(name)}` \| string, one of ([^|]+) \|", page, re.MULTILINE)
        assert row is not None, name
        assert tuple(re.findall(r"`([a-z_]+)`", row[1])) == get_args(choice), name


def test_the_page_of_the_agent_side_names_every_option_and_every_public_name() -> None:
    page = (DOCS / "instrumentation.md").read_text(encoding="utf-8")
    options = {
        option
        for action in _parser()._actions
        if not isinstance(action, argparse._HelpAction)
        for option in action.option_strings
    }
    assert {option for option in options if f"`{option}" not in page and f"/{option}" not in page} == set()
    public = {name for name in spanproof_instrumentation.__all__ if name.islower()}
    assert {name for name in public if not re.search(rf"\b{name}\b", page)} == set()


def test_the_bounds_that_are_stated_are_those_that_hold() -> None:
    page = (DOCS / "instrumentation.md").read_text(encoding="utf-8")
    assert f"{DEFAULT_EXIT_SECONDS:g} s without a sign of life" in page
    assert f"{MOST_EXIT_SECONDS:g} s in all" in page


def test_the_examples_of_the_page_run(tmp_path: Path) -> None:
    page = (DOCS / "instrumentation.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(examples) >= 5
    header = f"import os\nos.chdir({str(tmp_path)!r})\nos.environ['OTEL_TRACES_EXPORTER'] = 'none'\n"
    for example in examples:
        done = run(header + example)
        assert (done.returncode, done.stderr) == (0, ""), example
