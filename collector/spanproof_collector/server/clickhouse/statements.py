"""Which statements the embedded engine may be asked over HTTP: one at a time, and none that reaches a file or a host.

The engine runs whatever it is given: several statements in one call, functions that read and write files, tables
that are files or other servers. So every statement is read here first. Where this reader could understand a text
differently than the engine does (nested comments, a dollar sign inside a name, quotes outside ASCII), it refuses.
"""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

SYNTAX_ERROR: Final = 62
SETTING_REFUSED: Final = 452
ACCESS_DENIED: Final = 497

_TOKEN = re.compile(
    rb"""
      (?P<space> [ \t\r\n\f\v]++ | --[^\r\n]*+(?=\r?\n|\Z) | /\*(?:(?!/\*|\*/).)*\*/ )
    | (?P<string> [xXbB]'[0-9A-Fa-f]*+' | '(?:[^'\\]++|\\.|'')*'(?!')
                | (?<![A-Za-z0-9_])\$(?P<tag>[A-Za-z0-9_]*+)\$.*?\$(?P=tag)\$ )
    | (?P<quoted> `(?:[^`\\]++|\\.|``)*`(?!`) | "(?:[^"\\]++|\\.|"")*"(?!") )
    | (?P<word> (?![xXbB]')[A-Za-z_][A-Za-z0-9_]*+ )
    | (?P<number> [0-9][A-Za-z0-9_.]*+ )
    | (?P<mark> (?!/\*|--)[!%&()*+,\-./:;<=>?@\[\]^{|}~] )
    """,
    re.VERBOSE | re.DOTALL,
)

_KINDS: Final = frozenset(
    [
        "SELECT",
        "WITH",
        "INSERT",
        "SHOW",
        "DESCRIBE",
        "DESC",
        "EXISTS",
        "EXPLAIN",
        "CREATE",
        "ALTER",
        "DROP",
        "TRUNCATE",
        "OPTIMIZE",
        "DELETE",
        "UPDATE",
        "USE",
    ]
)
READING: Final = frozenset(["SELECT", "WITH", "SHOW", "DESCRIBE", "DESC", "EXISTS", "EXPLAIN"])
"""Kinds of statement that answer rows."""

_CREATED: Final = frozenset({"TABLE", "VIEW", "DATABASE"})
_DROPPED: Final = frozenset({"TABLE", "VIEW"})
_DATABASE_ENGINES: Final = frozenset({"Atomic", "Memory"})
_OTHER_ENGINES: Final = frozenset({"Memory", "Null"})
_MERGE_TREE: Final = re.compile(r"(?:Replacing|Summing|Aggregating|Coalescing|(?:Versioned)?Collapsing)?MergeTree")
_ALTER_REFUSED: Final = frozenset({"ATTACH", "EXPORT", "FETCH", "FREEZE", "MOVE", "REPLACE", "UNFREEZE"})

HARMLESS_TABLE_FUNCTIONS: Final = frozenset(
    [
        "format",
        "fuzzjson",
        "fuzzquery",
        "generate_series",
        "generaterandom",
        "generateseries",
        "loop",
        "merge",
        "mergetreeanalyzeindexes",
        "mergetreeanalyzeindexesuuid",
        "mergetreeindex",
        "mergetreeprojection",
        "mergetreetextindex",
        "null",
        "numbers",
        "numbers_mt",
        "primes",
        "sqlstandardvalues",
        "values",
        "view",
        "viewexplain",
        "viewifpermitted",
        "zeros",
        "zeros_mt",
    ]
)
_REFUSED_FUNCTIONS: Final = frozenset(
    [
        "azureblobstorage",
        "azureblobstoragecluster",
        "catboostevaluate",
        "cluster",
        "clusterallreplicas",
        "cosn",
        "deltalake",
        "deltalakecluster",
        "dictionary",
        "disk",
        "executable",
        "file",
        "filecluster",
        "filesystem",
        "gcs",
        "hdfs",
        "hdfscluster",
        "hudi",
        "hudicluster",
        "iceberg",
        "icebergcluster",
        "input",
        "jdbc",
        "mongodb",
        "mysql",
        "odbc",
        "oss",
        "paimon",
        "postgresql",
        "python",
        "redis",
        "remote",
        "remotesecure",
        "s3",
        "s3cluster",
        "sqlite",
        "url",
        "urlcluster",
        "ytsaurus",
    ]
)
"""Refused whatever the engine at hand calls its table functions."""

