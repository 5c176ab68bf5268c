"""A model endpoint of our own: OpenAI chat completions and responses, Anthropic messages, answered from scripts.

It keeps nothing: the model's name chooses the script, the orders in the prompt go into it, and the tool results in the
request say how far it has come. Any number of agents can talk to it at once, and each run of one is like the last.
"""

import json
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final, Literal

from spanproof_collector.model.values import Json

AMOUNT: Final = 4250
ANSWER: Final = "Order {order} has been refunded."
INPUT_TOKENS: Final = 100
CACHED_TOKENS: Final = 60
OUTPUT_TOKENS: Final = 20
REASONING_TOKENS: Final = 8

JsonObject = dict[str, Json]


@dataclass(frozen=True, kw_only=True)
class Call:
    """A tool call that the model asks for."""

    call_id: str
    name: str
    arguments: JsonObject


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What the model answers to one request: calls, or words; or how it fails."""

    model: str
    number: int
    calls: tuple[Call, ...] = ()
    words: str = ""
    failure: Literal["500", "429", "breaks_off"] | None = None

    @property
    def response_id(self) -> str:
        """An id for the response."""
        return f"{self.model}-{self.number}"


def _script(model: str, orders: Sequence[str]) -> list[list[tuple[str, JsonObject]]]:
    """The calls of each turn before the last, by the name of the model."""
    refund: tuple[str, JsonObject] = ("issue_refund", {"order_id": orders[0], "amount_cents": AMOUNT})
    lookups: list[tuple[str, JsonObject]] = [("lookup_order", {"order_id": order}) for order in orders]
    if "parallel" in model:
        return [lookups, [refund]]
    return [lookups[:1], [refund]]


def _turn(model: str, prompt: str, answered: Iterable[str], attempt: int) -> Turn:
    orders = list(dict.fromkeys(re.findall(r"ORD-[A-Z0-9]+", prompt)))
    number = max((int(call_id.split("_")[-2]) + 1 for call_id in answered), default=0)
    script = _script(model, orders)
    failure: Literal["500", "429", "breaks_off"] | None = None
    if "500" in model and number == len(script):
        failure = "500"
    elif "429" in model and attempt == 0:
        failure = "429"
    elif "breaks-off" in model and number == len(script):
        failure = "breaks_off"
    calls = tuple(
        Call(call_id=f"call_{orders[0]}_{number}_{place}", name=name, arguments=arguments)
        for place, (name, arguments) in enumerate(script[number] if number < len(script) else ())
    )
    words = "" if calls else ANSWER.format(order=orders[0])
    return Turn(model=model, number=number, calls=calls, words=words, failure=failure)


def _items(value: Json) -> list[JsonObject]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _of_chat(body: JsonObject, attempt: int) -> Turn:
    messages = _items(body["messages"])
    prompt = json.dumps([message["content"] for message in messages if message["role"] == "user"])
    answered = [str(message["tool_call_id"]) for message in messages if message["role"] == "tool"]
    return _turn(str(body["model"]), prompt, answered, attempt)


def _of_responses(body: JsonObject, attempt: int) -> Turn:
    given = body["input"]
    items = _items(given)
    prompt = given if isinstance(given, str) else json.dumps([i for i in items if i.get("role") == "user"])
    answered = [str(item["call_id"]) for item in items if item.get("type") == "function_call_output"]
    return _turn(str(body["model"]), prompt, answered, attempt)


def _of_messages(body: JsonObject, attempt: int) -> Turn:
    messages = _items(body["messages"])
    prompt = json.dumps([message["content"] for message in messages if message["role"] == "user"])
    blocks = [block for message in messages for block in _items(message["content"])]
    answered = [str(block["tool_use_id"]) for block in blocks if block.get("type") == "tool_result"]
    return _turn(str(body["model"]), prompt, answered, attempt)


# --- OpenAI chat completions


def _chat_usage() -> JsonObject:
    return {
        "prompt_tokens": INPUT_TOKENS,
        "completion_tokens": OUTPUT_TOKENS,
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS},
        "completion_tokens_details": {"reasoning_tokens": REASONING_TOKENS},
    }


def _chat_head(turn: Turn, kind: str) -> JsonObject:
    return {"id": turn.response_id, "object": kind, "created": 1_760_000_000, "model": f"{turn.model}-0001"}


def _chat(turn: Turn) -> JsonObject:
    message: JsonObject = {"role": "assistant", "content": turn.words or None}
    if turn.calls:
        message["tool_calls"] = [
            {
                "id": call.call_id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for call in turn.calls
        ]
    choice: JsonObject = {
        "index": 0,
        "message": message,
        "finish_reason": "tool_calls" if turn.calls else "stop",
        "logprobs": None,
    }
    return _chat_head(turn, "chat.completion") | {"choices": [choice], "usage": _chat_usage()}


def _chat_chunks(turn: Turn) -> Iterator[JsonObject]:
    def chunk(delta: JsonObject, finish: str | None = None) -> JsonObject:
        choice: JsonObject = {"index": 0, "delta": delta, "finish_reason": finish}
        return _chat_head(turn, "chat.completion.chunk") | {"choices": [choice]}

    yield chunk({"role": "assistant", "content": "" if turn.words else None})
    for place, call in enumerate(turn.calls):
        yield chunk(
            {
                "tool_calls": [
                    {
                        "index": place,
                        "id": call.call_id,
                        "type": "function",
                        "function": {"name": call.name, "arguments": ""},
                    }
                ]
            }
        )
        for piece in _pieces(json.dumps(call.arguments)):
            yield chunk({"tool_calls": [{"index": place, "function": {"arguments": piece}}]})
    for piece in _pieces(turn.words):
        yield chunk({"content": piece})
    yield chunk({}, "tool_calls" if turn.calls else "stop")
    yield _chat_head(turn, "chat.completion.chunk") | {"choices": [], "usage": _chat_usage()}


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), 9):
        yield text[start : start + 9]


# --- OpenAI responses


def _response(turn: Turn, output: list[Json]) -> JsonObject:
    return {
        "id": f"resp_{turn.response_id}",
        "object": "response",
        "created_at": 1_760_000_000,
        "status": "completed",
        "model": f"{turn.model}-0001",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": INPUT_TOKENS,
            "input_tokens_details": {"cached_tokens": CACHED_TOKENS, "cache_write_tokens": 0},
            "output_tokens": OUTPUT_TOKENS,
            "output_tokens_details": {"reasoning_tokens": REASONING_TOKENS},
            "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        },
    }


def _output_items(turn: Turn) -> list[JsonObject]:
    if turn.words:
        part: JsonObject = {"type": "output_text", "text": turn.words, "annotations": []}
        return [
            {
                "id": f"msg_{turn.response_id}",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [part],
            }
        ]
    return [
        {
            "id": f"fc_{call.call_id}",
            "type": "function_call",
            "call_id": call.call_id,
            "name": call.name,
            "arguments": json.dumps(call.arguments),
            "status": "completed",
        }
        for call in turn.calls
    ]


def _responses(turn: Turn) -> JsonObject:
    return _response(turn, list(_output_items(turn)))


def _responses_events(turn: Turn) -> Iterator[JsonObject]:
    yield {"type": "response.created", "response": {**_response(turn, []), "status": "in_progress", "usage": None}}
    for place, item in enumerate(_output_items(turn)):
        is_call = item["type"] == "function_call"
        of_item: JsonObject = {"output_index": place, "item_id": item["id"]}
        of_part: JsonObject = {**of_item, "content_index": 0}
        begun: JsonObject = {**item, "status": "in_progress", **({"arguments": ""} if is_call else {"content": []})}
        yield {"type": "response.output_item.added", "output_index": place, "item": begun}
        if is_call:
            whole = str(item["arguments"])
            for piece in _pieces(whole):
                yield {"type": "response.function_call_arguments.delta", "delta": piece, **of_item}
            name = item["name"]
            yield {"type": "response.function_call_arguments.done", "name": name, "arguments": whole, **of_item}
        else:
            part: JsonObject = {"type": "output_text", "text": "", "annotations": []}
            yield {"type": "response.content_part.added", "part": part, **of_part}
            for piece in _pieces(turn.words):
                yield {"type": "response.output_text.delta", "delta": piece, "logprobs": [], **of_part}
            yield {"type": "response.output_text.done", "text": turn.words, "logprobs": [], **of_part}
            yield {"type": "response.content_part.done", "part": {**part, "text": turn.words}, **of_part}
        yield {"type": "response.output_item.done", "output_index": place, "item": item}
    yield {"type": "response.completed", "response": _responses(turn)}


# --- Anthropic messages


def _blocks(turn: Turn) -> list[JsonObject]:
    if turn.words:
        return [{"type": "text", "text": turn.words}]
    return [{"type": "tool_use", "id": call.call_id, "name": call.name, "input": call.arguments} for call in turn.calls]


def _message_usage() -> JsonObject:
    # what was read from the cache is not part of Anthropic's input tokens
    return {
        "input_tokens": INPUT_TOKENS - CACHED_TOKENS,
        "cache_read_input_tokens": CACHED_TOKENS,
        "cache_creation_input_tokens": 0,
        "output_tokens": OUTPUT_TOKENS,
    }


def _message(turn: Turn) -> JsonObject:
    return {
        "id": f"msg_{turn.response_id}",
        "type": "message",
        "role": "assistant",
        "model": f"{turn.model}-0001",
        "content": list(_blocks(turn)),
        "stop_reason": "tool_use" if turn.calls else "end_turn",
        "stop_sequence": None,
        "usage": _message_usage(),
    }


def _message_events(turn: Turn) -> Iterator[JsonObject]:
    begun = _message(turn) | {"content": [], "stop_reason": None, "usage": _message_usage() | {"output_tokens": 1}}
    yield {"type": "message_start", "message": begun}
    for place, block in enumerate(_blocks(turn)):
        is_call = block["type"] == "tool_use"
        empty: JsonObject = {**block, **({"input": {}} if is_call else {"text": ""})}
        yield {"type": "content_block_start", "index": place, "content_block": empty}
        for piece in _pieces(json.dumps(block["input"]) if is_call else turn.words):
            delta: JsonObject = (
                {"type": "input_json_delta", "partial_json": piece}
                if is_call
                else {"type": "text_delta", "text": piece}
            )
            yield {"type": "content_block_delta", "index": place, "delta": delta}
        yield {"type": "content_block_stop", "index": place}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": _message(turn)["stop_reason"], "stop_sequence": None},
        "usage": {"output_tokens": OUTPUT_TOKENS},
    }
    yield {"type": "message_stop"}


# --- HTTP

_APIS: Final = {
    "/v1/chat/completions": (_of_chat, _chat, _chat_chunks),
    "/v1/responses": (_of_responses, _responses, _responses_events),
    "/v1/messages": (_of_messages, _message, _message_events),
}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        read, whole, events = _APIS[self.path.partition("?")[0]]
        # both SDKs say with each request how often they have tried it
        turn = read(body, int(self.headers.get("x-stainless-retry-count", "0")))
        match turn.failure:
            case "500":
                self._send(500, _error(turn, "the model is down"), {"x-should-retry": "false"})
            case "429":
                self._send(429, _error(turn, "too many requests"), {"retry-after-ms": "1"})
            case "breaks_off" if not body.get("stream"):
                self.close_connection = True
            case _ if body.get("stream"):
                self._stream(turn, events(turn))
            case _:
                self._send(200, whole(turn), {})

    def _send(self, status: int, body: JsonObject, headers: Mapping[str, str]) -> None:
        sent = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {**headers, "content-type": "application/json", "content-length": str(len(sent))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(sent)

    def _stream(self, turn: Turn, events: Iterator[JsonObject]) -> None:
        chat = self.path.startswith("/v1/chat")
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for number, event in enumerate(events):
            if turn.failure == "breaks_off" and number == 2:
                self.close_connection = True  # in the middle of a body of chunks, which says that it goes on
                return
            if not chat:
                event["sequence_number"] = number
            head = "" if chat else f"event: {event['type']}\n"
            self._chunk(f"{head}data: {json.dumps(event)}\n\n".encode())
        if chat:
            self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the standard library's name
        pass


def _error(turn: Turn, message: str) -> JsonObject:
    error: JsonObject = {"type": "api_error", "message": message, "code": None, "param": None}
    return {"type": "error", "error": error, "request_id": turn.response_id}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """An agent that was killed hangs up; nothing else goes wrong here unseen, since an agent would tell."""


@contextmanager
def model_endpoint() -> Iterator[str]:
    """Serve models on the loopback until the block ends; gives the address."""
    server = _Server(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=partial(server.serve_forever, poll_interval=0.05))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
