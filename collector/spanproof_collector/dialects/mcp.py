"""Model Context Protocol spans: the protocol's two sides of a call that the agent's own tool span may tell too."""

from typing import ClassVar

from spanproof_collector.dialects._dialect import Dialect, SpanView
from spanproof_collector.dialects._json import broken, recorded, text
from spanproof_collector.model.readings import Other, Reading, ToolRun
from spanproof_instrumentation import semconv


class Mcp(Dialect):
    """Spans with ``mcp.method.name``."""

    name: ClassVar = "mcp"
    marks: ClassVar = frozenset({semconv.MCP_METHOD})

    def read(self, span: SpanView) -> Reading | None:
        """A ``tools/call`` is a tool run; every other method is protocol work."""
        attributes = span.attributes
        method = attributes.get(semconv.MCP_METHOD)
        if not isinstance(method, str):
            return None
        name = text(attributes, semconv.TOOL_NAME)
        if method != "tools/call" or not name:
            return Other(operation=method)
        arguments = recorded(attributes, semconv.TOOL_ARGUMENTS)
        result = recorded(attributes, semconv.TOOL_RESULT)
        # both sides write the method; the server's span also says execute_tool
        server = attributes.get(semconv.OPERATION) == "execute_tool"
        return ToolRun(
            name=name,
            call_id=text(attributes, semconv.TOOL_CALL_ID),
            arguments=arguments,
            result=result,
            mcp_side="server" if server else "client",
            truncated_values=broken(arguments) + broken(result),
        )
