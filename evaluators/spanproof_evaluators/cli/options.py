"""Options that several commands share: where the store is, which trials are asked for, how a trial is cut."""

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, ParamSpec, TypeVar

import click

from spanproof_evaluators.errors import FilterError

if TYPE_CHECKING:
    from spanproof_collector.model.filters import Filter
    from spanproof_collector.model.tool_catalogue import ToolCatalogue
    from spanproof_collector.store import Store
    from spanproof_evaluators.model.assessments import Assessment
    from spanproof_evaluators.model.comparisons import Observation
    from spanproof_evaluators.model.reports import Report
    from spanproof_evaluators.model.suites import Suite
    from spanproof_evaluators.runner.verifier_files import VerifierFileChecks

P = ParamSpec("P")
R = TypeVar("R")

DEFAULT_STORE: Final = "chdb://.spanproof"

store_option = click.option(
    "--store",
    "address",
    envvar="SPANPROOF_STORE",
    default=DEFAULT_STORE,
    show_default=True,
    metavar="ADDRESS",
    help="Where the store is: chdb:///absolute/path, chdb://relative/path or "
    "clickhouse://user:password@host:8123/database. "
    "Also SPANPROOF_STORE.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="JSON on standard output, and nothing else there.")
unit_option = click.option(
    "--unit",
    type=click.Choice(["session", "trace"]),
    default="session",
    show_default=True,
    help="What a trial is where no trial label says so.",
)

tools_option = click.option(
    "--tools",
    "tools_file",
    envvar="SPANPROOF_TOOLS",
    metavar="FILE",
    help="A catalogue of tools (YAML): what they change, and how that is looked up. Also SPANPROOF_TOOLS.",
)

verifiers_option = click.option(
    "--verifiers",
    "verifier_files",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE",
    help="A verifier file: checks attached to trials by filter. Repeatable; all that match a trial stand together.",
)

calibrations_option = click.option(
    "--calibrations",
    "calibrations_path",
    type=click.Path(path_type=Path),
    default=Path(".spanproof-judge/calibrations"),
    show_default=True,
    envvar="SPANPROOF_CALIBRATIONS",
    metavar="PATH",
    help="Records of 'spanproof judge calibrate': a folder or a file. Also SPANPROOF_CALIBRATIONS.",
)

_settle = click.option(
    "--settle",
    "settle_seconds",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    envvar="SPANPROOF_SETTLE",
    metavar="SECONDS",
    help="A trial is settled when its root ended and nothing came for so long. Also SPANPROOF_SETTLE.",
)
_idle = click.option(
    "--idle",
    "idle_seconds",
    type=click.FloatRange(min=0),
    default=600.0,
    show_default=True,
    envvar="SPANPROOF_IDLE",
    metavar="SECONDS",
    help="The same for a trial whose root is missing or never ended. Also SPANPROOF_IDLE.",
)


def settling_options(command: Callable[P, R]) -> Callable[P, R]:
    """Add the options that say when a trial is settled."""
    return _settle(_idle(command))


_NAMES: Final = {
    "projects": "project",
    "sessions": "session",
    "trials": "trial",
    "tasks": "task",
    "suites": "suite",
    "sources": "source",
    "variants": "variant",
    "agents": "agent",
    "models": "model",
    "tools": "tool",
    "texts": "text",
}
_HELP: Final = {
    "project": "Trials of this project.",
    "session": "Trials of this session.",
    "trial": "The trial with this id.",
    "task": "Trials of this task.",
    "variant": "Trials of this variant: what a report compares; '(none)' for those without one.",
    "agent": "Trials of this agent, by its name.",
    "model": "Trials in which this model was called.",
    "suite": "Trials of this suite; where evaluate and report take a suite, also a file that defines it.",
    "source": "Trials that came from there: otlp, import:tau_bench.",
    "text": "Trials whose answer, steps or calls hold this text.",
    "tool": "Trials that called this tool.",
}


def filter_options(command: Callable[P, R], *, renamed: Mapping[str, str] = MappingProxyType({})) -> Callable[P, R]:
    """Add the filter: every option but the times repeatable, values of one option or-ed, options and-ed.

    ``renamed`` gives options another name where a command needs theirs.
    """
    label = click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="Trials with this label.")
    options = [
        click.option("--since", metavar="TIME", help="Started at or after: ISO 8601 (UTC) or Unix nanoseconds."),
        click.option("--until", metavar="TIME", help="Started before."),
        *(
            click.option(
                f"--{renamed.get(option, option)}", field, multiple=True, metavar=option.upper(), help=_HELP[option]
            )
            for field, option in _NAMES.items()
        ),
        label,
    ]
    return functools.reduce(lambda wrapped, option: option(wrapped), reversed(options), command)


def read_filter(given: "dict[str, tuple[str, ...] | str | None]") -> "Filter":
    """Return the filter that the options say.

    Raises:
        FilterError: a time or a label cannot be read.
    """
    from spanproof_collector.model.filters import Filter

    many = {field: tuple(given.get(field) or ()) for field in _NAMES}
    since, until = given.get("since"), given.get("until")
    return Filter(
        since=_time("--since", since) if isinstance(since, str) else None,
        until=_time("--until", until) if isinstance(until, str) else None,
        labels=tuple(_label(text) for text in given.get("labels") or ()),
        **many,
    )


