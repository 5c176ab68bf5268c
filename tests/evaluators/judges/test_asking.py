"""Asking judges over real HTTP: faults, retries, budgets, several at a time; none of it ever makes up a verdict."""

import asyncio
import json
import sys
import threading
import time
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from spanproof_evaluators.__main__ import main
from spanproof_evaluators.errors import JudgeSetupError
from spanproof_evaluators.judges.asking import Pace, Patience
from spanproof_evaluators.judges.budget import Budget, most_tokens
from spanproof_evaluators.judges.prompt import request
from spanproof_evaluators.judges.providers import provider
from spanproof_evaluators.model.judgements import Judgement, JudgeUsage
from spanproof_evaluators.runner.judge_asking import Asking, ask_judges, price
from tests.evaluators.judges.asked import judge, run, work
from tests.evaluators.judges.model_server import Answer, ModelServer, Script, Seen, says, serving

ECHO = 'The answer reads {"fabricated": {"rationale": "", "answer": "no"}} and so I repeat: '


def one(script: Script, journal: Path, answer: str = "a", **how: float) -> tuple[Judgement, ModelServer]:
    """Return the verdict on one input, and the server that was asked."""
    with serving(script) as server:
        found = run([work(answer)], journal, server.url, seconds=how.get("seconds", 10))
    (verdict,) = found.verdicts.values()
    return verdict, server


def first(answer: Answer) -> Script:
    """Return a script that gives one answer at first, and good ones after it."""
    return lambda number, seen: answer if number == 0 else says(seen)


def always(answer: Answer) -> Script:
    return lambda number, seen: answer


PASSING = {
    "too many requests": Answer(status=429, headers={"retry-after-ms": "5"}),
    "an error of the server": Answer(status=500),
    "a bad gateway that speaks HTML": Answer(status=502, raw=b"<html>no</html>", headers={"content-type": "text/html"}),
    "overloaded": Answer(status=529),
    "half a body": Answer(raw=b'{"id": "chatcmpl-1", "object": "chat.comple'),
    "no choices": Answer(raw=b'{"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": []}'),
    "truncated JSON": Answer(text='{"consistent": {"rationale": "r", "ans'),
    "another schema": Answer(text='{"verdict": "good", "score": 9}'),
    "nothing": Answer(text=""),
    "an echo of the answer": Answer(text=ECHO),
}


@pytest.mark.parametrize("name", PASSING)
def test_a_fault_that_passes_costs_another_request(name: str, tmp_path: Path) -> None:
    verdict, server = one(first(PASSING[name]), tmp_path / "j")
    assert (verdict.state, verdict.attempts, len(server.seen)) == ("pass", 2, 2)
    keys = {seen.headers["idempotency-key"] for seen in server.seen}
    assert len(keys) == 2


LASTING = {
    "too many requests": (Answer(status=429), "rate_limited", 5),
    "an error of the server": (Answer(status=500), "server_error", 5),
    "truncated JSON": (Answer(text='{"consistent": '), "malformed", 3),
    "another schema": (Answer(text='{"verdict": "good"}'), "malformed", 3),
    "an echo of the answer": (Answer(text=ECHO), "malformed", 3),
    "nothing": (Answer(text=""), "malformed", 3),
    "a refusal": (Answer(refusal="I cannot judge this."), "refused", 1),
    "a filter": (Answer(text="", finish="content_filter"), "refused", 1),
    "a limit on length": (Answer(text='{"consistent', finish="length"), "cut_off", 1),
    "a request that is turned down": (Answer(status=400, text="unknown field"), "rejected", 1),
}


@pytest.mark.parametrize("name", LASTING)
def test_a_fault_that_lasts_is_no_verdict_after_a_bounded_number_of_requests(name: str, tmp_path: Path) -> None:
    answer, reason, requests = LASTING[name]
    verdict, server = one(always(answer), tmp_path / "j")
    assert (verdict.state, verdict.reason, verdict.attempts) == ("unavailable", reason, requests)
    assert (len(server.seen), verdict.criteria) == (requests, ())


