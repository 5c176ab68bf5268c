"""Reports as they are read: at any width, with texts that mean harm, with numbers that can be doubted."""

import io
import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from spanproof_collector.model.trials import Cost, ForeignResult
from spanproof_evaluators.model.assessments import Assessment
from spanproof_evaluators.model.outcomes import Outcome
from spanproof_evaluators.model.reports import Report
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.verifications import Check, Verification
from spanproof_evaluators.reports.html import CALLS, LISTED, PAGES, report_html
from spanproof_evaluators.reports.proof import proof
from spanproof_evaluators.reports.terminal import print_report, print_trial, print_trials
from spanproof_evaluators.reports.terminal._layout import wrap
from spanproof_evaluators.reports.wording import clean, cut, marks, outcome, plural
from spanproof_evaluators.runner import report
from tests.evaluators.factories import assessed, call, quality, trial, wait

LONG_ID = "6f1d9b0c-3a52-4c8e-9a77-0e5b1c2d3e4f"
SHA = "0123456789abcdef" * 4
WIDTHS = [40, 60, 80, 100, 160, 300]


def printed(what: str, *found: Assessment, width: int = 80, terminal: bool = True, verbose: bool = False) -> str:
    """Return what a person sees, without the colors."""
    console = Console(
        file=io.StringIO(), width=width, force_terminal=terminal, color_system=None, markup=False, highlight=False
    )
    match what:
        case "trials":
            print_trials(console, found)
        case "trial":
            print_trial(console, found[0])
        case _:
            print_report(console, made(found), verbose=verbose)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def made(found: Sequence[Assessment]) -> Report:
    return report(found, None, described="")


def failed(one: Assessment, before: str = "failed", seen: str = "2 of 2 rows match") -> Assessment:
    """Return the trial with a failed check, and the verdict on the state before."""
    checks = Verification.of([Check(name="exactly 1 row of refunds", passed=False, seen=seen)])
    earlier = Verification.of([Check(name="exactly 1 row of refunds", passed=before == "verified")])
    found = Outcome.of(earlier, checks, verifier="shop/refund", version="1")
    return replace(one, outcome=found, false_success=True, solved=False)


def mixed() -> list[Assessment]:
    """Return a false success, an unknown effect, an unproven claim and a good one."""
    return [
        failed(assessed(trial("liar.refund.0", variant="fast", task_id="refund"))),
        assessed(trial(LONG_ID, variant="fast", calls=[call(state="unknown", span_id="ab" * 8)]), "unavailable"),
        assessed(trial("blind", variant="careful", calls=[call(state="reported")]), "unavailable"),
        assessed(trial("good", variant="careful", calls=[call(state="verified", observed="row 1")])),
    ]


# -- widths


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("terminal", [True, False])
def test_marks_and_ids_stay_whole_at_any_width(width: int, terminal: bool) -> None:
    for what in ("trials", "report"):
        text = printed(what, *mixed(), width=width, terminal=terminal)
        for word in ("FALSE SUCCESS", "UNKNOWN EFFECT", "UNPROVEN", LONG_ID, "liar.refund.0"):
            assert word in text, what


@pytest.mark.parametrize("width", WIDTHS)
def test_no_word_is_broken_at_any_width(width: int) -> None:
    whole = set(printed("report", *mixed(), width=10_000).split())
    assert set(printed("report", *mixed(), width=width).split()) <= whole
    whole = set(printed("trial", mixed()[1], width=10_000).split())
    assert set(printed("trial", mixed()[1], width=width).split()) <= whole


@pytest.mark.parametrize("width", [60, 80, 100, 160])
@pytest.mark.parametrize("what", ["trials", "report", "trial"])
def test_no_line_is_wider_than_the_terminal_unless_an_id_is(what: str, width: int) -> None:
    for line in printed(what, *mixed(), width=width).splitlines():
        assert cell_len(line) <= width or SHA_LIKE.search(line), line
        assert line == line.rstrip()


