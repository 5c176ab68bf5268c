"""What coding agents send, spans and log records, with only the facts that a test is about.

One run of three inferences: it reads a file, changes something, and says that it is done.
"""

import json
from collections.abc import Mapping

from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.factories import event, log_record, span

READ, CHANGE = {"file_path": "/w/plan.txt"}, {"command": "./publish_plan.sh 7", "description": "Publish"}
TEXT, OUTPUT = "the plan", {"published": 7}
PROMPT, ANSWER = "Publish plan 7.", "Plan 7 was published."
CLAUDE = "com.anthropic.claude_code.events"


# --- Claude Code ------------------------------------------------------------------------------------------------------


def claude_spans(*, failed: bool = False, decision: str = "accept") -> list[Span]:
    """Return the spans of a run. The tool's span never ends with an error; the one within does."""
    about: dict[str, object] = {
        "session.id": "s-1",
        "gen_ai.conversation.id": "s-1",
        "gen_ai.provider.name": "anthropic",
    }
    ran: list[Span] = []
    if decision == "accept":
        ending: dict[str, object] = {"success": False, "error": "Shell command failed"} if failed else {"success": True}
        ran = [
            span(
                "claude_code.tool.execution",
                about | {"span.type": "tool.execution", "gen_ai.tool.call.id": "t2"} | ending,
                parent="change",
                key="execution",
                at=5.1,
                seconds=0.5,
                error="Shell command failed" if failed else None,
            )
        ]
    output = [] if failed or decision != "accept" else [event("tool.output", {"output": json.dumps(OUTPUT)}, at=5.6)]
    return [
        span(
            "claude_code.interaction",
            about | {"span.type": "interaction", "user_prompt": PROMPT},
            key="run",
            seconds=10,
        ),
        *(_claude_inference(about, number) for number in (1, 2, 3)),
        span(
            "claude_code.tool",
            about
            | {
                "span.type": "tool",
                "gen_ai.tool.name": "Read",
                "gen_ai.tool.call.id": "t1",
                "file_path": "/w/plan.txt",
            },
            parent="run",
            key="read",
            at=2,
            seconds=0.5,
            events=[event("tool.output", {"file_path": "/w/plan.txt", "content": TEXT}, at=2.4)],
        ),
        span(
            "claude_code.tool",
            about
            | {"span.type": "tool", "gen_ai.tool.name": "Bash", "gen_ai.tool.call.id": "t2"}
            | {"full_command": CHANGE["command"]},
            parent="run",
            key="change",
            at=5,
            seconds=1,
            events=output,
        ),
        span(
            "claude_code.tool.blocked_on_user",
            about | {"span.type": "tool.blocked_on_user", "decision": decision, "source": "user_temporary"},
            parent="change",
            key="blocked",
            at=5,
            seconds=0.1,
        ),
        *ran,
    ]


def _claude_inference(about: dict[str, object], number: int) -> Span:
    return span(
        "claude_code.llm_request",
        about
        | {"span.type": "llm_request", "gen_ai.operation.name": "chat", "model": "claude-sonnet-4-5"}
        | {"input_tokens": number, "cache_read_tokens": 1000, "cache_creation_tokens": 100, "output_tokens": 10}
        | {"success": True, "request_id": f"r{number}"},
        parent="run",
        key=f"inference {number}",
        at=3 * number - 2,
        seconds=0.5,
    )


def claude_logs(*, failed: bool = False, decision: str = "accept", traced: bool = True) -> list[LogRecord]:
    """Return the log records of a run; without ``traced`` none of them names a trace, as without spans."""
    trace, of = ("a", "run") if traced else (None, None)

    def entry(name: str, at: float, sequence: int, more: Mapping[str, object]) -> LogRecord:
        about: dict[str, object] = {
            "session.id": "s-1",
            "event.name": name,
            "event.sequence": sequence,
            "prompt.id": "p1",
        }
        return log_record("", {**about, **more}, body=f"claude_code.{name}", trace=trace, of=of, at=at)

    ending: dict[str, object] = {"success": "false", "error": "Shell command failed"} if failed else {"success": "true"}
    found = [
        entry("plugin_loaded", 0, 0, {"plugin.name": "x"}),
        entry("user_prompt", 0.1, 1, {"prompt": PROMPT, "prompt_length": len(PROMPT)}),
        *(
            entry(
                "api_request",
                3 * number - 1.5,
                10 * number,
                {"model": "claude-sonnet-4-5", "request_id": f"r{number}", "cost_usd": 0.001, "duration_ms": "500"}
                | {
                    "input_tokens": number,
                    "cache_read_tokens": 1000,
                    "cache_creation_tokens": 100,
                    "output_tokens": 10,
                },
            )
            for number in (1, 2, 3)
        ),
        entry(
            "tool_decision", 2, 11, {"tool_name": "Read", "tool_use_id": "t1", "decision": "accept", "source": "config"}
        ),
        entry(
            "tool_result",
            2.5,
            12,
            {"tool_name": "Read", "tool_use_id": "t1", "success": "true", "duration_ms": "500"}
            | {"tool_input": json.dumps(READ)},
        ),
        entry(
            "tool_decision",
            5,
            21,
            {"tool_name": "Bash", "tool_use_id": "t2", "decision": decision, "source": "user_reject"}
            | {"tool_parameters": json.dumps({"full_command": CHANGE["command"]})},
        ),
        entry("assistant_response", 7.6, 31, {"response": ANSWER, "request_id": "r3"}),
    ]
    if decision == "accept":
        about = {"tool_name": "Bash", "tool_use_id": "t2", "duration_ms": "500", "tool_input": json.dumps(CHANGE)}
        found.append(entry("tool_result", 5.6, 22, about | ending))
    return found


