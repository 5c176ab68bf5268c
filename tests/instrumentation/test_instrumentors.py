"""Instrumentors that are installed are used, each once, when its library is imported; others are suggested.

The distributions are made up, so that any combination can be had; tests/instrumentation/frameworks uses real ones.
"""

from importlib.metadata import EntryPoint
from itertools import permutations
from pathlib import Path
from textwrap import dedent

import pytest

from spanproof_instrumentation import semconv
from spanproof_instrumentation.instrumentors import GROUP, Candidate
from tests.instrumentation.sink import Sink, run, run_agent, texts

LIBRARY = """
def call():
    return "answer"
"""
INSTRUMENTOR = """
import importlib
from opentelemetry import trace
class {kind}:
    _instance = None
    is_instrumented_by_opentelemetry = False
    def __new__(cls):
        cls._instance = cls._instance or object.__new__(cls)
        return cls._instance
    def instrument(self, **kwargs):
        {failure}
        library = importlib.import_module({library!r})
        self.original = original = library.call
        def call():
            with trace.get_tracer({distribution!r}).start_as_current_span({distribution!r}):
                return original()
        library.call = call
        self.is_instrumented_by_opentelemetry = True
    def uninstrument(self, **kwargs):
        importlib.import_module({library!r}).call = self.original
        self.is_instrumented_by_opentelemetry = False
"""


UNINSTALLED = """
from importlib import metadata
_found = metadata.distribution

def distribution(name):
    if name == {name!r}:
        raise metadata.PackageNotFoundError(name)
    return _found(name)

metadata.distribution = distribution
"""


