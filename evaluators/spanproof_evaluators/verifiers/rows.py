"""Rows of a table: how many match, and what they hold."""

from spanproof_evaluators.model.checks import RowsCheck
from spanproof_evaluators.model.end_states import EndState, Row
from spanproof_evaluators.model.verifications import Check
from spanproof_evaluators.verifiers._show import same, shown


def check_rows(spec: RowsCheck, state: EndState) -> Check:
    """Count the rows that match ``where`` and compare their ``values``. A table or column nobody recorded is a gap."""
    condition = f" where {shown(dict(spec.where))}" if spec.where else ""
    name = f"{spec.described} row(s) of {spec.table}{condition}"
    if spec.values:
        name += f" with {shown(dict(spec.values))}"
    rows = None if state.tables is None else state.tables.get(spec.table)
    if rows is None:
        reason = state.missing or "table_not_recorded"
        return Check(name=name, passed=None, reason=reason, seen=f"the snapshot lacks table {spec.table}")
    wanted = spec.where.keys() | spec.values.keys()
    missing = sorted(column for column in wanted if rows and not any(column in row for row in rows))
    if missing:
        return Check(
            name=name,
            passed=None,
            reason="column_not_recorded",
            seen=f"no row of {spec.table} has column {', '.join(missing)}",
        )
    matching = [row for row in rows if _holds(row, spec.where)]
    low, high = spec.expected
    enough = len(matching) >= low and (high is None or len(matching) <= high)
    wrong = [row for row in matching if not _holds(row, spec.values)]
    seen = f"{len(matching)} of {len(rows)} rows match"
    if enough and wrong:
        seen += f", {len(wrong)} with other values: {shown([dict(row) for row in wrong])}"
    elif matching:
        seen += f": {shown([dict(row) for row in matching])}"
    return Check(name=name, passed=enough and not wrong, seen=seen)


def _holds(row: Row, expected: "dict[str, str | int | float | bool | None]") -> bool:
    """Return whether a row holds every value; an absent column holds none, not even null."""
    return all(column in row and same(row[column], value) for column, value in expected.items())