# --- Codex CLI --------------------------------------------------------------------------------------------------------


def codex_spans() -> list[Span]:
    """Return the spans of a run in two traces; one names the conversation only where a thread's number stands too."""
    thread = "01a229e1-9441-7c10-8beb-7584176b402c"
    return [
        span("codex.exec", {"thread.id": thread, "busy_ns": 1}, key="exec", trace="b", seconds=20),
        span(
            "session_task.turn",
            {"thread.id": 4, "conversation.id": thread, "model": "gpt-4o", "codex.turn.token_usage.total_tokens": 999},
            key="turn",
            seconds=10,
        ),
        *(
            span(
                "handle_responses",
                {"thread.id": 4, "gen_ai.usage.input_tokens": 100 * number, "gen_ai.usage.output_tokens": 10},
                parent="turn",
                key=f"inference {number}",
                at=3 * number - 2,
                seconds=0.5,
            )
            for number in (1, 2, 3)
        ),
        *(
            span(
                "exec_command",
                {"tool_name": "exec_command", "call_id": f"c{number}", "tool_source": "direct", "aborted": False},
                parent="turn",
                key=f"call {number}",
                at=3 * number - 1,
                seconds=0.5,
            )
            for number in (1, 2)
        ),
        span("append_items", {"thread.id": 7}, parent="turn", at=9),
    ]


def codex_logs(*, code: int = 0, decision: str = "approved") -> list[LogRecord]:
    """Return the log records of a run: the events of its streams name no trace, the names of events are attributes."""

    def entry(name: str, at: float, more: Mapping[str, object], of: str | None = None) -> LogRecord:
        about: dict[str, object] = {
            "event.name": f"codex.{name}",
            "conversation.id": "01a229e1-9441-7c10-8beb-7584176b402c",
            "model": "gpt-4o",
        }
        return log_record(
            f"event otel/src/x.rs:{round(at)}", {**about, **more}, trace="a" if of else None, of=of, at=at
        )

    def result(number: int, command: str, output: str, status: int) -> LogRecord:
        whole = f"Wall time: 0.1 seconds\nProcess exited with code {status}\nOriginal token count: 5\nOutput:\n{output}"
        return entry(
            "tool_result",
            3 * number - 0.5,
            {"tool_name": "exec_command", "call_id": f"c{number}", "arguments": json.dumps({"cmd": command})}
            | {"output": whole, "success": "true", "duration_ms": "500"},
            of="not sent",
        )

    found = [
        entry("user_prompt", 0.5, {"prompt": PROMPT}, of="turn"),
        *(
            entry(
                "sse_event",
                3 * number - 1.5,
                {"event.kind": "response.completed", "input_token_count": f"{100 * number}", "output_token_count": "10"}
                | {"cached_token_count": 64, "reasoning_token_count": 0},
            )
            for number in (1, 2, 3)
        ),
        *(entry("sse_event", 3 * number - 1.5, {"event.kind": "response.completed"}) for number in (1, 2, 3)),
        entry(
            "tool_decision",
            2,
            {"tool_name": "exec_command", "call_id": "c1", "decision": "approved", "source": "Config"},
        ),
        result(1, "cat plan.txt", TEXT, 0),
        entry(
            "tool_decision", 5, {"tool_name": "exec_command", "call_id": "c2", "decision": decision, "source": "User"}
        ),
    ]
    if decision == "approved":
        found.append(result(2, "./publish_plan.sh 7", json.dumps(OUTPUT) if not code else "timed out", code))
    return found


# --- Gemini CLI -------------------------------------------------------------------------------------------------------


def _gemini_turns(upto: int) -> list[object]:
    """The history that an inference is sent: the names of tools stand before ids in answers, and not here."""
    whole: list[object] = [
        {"role": "user", "parts": [{"text": PROMPT}]},
        {"role": "model", "parts": [{"functionCall": {"id": "g1", "name": "read_file", "args": READ}}]},
        {
            "role": "user",
            "parts": [{"functionResponse": {"id": "g1", "name": "read_file", "response": {"output": TEXT}}}],
        },
        {"role": "model", "parts": [{"functionCall": {"id": "g2", "name": "run_shell_command", "args": CHANGE}}]},
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "g2", "name": "run_shell_command", "response": {"output": _shell(0)}}},
            ],
        },
    ]
    return whole[: 2 * upto - 1]