SHA_LIKE = re.compile(r"[0-9a-f]{64}")


def test_a_list_names_no_column_that_is_empty_for_all() -> None:
    bare = [replace(one, trial=replace(one.trial, task_id=None, variant=None)) for one in mixed()]
    header = printed("trials", *bare, width=300).splitlines()[1]
    assert "task" not in header
    assert "variant" not in header
    assert "variant" in printed("trials", *mixed(), width=300).splitlines()[1]


def test_a_label_that_is_part_of_the_id_is_not_said_twice_in_a_narrow_list() -> None:
    text = printed("trials", *mixed(), width=100)
    assert "liar.refund.0  variant fast" in text
    assert f"{LONG_ID}  task task-1  variant fast" in text


@pytest.mark.parametrize("width", [80, 200])
def test_many_variants_with_long_names_fit(width: int) -> None:
    names = [f"accounts/acme/models/llama-{size}b-instruct-2026" for size in (8, 70, 405, 700)]
    found = [failed(assessed(trial(f"t{at}", variant=name))) for at, name in enumerate(names)]
    text = printed("report", *found, width=width)
    for name in names:
        assert name in text
    assert "unverified_completions" in text


def test_lines_are_measured_as_a_terminal_shows_them() -> None:
    lines = wrap(Text("退款 已经 完成 " * 20), 30)
    assert max(cell_len(line.plain) for line in lines) <= 30
    assert " ".join(line.plain for line in lines).split() == ["退款", "已经", "完成"] * 20


def test_only_a_word_that_no_id_could_be_is_broken() -> None:
    assert [line.plain for line in wrap(Text(f"a {SHA} b"), 20)] == ["a", SHA, "b"]
    broken = wrap(Text("x" * 500), 60)
    assert "".join(line.plain for line in broken) == "x" * 500
    assert max(len(line.plain) for line in broken) == 60


def test_a_trial_says_which_calls_and_counts_may_be_missing() -> None:
    text = " ".join(printed("trial", assessed(trial(calls_whole=False, unmetered_calls=2))).split())
    assert "captured; calls may be missing; 2 inferences without a count of tokens" in text
    assert "missing" not in printed("trial", assessed(trial()))


# -- the report


def test_the_report_says_the_verdict_before_any_number() -> None:
    text = printed("report", *mixed())
    headings = ["fast     FAIL", "\nSignals", "\nGates", "\nWhat proves it", "\nBeside the signals", "\ncertificate"]
    assert all(text.index(one) < text.index(other) for one, other in pairwise(headings))


def test_every_measure_has_its_counts_or_a_reason() -> None:
    rated = [*mixed(), assessed(trial("graded", variant="careful", scores=[quality(0.8)]))]
    for line in printed("report", *rated, width=160).splitlines():
        if re.search(r"\(\d\.\d{3}\)", line):
            assert re.search(r"\d+/\d+ \(\d\.\d{3}\)", line), line
    assert "0.800 (1/3 graded)" in printed("report", *rated, width=160)


def test_what_is_unavailable_stands_beside_a_perfect_rate() -> None:
    calls = [call(state="verified", observed="row 1"), call(state="unknown", span_id="ab" * 8)]
    lines = printed("report", assessed(trial(calls=calls))).splitlines()
    (line,) = [line for line in lines if line.startswith("Effect integrity")]
    assert "1/1 (1.000)" in line
    assert "1 unavailable" in line


def test_every_failing_trial_is_proven_by_claim_check_row_and_span() -> None:
    text = printed("report", *mixed())
    for part in (
        "claimed  success, declared",
        "span 00000000000000ff",
        "failed: exactly 1 row of refunds",
        "2 of 2 rows match",
        f"span {'ab' * 8}",
    ):
        assert part in text


