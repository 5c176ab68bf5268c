"""One tool that keeps answering with one error."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Final

from spanproof_collector.model.trials import ToolCall, Trial
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.model.suites import Task
from spanproof_evaluators.rules.trajectories._calls import calls_of, error_of, error_text, first_spans
from spanproof_evaluators.rules.trajectories._saying import Gap, nothing_to_see, said

FEWEST: Final = 3


@dataclass(frozen=True)
class SameError:
    """Flag a tool that answered three times or more with one error, and with nothing but errors between (B27f).

    The error is compared word by word, white space folded; for a command that ended with an exit code, the code and
    its output. The arguments may differ. An answer that is no error begins anew. Score: the most of one error.
    """

    name: str = "same_error"
    hard: bool = False

    def evaluate(self, trial: Trial, task: Task | None) -> Result | None:
        """Count each tool's errors since it last answered without one."""
        empty, found = nothing_to_see(self.name, trial)
        if empty:
            return found
        since: defaultdict[str, dict[str, list[ToolCall]]] = defaultdict(dict)
        unread: defaultdict[str, int] = defaultdict(int)
        long: dict[int, tuple[str, list[ToolCall]]] = {}
        most = perhaps = 0
        for call in calls_of(trial).all:
            error, text = error_of(call), error_text(call)
            if error is not None and text is not None:
                alike = since[call.name].setdefault(text, [])
                alike.append(call)
                most = max(most, len(alike))
                if len(alike) >= FEWEST:
                    long[id(alike)] = (error, alike)
            elif call.result_source is not None or call.exit_code is not None:
                since.pop(call.name, None)
                unread.pop(call.name, None)
            elif call.effect.state != "refused" and call.executed != "no":
                unread[call.name] += 1
            same = max((len(alike) for alike in since[call.name].values()), default=0)
            perhaps = max(perhaps, same + unread[call.name])
        runs: list[Plain] = [
            {"tool": alike[0].name, "error": error[:200], "times": len(alike), "span_ids": [*first_spans(alike)]}
            for error, alike in long.values()
        ]
        gap: Gap | None = None
        if perhaps >= FEWEST:
            gap = "not_captured", "the answers of calls that may have failed alike are not recorded"
        return said(
            self.name,
            trial,
            flagged=bool(long),
            score=float(most),
            told="; ".join(f"{alike[0].name} {len(alike)} times: {error[:120]}" for error, alike in long.values())
            or "no error came three times",
            spans=first_spans(call for _, alike in long.values() for call in alike),
            gap=gap,
            details={"errors": runs} if runs else {},
        )
