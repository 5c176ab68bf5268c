"""Whether a trial is asked for: a coarse look before its spans are read, an exact one after."""

from collections.abc import Sequence

from spanproof_collector.dialects import canonical
from spanproof_collector.model.filters import LEFT_OUT, UNNAMED, Filter
from spanproof_collector.model.trials import Trial
from spanproof_collector.trials.grouping import TraceInfo

_NAMED = ("tasks", "suites", "variants")
"""Labels stand on spans. Tools, models and agents may be told by messages and log records alone: only a trial knows."""


def may_match(traces: Sequence[TraceInfo], wanted: Filter) -> bool:
    """True unless the traces of a component can hold no trial that is asked for."""
    if not wanted.projects and all(trace.project in LEFT_OUT for trace in traces):
        return False
    if wanted.projects and not any(trace.project in wanted.projects for trace in traces):
        return False
    if wanted.since is not None and not any(trace.end >= wanted.since for trace in traces):
        return False
    if wanted.until is not None and not any(trace.start < wanted.until for trace in traces):
        return False
    if wanted.sessions and not any(set(trace.sessions) & set(wanted.sessions) for trace in traces):
        return False
    if wanted.trials and not any(
        {trace.trace_id, *trace.sessions, *trace.labels} & set(wanted.trials) for trace in traces
    ):
        return False
    for field in _NAMED:
        values = frozenset(getattr(wanted, field))
        if UNNAMED in values:
            continue  # no label says that there is none
        if values and not any(not trace.names or values & trace.names.get(field, frozenset()) for trace in traces):
            return False
    return True


def _text_of(trial: Trial) -> str:
    said = [trial.final_answer or "", *(step.name for step in trial.steps)]
    for call in trial.tool_calls:
        said += [canonical(call.arguments), canonical(call.result), call.error or ""]
    return "\n".join(said).casefold()


def matches(trial: Trial, wanted: Filter) -> bool:
    """True when the trial meets every condition."""
    one_of = (
        (wanted.projects, (trial.project,)),
        (wanted.sessions, (trial.session_id,)),
        (wanted.trials, (trial.trial_id,)),
        (wanted.tasks, (trial.task_id or UNNAMED,)),
        (wanted.suites, (trial.suite or UNNAMED,)),
        (wanted.sources, (trial.source,)),
        (wanted.variants, (trial.variant or UNNAMED,)),
        (wanted.agents, (trial.agent_name or UNNAMED,)),
        (wanted.models, trial.models or (UNNAMED,)),
        (wanted.tools, tuple(call.name for call in trial.tool_calls)),
    )
    if any(asked and not set(asked) & set(have) for asked, have in one_of):
        return False
    if not trial.timed and (wanted.since is not None or wanted.until is not None):
        return False
    if wanted.since is not None and trial.started_at < wanted.since:
        return False
    if wanted.until is not None and trial.started_at >= wanted.until:
        return False
    if any(trial.labels.get(key) != value for key, value in wanted.labels):
        return False
    if not wanted.texts:
        return True
    said = _text_of(trial)
    return all(text.casefold() in said for text in wanted.texts)
