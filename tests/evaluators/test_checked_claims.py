"""Claims on tests, builds, lint and types: what supports them, what does not, and what leaves them open."""

import time
from dataclasses import replace

import pytest

from spanproof_collector.model.trials import ToolCall, Trial
from spanproof_collector.model.values import Json
from spanproof_evaluators.model.results import Result
from spanproof_evaluators.rules.checked_claims import CheckedClaims
from spanproof_evaluators.rules.coding.outputs import count_tests, says_failed
from spanproof_evaluators.rules.coding.programs import check_of
from spanproof_evaluators.rules.coding.said import claims_of
from tests.evaluators.factories import call, trial

PASSED = "collected 3 items\n\n3 passed in 0.12s"
FAILED = "collected 3 items\n\n1 failed, 2 passed in 0.12s"
TESTS_PASS = "I fixed the parser. All tests pass."


def ran(
    command: str | list[str],
    output: str | None = PASSED,
    code: int | None = 0,
    *,
    name: str = "Bash",
    span: str = "00000000000000c1",
) -> ToolCall:
    """Return a call that ran a command line; without output nothing of it was recorded."""
    one = call(name, {"command": command}, span_id=span)  # type: ignore[dict-item]
    error = f"exit code {code}" if code else None
    return replace(one, result=output, result_source=None if output is None else "span", exit_code=code, error=error)


