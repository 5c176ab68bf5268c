"""What a command may change: a tool that runs commands is told by what it was given, not by its name."""

import time

import pytest

from spanproof_collector.model.values import Json
from spanproof_collector.trials import infer_class


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat orders/ORD-1001.json", "read"),
        ("cd /app && ls -la | grep json > /dev/null 2>&1", "read"),
        ("git status && git log --oneline -5 && git branch 2>&1", "read"),
        ("find . -name '*.py' -exec grep -n delete {} +", "read"),
        ("FOO=1 timeout 10 rg 'rm -rf' src", "read"),
        ("curl -s https://api.example.com/orders/1", "read"),
        ("./issue_refund.sh ORD-1001 4250", "write"),
        ("bash -lc './issue_refund.sh ORD-1001'", "write"),
        ("python3 scripts/send_invoice.py --id 7", "write"),
        ("echo done > result.txt", "write"),
        ("cat a.txt | tee b.txt", "write"),
        ("sed -i 's/a/b/' config.ini", "write"),
        ("cat <<'EOF' > notes.md\nrm -rf /\nEOF", "write"),
        ("git add -A && git commit -m 'remove the old one'", "write"),
        ("curl -X POST https://api.example.com/refunds -d '{}'", "write"),
        ("mkdir -p out; rm -rf out/*", "destructive"),
        ("sudo rm /etc/passwd", "destructive"),
        ("find . -name '*.tmp' -delete", "destructive"),
        ("git reset --hard HEAD~1", "destructive"),
        ("kubectl delete pod web-1", "destructive"),
        ("curl -X DELETE https://api.example.com/orders/1", "destructive"),
        ("python -c 'print(1)'", "unclassified"),
        ("cat a.txt && frobnicate a.txt", "unclassified"),
        ("echo 'an open quote", "read"),
        ('echo "$(rm "a b")"', "destructive"),
        ("echo `touch a`", "write"),
        ("rg '$(rm x)' src", "read"),
        ("(rm a)", "destructive"),
        ("for f in a b; do cat $f; done", "read"),
        ("cat a >&2", "read"),
    ],
)
def test_a_command_line_is_what_its_programs_do(command: str, expected: str) -> None:
    assert infer_class("Bash", {"command": command, "description": "delete nothing"}) == expected
    assert infer_class("exec_command", {"cmd": command}) == expected


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("shell", {"command": ["bash", "-lc", "cat a.txt"]}, "read"),
        ("local_shell", {"command": ["git", "push"]}, "write"),
        ("run_shell_command", {"command": "ls"}, "read"),
        ("Bash", {}, "unclassified"),
        ("Bash", {"command": ""}, "unclassified"),
        ("Bash", "cat a.txt", "unclassified"),
        # an editor's command is one word
        ("str_replace_editor", {"command": "view", "path": "/a"}, "read"),
        ("str_replace_editor", {"command": "str_replace", "path": "/a"}, "write"),
        ("execute_sql", {"query": "SELECT * FROM deletions"}, "read"),
        ("execute_sql", {"query": "with x as (select 1) insert into t select * from x"}, "write"),
        ("sql_exec", {"sql": "select 1; DROP TABLE t"}, "destructive"),
        # a search for a word is no statement
        ("search_orders", {"query": "delete"}, "read"),
    ],
)
def test_the_command_is_found_where_tools_take_it(name: str, arguments: Json, expected: str) -> None:
    assert infer_class(name, arguments) == expected


@pytest.mark.parametrize("piece", ["<<a\n", "a;", "'a' ", "(", "$(", '"$(', "`a`", "sudo ", "bash -c '"])
def test_no_command_takes_long_to_class(piece: str) -> None:
    began = time.process_time()
    infer_class("Bash", {"command": piece * 40_000})
    assert time.process_time() - began < 5
