import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanproof_collector.server.clickhouse.statements import (
    ACCESS_DENIED,
    HARMLESS_TABLE_FUNCTIONS,
    SETTING_REFUSED,
    SYNTAX_ERROR,
    RefusedError,
    check,
    check_setting,
)
from spanproof_collector.store import Query, Store
from spanproof_collector.store.migrating import known_migrations

FUNCTIONS = frozenset({"file", "url", "numbers", "newtablefunction"})


def refused(sql: str) -> int:
    with pytest.raises(RefusedError) as refusal:
        check(sql.encode(), FUNCTIONS)
    return refusal.value.code


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "select 1;",
        "SELECT 1 ; -- ; done\n",
        "SELECT ';', \"a;b\", `c;d`, $tag$ ; $tag$ /* ; */ -- ;",
        "SELECT 'it''s', 'it\\'s;', x'3b'",
        "(SELECT 1) UNION ALL (SELECT 2)",
        "WITH x AS (SELECT 1) SELECT * FROM x FORMAT Native",
        "SELECT name, engine FROM system.tables WHERE path = 'a' AND file = 1 SETTINGS max_threads = 1, final = 1",
        "SELECT count() FROM numbers(10), view(SELECT 1), values('a UInt8', 1)",
        "SELECT format('{}', 1), null, `attribute.key`, {x:Array(String)} FROM spans",
        "SHOW TABLES",
        "DESCRIBE TABLE `spans`",
        "EXISTS TABLE spans",
        "EXPLAIN SELECT 1",
        "INSERT INTO t VALUES (1, 'a;b')",
        "INSERT INTO t FORMAT Values (1)",
        "INSERT INTO t SELECT * FROM u",
        "INSERT INTO t SETTINGS async_insert = 0 VALUES (1)",
        "CREATE TABLE IF NOT EXISTS t (engine String, a UInt8) ENGINE = ReplacingMergeTree(a) ORDER BY a",
        "CREATE TABLE t (a UInt8) ENGINE Memory",
        "CREATE TABLE t ENGINE = Null AS SELECT 1",
        "CREATE OR REPLACE VIEW v AS SELECT 1",
        "CREATE MATERIALIZED VIEW v TO t AS SELECT 1",
        "CREATE DATABASE d ENGINE = Atomic",
        "ALTER TABLE t ADD COLUMN b UInt8",
        "ALTER TABLE t MODIFY SETTING index_granularity = 1024",
        "DROP TABLE IF EXISTS t",
        "DROP VIEW v",
        "TRUNCATE TABLE t",
        "OPTIMIZE TABLE t FINAL",
        "DELETE FROM t WHERE a = 1",
        "USE d",
    ],
)
def test_what_a_client_of_the_store_needs_is_run(sql: str) -> None:
    assert check(sql.encode(), FUNCTIONS).kind == sql.split()[0].upper().strip("(")


@pytest.mark.parametrize(
    "sql",
    [query.sql for query in Query]
    + [statement for migration in known_migrations() for statement in migration.statements],
)
def test_what_the_store_itself_says_is_run(sql: str) -> None:
    check(sql.encode(), FUNCTIONS)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1; DROP TABLE t",
        "SELECT 1;;SELECT 2",
        "SELECT ';' ; SELECT 2",
        "SELECT 1 /* ; */ ; SELECT 2",
        "SELECT 1 -- x\n; SELECT 2",
        "SELECT 1 PARALLEL WITH DROP TABLE t",
        "INSERT INTO t VALUES (1); DROP TABLE t",
        "",
        "  -- nothing\n",
    ],
)
def test_anything_but_one_statement_is_refused(sql: str) -> None:
    assert refused(sql) == SYNTAX_ERROR


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT /* /* */ ; DROP TABLE t -- */ */ 1",
        "SELECT a$b$ ; DROP TABLE t ; $b$",
        "SELECT $a b$ ' $a b$ ; DROP TABLE t --'",
        "SELECT x'\\' ; DROP TABLE t --'",
        "SELECT \u2018'\u2019 ; DROP TABLE t --'",
        "--\r'\n; DROP TABLE t --'",
        "SELECT 'open ; DROP TABLE t",
        "SELECT `open ; DROP TABLE t",
        "SELECT $a$ open ; DROP TABLE t",
        "SELECT 1 \\G DROP TABLE t",
        "SELECT 1 # ' \n; DROP TABLE t --'",
        "SELECT 1 \x00; DROP TABLE t",
        "SELECT /* open",
    ],
)
def test_a_text_that_the_engine_might_read_otherwise_is_refused(sql: str) -> None:
    assert refused(sql) == SYNTAX_ERROR


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM file('/etc/passwd')",
        "SELECT * FROM FILE ('/etc/passwd')",
        "SELECT file/**/('/etc/passwd')",
        "SELECT `file`('/etc/passwd')",
        "SELECT \"file\"('/etc/passwd')",
        "SELECT `fi\\x6ce`('/etc/passwd')",
        "SELECT * FROM newTableFunction('x')",
        "SELECT * FROM (SELECT 1) AS a JOIN url('http://x') AS b ON 1",
        "SELECT * FROM remote('host', a.b)",
        "SELECT * FROM executable('x', CSV, 'a String')",
        "SELECT * FROM python(x)",
        "DESCRIBE TABLE s3('http://x')",
        "EXPLAIN SELECT * FROM url('http://x')",
        "WITH (SELECT * FROM file('x')) AS a SELECT a",
        "INSERT INTO FUNCTION file('x') SELECT 1",
        "INSERT INTO TABLE FUNCTION newfunction SELECT 1",
        "INSERT INTO t SELECT * FROM input('a String') FORMAT CSV",
        "INSERT INTO t FROM INFILE '/etc/passwd' FORMAT CSV",
        "INSERT INTO t VALUES (file('/etc/passwd'))",
        "INSERT INTO t FORMAT Values (file('/etc/passwd'))",
        "INSERT INTO t FORMAT Template 1",
        "SELECT 1 INTO OUTFILE '/tmp/x'",
        "CREATE TABLE t (a String) ENGINE = File(CSV, '/etc/passwd')",
        "CREATE TABLE t (a String) ENGINE File",
        "CREATE TABLE t (a String) ENGINE = URL",
        "CREATE TABLE t (a String) ENGINE = Distributed",
        "CREATE TABLE t (a String) ENGINE = `File`",
        "CREATE TABLE t (a String) ENGINE = MergeTree ORDER BY a SETTINGS disk = disk(type = local, path = '/')",
        "CREATE TABLE t AS url('http://x')",
        "CREATE DATABASE d ENGINE = Filesystem",
        "CREATE FUNCTION f AS x -> x",
        "CREATE USER u",
        "CREATE DICTIONARY d (a UInt8) PRIMARY KEY a",
        "CREATE NAMED COLLECTION c AS a = 1",
        "ALTER TABLE t FREEZE",
        "ALTER TABLE t MOVE PARTITION 1 TO DISK 'x'",
        "ALTER TABLE t FETCH PARTITION 1 FROM '/x'",
        "DROP DATABASE default",
        "DROP FUNCTION f",
        "ATTACH TABLE t FROM '/x' (a UInt8)",
        "DETACH TABLE t",
        "BACKUP TABLE t TO File('x')",
        "RESTORE TABLE t FROM File('x')",
        "SYSTEM SHUTDOWN",
        "SET max_threads = 1",
        "KILL QUERY WHERE 1",
        "GRANT ALL ON *.* TO u",
        "RENAME TABLE a TO b",
        "FROM file('x') SELECT *",
        "1 + 1",
        "'SELECT'",
    ],
)
def test_what_reaches_beyond_the_store_is_refused(sql: str) -> None:
    assert refused(sql) == ACCESS_DENIED


