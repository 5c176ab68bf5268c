"""The report as one HTML file: no script, no external resource; every value from a trace is escaped by the template."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from spanproof_evaluators.model.assessments import Assessment, by_urgency
from spanproof_evaluators.model.canonical import Layout, Plain, plain, written
from spanproof_evaluators.model.measures import Measure
from spanproof_evaluators.model.reports import Report
from spanproof_evaluators.reports import sections, wording
from spanproof_evaluators.reports.judge_flags import judge_flags
from spanproof_evaluators.reports.proof import proof
from spanproof_evaluators.reports.trust import card_line

TEMPLATES = Path(__file__).parent / "templates"
WIDTH = 200
LONGEST_NAME = 120
LONGEST_IN_A_ROW = 240
LONGEST = 2000
"""How many characters of one text are shown; JSON has all."""

PROVEN = 10
"""How many trials are proven before everything else; the others are further down, each on its page."""

LISTED = 2000
PAGES = 500
CALLS = 60
"""How many trials are listed, how many have a page of their own, the most urgent first, and how many calls it shows."""


def report_html(report: Report) -> str:
    """Return the whole file."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["plain"] = wording.one_line
    environment.filters["visible"] = visible
    environment.filters["name"] = name
    environment.filters["short"] = short
    template = environment.get_template("report.html")
    listed = by_urgency(report.assessments)
    return template.render(
        report=report,
        sections=sections,
        listed=[(one, wording.marks(one)) for one in listed[:LISTED]],
        urgent=sum(bool(wording.marks(one)) for one in listed),
        most={"proven": PROVEN, "listed": LISTED, "pages": PAGES, "calls": CALLS},
        proof=proof,
        facts=facts,
        recorded=recorded,
        flags=judge_flags(report.assessments),
        trust=None if report.trust is None else card_line(report.trust, report.suite_hash),
        picture=picture,
        wording=wording,
    )


def facts(one: Assessment) -> list[tuple[str, str]]:
    """Return what a trial is, by name: what was not recorded says so."""
    trial, gaps = one.trial, one.trial.completeness
    tokens = (trial.usage.input_tokens, trial.usage.output_tokens)
    counts = [f"{count:,} {way}" for count, way in zip(tokens, ("in", "out"), strict=True) if count is not None]
    agent = " ".join(part for part in (trial.agent_name, trial.agent_version) if part)
    return [
        ("status", trial.status + (f": {wording.because(trial.status_reason)}" if trial.status_reason else "")),
        ("solved", wording.solved(one)),
        ("agent", agent or "unnamed"),
        ("models", ", ".join(trial.models) or "none recorded"),
        ("session", trial.session_id or "none"),
        ("tokens", ", ".join(counts) or "not recorded"),
        ("cost", wording.cost(trial)),
        ("content", gaps.content.replace("_", " ") + ("" if gaps.calls_whole else "; calls may be missing")),
        ("answer", trial.final_answer if trial.final_answer is not None else "not recorded"),
    ]


def recorded(value: Plain, source: str | None) -> str:
    """Return what a call was asked or answered, or that nobody recorded it."""
    if source is None:
        return "not recorded"
    return value if isinstance(value, str) else written(plain(value), Layout(ensure_ascii=False))


def visible(text: str) -> Markup:
    """Return text from a trace: harmless, cut with a note where it is very long, and with a direction of its own.

    The direction keeps text that runs from right to left from turning around what stands beside it.
    """
    shown, note = wording.cut(text, LONGEST)
    return Markup("<bdi>{}</bdi>{}").format(shown, f" {note}" if note else "")


def name(text: str) -> Markup:
    """Return an id or a label as ``visible`` does, but never more than two lines of it."""
    return Markup("<bdi>{}</bdi>").format(wording.one_line(text, LONGEST_NAME))


def short(text: str) -> Markup:
    """Return text in a row of a list; all of it stands where the trial is proven."""
    return Markup("<bdi>{}</bdi>").format(wording.one_line(text, LONGEST_IN_A_ROW))


def picture(measure: Measure) -> Markup:
    """Return a rate and its interval on a line from 0 to 1 as inline SVG; nothing where there is no interval.

    Only numbers of ours go into it, so there is nothing to escape.
    """
    if measure.interval is None or measure.value is None or measure.per is not None or measure.unit == "usd":
        return Markup("")
    low, high = (min(max(end, 0.0), 1.0) * WIDTH for end in measure.interval)
    at = min(max(float(measure.value), 0.0), 1.0) * WIDTH
    return Markup(
        f'<svg viewBox="-4 0 {WIDTH + 8} 14" width="{WIDTH + 8}" height="14" role="img"'
        f' aria-label="95 % interval from {measure.interval[0]:.3f} to {measure.interval[1]:.3f}">'
        f'<path class="axis" d="M0 3v8M0 7h{WIDTH}M{WIDTH} 3v8"/>'
        f'<line class="interval" x1="{low:.1f}" y1="7" x2="{high:.1f}" y2="7"/>'
        f'<circle class="point" cx="{at:.1f}" cy="7" r="4"/></svg>'
    )