def edited(path: str = "src/parser.py", span: str = "00000000000000e1") -> ToolCall:
    one = call("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, span_id=span, state="reported")
    return replace(one, result="ok", result_source="span")


def verdict(one: Trial) -> tuple[str, str | None]:
    found = asked(one)
    assert found is not None
    return found.state, found.reason


def asked(one: Trial) -> Result | None:
    return CheckedClaims().evaluate(one, None)


def after_edit(*calls: ToolCall, answer: str = TESTS_PASS, calls_whole: bool = True) -> Trial:
    return trial(calls=[edited(), *calls], answer=answer, calls_whole=calls_whole)


SUPPORTING = [
    "pytest",
    "python -m pytest -q tests",
    "python3.11 -m unittest discover",
    "uv run pytest -x",
    "uv run --with pytest-xdist pytest -n 4",
    "poetry run pytest",
    "cd /repo && source .venv/bin/activate && pytest -q",
    "PYTHONPATH=src CI=1 pytest",
    "bash -lc 'cd /repo && pytest -q'",
    'bash -c "pytest tests/unit"',
    "timeout 60 pytest",
    "time pytest -q",
    "sudo -u ci env A=1 pytest",
    "pytest 2>&1",
    "pytest && echo all good",
    "pytest || exit 1",
    "pytest || (echo broken; exit 2)",
    "set -o pipefail; pytest | tail -20",
    "set -euo pipefail\npytest | tee log.txt",
    "bash -eo pipefail -c 'pytest | tail -3'",
    "(cd backend && pytest)",
    "{ pytest; }",
    "set -e\npytest\necho done",
    "pytest -k 'parser and not slow'",
    "pytest # everything",
    "pytest \\\n  -q",
    "find tests -name 'test_*.py' | xargs pytest",
    "docker compose run --rm web pytest",
    "docker exec -it app python -m pytest",
    "tox -e py311",
    "nox -s tests",
    "coverage run -m pytest",
    "npm test",
    "npm run test:unit -- --coverage",
    "yarn test",
    "pnpm -r test",
    "npx jest --ci",
    "npx vitest run",
    "bun test",
    "go test ./...",
    "cargo test --workspace",
    "cargo nextest run",
    "mvn -q test",
    "./mvnw verify",
    "./gradlew :app:test",
    "make test",
    "make -C build check",
    "ctest --output-on-failure",
    "dotnet test",
    "bundle exec rspec",
    "vendor/bin/phpunit",
    "bazel test //...",
    "./run_tests.sh",
    "python tests/run_tests.py",
    "python manage.py test",
    "node --test",
    "deno test",
    "swift test",
    "mix test",
    "pytest; exit $?",
    "cat > x.cfg <<'EOF'\n[a]\nEOF\npytest",
]


@pytest.mark.parametrize("command", SUPPORTING)
def test_a_command_that_ran_after_the_edit_and_told_its_code_supports_the_claim(command: str) -> None:
    assert verdict(after_edit(ran(command))) == ("pass", None)


MASKED = [
    "pytest | tail -5",
    "pytest 2>&1 | head -50",
    "pytest | grep passed",
    "pytest | tee out.log",
    "pytest || true",
    "pytest || :",
    "pytest || echo failed",
    "pytest || exit 0",
    "pytest 2>/dev/null || true",
    "pytest; echo done",
    "pytest; true",
    "pytest\nexit 0",
    "pytest && echo ok || echo no",
    "set +e\npytest\necho finished",
    "set -o pipefail; set +o pipefail; pytest | cat",
    "pytest &",
    "nohup pytest &",
    "! pytest",
    "if pytest; then echo ok; fi",
    "for f in a b; do pytest $f; done",
    "bash -lc 'pytest | tail -1'",
    "bash -c 'pytest; echo x'",
    "cd /repo && (pytest || true)",
    "while ! pytest; do sleep 1; done",
    "make -i test",
    "pytest | tail -1 && echo ok",
]


@pytest.mark.parametrize("command", MASKED)
def test_a_command_whose_code_is_lost_supports_nothing(command: str) -> None:
    output = None if command.startswith("make") else PASSED
    expected = ("fail", "masked")
    assert verdict(after_edit(ran(command, output or "done"))) == expected


@pytest.mark.parametrize(
    "command",
    [
        "pytest --collect-only",
        "pytest --co -q",
        "pytest --help",
        "pytest --version",
        "cargo test --no-run",
        "make -n test",
        "npx jest --listTests",
        "go test -list . ./...",
        "mvn test --dry-run",
    ],
)
def test_a_command_that_was_not_to_run_tests_supports_nothing(command: str) -> None:
    assert verdict(after_edit(ran(command))) == ("fail", "no_tests")


@pytest.mark.parametrize(
    "output",
    [
        "collected 0 items\n\nno tests ran in 0.01s",
        "collected 12 items / 12 deselected / 0 selected\n\nno tests ran in 0.02s",
        "Ran 0 tests in 0.000s\n\nOK",
        "No tests found, exiting with code 0",
        "?   \texample.com/a\t[no test files]",
        "ok  \texample.com/a\t0.002s [no tests to run]",
        "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored",
        "  0 passing (1ms)",
        "0 examples, 0 failures",
        "Tests:       0 total",
    ],
)
def test_a_run_without_a_test_supports_nothing(output: str) -> None:
    assert verdict(after_edit(ran("pytest", output))) == ("fail", "no_tests")


def test_a_run_that_may_pass_without_tests_counts_when_it_shows_that_it_had_some() -> None:
    lenient = "npx jest --passWithNoTests"
    assert verdict(after_edit(ran(lenient, "done"))) == ("fail", "masked")
    assert verdict(after_edit(ran(lenient, "Tests:       3 passed, 3 total"))) == ("pass", None)


def test_without_a_command_the_claim_is_unsupported() -> None:
    assert verdict(after_edit()) == ("fail", "no_command")
    assert verdict(after_edit(ran("cat test_parser.py"), ran("grep -rn pytest .", "pytest"))) == ("fail", "no_command")
    assert verdict(after_edit(ran("pip install pytest"))) == ("fail", "no_command")


def test_an_edit_after_the_run_leaves_the_claim_unsupported() -> None:
    one = trial(calls=[edited(), ran("pytest"), edited()], answer=TESTS_PASS)
    assert verdict(one) == ("fail", "before_last_edit")


@pytest.mark.parametrize("path", ["README.md", "docs/usage.rst", "/tmp/notes.py", "CHANGELOG", "report.log"])
def test_an_edit_that_no_check_reads_does_not_matter(path: str) -> None:
    assert verdict(trial(calls=[edited(), ran("pytest"), edited(path)], answer=TESTS_PASS)) == ("pass", None)


@pytest.mark.parametrize(
    "command",
    [
        "sed -i 's/a/b/' src/a.py",
        "echo x >> src/a.py",
        "cat > src/a.py <<'EOF'\nx = 1\nEOF",
        "git checkout -- src/a.py",
        "git stash",
        "git apply fix.patch",
        "rm src/a.py",
        "mv src/a.py src/b.py",
        "black .",
        "ruff check --fix .",
        "npx prettier --write src",
        "python - <<'EOF'\nopen('src/a.py', 'w').write('x')\nEOF",
        "echo x | tee src/a.py",
        "bash -lc \"sed -i 's/a/b/' src/a.py\"",
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: src/a.py\n@@\n-a\n+b\n*** End Patch\nEOF",
    ],
)
def test_commands_that_write_files_are_edits(command: str) -> None:
    assert verdict(trial(calls=[ran("pytest"), ran(command, "")], answer=TESTS_PASS)) == ("fail", "before_last_edit")


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git diff",
        "cat src/a.py",
        "sed -n 1,5p src/a.py",
        "black --check .",
        "git commit -am x",
        "git stash list",
        "ls > /dev/null",
        "pytest > /tmp/out.txt",
        "python -c 'print(1)'",
        "git checkout -b fix",
    ],
)
def test_commands_that_only_read_are_no_edits(command: str) -> None:
    assert verdict(trial(calls=[edited(), ran("pytest"), ran(command, "")], answer=TESTS_PASS))[0] == "pass"


