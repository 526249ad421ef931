"""The words of an expression, and what its placeholders stand for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from dynamap_async.simulated.errors import Refused, invalid
from dynamap_async.simulated.expressions.reserved_words import RESERVED_WORDS
from dynamap_async.simulated.values import Value, admit

LONGEST = 4096
_TOKEN: Final = re.compile(r"\s*(?:([A-Za-z_][A-Za-z0-9_]*|[#:][A-Za-z0-9_]+|\d+|<>|<=|>=|[-=<>(),.\[\]+])|(\S))")
END = "<EOF>"
_PROJECTION = "ProjectionExpression"
_NAME: Final = re.compile(r"#[A-Za-z0-9_]+")
_VALUE: Final = re.compile(r":[A-Za-z0-9_]+")


class Reader:
    """The tokens of one expression, read from left to right.

    Args:
        text: the expression.
        parameter: the request's parameter that has it, such as ``FilterExpression``.
        names: placeholders of names.

    Attributes:
        used_names: placeholders of names that it has.
        used_values: placeholders of values that it has, in order.
    """

    def __init__(self, text: str, parameter: str, names: Mapping[str, str]) -> None:
        self.parameter = parameter
        self.used_names: set[str] = set()
        self.used_values: dict[str, None] = {}
        self._text = text
        self._names = names
        self._faults: list[str] = []
        if not text.strip():
            raise self.fault("The expression can not be empty;")
        if len(text.encode()) > LONGEST:
            raise self.fault("Expression size has exceeded the maximum allowed size;")
        self._spans: list[tuple[int, int]] = []
        self._at = 0
        at = 0
        while (found := _TOKEN.match(text, at)) is not None:
            self._spans.append(found.span(found.lastindex or 0))
            at = found.end()
        self.tokens: list[str] = [text[begin:end] for begin, end in self._spans]
        for number, token in enumerate(self.tokens):
            if not re.match(r"[\w#:<>=(),.\[\]+-]", token, re.ASCII) or token in {"#", ":"}:
                self._at = number
                raise self.syntax_error()

    def fault(self, text: str) -> Refused:
        """Return the refusal of this expression."""
        return invalid(f"Invalid {self.parameter}: {text}")

    def note(self, text: str) -> None:
        """Keep a fault of what is said, which is told when the expression's form is right."""
        self._faults.append(text)

    def syntax_error(self) -> Refused:
        """Return the refusal of the next token."""
        at = self._at
        token = self.tokens[at] if at < len(self.tokens) else END
        first = self._spans[max(0, at - 1)][0]
        last = self._spans[min(len(self._spans) - 1, at + 1)][1]
        return self.fault(f'Syntax error; token: "{token}", near: "{self._text[first:last]}"')

    @property
    def next(self) -> str:
        """The next token; ``END`` behind the last."""
        return self.tokens[self._at] if self._at < len(self.tokens) else END

    @property
    def after_next(self) -> str:
        """The token behind the next."""
        return self.tokens[self._at + 1] if self._at + 1 < len(self.tokens) else END

    def take(self) -> str:
        """Return the next token and go on."""
        token = self.next
        self._at += 1
        return token

    def takes(self, *wanted: str) -> str | None:
        """Go on if the next token is one of these words or signs, in any case."""
        token = self.next.upper()
        if token in wanted:
            self._at += 1
            return token
        return None

    @property
    def position(self) -> int:
        """The number of the next token."""
        return self._at

    def _closing(self, at: int) -> int:
        """Return the number of the token that closes the parenthesis at a token; that of the end if none does."""
        depth = 0
        for number in range(at, len(self.tokens)):
            depth += (self.tokens[number] == "(") - (self.tokens[number] == ")")
            if depth == 0:
                return number
        return len(self.tokens)

    def closes(self, begin: int) -> bool:
        """Return whether the parenthesis that opened at a token closed just before the next one."""
        return self._closing(begin) == self._at - 1

    def is_operand_in_parentheses(self) -> bool:
        """Return whether the parenthesis that opens next holds an operand, and not a condition."""
        behind = self._closing(self._at) + 1
        token = self.tokens[behind].upper() if behind < len(self.tokens) else END
        return token in {"=", "<>", "<", "<=", ">", ">=", "BETWEEN", "IN"}

    def expect(self, wanted: str) -> None:
        """Go on behind a word or a sign that must come.

        Raises:
            Refused: another one comes.
        """
        if self.takes(wanted) is None:
            raise self.syntax_error()

    def end(self) -> None:
        """Say that the expression must be at its end, and refuse what was noted.

        Raises:
            Refused: more comes, or a name or a function is wrong.
        """
        if self.next != END:
            raise self.syntax_error()
        if self._faults:
            raise self.fault(self._faults[0])

    def name(self) -> str:
        """Return the name of an attribute that a word or a placeholder stands for.

        Raises:
            Refused: neither comes.
        """
        token = self.next
        if token.startswith("#"):
            self.take()
            self.used_names.add(token)
            if token not in self._names:
                self.note(
                    f"An expression attribute name used in the document path is not defined; attribute name: {token}"
                )
                return token
            return self._names[token]
        if not (token[0].isalpha() or token[0] == "_"):
            raise self.syntax_error()
        self.take()
        if token.upper() in RESERVED_WORDS:
            self.note(f"Attribute name is a reserved keyword; reserved keyword: {token}")
        return token

    def value(self) -> str:
        """Return the placeholder of a value that comes next.

        Raises:
            Refused: none comes.
        """
        token = self.next
        if not token.startswith(":"):
            raise self.syntax_error()
        self.take()
        self.used_values[token] = None
        return token

    def index(self) -> int:
        """Return the number of an element in brackets, of which the first was taken.

        Raises:
            Refused: no number comes.
        """
        if not self.next.isdigit():
            raise self.syntax_error()
        number = int(self.take())
        self.expect("]")
        return number


