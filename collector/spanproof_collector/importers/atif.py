"""The Agent Trajectory Interchange Format (ATIF), as Harbor and others write it: versions 1.0 to 1.7."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from spanproof_collector.importers._atif_actions import actions_of, declares_complete
from spanproof_collector.importers._chat import Open, arguments
from spanproof_collector.importers._content import content, plain_result
from spanproof_collector.importers._documents import Document, sessions
from spanproof_collector.importers._fields import dollars, fingerprint, ident, moment, obj, objects, text, whole
from spanproof_collector.importers._files import ReadableFile
from spanproof_collector.importers._found import Damage
from spanproof_collector.importers._importer import Found
from spanproof_collector.importers._outline import outline
from spanproof_collector.importers._session import Call, Claim, Inference, Labels, Run, Said, Session, Turn
from spanproof_collector.model.readings import Absent, Usage
from spanproof_collector.model.values import Json

Trajectory = dict[str, Json]
Children = Mapping[str, Trajectory]

_VERSION: Final = "ATIF-"
_CONTINUED: Final = re.compile(r"(?P<root>.+)-cont-(?P<number>\d+)")
_COMPLETE: Final = "mark_task_complete"
_FINISH: Final = "finish"
"""What closes a trajectory in the words of its agents: an act that says so, and one that hands over the answer."""


@dataclass(frozen=True)
class Atif:
    """Trajectory files; several trajectories in one file by name or in an array; embedded and referenced children."""

    name: str = "atif"

    def read(self, file: ReadableFile) -> Iterator[Found] | None:
        """Return the trajectories of the file, or ``None`` where it holds none.

        Raises:
            OSError: the file cannot be read.
        """
        found = outline(file.path)
        if _fits(found.first) or any(_fits(obj(value)) for value in found.first.values()):
            return sessions(file, _sessions)
        return None


def _fits(record: Trajectory) -> bool:
    version = record.get("schema_version")
    return isinstance(version, str) and version.startswith(_VERSION) and "steps" in record


def _sessions(document: Document) -> Iterator[Session | Damage]:
    record = obj(document.value)
    told = [record] if _fits(record) else [obj(value) for value in record.values() if _fits(obj(value))]
    if not told:
        yield Damage(reason="no trajectory of ATIF: schema_version or steps is missing", line=document.line)
        return
    by_id = {key: trajectory for trajectory in told for key in _keys(trajectory)}
    for trajectory in told:
        by_id |= {key: child for child in objects(trajectory.get("subagent_trajectories")) for key in _keys(child)}
    children = {name for trajectory in by_id.values() for name in _referenced(trajectory) if name in by_id}
    reached: set[str] = set()
    # those that nobody refers to, then what they do not lead to: trajectories that refer to each other in a circle
    for trajectory in sorted(told, key=lambda each: not children.isdisjoint(_keys(each))):
        if reached.isdisjoint(_keys(trajectory)):
            reached |= _reachable(trajectory, by_id)
            yield _session(trajectory, by_id)


def _keys(trajectory: Trajectory) -> list[str]:
    """The ids by which others refer to a trajectory."""
    return [key for name in ("trajectory_id", "session_id") if (key := text(trajectory.get(name)))]


def _referenced(trajectory: Trajectory) -> Iterator[str]:
    for step in objects(trajectory.get("steps")):
        for result in objects(obj(step.get("observation")).get("results")):
            for reference in objects(result.get("subagent_trajectory_ref")):
                yield from _keys(reference)


def _reachable(trajectory: Trajectory, by_id: Children) -> set[str]:
    found: set[str] = set()
    waiting = [trajectory]
    while waiting:
        at = waiting.pop()
        if not found.issuperset(_keys(at)):
            found.update(_keys(at))
            waiting += [by_id[name] for name in _referenced(at) if name in by_id]
            waiting += objects(at.get("subagent_trajectories"))
    return found


def _session(trajectory: Trajectory, by_id: Children) -> Session:
    agent, totals = obj(trajectory.get("agent")), obj(trajectory.get("final_metrics"))
    session_id = text(trajectory.get("session_id"))
    root, number = _part(trajectory, session_id)
    above = frozenset(_keys(trajectory))
    turns = (*_turns(trajectory, by_id, above, number), *_unreferenced(trajectory, by_id, above))
    metered = any(isinstance(turn, Inference) and turn.usage != Usage() for turn in turns)
    billed = any(isinstance(turn, Inference) and turn.cost is not None for turn in turns)
    return Session(
        identity=(root or text(trajectory.get("trajectory_id")) or fingerprint(trajectory),),
        session_id=root,
        agent_name=text(agent.get("name")),
        agent_version=text(agent.get("version")),
        model=text(agent.get("model_name")),
        labels=Labels(facts={"continued_in": text(trajectory.get("continued_trajectory_ref"))}),
        turns=turns,
        rooted=number == 0,
        part=number,
        answer=_answer(turns),
        cut=trajectory.get("continued_trajectory_ref") is not None,
        usage=None if metered else _usage(totals, "total_"),
        cost=None if billed else dollars(totals.get("total_cost_usd")),
    )


def _part(trajectory: Trajectory, session_id: str | None) -> tuple[str | None, int]:
    """Return the session that a trajectory is part of, and which part: continuations carry the first one's id."""
    found = _CONTINUED.fullmatch(session_id or "")
    index = whole(obj(obj(trajectory.get("agent")).get("extra")).get("continuation_index"))
    if found is None:
        return session_id, 0
    number = int(found["number"])
    return (found["root"], number) if index in (None, number) else (session_id, 0)


