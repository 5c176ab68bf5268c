"""Calls of tools that there are none of, with arguments that are none, and answers that belong to no call."""

from collections import Counter
from dataclasses import dataclass

from spanproof_collector.model.trials import ToolCall, Trial
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.rules.trajectories._calls import first_spans
from spanproof_evaluators.rules.trajectories._saying import Gap, said, unavailable
from spanproof_evaluators.rules.trajectories._schemas import UnreadableError, validator_of


@dataclass(frozen=True)
class ToolCallValidity:
    """Hold each call against the tools that the agent was offered (evaluators.md B25). Score: faults.

    Faults, counted apart: ``undefined_tool`` (hallucinated: no offered tool has the name), ``invalid_arguments``
    (they are not of its JSON Schema, or no JSON), ``duplicate_call_id`` (two calls bear one id) and ``orphan_result``
    (an answer to a call id that nobody asked under). Without tool definitions in the trace it is unavailable. A
    handoff to another agent needs no definition.
    """

    name: str = "tool_call_validity"
    hard: bool = False

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Look at every call."""
        if not trial.understood:
            return unavailable(self.name, "not_captured", "no dialect recognizes any span")
        if not trial.tools:
            if trial.tool_calls or not trial.completeness.calls_whole:
                return unavailable(self.name, "not_captured", "no tool definitions are recorded")
            return None
        faults: list[dict[str, Plain]] = []
        bad: list[ToolCall] = []
        gap: Gap | None = None
        offered = {one.span_id for one in trial.inferences if one.offered}
        everywhere = len(offered) == len(trial.inferences)
        tools = {tool.name: tool for tool in trial.tools}
        ids = Counter(call.call_id for call in trial.tool_calls if call.call_id)
        for call in trial.tool_calls:
            kind, why = _fault(call, tools[call.name].parameters) if call.name in tools else (None, None)
            if call.name not in tools and call.effect.effect_class != "handoff":
                if everywhere or call.asked_by in offered:
                    kind, why = "undefined_tool", "no offered tool has this name"
                else:
                    gap = "not_captured", f"whether {call.name} was offered is not recorded"
            if kind == "invalid_arguments" and trial.completeness.truncated_values:
                kind, gap = None, ("not_captured", "arguments may have been cut")
            elif kind == "unreadable":
                kind, gap = None, ("schema_unreadable", f"{call.name}: {why}")
            found = [(kind, why)] if kind else []
            if call.call_id and ids[call.call_id] > 1:
                found.append(("duplicate_call_id", f"{ids[call.call_id]} calls bear it"))
            for what, words in found:
                faults.append({"fault": what, "tool": call.name, "span_id": _span(call), "why": words})
            bad += [call] if found else []
        faults += [
            {"fault": "orphan_result", "tool": None, "span_id": one.span_id, "why": f"no call {one.call_id}"}
            for one in trial.orphan_results
        ]
        counts = Counter(str(one["fault"]) for one in faults)
        spans = (*first_spans(bad), *(one.span_id for one in trial.orphan_results))
        return said(
            self.name,
            trial,
            flagged=bool(faults),
            score=float(len(faults)),
            told=", ".join(f"{what.replace('_', ' ')} {count}" for what, count in sorted(counts.items()))
            or f"{len(trial.tool_calls)} calls of offered tools",
            spans=tuple(dict.fromkeys(spans)),
            gap=gap,
            details={"faults": [*faults]} if faults else {},
        )


def _fault(call: ToolCall, schema: Plain) -> tuple[str | None, str | None]:
    """Return what is wrong with the arguments of a call of an offered tool, and why."""
    if schema is None:
        return None, None
    if call.arguments_source is None:
        return "unreadable", "arguments are not recorded"
    given: Plain = {} if call.arguments in (None, "") else call.arguments
    if isinstance(given, str):
        return "invalid_arguments", "the arguments are no JSON"
    try:
        wrong = validator_of(schema)(given)
    except UnreadableError as error:
        return "unreadable", str(error)
    return ("invalid_arguments", wrong) if wrong is not None else (None, None)


def _span(call: ToolCall) -> str | None:
    return call.span_ids[0] if call.span_ids else None
