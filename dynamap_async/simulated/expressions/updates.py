"""Updates: read from text, checked with their values, and applied to one item.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.UpdateExpressions.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Protocol

from dynamap_async.simulated import numbers
from dynamap_async.simulated.errors import invalid
from dynamap_async.simulated.expressions.conditions import At, Given, Operand, Values
from dynamap_async.simulated.expressions.paths import Path, find, overlap_of, read_path
from dynamap_async.simulated.expressions.reader import END, Reader
from dynamap_async.simulated.values import Item, Value

_NO_PLACE = "The document path provided in the update expression is invalid for update"
_WRONG_TYPE = "An operand in the update expression has an incorrect data type"
_ABSENT = "The provided expression refers to an attribute that does not exist in the item"
_TYPE_NAMES = {
    "S": "STRING",
    "N": "NUMBER",
    "B": "BINARY",
    "SS": "STRING_SET",
    "NS": "NUMBER_SET",
    "BS": "BINARY_SET",
    "M": "MAP",
    "L": "LIST",
    "BOOL": "BOOLEAN",
    "NULL": "NULL",
}


class Source(Protocol):
    """What SET assigns."""

    def value(self, item: Item, values: Values) -> Value | None:
        """Return the value, of the item as it was."""
        ...

    def given(self, values: Values) -> Value | None:
        """Return the value if it is known without an item."""
        ...

    def faults(self, values: Values) -> Iterator[str]:
        """Yield what its values are not fit for."""
        ...


@dataclass(frozen=True, slots=True)
class Plain:
    """A path or a value."""

    operand: Operand

    def value(self, item: Item, values: Values) -> Value | None:
        """Return it."""
        return self.operand.value(item, values)

    def given(self, values: Values) -> Value | None:
        """Return it, if it is a value."""
        return self.operand.given(values)

    def faults(self, values: Values) -> Iterator[str]:
        """Yield nothing."""
        yield from ()


@dataclass(frozen=True, slots=True)
class IfNotExists:
    """What is at a path, or else another value."""

    path: Path
    default: Source

    def value(self, item: Item, values: Values) -> Value | None:
        """Return the one or the other."""
        found = find(item, self.path)
        return self.default.value(item, values) if found is None else found

    def given(self, values: Values) -> Value | None:
        """Return None."""
        return None

    def faults(self, values: Values) -> Iterator[str]:
        """Yield those of the default."""
        yield from self.default.faults(values)


@dataclass(frozen=True, slots=True)
class Joined:
    """Two lists, one behind the other."""

    left: Source
    right: Source

    def value(self, item: Item, values: Values) -> Value | None:
        """Return the list."""
        left, right = self.left.value(item, values), self.right.value(item, values)
        if left is None or right is None:
            raise invalid(_ABSENT)
        if "L" not in left or "L" not in right:
            raise invalid(_WRONG_TYPE)
        return {"L": [*left["L"], *right["L"]]}

    def given(self, values: Values) -> Value | None:
        """Return None."""
        return None

    def faults(self, values: Values) -> Iterator[str]:
        """Refuse values that are no lists."""
        for source in (self.left, self.right):
            yield from source.faults(values)
            yield from _wrong("list_append", source, values, "L")


@dataclass(frozen=True, slots=True)
class Sum:
    """A number more or less another."""

    left: Source
    right: Source
    sign: str

    def value(self, item: Item, values: Values) -> Value | None:
        """Return the number."""
        left, right = self.left.value(item, values), self.right.value(item, values)
        if left is None or right is None:
            raise invalid(_ABSENT)
        if "N" not in left or "N" not in right:
            raise invalid(_WRONG_TYPE)
        return {"N": numbers.added(left["N"], right["N"], minus=self.sign == "-")}

    def given(self, values: Values) -> Value | None:
        """Return None."""
        return None

    def faults(self, values: Values) -> Iterator[str]:
        """Refuse values that are no numbers."""
        for source in (self.left, self.right):
            yield from source.faults(values)
            yield from _wrong(self.sign, source, values, "N")


def _wrong(name: str, source: Source, values: Values, wanted: str) -> Iterator[str]:
    given = source.given(values)
    if given is not None and wanted not in given:
        [tag] = given
        yield (f"Incorrect operand type for operator or function; operator or function: {name}, operand type: {tag}")


@dataclass(frozen=True, slots=True)
class Update:
    """All clauses of an update expression."""

    sets: tuple[tuple[Path, Source], ...] = ()
    removes: tuple[Path, ...] = ()
    adds: tuple[tuple[Path, str], ...] = ()
    deletes: tuple[tuple[Path, str], ...] = ()

    @property
    def paths(self) -> list[Path]:
        """What it changes."""
        return [
            *(path for path, _source in self.sets),
            *self.removes,
            *(path for path, _placeholder in self.adds),
            *(path for path, _placeholder in self.deletes),
        ]

    def faults(self, values: Values) -> Iterator[str]:
        """Yield what its values are not fit for."""
        for _path, source in self.sets:
            yield from source.faults(values)
        for _path, placeholder in self.adds:
            [tag] = values[placeholder]
            if tag not in {"N", "SS", "NS", "BS"}:
                yield (
                    "Incorrect operand type for operator or function; operator: ADD, operand type: "
                    f"{_TYPE_NAMES[tag]}, typeSet: ALLOWED_FOR_ADD_OPERAND"
                )
        for _path, placeholder in self.deletes:
            [tag] = values[placeholder]
            if tag not in {"SS", "NS", "BS"}:
                yield (
                    "Incorrect operand type for operator or function; operator: DELETE, operand type: "
                    f"{_TYPE_NAMES[tag]}, typeSet: ALLOWED_FOR_DELETE_OPERAND"
                )

    def apply(self, item: Item, values: Values) -> None:
        """Change an item. What is assigned is computed of the item as it was.

        Raises:
            Refused: it has not what the update needs.
        """
        assigned = [(path, _computed(source, item, values)) for path, source in self.sets]
        summed = [(path, _sum(find(item, path), values[placeholder])) for path, placeholder in self.adds]
        rests = [(path, _rest(find(item, path), values[placeholder])) for path, placeholder in self.deletes]
        # Elements behind the end of a list are appended in the order of their numbers.
        for path, value in sorted([*assigned, *summed], key=lambda each: _last_number(each[0])):
            _put(item, path, value)
        gone = list(self.removes)
        for path, rest in rests:
            if rest is None:
                gone.append(path)
            elif rest:
                _put(item, path, rest)
        for path in sorted(gone, key=_last_number, reverse=True):  # numbers are those of the list as it was
            _remove(item, path, must_fit=path in self.removes)


def _last_number(path: Path) -> int:
    last = path[-1]
    return last if isinstance(last, int) else -1


def _computed(source: Source, item: Item, values: Values) -> Value:
    value = source.value(item, values)
    if value is None:
        raise invalid(_ABSENT)
    [tag] = value
    return deepcopy(value) if tag in {"L", "M"} else dict(value)


def _sum(old: Value | None, more: Value) -> Value:
    [(tag, content)] = more.items()
    if old is None:
        return {tag: content if tag == "N" else list(content)}
    if tag not in old:
        raise invalid(_WRONG_TYPE)
    if tag == "N":
        return {"N": numbers.added(old["N"], content)}
    return {tag: list(dict.fromkeys([*old[tag], *content]))}


def _rest(old: Value | None, less: Value) -> Value | None:
    """Return a set without members; None if none is left, an empty value if there was no set."""
    [(tag, content)] = less.items()
    if old is None:
        return {}
    if tag not in old:
        raise invalid(_WRONG_TYPE)
    left = [member for member in old[tag] if member not in content]
    return {tag: left} if left else None


def _holder(item: Item, path: Path) -> Any:
    """Return the map or the list that has the last step of a path.

    Raises:
        Refused: there is none.
    """
    if len(path) == 1:
        return item
    parent = find(item, path[:-1])
    content = None if parent is None else parent.get("M" if isinstance(path[-1], str) else "L")
    if content is None:
        raise invalid(_NO_PLACE)
    return content


def _put(item: Item, path: Path, value: Value) -> None:
    holder, step = _holder(item, path), path[-1]
    if isinstance(step, int) and step >= len(holder):
        holder.append(value)
    else:
        holder[step] = value


def _remove(item: Item, path: Path, *, must_fit: bool) -> None:
    if must_fit or len(path) == 1 or find(item, path) is not None:
        holder, step = _holder(item, path), path[-1]
        if isinstance(step, str):
            holder.pop(step, None)
        elif step < len(holder):
            del holder[step]


def read_update(reader: Reader) -> Update:
    """Read an update expression."""
    found: dict[str, tuple[Any, ...]] = {}
    while reader.next != END:
        word = reader.takes(*_CLAUSES)
        if word is None:
            raise reader.syntax_error()
        if word in found:
            reader.note(f'The "{word}" section can only be used once in an update expression;')
        actions = [_CLAUSES[word](reader)]
        while reader.takes(","):
            actions.append(_CLAUSES[word](reader))
        found[word] = tuple(actions)
    update = Update(
        sets=found.get("SET", ()),
        removes=found.get("REMOVE", ()),
        adds=found.get("ADD", ()),
        deletes=found.get("DELETE", ()),
    )
    if fault := overlap_of(update.paths):
        reader.note(fault)
    return update


def _assignment(reader: Reader) -> tuple[Path, Source]:
    path = read_path(reader)
    reader.expect("=")
    return path, _source(reader)


def _source(reader: Reader) -> Source:
    left = _term(reader)
    if sign := reader.takes("+", "-"):
        return Sum(left, _term(reader), sign)
    return left


def _term(reader: Reader) -> Source:
    if reader.takes("("):
        source = _source(reader)
        reader.expect(")")
        return source
    if reader.next.startswith(":"):
        return Plain(Given(reader.value()))
    if reader.after_next != "(":
        return Plain(At(read_path(reader)))
    return _function(reader)


def _function(reader: Reader) -> Source:
    name = reader.take()
    reader.expect("(")
    operands = [_source(reader)]
    while reader.takes(","):
        operands.append(_source(reader))
    reader.expect(")")
    if name not in {"if_not_exists", "list_append"}:
        known = {"attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size"}
        reader.note(
            f"The function is not allowed in an update expression; function: {name}"
            if name in known
            else f"Invalid function name; function: {name}"
        )
        return operands[0]
    if len(operands) != 2:
        reader.note(
            f"Incorrect number of operands for operator or function; operator or function: {name}, "
            f"number of operands: {len(operands)}"
        )
        return operands[0]
    first, second = operands
    if name == "list_append":
        return Joined(first, second)
    if not isinstance(first, Plain) or not isinstance(first.operand, At):
        reader.note(f"Operator or function requires a document path; operator or function: {name}")
        return first
    return IfNotExists(first.operand.path, second)


def _path_and_value(reader: Reader) -> tuple[Path, str]:
    return read_path(reader), reader.value()


_CLAUSES: dict[str, Callable[[Reader], Any]] = {
    "SET": _assignment,
    "REMOVE": read_path,
    "ADD": _path_and_value,
    "DELETE": _path_and_value,
}