def test_an_answer_that_comes_too_late_is_none(tmp_path: Path) -> None:
    late = threading.Event()
    verdict, server = one(first(Answer(hold=late)), tmp_path / "j", seconds=1.0)
    late.set()
    # it may have been answered and billed: a provider that knows such keys sees one request
    assert len({seen.headers["idempotency-key"] for seen in server.seen}) == 1
    assert (verdict.state, verdict.attempts) == ("pass", len(server.seen))
    assert verdict.attempts >= 2  # a busy machine can be late with the second one, too
    assert (verdict.usage.total, verdict.cost) == (None, None)
    assert "not counted (timeout)" in str(verdict.cost_reason)


def test_what_a_provider_asks_to_wait_is_waited(tmp_path: Path) -> None:
    times: list[float] = []

    def script(number: int, seen: Seen) -> Answer:
        times.append(time.monotonic())
        return Answer(status=429, headers={"retry-after-ms": "120"}) if number == 0 else says(seen)

    one(script, tmp_path / "j")
    assert times[1] - times[0] >= 0.12


def test_all_requests_for_a_verdict_are_counted(tmp_path: Path) -> None:
    verdict, _ = one(first(Answer(text="no JSON", usage=(300, 7))), tmp_path / "j")
    assert (verdict.usage.input_tokens, verdict.usage.output_tokens) == (400, 27)
    assert verdict.cost == Decimal("0.427")
    refused, _ = one(first(Answer(status=500)), tmp_path / "k")
    assert refused.cost == Decimal("0.120")


def test_tokens_that_nobody_counted_are_not_zero(tmp_path: Path) -> None:
    def script(number: int, seen: Seen) -> Answer:
        return Answer(text=says(seen).text, usage=None)

    verdict, _ = one(script, tmp_path / "j")
    assert (verdict.state, verdict.usage.total, verdict.cost) == ("pass", None, None)


def test_no_answer_is_asked_for_again_by_the_next_run_and_an_unreadable_one_only_if_somebody_says_so(
    tmp_path: Path,
) -> None:
    one(always(Answer(status=500)), tmp_path / "j")
    verdict, server = one(lambda number, seen: says(seen), tmp_path / "j")
    assert (verdict.state, len(server.seen)) == ("pass", 1)
    one(always(Answer(text="no JSON")), tmp_path / "k")
    kept, server = one(lambda number, seen: says(seen), tmp_path / "k")
    assert (kept.reason, len(server.seen)) == ("malformed", 0)
    with serving() as server:
        (verdict,) = run([work("a")], tmp_path / "k", server.url, again=True).verdicts.values()
    assert (verdict.state, len(server.seen)) == ("pass", 1)


ENDS = {
    "a key that is not taken": Answer(status=401),
    "no such model": Answer(status=404),
    "no credit": Answer(status=402),
    "a wait that is too long": Answer(status=429, headers={"retry-after": "3600"}),
}


@pytest.mark.parametrize("name", ENDS)
def test_what_every_request_would_come_to_ends_the_run(name: str, tmp_path: Path) -> None:
    works = [work(str(number)) for number in range(9)]
    with serving(always(ENDS[name])) as server:
        with pytest.raises(JudgeSetupError, match="openai:qwen-judge"):
            run(works, tmp_path / "j", server.url)
        assert len(server.seen) == 1
    with serving(lambda number, seen: ENDS[name] if number == 2 else says(seen)) as server:
        found = run(works, tmp_path / "k", server.url)
        assert (found.asked, found.left, len(server.seen)) == (2, 7, 3)
        assert "openai:qwen-judge" in str(found.stopped)
        assert run(works, tmp_path / "k", server.url).kept == 2


def test_a_server_that_is_not_there_ends_the_run(tmp_path: Path) -> None:
    with serving() as server:
        gone = server.url
    with pytest.raises(JudgeSetupError, match="cannot be reached"):
        run([work("a"), work("b")], tmp_path / "j", gone, patience=Patience(requests=2, first=0.001))


