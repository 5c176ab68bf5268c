from spanproof_collector.store import Query
from spanproof_collector.store.queries import SQL


def test_every_statement_has_a_file_and_every_file_a_statement() -> None:
    assert sorted(query.value for query in Query) == sorted(path.stem for path in SQL.iterdir())


def test_every_file_opens_with_what_its_reader_wants_to_know() -> None:
    assert [path.name for path in SQL.iterdir() if not path.read_text().startswith("-- ")] == []


def test_every_file_is_one_statement() -> None:
    assert [query for query in Query if ";" in query.sql] == []