class Site:
    """A folder of installed distributions."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {"PYTHONPATH": str(folder)}

    def library(self, module: str, source: str = LIBRARY) -> None:
        """Install a library."""
        Path(self.folder, f"{module}.py").write_text(source, encoding="utf-8")
        self._distribution(module, f"{module}.py,,\n", [], "")

    def instrumentor(self, name: str, distribution: str, module: str, library: str, failure: str = "pass") -> None:
        """Install an instrumentor of a library, registered under a name."""
        source = INSTRUMENTOR.format(kind="Instrumentor", library=library, distribution=distribution, failure=failure)
        path = Path(self.folder, *module.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
        points = f"[opentelemetry_instrumentor]\n{name} = {module}:Instrumentor\n"
        self._distribution(distribution, "", [f"{library}; extra == 'instruments'"], points)

    def hide(self, *distributions: str) -> None:
        """Make an instrumentor look absent that the machine may have: of one name the first on the path is found."""
        for name in distributions:
            self._distribution(name, "", [], "")

    def uninstall(self, distribution: str) -> None:
        """Make a distribution that the machine may have be none, for whoever asks by its name."""
        Path(self.folder, "sitecustomize.py").write_text(UNINSTALLED.format(name=distribution), encoding="utf-8")

    def _distribution(self, name: str, record: str, requires: list[str], points: str) -> None:
        info = Path(self.folder, f"{name.replace('-', '_')}-1.0.dist-info")
        info.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0", "Provides-Extra: instruments"]
        lines += [f"Requires-Dist: {requirement}" for requirement in requires]
        Path(info, "METADATA").write_text("\n".join(lines) + "\n", encoding="utf-8")
        Path(info, "RECORD").write_text(record, encoding="utf-8")
        Path(info, "entry_points.txt").write_text(points, encoding="utf-8")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


CALL = "import madeup\nassert madeup.call() == 'answer'\n"


@pytest.mark.parametrize("how", ["run", "configure"])
def test_an_installed_instrumentor_is_used(http_sink: Sink, site: Site, how: str) -> None:
    site.library("madeup")
    site.instrumentor("madeup", "madeup-instrumentation", "madeup_instrumentation", "madeup")
    if how == "run":
        done = run_agent(CALL, http_sink.address, environment=site.environment)
    else:
        configured = f"from spanproof_instrumentation import configure\nconfigure(endpoint={http_sink.address!r})\n"
        done = run(configured + CALL, site.environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert http_sink.names() == ["madeup-instrumentation"]


def test_the_agent_can_turn_instrumentors_off(http_sink: Sink, site: Site) -> None:
    site.library("madeup")
    site.instrumentor("madeup", "madeup-instrumentation", "madeup_instrumentation", "madeup")
    configured = (
        "from spanproof_instrumentation import configure\n"
        f"configure(endpoint={http_sink.address!r}, instrument=False)\n"
    )
    assert run(configured + CALL, site.environment).stderr == ""
    assert not http_sink.arrived.is_set()


def test_nothing_is_loaded_for_a_library_that_is_not_imported(http_sink: Sink, site: Site) -> None:
    site.library("madeup")
    site.instrumentor("madeup", "madeup-instrumentation", "madeup_instrumentation", "madeup")
    done = run_agent(
        "import sys; print({'madeup', 'madeup_instrumentation'} & set(sys.modules))",
        http_sink.address,
        environment=site.environment,
    )
    assert (done.stdout, done.stderr) == ("set()\n", "")


def test_nothing_is_said_of_an_instrumentor_whose_library_is_not_installed(http_sink: Sink, site: Site) -> None:
    site.instrumentor("madeup", "madeup-instrumentation", "madeup_instrumentation", "madeup")
    done = run_agent("print('ran')", http_sink.address, environment=site.environment)
    assert (done.stdout, done.stderr) == ("ran\n", "")


def test_one_that_fails_is_told_and_the_others_work(http_sink: Sink, site: Site) -> None:
    site.library("madeup")
    site.library("other")
    site.instrumentor("madeup", "bad", "bad", "madeup", failure="raise RuntimeError('broken')")
    site.instrumentor("other", "good", "good", "other")
    done = run_agent(CALL + "import other\nother.call()", http_sink.address, environment=site.environment)
    assert done.returncode == 0
    assert done.stderr == "spanproof: the instrumentor bad is not used: RuntimeError: broken\n"
    assert http_sink.names() == ["good"]


def two(site: Site) -> None:
    site.library("openai")
    site.instrumentor("openai", "openinference-instrumentation-openai", "openinference_openai", "openai")
    site.instrumentor(
        "openai",
        "opentelemetry-instrumentation-genai-openai",
        "opentelemetry.instrumentation.genai.openai",
        "openai",
    )


GENAI = "opentelemetry-instrumentation-genai-openai"
OPENINFERENCE = "openinference-instrumentation-openai"
TWO_CALL = "import openai\nopenai.call()\n"


@pytest.mark.parametrize(
    ("disabled", "expected"),
    [
        ("", [GENAI]),
        ("openai", []),
        ("requests , openai", []),
        ("*", []),
        (GENAI, [OPENINFERENCE]),
        (OPENINFERENCE, [GENAI]),
    ],
)
def test_of_two_under_one_name_one_is_used_and_the_user_can_say_which(
    http_sink: Sink, site: Site, disabled: str, expected: list[str]
) -> None:
    two(site)
    environment = site.environment | {"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": disabled}
    done = run_agent(TWO_CALL, http_sink.address, environment=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert http_sink.names() == expected


@pytest.mark.parametrize("order", list(permutations([GENAI, OPENINFERENCE, "opentelemetry-instrumentation-openai"])))
def test_the_current_conventions_go_before_older_ones_and_these_before_others(order: tuple[str, ...]) -> None:
    values = {GENAI: "opentelemetry.instrumentation.genai.openai:I", OPENINFERENCE: "openinference.openai:I"}
    found = [
        Candidate(
            name="openai",
            distribution=name,
            point=EntryPoint("openai", values.get(name, "opentelemetry.instrumentation.openai:I"), GROUP),
        )
        for name in order
    ]
    ranked = [candidate.distribution for candidate in sorted(found, key=lambda candidate: candidate.rank)]
    assert ranked == [GENAI, "opentelemetry-instrumentation-openai", OPENINFERENCE]


def test_one_that_the_agent_used_before_is_not_joined_by_another(http_sink: Sink, site: Site) -> None:
    two(site)
    program = f"""
    import openai
    from openinference_openai import Instrumentor
    Instrumentor().instrument()
    from spanproof_instrumentation import configure
    configure(endpoint={http_sink.address!r})
    openai.call()
    """
    assert run(dedent(program), site.environment).stderr == ""
    assert http_sink.names() == [OPENINFERENCE]


BASE = """
class BaseInstrumentor:
    def instrument(self, **kwargs):
        self._instrument(**kwargs)
