"""Model Context Protocol spans: the protocol's two sides of a call that the agent's own tool span may tell too."""

from typing import ClassVar, Final

from spanproof_collector.dialects._dialect import Dialect, SpanView
from spanproof_collector.dialects._json import broken, recorded, text, word
from spanproof_collector.model.readings import ABSENT, Other, Reading, ToolRun
from spanproof_instrumentation import semconv

_RESPONSE_CODE: Final = "rpc.response.status_code"
_NEVER_BEGAN: Final = frozenset({"-32602", "-32601", "-32600"})
"""Codes of JSON-RPC for wrong arguments, an unknown method and a request that is none."""


class Mcp(Dialect):
    """Spans with ``mcp.method.name``."""

    name: ClassVar = "mcp"
    marks: ClassVar = frozenset({semconv.MCP_METHOD})

    def read(self, span: SpanView) -> Reading | None:
        """A ``tools/call`` is a tool run; every other method is protocol work.

        The server runs the tool itself and marks a call whose answer is an error (``isError``): a span of its that
        ended without one says that the tool ran, which an agent's own tool span does not.
        """
        attributes = span.attributes
        method = attributes.get(semconv.MCP_METHOD)
        if not isinstance(method, str):
            return None
        name = text(attributes, semconv.TOOL_NAME) or _named_after(span.name)
        if method != "tools/call" or not name:
            return Other(operation=method)
        arguments = recorded(attributes, semconv.TOOL_ARGUMENTS)
        result = recorded(attributes, semconv.TOOL_RESULT)
        # both sides write the method; the server's span also says execute_tool
        server = attributes.get(semconv.OPERATION) == "execute_tool"
        error = text(attributes, semconv.ERROR_TYPE)
        code = word(attributes, _RESPONSE_CODE)
        return ToolRun(
            name=name,
            call_id=text(attributes, semconv.TOOL_CALL_ID),
            arguments=arguments,
            result=ABSENT if error else result,
            mcp_side="server" if server else "client",
            done=server and error is None and code in ("", "0"),
            error=error or (f"JSON-RPC error {code}" if code.startswith("-") else None),
            stopped="invalid" if code in _NEVER_BEGAN else None,
            truncated_values=broken(arguments) + broken(result),
        )


def _named_after(span_name: str) -> str:
    """The tool in a client's span name, ``MCP send tools/call lookup``: its attributes do not have it."""
    return span_name.partition("tools/call ")[2]