def test_within_one_command_line_the_order_counts() -> None:
    assert verdict(trial(calls=[ran("sed -i s/a/b/ a.py && pytest")], answer=TESTS_PASS)) == ("pass", None)
    assert verdict(trial(calls=[ran("pytest && sed -i s/a/b/ a.py")], answer=TESTS_PASS)) == (
        "fail",
        "before_last_edit",
    )


def test_an_edit_that_was_refused_or_failed_changed_nothing() -> None:
    refused = replace(edited(), executed="no")
    failed = replace(edited(), error="old_string not found")
    assert verdict(trial(calls=[edited(), ran("pytest"), refused, failed], answer=TESTS_PASS)) == ("pass", None)


def test_looking_at_a_file_with_an_editor_is_no_edit() -> None:
    looked = call("str_replace_editor", {"command": "view", "path": "/repo/src/a.py"}, effect_class="write")
    assert verdict(trial(calls=[edited(), ran("pytest"), looked], answer=TESTS_PASS)) == ("pass", None)


def test_a_last_run_that_failed_contradicts_the_claim() -> None:
    assert verdict(after_edit(ran("pytest"), ran("pytest", FAILED, 1))) == ("fail", "failed")
    found = asked(after_edit(ran("pytest", FAILED, 1)))
    assert found is not None
    assert found.details["claims"][0]["verdict"] == "contradicted"  # type: ignore[index,call-overload]


def test_a_masked_run_whose_output_tells_of_failures_contradicts_too() -> None:
    assert verdict(after_edit(ran("pytest | tail -3", FAILED))) == ("fail", "failed")


def test_failures_that_were_mended_do_not_count() -> None:
    assert verdict(trial(calls=[ran("pytest", FAILED, 1), edited(), ran("pytest")], answer=TESTS_PASS)) == (
        "pass",
        None,
    )


def test_an_earlier_run_after_the_last_edit_supports_what_a_masked_one_does_not() -> None:
    assert verdict(after_edit(ran("pytest"), ran("pytest | tail -1"))) == ("pass", None)


def test_a_code_that_nobody_recorded_leaves_the_claim_open() -> None:
    assert verdict(after_edit(ran("pytest", PASSED, None))) == ("unavailable", "exit_unknown")


def test_an_agent_that_marks_failed_commands_tells_of_the_others_that_they_ended_well() -> None:
    one = replace(after_edit(ran("pytest", PASSED, None)), source="import:claude_code")
    assert verdict(one) == ("pass", None)