"""


def test_one_that_the_agent_uses_later_takes_the_place_of_ours(http_sink: Sink, site: Site) -> None:
    two(site)
    base = Path(site.folder, "opentelemetry", "instrumentation", "instrumentor.py")
    base.write_text(BASE, encoding="utf-8")
    theirs = Path(site.folder, "openinference_openai.py")
    made = "from opentelemetry.instrumentation.instrumentor import BaseInstrumentor\n" + theirs.read_text("utf-8")
    made = made.replace("class Instrumentor:", "class Instrumentor(BaseInstrumentor):").replace(
        "def instrument(", "def _instrument("
    )
    theirs.write_text(made, encoding="utf-8")
    program = """
    import openai
    openai.call()
    from openinference_openai import Instrumentor
    Instrumentor().instrument()
    openai.call()
    """
    done = run_agent(dedent(program), http_sink.address, environment=site.environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert [span.name for span in http_sink.spans()] == [GENAI, OPENINFERENCE]


def test_a_native_tracing_of_the_anthropic_sdk_is_preferred_unless_it_is_switched_off(site: Site) -> None:
    site.hide("opentelemetry-instrumentation-genai-anthropic")
    site.library("anthropic")
    site.instrumentor("anthropic", "genai-anthropic", "genai_anthropic", "anthropic")
    program = """
    import sys
    sys.modules["anthropic._tracing"] = type(sys)("anthropic._tracing")
    from importlib.machinery import ModuleSpec
    sys.modules["anthropic._tracing"].__spec__ = ModuleSpec("anthropic._tracing", None)
    import anthropic
    print("genai_anthropic" in sys.modules)
    """
    done = run_agent(dedent(program), "http://127.0.0.1:9", environment=site.environment)
    assert (done.stdout, done.stderr) == ("False\n", "")
    off = site.environment | {"ANTHROPIC_OPEN_TELEMETRY": "false"}
    assert run_agent(dedent(program), "http://127.0.0.1:9", environment=off).stdout == "True\n"


def test_a_library_without_its_instrumentor_is_told_once_at_the_end_on_standard_error(
    http_sink: Sink, site: Site
) -> None:
    site.hide("opentelemetry-instrumentation-genai-openai")
    site.library("openai")
    site.library("litellm")
    done = run_agent("import openai, litellm; print('ran')", http_sink.address, environment=site.environment)
    assert done.stdout == "ran\n"
    assert done.stderr == (
        "spanproof: some calls are not seen; to see them: pip install "
        "opentelemetry-instrumentation-genai-openai openinference-instrumentation-litellm\n"
    )


@pytest.mark.parametrize(
    "quiet", [{"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "openai"}, {"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "*"}]
)
def test_what_the_user_does_not_want_is_not_suggested(http_sink: Sink, site: Site, quiet: dict[str, str]) -> None:
    site.library("openai")
    assert run_agent("import openai", http_sink.address, environment=site.environment | quiet).stderr == ""


PYDANTIC_AI = """
from opentelemetry import trace
class Agent:
    _instrument_default = False
    @staticmethod
    def instrument_all(instrument=True):
        Agent._instrument_default = instrument
"""
SETTINGS = """
class InstrumentationSettings:
    def __init__(self, include_content):
        self.include_content = include_content
