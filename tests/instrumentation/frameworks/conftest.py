from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from tests.collector_process import collecting
from tests.instrumentation.frameworks.agent_process import Agents
from tests.instrumentation.frameworks.model_endpoint import model_endpoint

NEEDED = (
    "agents",
    "anthropic",
    "langchain",
    "langchain_openai",
    "langgraph",
    "openai",
    "opentelemetry.util.genai",
    "pydantic_ai",
)


def _missing() -> list[str]:
    return [name for name in NEEDED if not _found(name)]


def _found(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


@pytest.fixture(scope="session")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agents]:
    """Agents on the real packages, a model endpoint and a collector, for all tests of this folder."""
    if missing := _missing():
        pytest.skip(f"not installed: {', '.join(missing)}; pip install 'spanproof[frameworks]'")
    folder = tmp_path_factory.mktemp("frameworks") / "store"
    with model_endpoint() as models, collecting(folder) as collector:
        yield Agents(model_address=models, collector_address=collector.addresses.http, store=collector.store)