_REFUSED_SETTING = re.compile(
    r"(?:^|_)(?:ai|azure|dialect|disks?|files?|filesystem|gcs|hdfs|hosts?|iceberg|implicit|into|outfile|paths?|policy|"
    r"proxy|python|registry|s3|s3queue|schema|template|urls?)(?:_|$)"
)
_HARMLESS_SETTING = re.compile(r"^schema_inference_|_schema_inference$|^input_format_json_|^type_json_")
_INPUT_FORMAT = re.compile(r"native|tsv|tabseparated|tskv|csv|json|ndjson|rowbinary|arrow|parquet|orc|msgpack", re.I)


class RefusedError(Exception):
    """The statement is not run. ``code`` is ClickHouse's number for the reason."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement that may run. ``data`` is what follows the format of an insert, and ``None`` for any other."""

    kind: str
    sql: str
    format: str | None = None
    data: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Token:
    kind: str
    text: str
    end: int

    @property
    def upper(self) -> str:
        return self.text.upper() if self.kind == "word" else ""


def check(text: bytes, table_functions: frozenset[str]) -> Statement:
    """Return the one statement of the text. ``table_functions`` are the engine's, in lower case.

    Raises:
        RefusedError: it is not one statement, or none that may run here.
    """
    tokens = _tokens(text)
    if not tokens:
        raise RefusedError(SYNTAX_ERROR, "Empty query")
    first = next((token for token in tokens if token.text != "("), tokens[0])
    kind = first.upper
    if kind not in _KINDS or (first is not tokens[0] and kind not in ("SELECT", "WITH")):
        raise RefusedError(ACCESS_DENIED, f"{first.text[:40]!r} statements are not run here")
    _check_functions(tokens, table_functions)
    _check_words(tokens)
    _check_settings(tokens)
    match kind:
        case "CREATE":
            _check_create(tokens)
        case "DROP":
            _check_drop(tokens)
        case "ALTER":
            for token in tokens:
                if token.upper in _ALTER_REFUSED:
                    raise RefusedError(ACCESS_DENIED, f"ALTER … {token.upper} is not run here")
        case "INSERT":
            return _insert(text, tokens)
        case _:
            pass
    return Statement(kind=kind, sql=_decode(text[: tokens[-1].end]), format=_format(tokens))


def check_setting(name: str) -> None:
    """Refuse a setting that could reach a file or a host, or change how statements are read.

    Raises:
        RefusedError: it could.
    """
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise RefusedError(SETTING_REFUSED, f"{name[:40]!r} is no name of a setting")
    lower = name.lower()
    if _REFUSED_SETTING.search(lower) and not _HARMLESS_SETTING.search(lower):
        raise RefusedError(SETTING_REFUSED, f"The setting {name} may not be changed here")


def _tokens(text: bytes) -> list[_Token]:
    """Return the tokens up to the end, or up to the data of an insert; the closing semicolon is left out."""
    tokens: list[_Token] = []
    position, depth, ended = 0, 0, False
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            near = text[position : position + 20].decode("utf-8", "replace")
            raise RefusedError(SYNTAX_ERROR, f"Syntax error: cannot read the statement at {near!r}")
        position = match.end()
        kind = str(match.lastgroup)
        if kind == "tag":
            kind = "string"
        if kind == "space":
            continue
        if match.group() == b";":
            ended = True
            continue
        if ended:
            raise RefusedError(SYNTAX_ERROR, "Syntax error: multi-statements are not allowed")
        depth += (match.group() in (b"(", b"[", b"{")) - (match.group() in (b")", b"]", b"}"))
        tokens.append(_Token(kind=kind, text=match.group().decode("utf-8", "replace"), end=position))
        if depth == 0 and len(tokens) > 2 and _starts_data(tokens):
            break
    return tokens


def _starts_data(tokens: list[_Token]) -> bool:
    """Whether what follows is an insert's data: bytes that are no SQL."""
    return (
        tokens[-2].upper == "FORMAT"
        and tokens[-1].kind == "word"
        and tokens[0].upper == "INSERT"
        and not _selects(tokens)
    )


def _selects(tokens: list[_Token]) -> bool:
    depth = 0
    for token in tokens:
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0 and token.upper in ("SELECT", "WITH", "FROM", "VALUES"):
            return True
        # INSERT INTO t (SELECT …) is an insert from a query, too.
        if token.upper == "SELECT":
            return True
    return False