def test_a_receipt_is_shown_once_however_many_calls_it_settles() -> None:
    settled = call(state="verified", observed="row 7", span_id="ab" * 8)
    twice = trial(calls=[settled, replace(settled, span_ids=("cd" * 8,))])
    broken = Result(evaluator="duplicate_effect", state="fail", explanation="took place twice", span_ids=("ab" * 8,))
    one = failed(replace(assessed(replace(twice, receipts=settled.receipts)), results=(broken,)))
    assert printed("report", one).count("row 7") == 1
    assert [piece.kind for piece in proof(one)] == ["claimed", "check", "rule", "receipt"]


def test_what_went_well_beside_a_failure_is_left_to_the_long_report() -> None:
    one = failed(assessed(trial(calls=[call(state="verified", observed="row 7")])))
    assert "row 7" not in printed("report", one)
    assert "row 7" in printed("report", one, verbose=True)
    assert "row 7" in report_html(made([one]))


def test_a_long_report_in_the_terminal_says_what_it_leaves_out() -> None:
    many = [failed(assessed(trial(f"liar-{at:02}"))) for at in range(25)]
    text = printed("report", *many)
    assert text.count("FALSE SUCCESS") == 10
    assert "and 15 more" in text
    assert printed("report", *many, verbose=True).count("FALSE SUCCESS") == 25
    assert report_html(made(many)).count('"badge fail">FALSE SUCCESS') == 60  # ten proven, all listed, each on its page


def test_each_trial_has_a_page_with_its_calls_that_its_row_leads_to() -> None:
    asked = call("issue_refund", {"order": "ORD-7"}, state="unknown", span_id="ab" * 8)
    blank = replace(call("look_up", {}), arguments_source=None, result_source=None, error="broke down")
    text = report_html(made([assessed(trial("with-calls", calls=[asked, blank])), assessed(trial("without"))]))
    assert (
        set(re.findall('<a href="#(t[0-9]+)">', text)) == set(re.findall('<dl id="(t[0-9]+)">', text)) == {"t1", "t2"}
    )
    page = text.partition('<dl id="t1">')[2].partition("</details>")[0]
    for told in (
        "issue_refund",
        "ORD-7",
        'class="unknown">unknown',
        "look_up",
        "broke down",
        "asked <bdi>not recorded",
    ):
        assert told in page
    assert "No call of a tool" in text.partition('<dl id="t2">')[2]


def test_a_page_of_many_trials_stays_small_and_says_what_it_leaves_out() -> None:
    calls = [call(f"tool-{at}") for at in range(CALLS + 3)]
    text = report_html(
        made([assessed(trial("first", calls=calls)), *(assessed(trial(f"x{at}")) for at in range(2100))])
    )
    assert text.count('<details class="page">') == PAGES
    assert "The 500 most urgent of 2,101." in text
    assert "The first 2,000 of 2,101:" in text
    assert text.count('<tr><th scope="row"><bdi>x') + text.count('<a href="#t') == LISTED
    assert len(text) < 4_000_000


# -- wording


@pytest.mark.parametrize(("before", "said"), [("failed", "failed (unmet before)"), ("verified", "failed (met before)")])
def test_a_failed_outcome_says_how_it_was_before_and_not_that_nothing_happened(before: str, said: str) -> None:
    one = failed(assessed(trial()), before)
    assert outcome(one) == said
    for text in (printed("trials", one), printed("trial", one), report_html(made([one]))):
        assert said in text
        assert "unchanged" not in text


def test_a_trial_carries_every_mark_that_it_earns() -> None:
    assert [marks(one) for one in mixed()] == [
        ("FALSE SUCCESS",),
        ("UNKNOWN EFFECT", "UNPROVEN"),
        ("UNPROVEN",),
        (),
    ]


def test_counts_agree_with_their_nouns() -> None:
    assert [plural(count, "trial") for count in (0, 1, 2, 12_345)] == [
        "0 trials",
        "1 trial",
        "2 trials",
        "12,345 trials",
    ]