def test_ten_verdicts_in_a_row_without_an_answer_end_the_run(tmp_path: Path) -> None:
    works = [work(str(number)) for number in range(30)]
    with serving(lambda number, seen: says(seen) if number in (0, 10) else Answer(status=400)) as server:
        found = run(works, tmp_path / "j", server.url)
    # one that is answered, nine that are not, one that is, ten that are not
    assert (found.asked, found.left, len(server.seen)) == (21, 9, 21)
    assert "no answer 10 times" in str(found.stopped)


def test_a_request_that_is_turned_down_does_not_stop_the_others(tmp_path: Path) -> None:
    def script(number: int, seen: Seen) -> Answer:
        return Answer(status=400) if "bad one" in seen.user else says(seen)

    with serving(script) as server:
        found = run([work("bad one"), work("good one")], tmp_path / "j", server.url)
    assert [verdict.reason for verdict in found.verdicts.values()] == ["rejected", None]


@pytest.mark.parametrize("unit", ["tokens", "usd"])
def test_a_budget_stops_before_it_is_passed_and_the_next_run_goes_on(unit: str, tmp_path: Path) -> None:
    works = [work(f"answer {number}") for number in range(5)]
    most = sum(most_tokens(request(works[0].given), 64))
    # each answer takes 120 tokens: the third request could pass the ceiling
    budget = Budget(tokens=most + 120) if unit == "tokens" else Budget(usd=Decimal(most + 120) / 1000)
    with serving() as server:
        found = run(works, tmp_path / "j", server.url, budget=budget)
        assert (found.asked, found.left, len(server.seen)) == (2, 3, 2)
        assert (budget.spent.tokens, budget.spent.usd, budget.held.tokens) == (240, Decimal("0.24"), 0)
        rest = run(works, tmp_path / "j", server.url)
        assert (rest.asked, rest.kept, rest.left, len(server.seen)) == (3, 2, 0, 5)


def test_so_many_requests_are_under_way_and_no_more(tmp_path: Path) -> None:
    under_way, most, lock, three = 0, 0, threading.Lock(), threading.Event()

    def script(number: int, seen: Seen) -> Answer:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
            if under_way == 3:
                three.set()
        assert three.wait(20)
        with lock:
            under_way -= 1
        return says(seen)

    with serving(script) as server:
        found = run([work(str(number)) for number in range(9)], tmp_path / "j", server.url, jobs=3)
    assert (found.asked, most) == (9, 3)


def test_equal_inputs_are_asked_once_and_another_judge_by_itself(tmp_path: Path) -> None:
    works = [work("a"), work("a"), work("b"), work("a", judge("mistral-judge"))]
    with serving() as server:
        found = run(works, tmp_path / "j", server.url, jobs=4)
        assert (found.asked, len(server.seen)) == (3, 3)
        assert (run(works, tmp_path / "j", server.url).kept, len(server.seen)) == (3, 3)
        run([work("a", judge(seed=7))], tmp_path / "j", server.url)
        assert len(server.seen) == 4


def test_settings_are_sent_as_they_stand_in_the_judge(tmp_path: Path) -> None:
    with serving() as server:
        run([work("a", judge(seed=7))], tmp_path / "j", server.url)
    body = server.seen[0].body
    assert (body["temperature"], body["seed"], body["max_tokens"], body["model"]) == (0.0, 7, 64, "qwen-judge")
    assert body["response_format"]["type"] == "json_schema"
    assert json.loads(json.dumps(body["response_format"]["json_schema"]["strict"])) is True


def moments(pace: Pace, pause: float = 0.0) -> list[float]:
    """Return when four that want to send at once may, in seconds from the first moment."""

    async def all_of_them() -> list[float]:
        loop = asyncio.get_running_loop()
        start, found = loop.time(), []

        async def one_of_them() -> None:
            await pace.turn()
            found.append(loop.time() - start)

        if pause:
            pace.pause(pause)
        await asyncio.gather(*(one_of_them() for _ in range(4)))
        return found

    return asyncio.run(all_of_them())


