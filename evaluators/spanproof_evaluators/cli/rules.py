"""spanproof rules: the rules that there are, each as SQL where it has a statement, and what those say of a store."""

import json
from typing import TYPE_CHECKING

import click

from spanproof_evaluators.cli.options import Unit, json_option, open_existing, store_option, unit_option
from spanproof_evaluators.cli.output import console, tell

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanproof_evaluators.rules.sql import SqlRule

_parameter_option = click.option(
    "-p",
    "--parameter",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="What every trial is asked for, as JSON: -p 'forbidden_tools=[\"drop\"]' -p max_steps=30.",
)


@click.group("rules", short_help="The rules, each as SQL where it has a statement; ask a whole store by them.")
def command() -> None:
    """Rules as SQL over trials as 'spanproof evaluate' read them: for large stores, and for dashboards.

    A statement says of each trial what the rule in Python says. What a task demands is given by parameters.

    Exit codes: 0 done, 2 could not run.
    """


@command.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the rules: which can fail a trial, which have a statement with which parameters, and why others have none.

    Exit codes: 0 done, 2 could not run.
    """
    from spanproof_evaluators.model.canonical import Plain
    from spanproof_evaluators.rules import RULES
    from spanproof_evaluators.rules.sql import SQL_RULES, WITHOUT_SQL

    hard = {rule.name for rule in RULES if rule.hard}
    found: list[dict[str, Plain]] = [
        {
            "rule": name,
            "hard": name in hard,
            "sql": name in SQL_RULES,
            "parameters": {**SQL_RULES[name].parameters} if name in SQL_RULES else {},
            "about": SQL_RULES[name].about if name in SQL_RULES else WITHOUT_SQL[name],
        }
        for name in (*SQL_RULES, *WITHOUT_SQL)
    ]
    if as_json:
        from spanproof_evaluators.reports.machine import line

        click.echo(line([*found]))
        return
    for one in found:
        click.echo(f"{one['rule']}: {'' if one['sql'] else 'no SQL, '}{one['about']}")


@command.command("sql")
@click.argument("name")
@_parameter_option
def sql(name: str, parameters: tuple[str, ...]) -> None:
    """Print the statement of the rule NAME, for a client of the store or a dashboard.

    Parameters that are not given stay placeholders of ClickHouse, {name:Type}; its clients fill them in.

    Exit codes: 0 done, 2 the rule has no statement.
    """
    rule = _rule(name)
    click.echo(_filled(rule, _given([rule.name], parameters)))


@command.command("run")
@click.argument("names", nargs=-1)
@store_option
@unit_option
@_parameter_option
@json_option
def run(names: tuple[str, ...], address: str, unit: Unit, parameters: tuple[str, ...], as_json: bool) -> None:
    """Ask the rules NAMES, or all that have a statement, of every trial that was evaluated, inside of the store.

    Prints how many trials have which state, and how many traces no statement sees: evaluate them first. Rules on
    something that no parameter asks for say nothing. Without NAMES the measures that have a statement are told, too.

    Exit codes: 0 done, 2 could not run.
    """
    from spanproof_evaluators.rules.sql import SQL_RULES
    from spanproof_evaluators.runner.measuring.in_sql import measures_in_sql
    from spanproof_evaluators.runner.rules_in_sql import STATES, rules_in_sql, traces_waiting

    asked = [_rule(name).name for name in names] or [*SQL_RULES]
    given = {**_given(asked, parameters), "unit": unit}
    with open_existing(address) as store:
        waiting = traces_waiting(store, unit)
        found = rules_in_sql(store, asked, given)
        measures = [] if names else measures_in_sql(store, unit)
    if as_json:
        from spanproof_evaluators.reports.machine import line

        click.echo(
            line(
                {
                    "unit": unit,
                    "traces_waiting": waiting,
                    "rules": {one.name: {name: {**states} for name, states in one.variants.items()} for one in found},
                    "measures": [
                        {
                            "variant": one.variant,
                            "measure": one.name,
                            "numerator": None if one.numerator is None else format(one.numerator, "f"),
                            "denominator": one.denominator,
                            "unavailable": one.unavailable,
                        }
                        for one in measures
                    ],
                }
            )
        )
        return
    from rich.table import Table
    from rich.text import Text

    told = Table("rule", *STATES, box=None, pad_edge=False)
    for one in found:
        told.add_row(one.name, *(f"{one.total(state):,}" for state in STATES))
    console().print(told)
    if measures:
        beside = Table("measure", "variant", "numerator", "denominator", "unavailable", box=None, pad_edge=False)
        for each in measures:
            beside.add_row(
                each.name,
                Text(each.variant or "(none)"),
                "unavailable" if each.numerator is None else f"{each.numerator.normalize():f}",
                f"{each.denominator:,}",
                f"{each.unavailable:,}",
            )
        console().print()
        console().print(beside)
    if waiting:
        tell(f"{waiting:,} traces are in no trial that these see: 'spanproof evaluate' reads them")


def _rule(name: str) -> "SqlRule":
    """Return a rule's statement.

    Raises:
        EvaluatorError: there is no such rule, or it has none.
    """
    from spanproof_evaluators.errors import EvaluatorError
    from spanproof_evaluators.rules.sql import SQL_RULES, WITHOUT_SQL

    if name in SQL_RULES:
        return SQL_RULES[name]
    if name in WITHOUT_SQL:
        raise EvaluatorError(f"{name} has no SQL form: {WITHOUT_SQL[name]}")
    raise EvaluatorError(f"there is no rule {name!r}; 'spanproof rules list' lists them")


def _given(names: list[str], parameters: tuple[str, ...]) -> dict[str, object]:
    """Return the parameters by name.

    Raises:
        EvaluatorError: none of the rules has such a parameter, or it is not NAME=VALUE.
    """
    from spanproof_evaluators.errors import EvaluatorError

    known = {parameter for name in names for parameter in _rule(name).parameters} - {"unit"}
    found: dict[str, object] = {}
    for each in parameters:
        name, sign, text = each.partition("=")
        if not sign or name not in known:
            raise EvaluatorError(
                f"{each!r} is no parameter of these rules; they have: {', '.join(sorted(known)) or 'none'}"
            )
        try:
            found[name] = json.loads(text)
        except ValueError:
            found[name] = text
    return found


def _filled(rule: "SqlRule", given: "Mapping[str, object]") -> str:
    """Return the text of a rule with these parameters in their places."""
    text = rule.text
    for name, kind in rule.parameters.items():
        if name in given:
            text = text.replace(f"{{{name}:{kind}}}", f"CAST({_literal(given[name])}, '{kind}')")
    return text.rstrip()


def _literal(value: object) -> str:
    """Return a value as ClickHouse writes it."""
    match value:
        case None:
            return "NULL"
        case bool() | int() | float():
            return repr(value).lower()
        case list():
            return f"[{', '.join(map(_literal, value))}]"
    told = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{told}'"