# -- one trial


def test_a_long_value_is_cut_with_a_note_and_goes_on_indented() -> None:
    settled = call(arguments={"note": "word " * 500})
    lines = printed("trial", assessed(trial(calls=[settled]))).splitlines()
    at = next(index for index, line in enumerate(lines) if line.startswith("  arguments"))
    beside = re.compile(r" {13}\S")
    following = [line for line in lines[at + 1 :] if beside.match(line)]
    assert len(following) >= 4
    assert any("[cut: 2,512 characters in all, --json has them]" in line for line in lines)


def test_what_was_never_recorded_is_said_and_not_shown_as_nothing() -> None:
    text = printed("trial", assessed(trial(calls=[call(captured=False)], usd=None)))
    assert re.search(r"arguments +not recorded", text)
    assert re.search(r"result +not recorded", text)
    assert re.search(r"cost +unavailable: no bill was recorded", text)


def test_a_cost_by_the_catalogue_names_the_catalogue() -> None:
    priced = Cost(
        usd=Decimal("0.0035"), covered=True, reason=None, catalogue="prices 1.0 sha256:ab", source="catalogue"
    )
    one = assessed(replace(trial(), cost=priced))
    assert "$0.0035 (prices 1.0 sha256:ab)" in " ".join(printed("trial", one).split())
    assert "$0.0035 (prices 1.0 sha256:ab)" in report_html(made([one]))


def test_the_word_of_another_tool_is_shown_as_no_verdict_of_ours() -> None:
    other = ForeignResult(name="judge", score=1.0, label="ok", explanation=None, error_type=None, span_id=None)
    text = printed("trial", assessed(replace(trial(waits=[wait()]), foreign_results=(other,))))
    assert re.search(r"elsewhere +judge: 1.0 ok +no verdict of ours", text)


# -- texts that mean harm

HARM = {
    "escape": "\x1b[2J\x1b]0;owned\x07",
    "c1": "\x9b31m",
    "return": "done\rFAILED",
    "backspace": "fail\b\b\b\bgood",
    "markup": "[bold red]x[/bold red][/]",
    "right to left": "\u202edenifer\u2066\u200f",
    "zero width": "re\u200bfund\u200d\ufeff\u2060",
    "invisible": "\u3164\u115f\u034f\U000e0041\u2800",
    "line separator": "a\u2028b\u2029c",
    "surrogate": "\ud800x",
    "stacked": "e" + "\u0301" * 60,
    "long": "x" * 300_000,
    "wide": "退" * 5_000,
    "lines": "a\n" * 5_000,
    "hebrew": "\u05d4\u05d6\u05de\u05e0\u05d4 refund",
    "html": "<img src=x onerror=alert(1)>'\"&lt;</bdi></style></details>",
}


def harmed(text: str) -> Assessment:
    """Return a trial in which everything that a trace can say is this text."""
    settled = call(text, {text: text}, state="verified", observed=text, destination=text, resource=text, operation=text)
    settled = replace(settled, result=text, result_source="span", error=text)
    base = trial(
        f"t{text}", task_id=text, variant=text, calls=[settled, call(text, state="unknown")], answer=text, models=[text]
    )
    other = ForeignResult(name=text, score=None, label=text, explanation=text, error_type=None, span_id=text)
    base = replace(
        base,
        agent_name=text,
        session_id=text,
        status_reason=text,
        foreign_results=(other,),
        steps=(replace(base.steps[0], name=text, span_id=text),),
        waits=(wait(owner=text, decision=text),),
    )
    result = Result(evaluator="budgets", state="fail", explanation=text, span_ids=(text,))
    return failed(replace(assessed(base), results=(result,)), seen=text)


