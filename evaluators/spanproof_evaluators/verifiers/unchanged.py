"""What stays as it was: tables and files that are the same before and after."""

from spanproof_evaluators.model.canonical import canonical
from spanproof_evaluators.model.checks import UnchangedCheck
from spanproof_evaluators.model.end_states import EndState, Row
from spanproof_evaluators.model.verifications import Check
from spanproof_evaluators.verifiers._globs import matches
from spanproof_evaluators.verifiers._show import shown


def check_unchanged(spec: UnchangedCheck, before: EndState | None, after: EndState) -> list[Check]:
    """Compare every named table (rows in any order) and every file that fits a pattern, one check each."""
    return [
        *(_table(name, before, after) for name in spec.tables),
        *(_files(glob, before, after) for glob in spec.files),
    ]


def _table(table: str, before: EndState | None, after: EndState) -> Check:
    """Compare one table as a multiset of rows."""
    name = f"table {table} unchanged"
    if before is None:
        return Check(name=name, passed=None, reason="pre_state_not_recorded", seen="nobody recorded the state before")
    old = None if before.tables is None else before.tables.get(table)
    new = None if after.tables is None else after.tables.get(table)
    if old is None or new is None:
        which, state = ("before", before) if old is None else ("after", after)
        reason = state.missing or "table_not_recorded"
        return Check(name=name, passed=None, reason=reason, seen=f"the snapshot {which} lacks table {table}")
    lost, gained = _difference(old, new), _difference(new, old)
    if not lost and not gained:
        return Check(name=name, passed=True, seen=f"{len(new)} rows, all the same")
    return Check(
        name=name,
        passed=False,
        seen=f"gone: {shown([dict(row) for row in lost])}; new: {shown([dict(row) for row in gained])}",
    )


def _difference(left: tuple[Row, ...], right: tuple[Row, ...]) -> list[Row]:
    """Return the rows of the left side that the right side lacks, counted."""
    rest = [canonical(row) for row in right]
    only: list[Row] = []
    for row in left:
        text = canonical(row)
        if text in rest:
            rest.remove(text)
        else:
            only.append(row)
    return only


def _files(glob: str, before: EndState | None, after: EndState) -> Check:
    """Compare the files that fit a pattern."""
    name = f"files {glob} unchanged"
    if before is None:
        return Check(name=name, passed=None, reason="pre_state_not_recorded", seen="nobody recorded the state before")
    if before.files is None or after.files is None:
        which, state = ("before", before) if before.files is None else ("after", after)
        reason = state.missing or "files_not_recorded"
        return Check(name=name, passed=None, reason=reason, seen=f"the snapshot {which} holds no files")
    paths = sorted(path for path in before.files.keys() | after.files.keys() if matches(path, glob))
    changed = [path for path in paths if before.files.get(path) != after.files.get(path)]
    seen = f"changed: {shown(list(changed))}" if changed else f"{len(paths)} files, all the same"
    return Check(name=name, passed=not changed, seen=seen)
