import asyncio
import base64
import gzip
import http.client
import json
import socket
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import clickhouse_connect
import pytest
from clickhouse_connect.driver import Client
from clickhouse_connect.driver.exceptions import DatabaseError, StreamFailureError

from spanproof_collector.errors import ServeError
from spanproof_collector.server.clickhouse import ClickHouseEndpoint
from spanproof_collector.store import Store
from tests.collector.store.rows import columns, span_row

Answer = tuple[int, http.client.HTTPMessage, bytes]


def connect(
    endpoint: ClickHouseEndpoint,
    *,
    compress: bool | str = True,
    password: str | None = None,
    access_token: str | None = None,
) -> Client:
    """Connect with the token as password, if with nothing else."""
    if access_token is not None:
        return clickhouse_connect.get_client(host=endpoint.host, port=endpoint.port, access_token=access_token)
    return clickhouse_connect.get_client(
        host=endpoint.host,
        port=endpoint.port,
        compress=compress,
        username="anybody",
        password=endpoint.token if password is None else password,
    )


@pytest.fixture
def client(endpoint: ClickHouseEndpoint) -> Iterator[Client]:
    found = connect(endpoint)
    yield found
    found.close()


def ask(
    endpoint: ClickHouseEndpoint,
    body: bytes = b"SELECT 1",
    *,
    path: str = "/",
    method: str = "POST",
    token: str | None = None,
    **headers: str,
) -> Answer:
    """Send a request as any program could."""
    connection = http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=20)
    if token is None:
        headers = {"X-ClickHouse-Key": endpoint.token, **headers}
    elif token:
        headers = {"X-ClickHouse-Key": token, **headers}
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


@pytest.mark.parametrize("compress", [False, "lz4", "zstd", "gzip"])
def test_rows_pass_both_ways_whole_whatever_the_compression(endpoint: ClickHouseEndpoint, compress: str | bool) -> None:
    client = connect(endpoint, compress=compress)
    # More than one block, and each is compressed for itself.
    rows = [[number, f"text {number} é\0'\\\n", [f"{number}"] * 3] for number in range(50_000)]
    client.command("CREATE TABLE t (a UInt64, b String, c Array(String)) ENGINE = MergeTree ORDER BY a")

    summary = client.insert("t", rows, column_names=["a", "b", "c"])
    found = client.query("SELECT * FROM t ORDER BY a").result_rows

    assert summary.written_rows == 50_000
    assert [list(row) for row in found] == rows
    client.close()


def test_the_token_is_a_password_or_an_access_token(endpoint: ClickHouseEndpoint) -> None:
    for client in (connect(endpoint, password=endpoint.token), connect(endpoint, access_token=endpoint.token)):
        assert client.command("SELECT 1") == 1
        client.close()


@pytest.mark.parametrize("password", ["", "wrong"])
def test_a_wrong_token_is_refused(endpoint: ClickHouseEndpoint, password: str) -> None:
    with pytest.raises(DatabaseError) as refusal:
        connect(endpoint, password=password)

    assert refusal.value.code == 516


def test_a_wrong_token_is_refused_with_401_wherever_it_stands(endpoint: ClickHouseEndpoint) -> None:
    basic = base64.b64encode(f"default:{endpoint.token}x".encode()).decode()
    answers = [
        ask(endpoint, token=""),
        ask(endpoint, token="x"),
        ask(endpoint, token="", Authorization=f"Basic {basic}"),
        ask(endpoint, token="", Authorization="Basic ???"),
        ask(endpoint, token="", Authorization="Bearer"),
    ]
    for status, answered, body in answers:
        assert (status, answered["X-ClickHouse-Exception-Code"]) == (401, "516")
        assert b"AUTHENTICATION_FAILED" in body


def test_a_token_in_the_address_is_not_taken(endpoint: ClickHouseEndpoint) -> None:
    status, _, _ = ask(endpoint, path=f"/?user=default&password={endpoint.token}", token="")

    assert status == 401


def test_a_page_in_a_browser_is_turned_away_even_with_the_token(endpoint: ClickHouseEndpoint) -> None:
    assert ask(endpoint, Origin="http://localhost")[0] == 403
    assert ask(endpoint, Host="rebound.example")[0] == 403
    assert ask(endpoint, Host=f"localhost:{endpoint.port}")[0] == 200
    status, headers, _ = ask(endpoint, method="OPTIONS")
    assert status == 404
    assert not [name for name in headers if name.lower().startswith("access-control")]


def test_a_ping_needs_no_token(endpoint: ClickHouseEndpoint) -> None:
    assert ask(endpoint, method="GET", path="/ping", token="")[::2] == (200, b"Ok.\n")


def test_a_get_only_reads(endpoint: ClickHouseEndpoint) -> None:
    assert ask(endpoint, b"", method="GET", path="/?query=SELECT%201")[::2] == (200, b"1\n")
    status, headers, _ = ask(endpoint, b"", method="GET", path="/?query=TRUNCATE%20TABLE%20spans")
    assert headers["X-ClickHouse-Exception-Code"] == "164"
    assert status >= 400