def _check_functions(tokens: list[_Token], table_functions: frozenset[str]) -> None:
    for token, after in pairwise(tokens):
        if after.text != "(" or token.kind not in ("word", "quoted"):
            continue
        if token.kind == "quoted" and "\\" in token.text:
            raise RefusedError(ACCESS_DENIED, "A function's name may not be spelled with escapes")
        name = token.text.strip('`"').lower()
        if name in _REFUSED_FUNCTIONS or (name in table_functions and name not in HARMLESS_TABLE_FUNCTIONS):
            raise RefusedError(ACCESS_DENIED, f"The function {name} reaches beyond the store and is not run here")


def _check_words(tokens: list[_Token]) -> None:
    previous = ""
    for token in tokens:
        word = token.upper
        if word in ("INFILE", "OUTFILE"):
            raise RefusedError(ACCESS_DENIED, f"{word} is not allowed here")
        if word == "FUNCTION" and previous in ("INTO", "TABLE"):
            raise RefusedError(ACCESS_DENIED, "INSERT INTO FUNCTION is not allowed here")
        if word == "WITH" and previous == "PARALLEL":
            raise RefusedError(SYNTAX_ERROR, "Syntax error: multi-statements are not allowed")
        previous = word


def _check_settings(tokens: list[_Token]) -> None:
    for index, token in enumerate(tokens):
        if token.upper not in ("SETTINGS", "SETTING"):
            continue
        at, depth = index + 1, 0
        expects_name = True
        while at < len(tokens) and depth >= 0:
            current = tokens[at]
            named = at + 1 < len(tokens) and tokens[at + 1].text == "="
            if expects_name and depth == 0 and named:
                check_setting(current.text.strip('`"'))
            depth += (current.text == "(") - (current.text == ")")
            expects_name = depth == 0 and current.text == ","
            at += 1


def _check_create(tokens: list[_Token]) -> None:
    what = next((token.upper for token in tokens[1:] if token.upper not in ("OR", "REPLACE", "TEMPORARY")), "")
    if what == "MATERIALIZED":
        what = "VIEW" if len(tokens) > 2 and any(token.upper == "VIEW" for token in tokens[2:5]) else what
    if what not in _CREATED:
        raise RefusedError(ACCESS_DENIED, f"CREATE {what or '…'} is not run here")
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.text == "(") - (token.text == ")")
        if token.upper != "ENGINE" or index + 1 >= len(tokens):
            continue
        assigned = tokens[index + 1].text == "="
        if depth > 0 and not assigned:
            continue  # a column of that name
        named = tokens[index + 1 + assigned] if index + 1 + assigned < len(tokens) else token
        engine = named.text
        allowed = (
            engine in _DATABASE_ENGINES
            if what == "DATABASE"
            else engine in _OTHER_ENGINES or _MERGE_TREE.fullmatch(engine) is not None
        )
        if not allowed:
            raise RefusedError(ACCESS_DENIED, f"The engine {engine[:40]} is not allowed here")


def _check_drop(tokens: list[_Token]) -> None:
    what = next((token.upper for token in tokens[1:] if token.upper != "TEMPORARY"), "")
    if what not in _DROPPED:
        raise RefusedError(ACCESS_DENIED, f"DROP {what or '…'} is not run here")


def _insert(text: bytes, tokens: list[_Token]) -> Statement:
    if len(tokens) > 2 and _starts_data(tokens):
        name = tokens[-1].text
        if _INPUT_FORMAT.match(name) is None:
            # Some read what they are told of in a file: a template, a schema.
            raise RefusedError(ACCESS_DENIED, f"Inserts in the format {name[:40]} are not run here")
        rest = re.compile(rb"[ \t]*(?:\r?\n)?").match(text, tokens[-1].end)
        return Statement(
            kind="INSERT",
            sql=_decode(text[: tokens[-3].end]),
            format=name,
            data=text[rest.end() if rest else tokens[-1].end :],
        )
    return Statement(kind="INSERT", sql=_decode(text[: tokens[-1].end]))


def _format(tokens: list[_Token]) -> str | None:
    for token, after in zip(reversed(tokens[:-1]), reversed(tokens[1:]), strict=True):
        if token.upper == "FORMAT" and after.kind == "word":
            return after.text
    return None


def _decode(sql: bytes) -> str:
    try:
        return sql.decode()
    except UnicodeDecodeError as error:
        raise RefusedError(SYNTAX_ERROR, "Syntax error: the statement is not UTF-8") from error
