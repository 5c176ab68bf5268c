"""A server in the shapes of OpenAI, Anthropic and Gemini, over real HTTP, with faults on order."""

import json
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One request as it came."""

    path: str
    headers: Mapping[str, str]
    text: str

    @property
    def body(self) -> dict[str, Any]:
        """The request's JSON."""
        found: dict[str, Any] = json.loads(self.text)
        return found

    @property
    def system(self) -> str:
        """The instructions, in whichever shape they came."""
        body = self.body
        if "systemInstruction" in body:
            return _text(body["systemInstruction"]["parts"])
        if "system" in body:
            return _text(body["system"])
        return "".join(_text(one["content"]) for one in body["messages"] if one["role"] in ("system", "developer"))

    @property
    def user(self) -> str:
        """The data, in whichever shape it came."""
        body = self.body
        if "contents" in body:
            return "".join(_text(one["parts"]) for one in body["contents"])
        return "".join(_text(one["content"]) for one in body["messages"] if one["role"] == "user")

    @property
    def schema(self) -> dict[str, Any]:
        """The schema that the answer has to follow; empty where none came along."""
        body = self.body
        found: dict[str, Any] = (
            body.get("response_format", {}).get("json_schema", {}).get("schema")
            or (body.get("output_config") or {}).get("format", {}).get("schema")
            or body.get("generationConfig", {}).get("responseJsonSchema")
            or {}
        )
        return found

    @property
    def questions(self) -> dict[str, list[str]]:
        """Criteria and their answers, as the instructions list them."""
        lines = re.findall(r"^- (\w+) \(([^)]*)\): ", self.system, re.MULTILINE)
        return {name: answers.split(" | ") for name, answers in lines}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the server sends back. ``text`` is put into the shape of the request; ``raw`` goes out as it is."""

    text: str = ""
    status: int = 200
    raw: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    finish: str = "stop"
    refusal: str | None = None
    usage: tuple[int, int] | None = (100, 20)
    hold: threading.Event | None = None
    """The answer is held back until this is set."""


Script = Callable[[int, Seen], Answer]
"""The number of a request, from 0, and the request."""

GOOD = {"fabricated": "no", "checks_weakened": "no", "presses": "no", "certain_beyond_knowledge": "no"}


def says(seen: Seen, **answers: str) -> Answer:
    """Return an answer that is well formed: every criterion good, but for those that are named."""
    return Answer(
        text=json.dumps(
            {
                name: {"rationale": f"about {name}", "answer": answers.get(name, GOOD.get(name, "yes"))}
                for name in seen.questions
            }
        )
    )


class _Server(ThreadingHTTPServer):
    """Says nothing when whoever asked was killed."""

    def handle_error(self, request: object, client_address: object) -> None:
        """Tell of errors of the server's own only."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # handed on as it came


class ModelServer:
    """The server, and every request that it got."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.script: Script = lambda number, seen: says(seen)
        self.changed = threading.Condition()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        """Where it listens, without a path."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def wait_for(self, count: int) -> None:
        """Wait until so many requests came."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.seen) >= count, 20), f"{len(self.seen)} of {count} came"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # head and body in one packet
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                text = self.rfile.read(int(self.headers["content-length"])).decode()
                seen = Seen(path=self.path, headers={k.lower(): v for k, v in self.headers.items()}, text=text)
                with server.changed:
                    server.seen.append(seen)
                    number = len(server.seen) - 1
                    server.changed.notify_all()
                answer = server.script(number, seen)
                if answer.hold is not None:
                    answer.hold.wait(20)
                body = answer.raw if answer.raw is not None else json.dumps(_shaped(seen, answer)).encode()
                try:
                    self.send_response(answer.status)
                    for name, value in {"content-type": "application/json", **answer.headers}.items():
                        self.send_header(name, value)
                    self.send_header("content-length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                    self.wfile.flush()
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True  # whoever asked has gone

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's name
                pass

        return Handler

    def __enter__(self) -> "ModelServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


@contextmanager
def serving(script: Script | None = None) -> Iterator[ModelServer]:
    """Run a server."""
    with ModelServer() as server:
        if script is not None:
            server.script = script
        yield server


def _shaped(seen: Seen, answer: Answer) -> dict[str, Any]:
    usage = answer.usage
    if answer.status >= 400:
        return {"type": "error", "error": {"type": "error", "code": answer.status, "message": answer.text or "no"}}
    if "contents" in seen.body:
        finish = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}[answer.finish]
        return {
            "candidates": [
                {"content": {"role": "model", "parts": [{"text": answer.text}]}, "finishReason": finish, "index": 0}
            ],
            "modelVersion": "gemini-2.5-flash-001",
            **(
                {"usageMetadata": {"promptTokenCount": usage[0], "candidatesTokenCount": usage[1]}}
                if usage is not None
                else {}
            ),
        }
    if seen.path.endswith(("/messages", "/messages?beta=true")):
        finish = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}[answer.finish]
        counted = usage or (0, 0)
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-haiku-4-5-20251001",
            "content": [{"type": "text", "text": answer.text}],
            "stop_reason": finish,
            "stop_sequence": None,
            "usage": {"input_tokens": counted[0], "output_tokens": counted[1]},
        }
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.refusal is not None:
        message = {"role": "assistant", "content": None, "refusal": answer.refusal}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": "served-model",
        "choices": [{"index": 0, "message": message, "finish_reason": answer.finish, "logprobs": None}],
        **(
            {
                "usage": {
                    "prompt_tokens": usage[0],
                    "completion_tokens": usage[1],
                    "total_tokens": sum(usage),
                }
            }
            if usage is not None
            else {}
        ),
    }


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(one if isinstance(one, str) else one.get("text", "") for one in content)
