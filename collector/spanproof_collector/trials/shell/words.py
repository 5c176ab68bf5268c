"""The words and operators of a shell command line, quotes taken off, the bodies of here-documents taken out."""

import re
from dataclasses import dataclass
from typing import Final, Literal

_OPERATOR: Final = re.compile(r"&&|\|\||;;&?|;&|\|&|&>>|&>|>\||<<<|<<-|<<|>>|<>|>&|<&|[;&|()<>\n]")
_REDIRECTIONS: Final = frozenset({"&>>", "&>", ">|", "<<<", "<<-", "<<", ">>", "<>", ">&", "<&", "<", ">"})
_PLAIN: Final = re.compile(r"[^\s;&|()<>\"'\\$`#]+")
_DOUBLE: Final = re.compile(r"[^\"\\$`]+")
_MOST_TOKENS: Final = 10_000
"""More is no command line that anybody wrote."""

_DEEPEST: Final = 20
"""Quotes within substitutions within quotes that are read."""

_BLANK: Final = re.compile(r"(?:[ \t\r]|\\\n)+")


@dataclass(frozen=True, slots=True)
class Token:
    """A word, or an operator: ``;``, ``&&``, a redirection, a line's end."""

    kind: Literal["word", "operator", "redirection"]
    text: str
    quoted: bool = False
    """Part of it stood in quotes: it is no keyword."""

    inner: tuple[str, ...] = ()
    """Command lines whose output is put into it: ``$( … )`` and backquotes."""


class UnreadableError(ValueError):
    """A command line that ends within a quote, or has too many words: nobody knows what runs in it."""


def tokens_of(text: str) -> list[Token]:
    """Return the words and operators of a command line, in one pass.

    Raises:
        UnreadableError: a quote is open at the end, or there are too many words.
    """
    return _Lexer(text).read()


class _Lexer:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._tokens: list[Token] = []
        self._inner: list[str] = []
        self._depth = 0
        self._heredocs: list[tuple[str, bool]] = []
        """Delimiters whose bodies begin on the next line, and whether tabs before them are left out."""

    def read(self) -> list[Token]:
        text = self._text
        while self._at < len(text):
            if len(self._tokens) > _MOST_TOKENS:
                raise UnreadableError("too many words")
            blank = _BLANK.match(text, self._at)
            if blank is not None:
                self._at = blank.end()
                continue
            operator = _OPERATOR.match(text, self._at)
            if operator is not None:
                self._operator(operator.group())
            elif text[self._at] == "#":
                end = text.find("\n", self._at)
                self._at = len(text) if end < 0 else end
            else:
                self._word()
        return self._tokens

    def _operator(self, found: str) -> None:
        self._at += len(found)
        redirection = found in _REDIRECTIONS
        if redirection and self._tokens and self._text[self._at - len(found) - 1].isdigit():
            before = self._tokens[-1]
            if before.kind == "word" and before.text.isdigit() and not before.quoted:
                self._tokens.pop()  # 2>file: the number of a stream
                found = before.text + found
        self._tokens.append(Token("redirection" if redirection else "operator", found))
        if found == "\n" and self._heredocs:
            self._bodies()

    def _bodies(self) -> None:
        """Pass over the bodies of the here-documents that were opened on the line before."""
        for delimiter, tabs in self._heredocs:
            while self._at < len(self._text):
                end = self._text.find("\n", self._at)
                end = len(self._text) if end < 0 else end
                line = self._text[self._at : end]
                self._at = end + 1
                if (line.lstrip("\t") if tabs else line).rstrip("\r") == delimiter:
                    break
        self._heredocs = []
        self._at = min(self._at, len(self._text))

    def _word(self) -> None:
        text, parts, quoted = self._text, [], False
        self._inner = []
        while self._at < len(text):
            plain = _PLAIN.match(text, self._at)
            if plain is not None:
                parts.append(plain.group())
                self._at = plain.end()
                continue
            char = text[self._at]
            if char in " \t\r\n;&|()<>" and not (char in "<>" and text.startswith("(", self._at + 1) and not parts):
                break
            if char == "\\":
                parts.append(text[self._at + 1 : self._at + 2].replace("\n", ""))
                self._at += 2
            elif char == "'":
                quoted = True
                parts.append(self._until("'"))
            elif char == '"':
                quoted = True
                parts.append(self._double())
            elif char == "`":
                parts.append(self._backquoted())
            elif char == "$" and text.startswith("$(", self._at):
                parts.append(self._substitution())
            elif char == "$" and text.startswith("$'", self._at):
                quoted = True
                self._at += 1
                parts.append(self._until("'"))
            elif char in "<>":
                break
            else:  # $name, ${name} and # within a word
                parts.append(char)
                self._at += 1
        word = "".join(parts)
        if self._tokens and self._tokens[-1].kind == "redirection" and self._tokens[-1].text.endswith(("<<", "<<-")):
            self._heredocs.append((word, self._tokens[-1].text.endswith("-")))
        self._tokens.append(Token("word", word, quoted, tuple(self._inner)))

    def _until(self, quote: str) -> str:
        end = self._text.find(quote, self._at + 1)
        if end < 0:
            raise UnreadableError(f"an open {quote}")
        found = self._text[self._at + 1 : end]
        self._at = end + 1
        return found

    def _double(self) -> str:
        parts = []
        self._at += 1
        while self._at < len(self._text):
            plain = _DOUBLE.match(self._text, self._at)
            char = self._text[self._at]
            if plain is not None:
                parts.append(plain.group())
                self._at = plain.end()
            elif char == '"':
                self._at += 1
                return "".join(parts)
            elif char == "`":
                parts.append(self._backquoted())
            elif self._text.startswith("$(", self._at):
                parts.append(self._substitution())
            elif char == "$":
                parts.append(char)
                self._at += 1
            else:
                after = self._text[self._at + 1 : self._at + 2]
                parts.append(after if after in ('"', "\\", "$", "`") else "\\" + after)
                self._at += 2
        raise UnreadableError('an open "')

    def _backquoted(self) -> str:
        found = self._until("`")
        if not self._depth:
            self._inner.append(found)
        return f"`{found}`"

    def _substitution(self) -> str:
        """Return ``$( … )`` whole, as text: what it runs gives a word, and its exit code is lost."""
        begin, open_ = self._at, 0
        self._depth += 1
        if self._depth > _DEEPEST:
            raise UnreadableError("substitutions nest too deep")
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == "'":
                self._until("'")
            elif char == '"':
                self._double()
            else:
                open_ += (char == "(") - (char == ")")
                self._at += 2 if char == "\\" else 1
                if open_ == 0 and char == ")":
                    self._depth -= 1
                    found = self._text[begin : self._at]
                    if not self._depth and not found.startswith("$(("):
                        self._inner.append(found[2:-1])
                    return found
        raise UnreadableError("an open $(")