def test_parameters_arrive_as_they_are(client: Client) -> None:
    sent = {"x": "it's\r\n\\n tab\t é ; --", "y": ["q'", "it\\s\n", "ü"], "z": 2**64 - 1, "n": None}

    rows = client.query("SELECT {x:String}, {y:Array(String)}, {z:UInt64}, {n:Nullable(String)}", parameters=sent)

    assert rows.result_rows == [tuple(sent.values())]


def test_parameters_too_long_for_an_address_arrive_as_they_are(client: Client) -> None:
    sent = [f"{number}: it's é\r\n--x" for number in range(5000)]

    assert client.query("SELECT {x:Array(String)}", parameters={"x": sent}).result_rows == [(sent,)]


def test_settings_hold_for_their_statement_alone(client: Client) -> None:
    sql = "SELECT value FROM system.settings WHERE name = 'max_threads'"

    assert client.query(sql, settings={"max_threads": 3}).result_rows == [("3",)]
    assert client.query(sql).result_rows != [("3",)]


def test_a_token_of_an_insert_counts_once(client: Client, store: Store) -> None:
    for _ in range(2):
        client.insert(
            "spans",
            list(columns([span_row()]).values()),
            column_names=list(span_row()),
            column_oriented=True,
            settings={"insert_deduplication_token": "t"},
        )

    assert client.command("SELECT count() FROM spans") == 1
    assert len(store.read_traces([("default", "a" * 32)])) == 1


def test_an_insert_of_values_and_one_of_another_format_arrive(client: Client, endpoint: ClickHouseEndpoint) -> None:
    client.command("CREATE TABLE t (a UInt64, b String) ENGINE = MergeTree ORDER BY a")

    client.command("INSERT INTO t VALUES (1, 'one')")
    client.raw_insert("t", ["a", "b"], b"2,two\n", fmt="CSV")
    client.raw_insert("t", ["a", "b"], gzip.compress(b"3,three\n"), fmt="CSV", compression="gzip")
    ask(endpoint, b"(4, 'four')", path="/?query=INSERT%20INTO%20t%20VALUES")
    ask(endpoint, zlib.compress(b'INSERT INTO t FORMAT JSONEachRow {"a":5,"b":"five"}'), Content_Encoding="deflate")

    found = client.query("SELECT * FROM t ORDER BY a").result_rows
    assert found == [(1, "one"), (2, "two"), (3, "three"), (4, "four"), (5, "five")]


def test_a_body_that_ends_too_early_stores_nothing(client: Client, endpoint: ClickHouseEndpoint) -> None:
    client.command("CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a")

    whole = zlib.compress(b"INSERT INTO t FORMAT CSV 1\n2\n3\n")
    status, headers, _ = ask(endpoint, whole[:-2], Content_Encoding="deflate")

    assert (status, headers["X-ClickHouse-Exception-Code"]) == (400, "271")
    assert client.command("SELECT count() FROM t") == 0


def test_content_does_not_stay_in_temporary_files(client: Client, store: Store) -> None:
    client.insert("dead_letters", [["x", 0, "s", "o", "r", "secret"]], column_names="*")

    assert store.embedded_path is not None
    assert list((store.embedded_path / "tmp").iterdir()) == []


def test_a_statement_without_rows_is_told_from_one_with_none(client: Client) -> None:
    assert client.command("SELECT a FROM (SELECT 1 AS a) WHERE 0") == ""
    assert client.query("SELECT 1 AS a LIMIT 0").column_names == ("a",)
    assert not isinstance(client.command("CREATE TABLE t (a UInt8) ENGINE = Memory"), (str, int))


def test_an_answer_comes_in_blocks_and_as_arrow(client: Client) -> None:
    with client.query_row_block_stream(
        "SELECT number FROM numbers(50000)", settings={"max_block_size": 10_000}
    ) as blocks:
        sizes = [len(block) for block in blocks]

    assert sum(sizes) == 50_000
    assert len(sizes) > 1
    assert client.query_arrow("SELECT number FROM numbers(7)").num_rows == 7


def test_an_error_has_its_code_its_name_and_its_status(client: Client, endpoint: ClickHouseEndpoint) -> None:
    with pytest.raises(DatabaseError) as failure:
        client.query("SELECT nope FROM spans")

    assert (failure.value.code, failure.value.name) == (47, "UNKNOWN_IDENTIFIER")
    assert ask(endpoint, b"SELECT * FROM nope")[0] == 404
    assert ask(endpoint, b"SELEKT")[0] == 403
    assert ask(endpoint, b"SELECT 1 +")[0] == 400
    assert ask(endpoint, b"SELECT 1", path="/?no_such_setting=1")[1]["X-ClickHouse-Exception-Code"] == "115"