@pytest.mark.parametrize("text", HARM.values(), ids=HARM)
def test_no_text_of_a_trace_can_steer_or_flood_the_terminal(text: str) -> None:
    one = harmed(text)
    for what in ("trials", "trial", "report"):
        shown = printed(what, one)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800]", shown)
        assert not re.search("[\u3164\u115f\u034f\u2800\U000e0041]|\u0301{5}", shown)
        assert len(shown) < 20_000
        assert "FALSE SUCCESS" in shown
    assert "[bold red]" not in text or text in printed("trial", one)


class Page(HTMLParser):
    """A page read as a browser would: which tags there are, whether they close, and what stands outside ``bdi``."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.open: list[str] = []
        self.isolated = ""
        self.plain = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag; none may load or run anything."""
        self.seen.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on") or name == "src"]
        assert all(re.fullmatch("#(pages|t[0-9]+)", value or "") for name, value in attrs if name == "href")
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close what was opened last."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note a text by where it stands."""
        if "bdi" in self.open:
            self.isolated += data
        else:
            self.plain += data


@pytest.mark.parametrize("text", HARM.values(), ids=HARM)
def test_no_text_of_a_trace_can_break_the_page(text: str) -> None:
    page = report_html(replace(made([harmed(text)]), suite_id=text, suite_hash="0" * 64, inversions=(text,)))
    read = Page(page)
    assert read.open == []
    assert read.seen.isdisjoint({"img", "script", "link", "iframe", "object"})
    assert len(page) < 200_000
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ud800]", page)


def test_text_of_a_trace_has_a_direction_of_its_own_on_the_page() -> None:
    read = Page(report_html(made([harmed(HARM["hebrew"])])))
    assert HARM["hebrew"] in read.isolated
    assert HARM["hebrew"] not in read.plain


def test_ordinary_text_of_any_script_stays_as_it_is() -> None:
    for text in ("Größe 5 €", "退款已完成", "возврат", "تم الاسترداد", "e\u0301", "\u2764\ufe0f", "a\tb\nc"):
        assert clean(text) == text


def test_a_cut_text_says_how_long_it_is_and_a_whole_one_says_nothing() -> None:
    assert cut("short\r\n text", 20) == ("short text", "")
    shown, note = cut("y" * 1_000_000, 50)
    assert len(shown) == 50
    assert "1,000,000 characters" in note


def test_the_ledger_shows_each_effect_once_with_whose_word_it_is_and_what_settled_it() -> None:
    pay = partial(call, "pay", destination="bank", resource="orders/A", operation="pay", key="k")
    first, second = pay(state="unknown", span_id="01"), pay(state="verified", span_id="02")
    second = replace(second, effect=replace(second.effect, resolved_by="09", reason="looked_up", looked_up_by=("09",)))
    mail = call("read_mail", state="verified", span_id="03", effect_class="write")
    mail = replace(mail, effect=replace(mail.effect, class_source="observed", taken_for="read", resolved_by="08"))
    odd = call("frobnicate", state="reported", span_id="04", effect_class="unclassified")
    odd = replace(odd, effect=replace(odd.effect, class_source=None, reason="tool_reported", looked_up_by=("07",)))
    denied = call("drop", state="refused", span_id="05", executed="no")
    shown = printed("trial", assessed(trial(calls=[first, second, call("look_up"), mail, odd, denied])), width=200)
    ledger = shown.partition("\nEffects")[2].partition("\n\n")[0].splitlines()[1:]
    assert [" ".join(line.split()) for line in ledger] == [
        "1 pay 2 calls of one key write (declared) verified: a later read looked it up pay orders/A at bank settled by "
        "span 09",
        "2 read_mail write (observed, taken for read) verified: verified settled by span 08",
        "3 frobnicate unclassified (by nobody's word) reported: the tool says so, nobody looked at the destination "
        "looked up by span 07 span 04",
        "4 drop write (declared) refused: refused on purpose span 05",
    ]


def test_a_trial_of_reads_has_no_ledger() -> None:
    assert "\nEffects" not in printed("trial", assessed(trial(calls=[call("look_up")])))