@pytest.mark.parametrize(
    "name",
    [
        "dialect",
        "allow_experimental_kusto_dialect",
        "polyglot_dialect",
        "format_schema",
        "format_schema_source",
        "output_format_schema",
        "format_template_row",
        "format_avro_schema_registry_url",
        "input_format_record_errors_file_path",
        "storage_policy",
        "disk",
        "url_base",
        "s3_truncate_on_insert",
        "implicit_select",
        "implicit_table_at_top_level",
        "engine_file_truncate_on_insert",
        "rename_files_after_processing",
        "filesystem_cache_name",
        "allow_python_table_function",
        "allow_experimental_ai_functions",
        "into_outfile_create_parent_directories",
    ],
)
def test_a_setting_that_reaches_beyond_the_store_is_refused(name: str) -> None:
    with pytest.raises(RefusedError) as refusal:
        check_setting(name)

    assert refusal.value.code == SETTING_REFUSED
    assert refused(f"SELECT 1 SETTINGS max_threads = 1, {name.upper()} = 'x'") == SETTING_REFUSED
    assert refused(f"SELECT 1 SETTINGS `{name}` = 'x'") == SETTING_REFUSED
    assert refused(f"ALTER TABLE t MODIFY SETTING {name} = 'x'") == SETTING_REFUSED


@pytest.mark.parametrize(
    "name",
    [
        "insert_deduplication_token",
        "async_insert",
        "max_partitions_per_insert_block",
        "max_block_size",
        "readonly",
        "max_execution_time",
        "date_time_input_format",
        "input_format_json_read_bools_as_numbers",
        "schema_inference_mode",
        "wait_for_async_insert",
        "use_query_cache",
        "join_algorithm",
        "final",
    ],
)
def test_a_setting_of_the_engine_alone_may_be_changed(name: str) -> None:
    check_setting(name)


@pytest.mark.parametrize("name", ["", "a b", "a=1", "a`", "ä", "1a"])
def test_what_is_no_name_of_a_setting_is_refused(name: str) -> None:
    with pytest.raises(RefusedError):
        check_setting(name)


def test_the_data_of_an_insert_is_not_read_as_sql() -> None:
    statement = check(b"INSERT INTO `t` (`a`, `b`) FORMAT Native\n ;'\x00\xff$a$ file(", FUNCTIONS)

    assert (statement.sql, statement.format) == ("INSERT INTO `t` (`a`, `b`)", "Native")
    assert statement.data == b" ;'\x00\xff$a$ file("


@given(st.text(st.characters(codec="utf-8")))
def test_a_quoted_text_is_never_more_than_a_text(text: str) -> None:
    quoted = text.replace("\\", "\\\\").replace("'", "\\'")

    assert check(f"SELECT '{quoted}' AS a".encode(), FUNCTIONS).sql == f"SELECT '{quoted}' AS a"


def test_every_table_function_of_the_engine_is_refused_or_known_to_be_harmless(store: Store) -> None:
    assert store.engine is not None
    session = store.engine.session()
    names = session.query("SELECT name FROM system.table_functions", "TabSeparated").bytes().decode().split()
    session.close()

    functions = frozenset(name.lower() for name in names)
    assert {"file", "url", "numbers"} <= functions
    for name in names:
        if name.lower() not in HARMLESS_TABLE_FUNCTIONS:
            with pytest.raises(RefusedError):
                check(f"SELECT * FROM {name}(1)".encode(), functions)
