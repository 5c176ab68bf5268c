from collections.abc import Mapping, Sequence

import pytest

from spanproof_collector.errors import StoreError, StoreUnreachableError
from spanproof_collector.store import Store, insert_derived

NUMBERS = (
    "attempt",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
)


def _columns(count: int = 1, **facts: list[object]) -> dict[str, list[object]]:
    return {
        "project": ["p"] * count,
        "trace_id": ["a" * 32] * count,
        "span_id": [f"{number:016}" for number in range(count)],
        "start_unix_nano": [1] * count,
        "name": [f"n{number}" for number in range(count)],
        "join_keys": [["k"] for _ in range(count)],
        **facts,
    }


def _stored(store: Store, column: str) -> list[object]:
    with store._connect() as client:
        rows = client.query(f"SELECT {column} FROM steps FINAL ORDER BY span_id").result_rows
        return [value for (value,) in rows]


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("odd", [-(2**31) - 1, 2**64, 10**400, 1.5, "7", float("nan")])
def test_a_number_that_the_column_does_not_hold_is_unknown_and_nothing_is_retried(
    store: Store, name: str, odd: object, caplog: pytest.LogCaptureFixture
) -> None:
    insert_derived(store, "steps", _columns(3, **{name: [5, odd, None]}), "t")
    assert _stored(store, name) == [5, None, None]
    assert caplog.text == ""


def test_the_ends_of_what_the_columns_hold_are_kept(store: Store) -> None:
    insert_derived(store, "steps", _columns(2, attempt=[-(2**31), 2**31 - 1], input_tokens=[0, 2**64 - 1]), "t")
    assert _stored(store, "attempt") == [-(2**31), 2**31 - 1]
    assert _stored(store, "input_tokens") == [0, 2**64 - 1]


def test_one_row_that_does_not_fit_keeps_its_place_without_its_odd_values(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    tools: list[object] = [f"t{number}" for number in range(9)]
    tools[6] = "half \ud83d"
    keys: list[object] = [["k"] for _ in range(9)]
    keys[6] = ["\ud83d"]
    numbers: list[object] = [*range(9)]
    insert_derived(store, "steps", _columns(9, tool_name=tools, join_keys=keys, input_tokens=numbers), "t")
    assert _stored(store, "tool_name") == [*tools[:6], "half ?", *tools[7:]]
    assert _stored(store, "input_tokens") == [0, 1, 2, 3, 4, 5, None, 7, 8]
    ours = [record.levelname for record in caplog.records if record.name.startswith("spanproof")]
    assert ours == ["WARNING"]


def test_a_row_that_never_fits_is_left_out_and_named(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    insert_derived(store, "steps", _columns(3, start_unix_nano=[1, "no time", 1]), "t")
    assert _stored(store, "name") == ["n0", "n2"]
    assert "left out" in caplog.text


def test_a_store_that_fails_is_told_of_wherever_it_fails(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    insert = store.insert

    def failing(table: str, columns: Mapping[str, Sequence[object]], token: str) -> None:
        if len(columns["name"]) > 1:
            raise StoreError("one of them does not fit")
        if columns["name"] == ["n2"]:
            raise StoreUnreachableError(store.address, "gone")
        insert(table, columns, token)

    monkeypatch.setattr(store, "insert", failing)
    with pytest.raises(StoreUnreachableError):
        insert_derived(store, "steps", _columns(4), "t")
