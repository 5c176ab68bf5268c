"""Asking for one verdict: a bounded number of requests, each announced in the journal and counted."""

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Final

from spanproof_evaluators.errors import JudgeSetupError
from spanproof_evaluators.judges.budget import Budget, Spent, most_tokens
from spanproof_evaluators.judges.journal import Attempt, Journal
from spanproof_evaluators.judges.prompt import Request, request
from spanproof_evaluators.judges.providers import Provider, ProviderError, Reply
from spanproof_evaluators.judges.reading import MalformedError, answer_schema, read
from spanproof_evaluators.model.judge_inputs import JudgeInput
from spanproof_evaluators.model.judgements import Judge, Judgement, JudgeUsage, decided
from spanproof_evaluators.model.rubrics import Answer, Rubric

Price = Callable[[Judge, JudgeUsage, str | None], tuple[Decimal | None, str | None]]
"""What tokens cost, given judge, usage and the model that answered: USD, or ``None`` and why."""

Answers = dict[str, tuple[Answer, str]]
"""Answer and rationale by criterion."""

LONGEST_ANSWER: Final = 2048
"""Tokens that an answer may have where the settings do not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How often a judge is asked again, and how long it is waited for."""

    requests: int = 5
    """Requests for one verdict, all kinds of failure together."""

    readings: int = 3
    """How many answers that cannot be read are put up with."""

    first: float = 0.5
    """Seconds before the second request at most; the bound doubles. Each wait is drawn below it."""

    longest: float = 60.0
    """The bound on a wait, and on what a provider may ask for: one that wants more is given up."""


@dataclass(slots=True, kw_only=True)
class Pace:
    """How fast requests go out, all together."""

    per_minute: float | None = None
    _next: float = field(default=0.0, init=False)

    async def turn(self) -> None:
        """Wait until the next request may go out."""
        loop = asyncio.get_running_loop()
        while (wait := self._next - loop.time()) > 0:
            await asyncio.sleep(wait)
        if self.per_minute is not None:
            self._next = loop.time() + 60 / self.per_minute

    def pause(self, seconds: float) -> None:
        """Let nobody send anything for so long: the provider said so."""
        self._next = max(self._next, asyncio.get_running_loop().time() + seconds)


