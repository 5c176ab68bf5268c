from pathlib import Path

from spanproof_collector.store import Store
from tests.collector.importers.recording import called, kinds, lines, tell

MAIN, HELPER = "agent:main:main", "agent:main:subagent:5f0c"
START = 1_770_000_000_000


def event(seq: int, kind: str, key: str | None = MAIN, **more: object) -> dict[str, object]:
    own = {} if key is None else {"sessionKey": key, "agentId": "main"}
    return {"type": kind, "seq": seq, "ts": START + seq * 1000, **own} | more


def message(second: int, role: str, content: object, **more: object) -> dict[str, object]:
    return {"role": role, "content": content, "timestamp": START + second * 1000} | more


def asks(second: int, call_id: str, name: str, **given: object) -> dict[str, object]:
    block = {"type": "toolCall", "id": call_id, "name": name, "arguments": given}
    return message(second, "assistant", [block], model="claude-x", stopReason="toolUse")


def result(second: int, call_id: str, text: str) -> dict[str, object]:
    return message(second, "toolResult", [{"type": "text", "text": text}], toolCallId=call_id)


FIRST = [
    message(1, "user", "look it up"),
    asks(2, "c1", "sessions_spawn", task="look"),
    result(3, "c1", '{"status": "accepted", "childSessionKey": "' + HELPER + '"}'),
    message(9, "assistant", [{"type": "text", "text": "I have sent a helper."}]),
]
HELPED = [message(4, "user", "look"), asks(5, "h1", "exec", command="ls"), result(6, "h1", "a")]


def test_agents_are_told_apart_and_a_helper_runs_within_the_call_that_started_it(store: Store, tmp_path: Path) -> None:
    later = [*FIRST, message(20, "user", "and?"), message(21, "assistant", [{"type": "text", "text": "It is a."}])]
    told = tell(
        store,
        tmp_path,
        lines(
            event(1, "message.in", None, content="look it up"),
            event(2, "agent.start", prompt="look it up"),
            event(2, "agent.start", prompt="look it up"),
            event(40, "agent.start", HELPER, prompt="look"),
            event(41, "tool.start", HELPER, toolName="exec", params={"command": "ls"}),
            event(42, "tool.end", HELPER, toolName="exec", success=True),
            event(43, "agent.end", HELPER, messages=HELPED),
            event(50, "agent.end", messages=FIRST),
            event(60, "agent.end", messages=later),
        ),
    )
    trial = told.trial
    assert (told.imported.formats, trial.final_answer) == ({"openclaw": 1}, "It is a.")
    assert called(trial.tool_calls) == [("sessions_spawn", "c1", "yes"), ("exec", "h1", "yes")]
    assert trial.tool_calls[0].effect.effect_class == "handoff"
    assert kinds(trial).count("m") == 4
    assert trial.steps[1].started_at == (START + 2000) * 1_000_000


def test_calls_that_only_events_tell_of_are_calls_too(store: Store, tmp_path: Path) -> None:
    trial = tell(
        store,
        tmp_path,
        lines(
            event(1, "agent.start", prompt="go"),
            event(5, "tool.start", toolName="exec", params={"command": "rm a"}),
            event(6, "tool.start", toolName="exec", params={"command": "rm b"}),
            event(7, "tool.end", toolName="exec", success=True),
            event(8, "tool.end", toolName="exec", success=False, error="denied"),
            event(9, "tool.start", toolName="exec", params={"command": "rm c"}),
        ),
    ).trial
    assert [(call.arguments, call.executed, call.error) for call in trial.tool_calls] == [
        ({"command": "rm a"}, "yes", None),
        ({"command": "rm b"}, "unknown", "denied"),
        ({"command": "rm c"}, "unknown", None),
    ]