"""


@pytest.mark.parametrize(("option", "content"), [("--capture-content", "True"), ("--no-capture-content", "False")])
def test_a_library_with_tracing_of_its_own_is_switched_on(
    http_sink: Sink, tmp_path: Path, option: str, content: str
) -> None:
    for path, source in (("__init__", PYDANTIC_AI), ("models/__init__", ""), ("models/instrumented", SETTINGS)):
        Path(tmp_path, "pydantic_ai", f"{path}.py").parent.mkdir(exist_ok=True)
        Path(tmp_path, "pydantic_ai", f"{path}.py").write_text(source, encoding="utf-8")
    program = "from pydantic_ai import Agent\nprint(Agent._instrument_default.include_content)"
    done = run_agent(program, http_sink.address, option, environment={"PYTHONPATH": str(tmp_path)})
    assert (done.stdout, done.stderr) == (f"{content}\n", "")


SWITCHES = """
import os
names = ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE",
         "OPENINFERENCE_HIDE_INPUTS", "TRACELOOP_TRACE_CONTENT")
print(*(os.environ.get(name, "-") for name in names))
"""


@pytest.mark.parametrize(
    ("options", "user", "expected"),
    [
        ((), {}, "- - - -"),
        (("--capture-content",), {}, "SPAN_ONLY content - -"),
        (
            ("--capture-content",),
            {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "EVENT_ONLY"},
            "EVENT_ONLY content - -",
        ),
        (("--no-capture-content",), {}, "NO_CONTENT metadata_only true false"),
        (("--no-capture-content",), {"TRACELOOP_TRACE_CONTENT": "true"}, "NO_CONTENT metadata_only true false"),
    ],
)
def test_content_is_captured_as_asked(options: tuple[str, ...], user: dict[str, str], expected: str) -> None:
    done = run_agent(SWITCHES, "http://127.0.0.1:9", *options, environment=user)
    assert done.stdout == f"{expected}\n"


@pytest.mark.parametrize(("also", "expected"), [(False, "true"), (True, "SPAN_ONLY")])
def test_instrumentors_of_the_old_kind_are_asked_in_their_words(site: Site, also: bool, expected: str) -> None:
    site.hide("opentelemetry-instrumentation-genai-openai")
    if not also:
        site.uninstall("opentelemetry-util-genai")
    site.instrumentor("openai", "opentelemetry-instrumentation-openai-v2", "openai_v2", "openai")
    if also:
        site.instrumentor("other", "opentelemetry-util-genai", "util_genai", "openai")
    done = run_agent(SWITCHES, "http://127.0.0.1:9", "--capture-content", environment=site.environment)
    assert done.stdout == f"{expected} content - -\n"


@pytest.mark.parametrize(("option", "recorded"), [("--capture-content", True), ("--no-capture-content", False)])
def test_spans_by_hand_follow_what_was_asked(http_sink: Sink, option: str, recorded: bool) -> None:
    program = "from spanproof_instrumentation import tool_span\nwith tool_span('look', arguments={'a': 1}):\n    pass"
    assert run_agent(program, http_sink.address, option).stderr == ""
    assert (semconv.TOOL_ARGUMENTS in texts(http_sink.spans()[0].attributes)) is recorded


def test_a_module_does_not_see_that_its_import_was_watched(http_sink: Sink, site: Site) -> None:
    site.library("madeup")
    site.instrumentor("madeup", "madeup-instrumentation", "madeup_instrumentation", "madeup")
    program = "import madeup\nprint(type(madeup.__loader__).__name__, type(madeup.__spec__.loader).__name__)"
    done = run_agent(program, http_sink.address, environment=site.environment)
    assert (done.stdout, done.stderr) == ("SourceFileLoader SourceFileLoader\n", "")


def test_a_library_that_is_run_as_a_program_still_runs(http_sink: Sink, site: Site) -> None:
    site.library("madeup", "print('ran as', __name__)\n")
    site.instrumentor("madeup", "madeup-instrumentation", "madeup_instrumentation", "madeup")
    program = "import runpy; runpy.run_module('madeup', run_name='__main__', alter_sys=True)"
    done = run_agent(program, http_sink.address, environment=site.environment)
    assert done.stdout == "ran as __main__\n", done.stderr