@dataclass(frozen=True, kw_only=True)
class Work:
    """One verdict that is wanted."""

    judge: Judge
    rubric: Rubric
    given: JudgeInput

    @cached_property
    def key(self) -> tuple[str, str]:
        """Judge hash and input hash, taken once: an input can be long."""
        return self.judge.hash, self.given.hash


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What asking for a verdict takes."""

    provider: Provider
    journal: Journal
    budget: Budget
    pace: Pace
    price: Price
    patience: Patience = Patience()


@dataclass(slots=True)
class _FailedError(Exception):
    """What one request came to, where that is no verdict."""

    reason: str
    said: str
    again: bool
    retry_after: float | None = None
    fatal: bool = False


async def ask(work: Work, desk: Desk) -> Judgement:
    """Return the verdict on one input; ``unavailable`` where there is none after a bounded number of requests.

    Raises:
        BudgetSpentError: the next request could pass the ceiling.
        JudgeSetupError: the provider turns every request down, or wants to be left alone for long, or the journal
            cannot be written.
    """
    from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

    sent = request(work.given)

    def wait(state: RetryCallState) -> float:
        bound = min(desk.patience.longest, desk.patience.first * 2.0 ** (state.attempt_number - 1))
        drawn = random.uniform(0, bound)
        failed = state.outcome.exception() if state.outcome else None
        asked_for = failed.retry_after if isinstance(failed, _FailedError) else None
        if asked_for is not None:
            desk.pace.pause(asked_for)  # for everybody, this verdict included
        return drawn

    try:
        async for attempt in AsyncRetrying(
            stop=stop_after_attempt(desk.patience.requests),
            wait=wait,
            retry=retry_if_exception(lambda error: isinstance(error, _FailedError) and error.again),
            sleep=asyncio.sleep,
            reraise=True,
        ):
            with attempt:
                answers, reply = await _once(work, desk, sent)
    except _FailedError as failed:
        if failed.fatal:
            raise JudgeSetupError(f"{work.judge.name}: {failed.said}") from failed
        found = _unavailable(work, desk, failed)
    else:
        found = _verdict(work, desk, answers, reply)
    desk.journal.judged(found)
    return found


async def _once(work: Work, desk: Desk, sent: Request) -> tuple[Answers, Reply]:
    """Send one request and return the answers, and the reply that holds them.

    Raises:
        _FailedError: it came to something else.
        BudgetSpentError: it could pass the ceiling.
    """
    longest = work.judge.settings.get("max_tokens")
    tokens = most_tokens(sent, longest if isinstance(longest, int) else LONGEST_ANSWER)
    most = _spent(work, desk, JudgeUsage(input_tokens=tokens[0], output_tokens=tokens[1]), None)
    await desk.pace.turn()
    desk.budget.hold(most)
    took = most
    try:
        number, key = desk.journal.announce(work.key, work.given)
        try:
            reply = await desk.provider.ask(
                system=sent.system,
                user=sent.user,
                schema=answer_schema(work.given),
                settings=work.judge.settings,
                key=key,
            )
        except ProviderError as error:
            took = Spent() if error.unbilled else most
            attempt = Attempt(number=number, failed=error.kind, usage=JudgeUsage(), unbilled=error.unbilled)
            desk.journal.failed(work.key, attempt)
            too_long = error.retry_after is not None and error.retry_after > desk.patience.longest
            raise _FailedError(
                error.kind,
                str(error),
                again=error.again and not too_long,
                retry_after=error.retry_after,
                fatal=error.fatal or too_long,
            ) from error
        if reply.usage.total is not None:
            took = _spent(work, desk, reply.usage, reply.served_model)
        try:
            return _answers(reply, work.given), reply
        except _FailedError as failure:
            attempt = Attempt(number=number, failed=failure.reason, usage=reply.usage, served_model=reply.served_model)
            desk.journal.failed(work.key, attempt, reply.text)
            unread = sum(one.failed == failure.reason for one in desk.journal.attempts(work.key))
            failure.again = failure.again and unread < desk.patience.readings
            raise
    finally:
        desk.budget.settle(most, took)


def _answers(reply: Reply, given: JudgeInput) -> Answers:
    """Return what a reply says.

    Raises:
        _FailedError: nothing that counts.
    """
    if reply.refused:
        raise _FailedError("refused", "the model or its provider declined to answer", again=False)
    if reply.cut_off:
        raise _FailedError("cut_off", "the answer was cut off at its limit on tokens: raise --max-tokens", again=False)
    if not reply.text.strip():
        raise _FailedError("malformed", "the model said nothing", again=True)
    try:
        return read(reply.text, given)
    except MalformedError as error:
        raise _FailedError("malformed", str(error), again=True) from error


def _spent(work: Work, desk: Desk, usage: JudgeUsage, served: str | None) -> Spent:
    usd, _ = desk.price(work.judge, usage, served)
    return Spent(tokens=usage.total or 0, usd=usd)


def _verdict(work: Work, desk: Desk, answers: Answers, reply: Reply) -> Judgement:
    """Return the verdict that answers give, with what all its requests took."""
    earlier = desk.journal.attempts(work.key)
    last = Attempt(number=0, failed="", usage=reply.usage, served_model=reply.served_model)
    state, reason, criteria = decided(work.rubric, answers)
    usage, usd, why = _took(work, desk, (*earlier, last))
    return Judgement(
        judge=work.judge,
        input_hash=work.given.hash,
        state=state,
        reason=reason,
        criteria=criteria,
        attempts=len(earlier) + 1,
        usage=usage,
        cost=usd,
        cost_reason=why,
        served_model=reply.served_model,
        created_at=time.time_ns(),
    )


def _unavailable(work: Work, desk: Desk, failed: _FailedError) -> Judgement:
    """Return the verdict that there is none, with what its requests took."""
    attempts = desk.journal.attempts(work.key)
    usage, usd, why = _took(work, desk, attempts)
    return Judgement(
        judge=work.judge,
        input_hash=work.given.hash,
        state="unavailable",
        reason=failed.reason,
        explanation=failed.said,
        attempts=len(attempts),
        usage=usage,
        cost=usd,
        cost_reason=why,
        served_model=next((one.served_model for one in reversed(attempts) if one.served_model), None),
        created_at=time.time_ns(),
    )


def _took(work: Work, desk: Desk, attempts: tuple[Attempt, ...]) -> tuple[JudgeUsage, Decimal | None, str | None]:
    """Return what several requests took: tokens, money, and why no money is known.

    One that was turned down is not billed. Of one that broke off, or whose tokens nobody counted, nothing is known.
    """
    tokens, cost, why = [0, 0], Decimal(0), None
    for one in attempts:
        if one.unbilled:
            continue
        if one.usage.input_tokens is None or one.usage.output_tokens is None:
            return JudgeUsage(), None, f"tokens of a request were not counted ({one.failed or 'usage missing'})"
        tokens[0] += one.usage.input_tokens
        tokens[1] += one.usage.output_tokens
        usd, missing = desk.price(work.judge, one.usage, one.served_model)
        cost, why = (cost + usd, why) if usd is not None else (cost, missing or "no price is known")
    return JudgeUsage(input_tokens=tokens[0], output_tokens=tokens[1]), None if why else cost, why