def _admit_names(names: Mapping[str, str], given: list[str]) -> None:
    if not given:
        raise invalid("ExpressionAttributeNames can only be specified when using expressions")
    if not names:
        raise invalid("ExpressionAttributeNames must not be empty")
    for name in names:
        if not _NAME.fullmatch(name):
            raise invalid(f'ExpressionAttributeNames contains invalid key: Syntax error; key: "{name}"')


def _admit_values(values: Mapping[str, Value], given: list[str], takers: list[str]) -> None:
    if not any(parameter in takers for parameter in given):
        absent = f"{takers[0]} is null" if len(takers) == 1 else f"{' and '.join(takers)} are null"
        raise invalid(f"ExpressionAttributeValues can only be specified when using expressions: {absent}")
    if not values:
        raise invalid("ExpressionAttributeValues must not be empty")
    for name, value in values.items():
        if not _VALUE.fullmatch(name):
            raise invalid(f'ExpressionAttributeValues contains invalid key: Syntax error; key: "{name}"')
        try:
            admit(value)
        except Refused as refused:
            if refused.code != "ValidationException":
                raise
            raise invalid(
                f"ExpressionAttributeValues contains invalid value: {refused.message} for key {name}"
            ) from None


class Placeholders:
    """What the placeholders of one request stand for, and which of them its expressions have used.

    Args:
        body: the request.
        parameters: the expressions that the operation knows, such as ``UpdateExpression``.

    Raises:
        Refused: there are placeholders without an expression, or wrong ones.
    """

    def __init__(self, body: Mapping[str, Any], *parameters: str) -> None:
        names, values = body.get("ExpressionAttributeNames"), body.get("ExpressionAttributeValues")
        self.names: Mapping[str, str] = names or {}
        self.values: Mapping[str, Value] = values or {}
        self._used_names: set[str] = set()
        self._used_values: set[str] = set()
        if names is None and values is None:
            return
        given = [parameter for parameter in parameters if body.get(parameter) is not None]
        if names is not None:
            _admit_names(names, given)
        if values is not None:
            _admit_values(values, given, [each for each in parameters if each != _PROJECTION])

    def read(self, parse: Callable[[Reader], Any], text: str, parameter: str) -> Any:
        """Return an expression that is read, with its placeholders known.

        Args:
            parse: what reads it.
            text: the expression.
            parameter: the parameter that has it.

        Raises:
            Refused: it is wrong.
        """
        parsed, used_names, used_values = _read(parse, text, parameter, tuple(self.names.items()))
        for name in used_values:
            if name not in self.values:
                raise invalid(
                    f"Invalid {parameter}: An expression attribute value used in expression is not defined; "
                    f"attribute value: {name}"
                )
        self._used_names |= used_names
        self._used_values.update(used_values)
        return parsed

    def all_used(self) -> None:
        """Refuse placeholders that no expression has.

        Raises:
            Refused: there is one.
        """
        if unused := [name for name in self.names if name not in self._used_names]:
            raise invalid(
                f"Value provided in ExpressionAttributeNames unused in expressions: keys: {{{', '.join(unused)}}}"
            )
        if unused := [name for name in self.values if name not in self._used_values]:
            raise invalid(
                f"Value provided in ExpressionAttributeValues unused in expressions: keys: {{{', '.join(unused)}}}"
            )


@lru_cache(maxsize=1024)
def _read(
    parse: Callable[[Reader], Any], text: str, parameter: str, names: tuple[tuple[str, str], ...]
) -> tuple[Any, frozenset[str], dict[str, None]]:
    reader = Reader(text, parameter, dict(names))
    parsed = parse(reader)
    reader.end()
    return parsed, frozenset(reader.used_names), reader.used_values
