"""Which command lines check something: run tests, build, lint, check types."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


Kind: TypeAlias = Literal["tests", "build", "lint", "types"]
"""What a command checks, and what a claim may speak of."""


@dataclass(frozen=True, slots=True)
class Check:
    """What a program checks."""

    kinds: frozenset[Kind]
    idle: bool = False
    """It was asked for help, a list or a dry run: nothing is checked."""

    lenient: bool = False
    """It was told to end well whatever it finds, or with no test at all."""


def _kinds(*kinds: Kind) -> frozenset[Kind]:
    return frozenset(kinds)


_ALL: Final = _kinds("tests", "build", "lint", "types")
_TESTS, _BUILD, _LINT, _TYPES = _kinds("tests"), _kinds("build"), _kinds("lint"), _kinds("types")

_PROGRAMS: Final[Mapping[str, frozenset[Kind]]] = {
    name: kinds
    for kinds, names in (
        (
            _TESTS,
            """pytest py.test unittest nose2 nosetests tox nox trial behave robot jest vitest mocha ava jasmine karma
            tap ctest rspec phpunit pest bats busted prove cypress playwright testem web-test-runner wtr cucumber
            ginkgo gotestsum nextest""",
        ),
        (
            _BUILD,
            """webpack rollup esbuild tsup vite parcel next nuxt gcc g++ cc c++ clang clang++ javac rustc ghc swiftc
            xcodebuild hugo mkdocs sphinx-build kotlinc msbuild py_compile compileall build""",
        ),
        (
            _LINT,
            """flake8 pylint eslint stylelint rubocop golangci-lint shellcheck hadolint markdownlint pre-commit ktlint
            oxlint standard xo phpcs yamllint ansible-lint biome pycodestyle pydocstyle bandit actionlint""",
        ),
        (_TYPES, "mypy dmypy pyright basedpyright pyre pytype phpstan psalm srb"),
        (_kinds("types", "build"), "tsc vue-tsc svelte-check"),
    )
    for name in names.split()
}
_BY_VERB: Final[Mapping[str, Mapping[str, frozenset[Kind]]]] = {
    "go": {"test": _TESTS, "build": _BUILD, "install": _BUILD, "vet": _LINT},
    "cargo": {
        "test": _TESTS,
        "t": _TESTS,
        "nextest": _TESTS,
        "build": _BUILD,
        "b": _BUILD,
        "check": _kinds("build", "types"),
        "c": _kinds("build", "types"),
        "clippy": _LINT,
    },
    "dotnet": {"test": _TESTS, "build": _BUILD, "publish": _BUILD, "pack": _BUILD},
    "swift": {"test": _TESTS, "build": _BUILD},
    "flutter": {"test": _TESTS, "build": _BUILD, "analyze": _LINT},
    "dart": {"test": _TESTS, "compile": _BUILD, "analyze": _LINT},
    "bazel": {"test": _TESTS, "build": _BUILD, "coverage": _TESTS},
    "bazelisk": {"test": _TESTS, "build": _BUILD},
    "buck2": {"test": _TESTS, "build": _BUILD},
    "deno": {"test": _TESTS, "check": _TYPES, "lint": _LINT},
    "bun": {"test": _TESTS, "build": _BUILD},
    "mix": {"test": _TESTS, "compile": _BUILD},
    "sbt": {"test": _TESTS, "compile": _BUILD},
    "lein": {"test": _TESTS, "compile": _BUILD},
    "stack": {"test": _TESTS, "build": _BUILD},
    "cabal": {"test": _TESTS, "build": _BUILD},
    "zig": {"test": _TESTS, "build": _BUILD},
    "meson": {"test": _TESTS, "compile": _BUILD},
    "rails": {"test": _TESTS},
    "rake": {"test": _TESTS, "spec": _TESTS, "default": _TESTS},
    "hatch": {"test": _TESTS, "build": _BUILD},
    "poetry": {"build": _BUILD},
    "uv": {"build": _BUILD},
    "docker": {"build": _BUILD, "buildx": _BUILD, "bake": _BUILD},
    "podman": {"build": _BUILD},
    "docker-compose": {"build": _BUILD},
    "ng": {"test": _TESTS, "build": _BUILD, "lint": _LINT},
    "turbo": {"test": _TESTS, "build": _BUILD, "lint": _LINT},
    "nx": {"test": _TESTS, "build": _BUILD, "lint": _LINT},
    "ruff": {"check": _LINT},
    "ty": {"check": _TYPES},
    "flow": {"check": _TYPES},
    "terraform": {"validate": _LINT},
}
_JVM: Final[Mapping[str, frozenset[Kind]]] = {
    "test": _kinds("tests", "build"),
    "verify": _kinds("tests", "build"),
    "package": _kinds("tests", "build"),
    "install": _kinds("tests", "build"),
    "integration-test": _kinds("tests", "build"),
    "check": _kinds("tests", "build", "lint"),
    "build": _kinds("tests", "build"),
    "compile": _BUILD,
    "assemble": _BUILD,
    "test-compile": _BUILD,
    "compilejava": _BUILD,
    "compilekotlin": _BUILD,
}
"""Phases of Maven and tasks of Gradle."""

_NAMES: Final[tuple[tuple[re.Pattern[str], frozenset[Kind]], ...]] = (
    (re.compile(r"(^|[^a-z])(type-?checks?|types?|tsc|mypy|check-types|pyright)([^a-z]|$)"), _TYPES),
    (re.compile(r"(^|[^a-z])(lint|eslint|ruff|flake8|stylelint|format-check|check-format)([^a-z]|$)"), _LINT),
    (
        re.compile(r"(^|[^a-z])(unit)?(tests?|specs?|e2e|pytest|jest|vitest|testall|runtests|unittests?)([^a-z]|$)"),
        _TESTS,
    ),
    (re.compile(r"(^|[^a-z])(build|compile|bundle|dist)([^a-z]|$)"), _BUILD),
    (re.compile(r"^(check|checks|ci|verify|validate|all-checks|presubmit|precommit)([^a-z]|$)"), _ALL),
)
"""What the name of a script or of a target tells: the first that fits."""

_IDLE: Final = _words(
    """--collect-only --co --help --version --dry-run --just-print --recon --no-run --list --listTests --list-tests
    --show-only --fixtures --markers --setup-plan --setup-only -DskipTests -Dmaven.test.skip=true -list --dryRun"""
)
_IDLE_SHORT: Final[Mapping[str, tuple[str, ...]]] = {"make": ("-n",), "gmake": ("-n",), "ctest": ("-N",), "go": ("-c",)}
_LENIENT: Final = _words(
    """--passWithNoTests --pass-with-no-tests --if-present --exit-zero --allow-no-tests --no-error-on-unmatched-
    pattern -Dmaven.test.failure.ignore -Dmaven.test.failure.ignore=true -fn --fail-never --force-exit-zero
    --suppress-no-test-exit-code"""
)
_MAKES: Final = frozenset({"make", "gmake", "ninja", "just", "task", "invoke", "inv", "mage", "ant"})
_MANAGERS: Final = frozenset({"npm", "yarn", "pnpm", "bun", "deno"})


def check_of(words: Sequence[str]) -> Check | None:
    """Return what a program with its arguments checks, ``None`` where it checks nothing that a claim may rest on."""
    if not words:
        return None
    name, arguments = words[0], list(words[1:])
    kinds = _of_program(name, arguments)
    if not kinds:
        return None
    idle = any(word.partition("=")[0] in _IDLE or word in _IDLE for word in arguments)
    idle = idle or any(word in arguments for word in _IDLE_SHORT.get(name, ())) or arguments[:1] in (["-h"], ["-V"])
    skips = "-x" in arguments and arguments[arguments.index("-x") + 1 : arguments.index("-x") + 2] == ["test"]
    if skips or (idle and any(word.startswith(("-DskipTests", "-Dmaven.test.skip")) for word in arguments)):
        kinds, idle = kinds - _TESTS, False
    lenient = any(word in _LENIENT for word in arguments)
    lenient = lenient or (name in _MAKES and any(word in ("-i", "--ignore-errors") for word in arguments))
    return Check(kinds, idle, lenient) if kinds else None


def _of_program(name: str, arguments: Sequence[str]) -> frozenset[Kind]:
    plain = [word for word in arguments if not word.startswith("-") and "=" not in word.partition("/")[0]]
    verb = plain[0] if plain else ""
    lower = name.lower()
    if lower in _MANAGERS and (found := _of_script(lower, plain)):
        return found
    if lower.rpartition(".")[0] in ("mvnw", "gradlew") or lower in ("mvn", "mvnw", "mvnd", "gradle", "gradlew"):
        phases = [word.rsplit(":", 1)[-1].lower() for word in plain]
        return frozenset(kind for phase in phases for kind in _JVM.get(phase, _named(phase)))
    if lower in _MAKES:
        targets = [word for word in plain if not word.isdigit()]
        return frozenset(kind for word in targets for kind in _named(word)) if targets else _BUILD
    if lower == "cmake":
        return _BUILD if "--build" in arguments else frozenset()
    if lower in ("docker", "podman") and verb in ("compose", "buildx") and len(plain) > 1:
        return _BUILD if plain[1] == "build" else frozenset()
    if lower == "black" or lower == "isort":
        return _LINT if "--check" in arguments or "--check-only" in arguments else frozenset()
    if lower == "prettier":
        return _LINT if "--check" in arguments or "-c" in arguments or "-l" in arguments else frozenset()
    if lower == "ruff" and verb == "format":
        return _LINT if "--check" in arguments else frozenset()
    if lower == "cargo" and verb == "fmt":
        return _LINT if "--check" in arguments else frozenset()
    if lower == "gofmt":
        return _LINT if "-l" in arguments or "-d" in arguments else frozenset()
    if lower == "node" and "--test" in arguments:
        return _TESTS
    if lower in ("vite", "next", "nuxt", "mkdocs"):
        return _BUILD if verb == "build" else frozenset()
    if lower in _BY_VERB:
        return _BY_VERB[lower].get(verb, frozenset())
    if lower in _PROGRAMS:
        return _PROGRAMS[lower]
    if re.fullmatch(r"(python|pypy|node|ruby|perl|php|bash|sh|zsh|ts-node|tsx)[\d.]*", lower):
        return _of_file(verb, plain[1:2]) if not {"-c", "-e"} & set(arguments) else frozenset()
    if "." in name[1:] and "/" not in name:
        return _of_file(name, [])
    return _named(lower) if re.search(r"[_-]", lower) else frozenset()


def _of_script(manager: str, plain: Sequence[str]) -> frozenset[Kind]:
    """Return what a script of a package does: ``npm test``, ``yarn build``, ``pnpm run lint:fix``."""
    words = [word for word in plain if word not in ("workspace", "workspaces", "-w")]
    if words[:1] in (["run"], ["run-script"], ["task"]):
        return _named(words[1]) if len(words) > 1 else frozenset()
    if words[:1] in (["test"], ["t"], ["tst"]):
        return _TESTS
    if manager in ("yarn", "pnpm", "bun") and words:
        return _PROGRAMS.get(words[0]) or (frozenset() if words[0] in ("add", "install", "ci") else _named(words[0]))
    return frozenset()


def _of_file(name: str, following: Sequence[str]) -> frozenset[Kind]:
    """Return what a script file does, by its name; ``manage.py test`` by its word."""
    base = name.rsplit("/", 1)[-1].lower()
    if base == "manage.py":
        return _TESTS if list(following) == ["test"] else frozenset()
    if base == "setup.py":
        return (
            _TESTS
            if list(following) == ["test"]
            else _BUILD
            if following[:1] in (["build"], ["sdist"])
            else frozenset()
        )
    return _named(base.rsplit(".", 1)[0])


def _named(name: str) -> frozenset[Kind]:
    plain = re.sub(r"[_:/.\s]+", "-", name.lower())
    return next((kinds for pattern, kinds in _NAMES if pattern.search(plain)), frozenset())