def describe(wanted: "Filter") -> str:
    """Return the filter in words, empty where it asks for everything."""
    parts = []
    if wanted.since is not None:
        parts.append(f"since={wanted.since}")
    if wanted.until is not None:
        parts.append(f"until={wanted.until}")
    for field, option in _NAMES.items():
        parts.extend(f"{option}={value}" for value in getattr(wanted, field))
    parts.extend(f"label {key}={value}" for key, value in wanted.labels)
    return ", ".join(parts)


_FILES: Final = (".json", ".yaml", ".yml", ".jsonl", ".ndjson", ".py")


def split_suites(values: tuple[str, ...]) -> "tuple[Suite | None, tuple[str, ...]]":
    """Return the suite that a value defines by file, if one does, and the labels to filter by.

    A value that names an existing file is the definition, and filters by the id that it defines.

    Raises:
        FilterError: several files.
        SuiteError: the file is no suite.
    """
    files = [value for value in values if Path(value).is_file()]
    missing = [value for value in values if value not in files and value.endswith(_FILES)]
    if missing:
        raise FilterError(f"--suite {missing[0]}: there is no such file")
    if not files:
        return None, values
    if len(files) > 1:
        raise FilterError(f"--suite was given {len(files)} files: {', '.join(files)}. One suite defines the checks")
    from spanproof_evaluators.runner.python_suites import open_suite

    suite = open_suite(Path(files[0])).suite
    return suite, (suite.id, *(value for value in values if value not in files))


def read_tools(path: str | None) -> "ToolCatalogue":
    """Return the catalogue of tools that a file holds; an empty one where no file is named.

    Raises:
        CatalogueError: the file is no catalogue.
    """
    from spanproof_collector.model.tool_catalogue import EMPTY
    from spanproof_collector.trials import read_catalogue

    return EMPTY if not path else read_catalogue(Path(path))


def read_verifiers(paths: tuple[Path, ...]) -> "list[VerifierFileChecks]":
    """Return the verifiers of every file.

    Raises:
        FilterError: two files have one id.
        VerifierFileError: a file cannot be read as one.
    """
    if not paths:
        return []
    from spanproof_evaluators.runner.verifier_files import VerifierFileChecks

    found = [VerifierFileChecks.read(path) for path in paths]
    names = [one.name for one in found]
    for name in names:
        if names.count(name) > 1:
            raise FilterError(f"--verifiers was given several files with id {name!r}. Give each an id of its own")
    return found


def open_existing(address: str) -> "Store":
    """Open a store to read it. A folder that is not there is said to be missing, and not made.

    Raises:
        FilterError: the embedded store does not exist.
        StoreError: it cannot be opened.
    """
    from spanproof_collector.store import open_store

    if address.startswith("chdb://") and not Path(address.removeprefix("chdb://")).expanduser().is_dir():
        raise FilterError(
            f"there is no store at {address}. Name another one with --store, or fill it: 'spanproof demo', "
            "'spanproof serve', 'spanproof import PATH'"
        )
    return open_store(address)


def trusted(made: "Report", address: str, suites: "Sequence[str]" = ()) -> "Report":
    """Return a report with the trust card of its suite, where one lies beside the store.

    Raises:
        TrustCardError: the file is no card.
    """
    from dataclasses import replace

    from spanproof_evaluators.model.trust_cards import folder_of, read_card

    name = made.suite_id or (suites[0] if len(suites) == 1 else None)
    return made if name is None else replace(made, trust=read_card(folder_of(address), name))


def read_baseline_trials(name: str | None, folder: Path, found: "Sequence[Assessment]") -> "list[Observation] | None":
    """Return the trials of a saved baseline, else of the variant of that name; ``None`` where none is named.

    Raises:
        BaselineError: there is neither a baseline nor a variant of that name.
    """
    if name is None:
        return None
    from spanproof_collector.model.filters import UNNAMED
    from spanproof_evaluators.errors import BaselineError
    from spanproof_evaluators.model.baselines import names, read_baseline
    from spanproof_evaluators.runner import observed

    if (folder / f"{name}.json").is_file():
        return list(read_baseline(folder, name).observations)
    old = [observed(one) for one in found if (one.trial.variant or UNNAMED) == name]
    if not old:
        saved = ", ".join(names(folder)) or "none"
        raise BaselineError(name, "", f"is no saved baseline (there are: {saved}) and no variant with trials here")
    return old


def _time(option: str, text: str) -> int:
    """Return Unix nanoseconds."""
    from spanproof_evaluators.model.moments import read_moment

    try:
        return read_moment(text)
    except ValueError as error:
        raise FilterError(f"{option} {error}") from error


def _label(text: str) -> tuple[str, str]:
    """Return key and value."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise FilterError(f"--label {text!r} is no label. Give KEY=VALUE")
    return key, value


Unit = Literal["session", "trace"]