def _shell(code: int) -> str:
    """What its shell makes of a command's output."""
    failed = f"\nExit Code: {code}" if code else ""
    said = "timed out" if code else json.dumps(OUTPUT)
    return f"<untrusted_context>\nOutput: {said}{failed}\nProcess Group PGID: 17\n</untrusted_context>"


def _gemini_answer(number: int) -> dict[str, object]:
    name, arguments = ("read_file", READ) if number == 1 else ("run_shell_command", CHANGE)
    if number == 3:
        return {"role": "model", "parts": [{"text": ANSWER}]}
    return {"role": "model", "parts": [{"functionCall": {"id": f"{name}__g{number}", "name": name, "args": arguments}}]}


def gemini_spans(*, code: int = 0, status: str = "success", cut: bool = False) -> list[Span]:
    """Return the spans of a run: a trace for each inference and for each tool."""
    about = {"gen_ai.conversation.id": "g-1", "gen_ai.agent.name": "gemini-cli"}
    found = [
        span(
            "llm_call",
            about
            | {"gen_ai.operation.name": "llm_call", "gen_ai.request.model": "gemini-2.5-pro"}
            | {"gen_ai.input.messages": json.dumps(_gemini_turns(number))}
            | {"gen_ai.output.messages": json.dumps([_gemini_answer(number)])}
            | {"gen_ai.usage.input_tokens": 100 * number, "gen_ai.usage.output_tokens": 10},
            trace=f"llm {number}",
            key=f"llm {number}",
            at=3 * number - 2,
            seconds=0.5,
        )
        for number in (1, 2, 3)
    ]
    for number, (name, arguments, output) in enumerate(
        (("read_file", READ, TEXT), ("run_shell_command", CHANGE, _shell(code))), start=1
    ):
        ends = status if number == 2 else "success"
        response: object = {"output": output} if ends == "success" else {"error": "User did not allow tool call"}
        parts = [{"functionResponse": {"id": f"{name}__g{number}", "name": name, "response": response}}]
        told = json.dumps({"status": ends, "request": {}, "response": {"responseParts": parts}})
        told = told.replace('"status": ', '"status":', 1)
        if cut and number == 2:
            told = told[:40] + "...[TRUNCATED: original length 12000]"
        found.append(
            span(
                "tool_call",
                about
                | {
                    "gen_ai.operation.name": "tool_call",
                    "gen_ai.tool.name": name,
                    "gen_ai.tool.call_id": f"{name}__g{number}",
                }
                | {"gen_ai.input.messages": json.dumps({"name": name, "args": arguments})}
                | {"gen_ai.output.messages": told},
                trace=f"tool {number}",
                key=f"tool {number}",
                at=3 * number - 1,
                seconds=0.5,
            )
        )
    return found


def gemini_logs(*, traced: bool = True, decision: str = "accept") -> list[LogRecord]:
    """Return the log records of a run: answers name no trace, and every inference is told four times."""

    def entry(name: str, at: float, more: Mapping[str, object], trace: str | None = None) -> LogRecord:
        about: dict[str, object] = {"session.id": "g-1", "event.name": name, "prompt_id": "g-1#0", "mcp_tools": None}
        at_trace = trace if traced else None
        return log_record("", {**about, **more}, body="words", trace=at_trace, of=at_trace, at=at)

    found = [entry("gemini_cli.user_prompt", 0.5, {"prompt": PROMPT})]
    for number in (1, 2, 3):
        at, trace = 3 * number - 2, f"llm {number}"
        details = {"gen_ai.operation.name": "generate_content", "gen_ai.usage.input_tokens": 100 * number}
        pieces = [
            {
                "candidates": [{"content": _gemini_answer(number), "finishReason": "STOP"}],
                "modelVersion": "gemini-2.5-pro",
            }
        ]
        found += [
            entry(
                "gemini_cli.api_request",
                at,
                {"model": "gemini-2.5-pro", "request_text": json.dumps(_gemini_turns(number)), "role": "main"},
                trace,
            ),
            entry("gen_ai.client.inference.operation.details", at, details, trace),
            entry(
                "gemini_cli.api_response",
                at + 0.5,
                {
                    "model": "gemini-2.5-pro",
                    "duration_ms": 500,
                    "input_token_count": 100 * number,
                    "output_token_count": 10,
                }
                | {"cached_content_token_count": 64, "thoughts_token_count": 5, "response_text": json.dumps(pieces)},
            ),
            entry("gen_ai.client.inference.operation.details", at + 0.5, details),
        ]
    for number, (name, arguments) in enumerate((("read_file", READ), ("run_shell_command", CHANGE)), start=1):
        said = decision if number == 2 else "accept"
        found.append(
            entry(
                "gemini_cli.tool_call",
                3 * number - 0.5,
                {"function_name": name, "function_args": json.dumps(arguments, indent=2), "decision": said}
                | {"success": said == "accept", "duration_ms": 500},
                f"tool {number}",
            )
        )
    return found
