"""Drafts of tasks as YAML: texts over several lines as such, and a word on what is left to be done."""

from collections.abc import Sequence

import yaml

from spanproof_evaluators.model.canonical import Plain

_HEAD = """\
# Drafts: none of these tasks runs as it is. For each one write what fill_in names, then remove fill_in:
#   start   what the world begins with (folder, git, sqlite, python)
#   checks  what is true of the world when the task is done. The recorded answer is the agent's own, and no truth
#   category, and a look at the prompt: personal data was taken out by rule, and rules know no names
"""


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def drafts_yaml(tasks: Sequence[Plain], *, suite_id: str | None = None) -> str:
    """Return drafts as a YAML text: a list of tasks, or a suite where ``suite_id`` names one."""
    whole: Plain = list(tasks) if suite_id is None else {"id": suite_id, "tasks": list(tasks)}
    return _HEAD + yaml.dump(whole, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
