"""Command lines: which programs they run, and of which the exit code of the whole tells."""

import time

import pytest

from spanproof_collector.trials.shell import runs_of


def names(command: str | list[str]) -> list[str]:
    return [" ".join(run.words) for run in runs_of(command)]


def told(command: str) -> list[str]:
    return [run.words[0] for run in runs_of(command) if run.told]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("a b 'c d' \"e $f\"", ["a b c d e $f"]),
        ("a;b\nc && d || e | f", ["a", "b", "c", "d", "e", "f"]),
        ("a\\\n b", ["a b"]),
        ("a # b; c", ["a"]),
        ("a#b", ["a#b"]),
        ("cat <<EOF > f\nrm x\nEOF\nb", ["cat", "b"]),
        ("cat <<-'EOF'\n\trm x\n\tEOF\nb", ["cat", "b"]),
        ("a <<A <<B\n1\nA\n2\nB\nb", ["a", "b"]),
        ("a <<< 'rm x'", ["a"]),
        ("echo $(rm x; ls) `rm y`", ["echo $(rm x; ls) `rm y`"]),
        ("/usr/bin/env A=1 /opt/a b", ["a b"]),
        ("sudo -u x timeout -k 5 60s nice -n 5 a", ["a"]),
        ("bash -lc \"a && bash -c 'b c'\"", ["a", "b c"]),
        ("bash -eo pipefail -c 'a'", ["a"]),
        ("bash run.sh -c x", ["bash run.sh -c x"]),
        ("uv run --with x python -m a.b c", ["a.b c"]),
        ("xargs -n 1 a", ["a"]),
        ("docker compose -f c.yml run --rm -e A=1 web a b", ["a b"]),
        ("if a; then b; elif c; then d; fi", ["a", "b", "c", "d"]),
        ("(a; b) && { c; }", ["a", "b", "c"]),
        ("2>&1 a 2>err >out", ["a"]),
        ("A=1 B=2", []),
        ("", []),
        ("echo 'open", ["echo 'open"]),
    ],
)
def test_programs_are_found_behind_wrappers_and_operators(command: str, expected: list[str]) -> None:
    assert names(command) == expected


def test_a_command_may_be_a_list_of_words() -> None:
    assert names(["bash", "-lc", "cd x && make test"]) == ["cd x", "make test"]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("a && b", ["a", "b"]),
        ("a || b", []),
        ("a || exit 1", ["a"]),
        ("a && b || exit 3", ["a", "b"]),
        ("a; b", ["b"]),
        ("set -e; a; b", ["set", "a", "b"]),
        ("set -e; a; set +e; b; c", ["set", "a", "c"]),
        ("a | b", ["b"]),
        ("set -o pipefail\na | b", ["a", "b"]),
        ("a &", []),
        ("a & b", ["b"]),
        ("! a", []),
        ("(a; b)", ["b"]),
        ("for x in y; do a; done", []),
        ("a; exit", ["a", "exit"]),
        ("bash -c 'a; b'", ["b"]),
        ("bash -c 'a' | b", ["b"]),
    ],
)
def test_the_exit_code_tells_of_what_decides_it(command: str, expected: list[str]) -> None:
    assert told(command) == expected


@pytest.mark.parametrize(
    ("command", "hidden", "written"),
    [
        ("a > out", True, ("out",)),
        ("a >> out 2>&1", True, ("out",)),
        ("a &> out", True, ("out",)),
        ("a 2> err", False, ("err",)),
        ("a 2>/dev/null", False, ()),
        ("a > /dev/null", True, ()),
        ("a 2>&1", False, ()),
        ("a > /dev/stderr", False, ()),
        ("(a) > out", True, ("out",)),
        ("bash -c a > out", True, ("out",)),
    ],
)
def test_where_output_goes(command: str, hidden: bool, written: tuple[str, ...]) -> None:
    (run,) = runs_of(command)
    assert (run.hidden, run.written) == (hidden, written)


@pytest.mark.parametrize(
    "piece", ["(", "{ ", "'a' ", "a;", "if ", "$(", "a&&", "<<a\n", "`a", "bash -c ", "sudo ", "\\", '"']
)
def test_no_command_line_takes_long(piece: str) -> None:
    began = time.process_time()
    runs_of(piece * (1_000_000 // len(piece)))
    assert time.process_time() - began < 5
