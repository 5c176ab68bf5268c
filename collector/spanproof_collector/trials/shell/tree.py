"""What runs after what in a command line: lists, and-or chains, pipelines, groups, and the commands in them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from spanproof_collector.trials.shell.words import Token, UnreadableError, tokens_of

_DEEPEST: Final = 40
"""Groups within groups that are read; more is no command that anybody wrote."""

_OPENING: Final = {"if": "fi", "for": "done", "while": "done", "until": "done", "select": "done", "case": "esac"}
_BETWEEN: Final = frozenset({"then", "else", "elif", "do", "in"})
_CLOSING: Final = frozenset({"fi", "done", "esac", "}"})


@dataclass(frozen=True, slots=True)
class Simple:
    """One program with its words, and where its streams go: pairs of operator and target."""

    words: tuple[str, ...]
    redirections: tuple[tuple[str, str], ...] = ()
    inner: tuple[str, ...] = ()
    """Command lines in its words: ``$( … )``."""


@dataclass(frozen=True, slots=True)
class Group:
    """Commands in ``( )`` or ``{ }``: they end as their last one does."""

    body: "Script"
    redirections: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Compound:
    """A loop or a branch: how it ends tells nothing of the commands in it."""

    body: "Script"


Command: TypeAlias = Simple | Group | Compound


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands of which each reads what the one before it puts out."""

    commands: tuple[Command, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """Pipelines joined by ``&&`` and ``||``: the operator stands with the one after it."""

    chain: tuple[tuple[str, Pipeline], ...]
    background: bool = False


@dataclass(frozen=True, slots=True)
class Script:
    """Statements, one after the other."""

    statements: tuple[Statement, ...] = ()


def parse(text: str) -> Script:
    """Return the tree of a command line.

    Raises:
        UnreadableError: it does not end where it should, or nests too deep.
    """
    return _Parser(tokens_of(text)).script(())


class _Parser:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def _next(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _is_operator(self, *texts: str) -> bool:
        token = self._next()
        return token is not None and token.kind == "operator" and token.text in texts

    def _keyword(self) -> str:
        token = self._next()
        return token.text if token is not None and token.kind == "word" and not token.quoted else ""

    def script(self, ends: Sequence[str]) -> Script:
        """Read statements up to one of these words or operators, which is left standing."""
        statements = []
        while (token := self._next()) is not None:
            if token.text in ends and not token.quoted:
                break
            if self._is_operator(";", "\n", "&", ";;", ";&", ";;&"):
                self._at += 1
                continue
            if (token.kind == "operator" and token.text != "(") or (self._keyword() in _CLOSING and not ends):
                self._at += 1  # an operator or a closing word that nothing opened
                continue
            chain = self._chain(ends)
            background = self._is_operator("&")
            if chain:
                statements.append(Statement(tuple(chain), background))
        return Script(tuple(statements))

    def _chain(self, ends: Sequence[str]) -> list[tuple[str, Pipeline]]:
        chain: list[tuple[str, Pipeline]] = []
        operator = ""
        while True:
            pipeline = self._pipeline(ends)
            if pipeline is not None:
                chain.append((operator, pipeline))
            if not self._is_operator("&&", "||"):
                return chain
            operator = self._tokens[self._at].text
            self._at += 1
            self._lines()

    def _lines(self) -> None:
        while self._is_operator("\n"):
            self._at += 1

    def _pipeline(self, ends: Sequence[str]) -> Pipeline | None:
        negated = False
        while self._keyword() in ("!", "time", "-p"):
            negated ^= self._keyword() == "!"
            self._at += 1
        commands: list[Command] = []
        while True:
            command = self._command(ends)
            if command is not None:
                commands.append(command)
            if not self._is_operator("|", "|&"):
                return Pipeline(tuple(commands), negated) if commands else None
            self._at += 1
            self._lines()

    def _command(self, ends: Sequence[str]) -> Command | None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise UnreadableError("groups nest too deep")
        try:
            word = self._keyword()
            if self._is_operator("("):
                self._at += 1
                return self._group(")")
            if word == "{":
                self._at += 1
                return self._group("}")
            if word in _OPENING:
                self._at += 1
                if word in ("for", "select"):
                    self._head()
                return self._compound(_OPENING[word])
            return self._simple(ends)
        finally:
            self._depth -= 1

    def _group(self, end: str) -> Group:
        body = self.script((end,))
        self._at += 1
        found: list[tuple[str, str]] = []
        while (token := self._next()) is not None and token.kind == "redirection":
            found.append(self._redirection())
        return Group(body, tuple(found))

    def _head(self) -> None:
        """Pass over the words that a loop goes through: no program."""
        while self._next() is not None and not self._is_operator(";", "\n") and self._keyword() != "do":
            self._at += 1

    def _compound(self, end: str) -> Compound:
        statements: list[Statement] = []
        while self._next() is not None:
            statements += self.script((end, *_BETWEEN)).statements
            closed = self._keyword() == end
            self._at += 1
            if closed:
                break
        while (token := self._next()) is not None and token.kind == "redirection":
            self._redirection()
        return Compound(Script(tuple(statements)))

    def _redirection(self) -> tuple[str, str]:
        operator = self._tokens[self._at].text
        self._at += 1
        token = self._next()
        if token is None or token.kind != "word":
            return operator, ""
        self._at += 1
        return operator, token.text

    def _simple(self, ends: Sequence[str]) -> Simple | None:
        words: list[str] = []
        inner: list[str] = []
        redirections: list[tuple[str, str]] = []
        while (token := self._next()) is not None:
            if token.kind == "redirection":
                redirections.append(self._redirection())
            elif token.kind == "operator" or (not words and token.text in ends and not token.quoted):
                break
            else:
                words.append(token.text)
                inner += token.inner
                self._at += 1
        return Simple(tuple(words), tuple(redirections), tuple(inner)) if words or redirections else None


def simple_commands(script: Script) -> Iterator[Simple]:
    """Yield every program of a command line, in order."""
    for statement in script.statements:
        for _, pipeline in statement.chain:
            for command in pipeline.commands:
                if isinstance(command, Simple):
                    yield command
                else:
                    yield from simple_commands(command.body)