def _answer(turns: tuple[Turn, ...]) -> str | None:
    """Return what the last step handed to the function that finishes, which nothing answers."""
    last = next((turn for turn in reversed(turns) if isinstance(turn, Inference)), None)
    closing = last.calls[-1] if last is not None and last.calls else None
    if closing is None or closing.name != _FINISH or not isinstance(closing.result, Absent):
        return None
    given = closing.arguments
    return text(given.get("message")) if isinstance(given, dict) else None


def _usage(metrics: Mapping[str, Json], prefix: str = "") -> Usage:
    """Return the tokens of metrics; cached ones are part of the prompt."""
    return Usage(
        input_tokens=whole(metrics.get(f"{prefix}prompt_tokens")),
        output_tokens=whole(metrics.get(f"{prefix}completion_tokens")),
        cache_read_tokens=whole(metrics.get(f"{prefix}cached_tokens")),
    )


def _turns(trajectory: Trajectory, by_id: Children, above: frozenset[str], part: int = 0) -> Iterator[Turn]:
    for place, step in enumerate(objects(trajectory.get("steps"))):
        said = content(step.get("message"))
        at, source = moment(step.get("timestamp")), step.get("source")
        key = f"{part}.{ident(step.get('step_id')) or place}"
        if source == "agent" and not step.get("is_copied_context"):
            yield from _agent_step(step, key, by_id, above)
            continue
        # what another agent said before is told here as context, and is nothing that this one did
        role = source if source in ("user", "system") and not step.get("is_copied_context") else "environment"
        yield Said(role=role, text=said.text, parts=said.parts, at=at, key=key)  # type: ignore[arg-type]
        for result in objects(obj(step.get("observation")).get("results")):
            yield from _runs(result, by_id, above)


def _agent_step(step: Trajectory, key: str, by_id: Children, above: frozenset[str]) -> Iterator[Turn]:
    said, at, metrics = content(step.get("message")), moment(step.get("timestamp")), obj(step.get("metrics"))
    pending = Open(calls=[_call(item) for item in objects(step.get("tool_calls"))])
    results = objects(obj(step.get("observation")).get("results"))
    listed = len(pending.calls)
    unmatched: list[Trajectory] = []
    for result in results:
        place = _place(pending, result, alone=len(results) == listed == 1)
        if place is None:
            unmatched.append(result)
            continue
        pending.answered.add(place)
        answered = pending.calls[place]
        if "content" in result and result["content"] is not None:
            answered = replace(answered, result=plain_result(result["content"]))
        runs = tuple(_runs(result, by_id, above))
        if runs:
            answered = replace(answered, runs=runs, effect_class="handoff")
        pending.calls[place] = answered
    if not pending.calls and results:
        # words that the harness took for commands: it says what came of them, and not of which
        pending.calls = actions_of(said.text)
    yield Inference(
        text=said.text or None,
        reasoning=text(step.get("reasoning_content")) or said.reasoning,
        parts=said.parts,
        calls=tuple(pending.calls),
        model=text(step.get("model_name")),
        usage=_usage(metrics),
        cost=dollars(metrics.get("cost_usd")),
        at=at,
        key=key,
    )
    if any(call.name == _COMPLETE for call in pending.calls) or declares_complete(said.text):
        yield Claim(state="success", at=at, key=key)
    for result in unmatched:
        if "content" in result and result["content"] is not None:
            answer = content(result["content"])
            yield Said(role="environment", text=answer.text, parts=answer.parts, at=at, key=key)
        yield from _runs(result, by_id, above)


def _call(item: Trajectory) -> Call:
    return Call(
        name=text(item.get("function_name")) or "",
        call_id=ident(item.get("tool_call_id")),
        arguments=arguments(item.get("arguments")),
    )


def _place(pending: Open, result: Trajectory, *, alone: bool) -> int | None:
    """The call that a result names; where it names none, the one call of a step with one result."""
    named = ident(result.get("source_call_id"))
    if named is None:
        return 0 if alone else None
    free = (place for place in range(len(pending.calls)) if place not in pending.answered)
    return next((place for place in free if pending.calls[place].call_id == named), None)


def _runs(result: Trajectory, by_id: Children, above: frozenset[str]) -> Iterator[Run]:
    """Yield the runs that a result refers to and that the file holds; one that refers back to its own is left out."""
    for reference in objects(result.get("subagent_trajectory_ref")):
        key = next((key for key in _keys(reference) if key in by_id and key not in above), None)
        if key is None:
            continue
        yield _run(by_id[key], key, by_id, above | {key})


def _unreferenced(trajectory: Trajectory, by_id: Children, above: frozenset[str]) -> Iterator[Run]:
    """Yield the runs that a trajectory holds and that no result of it, or of another, refers to."""
    referenced = {name for each in (trajectory, *by_id.values()) for name in _referenced(each)}
    for child in objects(trajectory.get("subagent_trajectories")):
        keys = _keys(child)
        if referenced.isdisjoint(keys):
            yield _run(child, keys[0] if keys else None, by_id, above | frozenset(keys))


def _run(child: Trajectory, key: str | None, by_id: Children, above: frozenset[str]) -> Run:
    agent = obj(child.get("agent"))
    turns = _with_model(_turns(child, by_id, above), text(agent.get("model_name")))
    return Run(agent=text(agent.get("name")), turns=tuple(turns), key=key)


def _with_model(turns: Iterator[Turn], model: str | None) -> Iterator[Turn]:
    for turn in turns:
        yield replace(turn, model=turn.model or model) if isinstance(turn, Inference) else turn