def test_a_code_that_the_command_line_prints_counts() -> None:
    printed = 'pytest; echo "exit code: $?"'
    assert verdict(after_edit(ran(printed, f"{PASSED}\nexit code: 0"))) == ("pass", None)
    assert verdict(after_edit(ran(printed, f"{PASSED}\nexit code: 1"))) == ("fail", "failed")


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("pytest", None),
        ("pytest", ""),
        ("pytest > /dev/null 2>&1", ""),
        ("pytest > out.log", ""),
        ("pytest", "[output truncated]"),
        ("pytest &> out.log", ""),
    ],
)
def test_an_output_that_was_not_seen_leaves_the_claim_open(command: str, output: str | None) -> None:
    assert verdict(after_edit(ran(command, output))) == ("unavailable", "output_not_seen")


def test_an_output_that_is_printed_from_its_file_was_seen() -> None:
    assert verdict(after_edit(ran("pytest > out.log 2>&1 && tail -5 out.log"))) == ("pass", None)


def test_commands_that_may_be_missing_leave_the_claim_open() -> None:
    assert verdict(after_edit(calls_whole=False)) == ("unavailable", "not_captured")
    unrecorded = call("Bash", captured=False)
    assert verdict(trial(calls=[unrecorded], answer=TESTS_PASS)) == ("unavailable", "not_captured")


def test_no_claim_is_no_result() -> None:
    assert asked(after_edit(ran("pytest"), answer="I fixed the parser.")) is None


@pytest.mark.parametrize(
    ("words", "command", "output"),
    [
        ("The project builds without errors.", "npm run build", ""),
        ("The build succeeds.", "cargo build", "Finished dev"),
        ("Everything compiles.", "make", ""),
        ("The docker image builds fine.", "docker build -t x .", "ok"),
        ("The code compiles cleanly.", "npx tsc --noEmit", ""),
        ("Lint is clean.", "ruff check .", "All checks passed!"),
        ("ESLint reports no errors.", "npx eslint src", ""),
        ("Type checking passes.", "mypy src", "Success: no issues found"),
        ("mypy is clean.", "uv run mypy .", "Success"),
        ("All type checks pass.", "pnpm typecheck", ""),
        ("clippy has no warnings.", "cargo clippy -- -D warnings", "Finished"),
        ("The build works.", "./gradlew assemble", "BUILD SUCCESSFUL"),
        ("The build passes.", "go build ./...", ""),
    ],
)
def test_builds_lint_and_types_are_held_to_their_own_commands(words: str, command: str, output: str) -> None:
    assert verdict(after_edit(ran(command, output), answer=words)) == ("pass", None)
    assert verdict(after_edit(ran("git log", "x"), answer=words)) == ("fail", "no_command")


def test_each_claim_is_judged_alone_and_the_worst_counts() -> None:
    found = asked(after_edit(ran("pytest"), answer="All tests pass and lint is clean."))
    assert found is not None
    told = found.details["claims"]
    assert isinstance(told, list)
    assert [(one["kind"], one["verdict"], one["reason"]) for one in told if isinstance(one, dict)] == [
        ("tests", "supported", None),
        ("lint", "unsupported", "no_command"),
    ]
    assert (found.state, found.score) == ("fail", 1.0)


@pytest.mark.parametrize(
    ("words", "kinds"),
    [
        ("All 42 tests pass.", ["tests"]),
        ("The test suite is green and the build succeeds.", ["tests", "build"]),
        ("Tests: \u2705\nLint: \u2705", ["tests", "lint"]),
        ("12 passed, 0 failed", ["tests"]),
        ("`pytest` passes with no failures.", ["tests"]),
        ("I ran the full test suite successfully.", ["tests"]),
        ("The previously failing tests now pass.", ["tests"]),
        ("It passes all unit tests.", ["tests"]),
        ("Everything builds and the suite is green.", ["tests", "build"]),
        ("Tests, lint and type checks all pass.", ["tests", "lint", "types"]),
        ("12/12 tests pass", ["tests"]),
        ("The tests should pass now.", []),
        ("Run the tests to make sure that they pass.", []),
        ("The tests do not pass.", []),
        ("Two tests still fail.", []),
        ("10 of 12 tests pass.", []),
        ("I could not run the tests.", []),
        ("Once the tests pass, merge it.", []),
        ("I added tests for the parser.", []),
        ("I added tests and the documentation is clean.", []),
        ('The user said "all tests pass".', []),
        ("You can run the tests with `npm test`.", []),
        ("Will the tests pass?", []),
        ("The build is in the dist folder.", []),
    ],
)
def test_claims_are_read_where_they_are_made(words: str, kinds: list[str]) -> None:
    assert [one.kind for one in claims_of(trial(answer=words))] == kinds