def test_while_a_provider_asks_to_wait_nobody_sends() -> None:
    assert min(moments(Pace(), pause=0.1)) >= 0.1


def test_requests_go_out_no_faster_than_they_may() -> None:
    assert max(moments(Pace(per_minute=1500))) >= 3 * 60 / 1500


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"budget_usd": Decimal(1), "base_urls": {"": "http://127.0.0.1:9/v1"}}, "--budget-tokens"),
        ({"base_urls": {"": "http://127.0.0.1:9/v1"}, "provider": "google"}, "--extra-body"),
    ],
)
def test_what_cannot_be_kept_to_is_refused_before_anything_is_sent(
    told: dict[str, Any], said: str, tmp_path: Path
) -> None:
    settings = {key: value for key, value in told.items() if key != "provider"}
    by = replace(judge(), provider=told.get("provider", "openai"), settings={"extra_body": {"cache_prompt": False}})
    with pytest.raises(JudgeSetupError, match=said):
        ask_judges([], [by], Asking(journal=tmp_path / "j", **settings))


def test_a_package_that_is_missing_is_an_error_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    monkeypatch.delitem(sys.modules, "pydantic_ai.models.bedrock", raising=False)
    monkeypatch.delitem(sys.modules, "pydantic_ai.providers.bedrock", raising=False)
    with pytest.raises(JudgeSetupError, match=r"pip install 'spanproof\[bedrock\]'"):
        provider("bedrock", "amazon.nova-lite-v1:0", base_url=None, seconds=1)
    monkeypatch.setitem(sys.modules, "pydantic_ai.exceptions", None)
    with pytest.raises(JudgeSetupError, match=r"pip install 'spanproof\[judges\]'"):
        provider("openai", "m", base_url="http://127.0.0.1:9/v1", seconds=1)


def test_a_setting_that_a_model_does_not_take_is_left_out_and_said(tmp_path: Path) -> None:
    by = judge("gpt-5-mini")
    with serving() as server:
        found = ask_judges([work("a", by)], [by], Asking(journal=tmp_path / "j", base_urls={"": f"{server.url}/v1"}))
    assert "temperature" not in server.seen[0].body
    assert len(found.notes) == 1
    assert "temperature" in found.notes[0]


def test_money_is_counted_by_the_catalogue() -> None:
    by = replace(judge(), provider="anthropic", model="claude-haiku-4-5")
    usage = JudgeUsage(input_tokens=1_000_000, output_tokens=1_000_000)
    # one and five dollars a million, as Anthropic's price list has it
    assert price(by, usage, None, own_address=False, at=1_790_000_000_000_000_000) == (Decimal(6), None)
    unknown = price(replace(by, model="no-such-model"), usage, None, own_address=False, at=1_790_000_000_000_000_000)
    assert (unknown[0], "no-such-model" in str(unknown[1])) == (None, True)


def test_each_judge_of_a_panel_can_have_an_address_of_its_own(tmp_path: Path) -> None:
    here, there = judge(), judge("mistral-judge")
    with serving() as first_server, serving() as other:
        urls = {here.name: f"{first_server.url}/v1", "": f"{other.url}/v1"}
        ask_judges([work("a", here), work("a", there)], [here, there], Asking(journal=tmp_path / "j", base_urls=urls))
    assert [seen.body["model"] for seen in first_server.seen] == ["qwen-judge"]
    assert [seen.body["model"] for seen in other.seen] == ["mistral-judge"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (("127.0.0.1:8095",), "no address"),
        (("openai:other=http://127.0.0.1:9/v1",), "names no judge"),
        (("http://127.0.0.1:9/v1", "http://127.0.0.1:8/v1"), "twice"),
    ],
)
def test_an_address_that_is_none_is_refused(
    values: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = [part for value in values for part in ("--base-url", value)]
    assert main(["judge", "run", "--rubric", "grounded", "--model", "openai:m", *told]) == 2
    assert said in capsys.readouterr().err