@pytest.mark.parametrize("compress", [False, "lz4"])
def test_an_error_in_the_middle_of_an_answer_is_no_end_of_it(
    endpoint: ClickHouseEndpoint, compress: bool | str
) -> None:
    client = connect(endpoint, compress=compress)
    sql = "SELECT throwIf(number = 150000, 'boom') FROM numbers(200000)"

    with (
        pytest.raises(StreamFailureError, match="boom"),
        client.query_row_block_stream(sql, settings={"max_block_size": 1000, "max_threads": 1}) as blocks,
    ):
        for _ in blocks:
            pass
    client.close()


def test_a_client_that_goes_away_in_the_middle_leaves_no_statement_behind(
    client: Client, endpoint: ClickHouseEndpoint
) -> None:
    sql = b"SELECT number, repeat('x', 100) FROM numbers(100000000) FORMAT TabSeparated"
    with socket.create_connection((endpoint.host, endpoint.port)) as connection:
        lines = [
            "POST / HTTP/1.1",
            "Host: localhost",
            f"X-ClickHouse-Key: {endpoint.token}",
            f"Content-Length: {len(sql)}",
        ]
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + sql)
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")

    deadline = time.monotonic() + 20
    running = "SELECT count() FROM system.processes WHERE query LIKE 'SELECT number, repeat%'"
    while client.command(running) and time.monotonic() < deadline:
        pass
    assert client.command(running) == 0


def test_no_file_of_this_machine_can_be_reached(endpoint: ClickHouseEndpoint, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    refusals = {
        "SELECT 1; SELECT 2": "62",
        f"SELECT * FROM file('{secret}', 'LineAsString')": "497",
        f"SELECT file('{secret}')": "497",
        f"SELECT * FROM `{secret}`": "60",
        f"SELECT * FROM default.`{secret}`": "60",
        f"SELECT * FROM '{secret}'": "60",
        "SELECT * FROM {t:Identifier}": "60",
        f"CREATE TABLE t (a String) ENGINE = File(LineAsString, '{secret}')": "497",
        f"INSERT INTO FUNCTION file('{secret}', 'LineAsString') SELECT 'x'": "497",
        "SELECT 1 SETTINGS dialect = 'prql'": "452",
    }

    answers = {sql: ask(endpoint, sql.encode(), path=f"/?param_t={secret}") for sql in refusals}

    assert {sql: headers["X-ClickHouse-Exception-Code"] for sql, (_, headers, _) in answers.items()} == refusals
    assert all(status >= 400 for status, _, _ in answers.values())
    assert secret.read_text() == "secret"


def test_a_refused_setting_is_refused_in_the_address_too(endpoint: ClickHouseEndpoint) -> None:
    assert ask(endpoint, path="/?dialect=prql")[1]["X-ClickHouse-Exception-Code"] == "452"


def test_another_database_is_another_place(client: Client, endpoint: ClickHouseEndpoint) -> None:
    client.command("CREATE DATABASE IF NOT EXISTS `other``one`")

    assert ask(endpoint, b"SELECT currentDatabase()", path="/?database=other%60one")[2] == b"other`one\n"
    assert ask(endpoint, b"SELECT currentDatabase()")[2] == b"spanproof\n"
    assert ask(endpoint, b"SELECT currentDatabase()", path="/?database=default")[2] == b"spanproof\n"
    assert ask(endpoint, path="/?database=nowhere")[0] == 404


def test_the_summary_counts_what_was_read(endpoint: ClickHouseEndpoint) -> None:
    _, headers, _ = ask(endpoint, b"SELECT * FROM numbers(5) FORMAT JSON")

    assert json.loads(headers["X-ClickHouse-Summary"])["read_rows"] == "5"
    assert headers["X-ClickHouse-Format"] == "JSON"


async def test_the_asynchronous_client_works_too(endpoint: ClickHouseEndpoint) -> None:
    pytest.importorskip("aiohttp", reason="the driver's asynchronous client needs aiohttp, which spanproof does not")
    client = await clickhouse_connect.get_async_client(
        host=endpoint.host, port=endpoint.port, username="x", password=endpoint.token
    )
    try:
        await client.command("CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a")
        await client.insert("t", [[number] for number in range(5000)], column_names=["a"])
        counts = await asyncio.gather(*[client.query("SELECT count() FROM t") for _ in range(4)])
        assert [count.result_rows for count in counts] == [[(5000,)]] * 4
    finally:
        await client.close()


async def test_a_port_that_is_taken_is_named(store: Store) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ServeError, match=str(port)):
            await ClickHouseEndpoint(store, port=port).start()


async def test_an_endpoint_stops_and_its_port_is_free(store: Store) -> None:
    endpoint = ClickHouseEndpoint(store)
    await endpoint.start()
    await endpoint.stop()
    await endpoint.stop()

    again = ClickHouseEndpoint(store, port=endpoint.port)
    await again.start()
    await again.stop()


def test_a_store_on_the_far_side_is_not_served_again(store_over_http: Store) -> None:
    with pytest.raises(ServeError, match="not held by this process"):
        ClickHouseEndpoint(store_over_http)