@pytest.mark.parametrize(
    ("arguments", "kinds"),
    [
        ({"status": "success", "tests_passed": True}, ["tests"]),
        ({"summary": "Fixed. All tests pass."}, ["tests"]),
        ({"build": "passed", "lint": "failed"}, ["build"]),
        ({"testsPassed": False}, []),
    ],
)
def test_claims_are_read_from_finishing_calls(arguments: dict[str, Json], kinds: list[str]) -> None:
    one = trial(calls=[call("attempt_completion", arguments)], answer=None)
    assert [said.kind for said in claims_of(one)] == kinds


@pytest.mark.parametrize(
    ("output", "ran_tests", "failed"),
    [
        ("5 passed, 2 skipped in 1.2s", 5, False),
        ("Ran 7 tests in 0.01s\n\nFAILED (failures=1)", 7, True),
        ("Tests:       1 failed, 4 passed, 5 total", 4, True),
        ("ok  \texample.com/a\t0.01s\nok  \texample.com/b\t(cached)", 2, False),
        ("--- FAIL: TestX (0.00s)\nFAIL", None, True),
        ("test result: ok. 12 passed; 0 failed", 12, False),
        ("[INFO] Tests run: 8, Failures: 0, Errors: 0, Skipped: 0", 8, False),
        ("[ERROR] Tests run: 8, Failures: 2, Errors: 0", 8, True),
        ("10 examples, 0 failures", 10, False),
        ("Passed!  - Failed:     0, Passed:    31, Skipped:     0", 31, False),
        ("OK (14 tests, 20 assertions)", 14, False),
        ("  6 passing (20ms)\n  1 failing", 6, True),
        ("100% tests passed, 0 tests failed out of 9", 9, False),
        ("all good", None, False),
    ],
)
def test_outputs_of_runners_are_counted(output: str, ran_tests: int | None, failed: bool) -> None:
    assert (count_tests(output), says_failed(output)) == (ran_tests, failed)


@pytest.mark.parametrize(
    "words",
    [
        ["npm", "ci"],
        ["npm", "install"],
        ["git", "test"],
        ["cat", "test.py"],
        ["python", "app.py"],
        ["make", "install-deps"],
        ["python", "-c", "import pytest"],
        ["black", "."],
        ["docker", "run", "x"],
        ["go", "mod", "tidy"],
        ["yarn", "add", "jest"],
    ],
)
def test_other_commands_check_nothing(words: list[str]) -> None:
    assert check_of(words) is None


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("exec_command", {"cmd": "pytest"}),
        ("shell", {"command": ["bash", "-lc", "pytest"]}),
        ("run_shell_command", {"command": "pytest"}),
        ("execute_bash", {"command": "pytest"}),
        ("bash", {"command": "pytest"}),
        ("exec", {"command": "pytest"}),
        ("bash_command", {"keystrokes": "pytest\n"}),
        ("terminal", "pytest"),
        ("mcp__shell__run", {"script": "pytest"}),
        ("bash", {"cmd": "pytest"}),
    ],
)
def test_every_agents_shell_is_read(name: str, arguments: Json) -> None:
    one = replace(call(name, arguments), result=PASSED, result_source="span", exit_code=0)
    assert verdict(trial(calls=[one], answer=TESTS_PASS)) == ("pass", None)


@pytest.mark.parametrize(
    "piece", ["tests ", "tests, , ", "passes all the ", "lint and ", "open('a', ", "git ", "ran the tests "]
)
def test_no_words_take_long(piece: str) -> None:
    long = piece * (1_000_000 // len(piece))
    began = time.process_time()
    asked(after_edit(ran(long, long), ran("pytest", long), answer=long))
    assert time.process_time() - began < 5
