from pathlib import Path

import pytest

from spanproof_collector.errors import StoreAddressError
from spanproof_collector.store.address import FolderAddress, ServerAddress, parse_address, without_password


@pytest.mark.parametrize(
    ("address", "names"),
    [
        ("chdb:///a/b", FolderAddress(path=Path("/a/b"))),
        ("chdb://a/b", FolderAddress(path=Path.cwd() / "a" / "b")),
        ("chdb://.spanproof", FolderAddress(path=Path.cwd() / ".spanproof")),
        ("clickhouse://localhost", ServerAddress(host="localhost", port=8123)),
        ("clickhouse://localhost?secure=1", ServerAddress(host="localhost", port=8443, secure=True)),
        (
            "clickhouse://me:p%40ss@db.example:9000/traces?secure=1",
            ServerAddress(host="db.example", port=9000, user="me", password="p@ss", database="traces", secure=True),
        ),
        ("clickhouse://[::1]:8123/x?secure=0", ServerAddress(host="::1", port=8123, database="x")),
    ],
)
def test_an_address_names_a_store(address: str, names: FolderAddress | ServerAddress) -> None:
    assert parse_address(address) == names


@pytest.mark.parametrize(
    "address",
    [
        "",
        "store",
        "/a/b",
        "chdb:/a",
        "chdb://",
        "chdb:///a?b=1",
        "clickhouse://",
        "clickhouse:///db",
        "clickhouse://host:port",
        "clickhouse://host/a/b",
        "clickhouse://host?secure=maybe",
        "clickhouse://host?compress=1",
        "postgres://host",
    ],
)
def test_anything_else_is_refused_with_what_to_write(address: str) -> None:
    with pytest.raises(StoreAddressError, match="Use chdb:///absolute/path"):
        parse_address(address)


def test_a_message_does_not_show_the_password() -> None:
    assert without_password("clickhouse://me:p:x@host/db") == "clickhouse://me:***@host/db"
    assert without_password("chdb:///a@b:c") == "chdb:///a@b:c"
