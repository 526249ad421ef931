"""PartiQL, as far as DynamoDB has it: SELECT, INSERT, UPDATE and DELETE, alone, in batches and in transactions.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.html
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from dynamap_async.limits import BATCH_STATEMENTS, STATEMENT_LENGTH, TRANSACTION_ACTIONS
from dynamap_async.simulated import meters, wire
from dynamap_async.simulated.constraints import Structure, anything, flag, listing, number, text
from dynamap_async.simulated.errors import Refused, invalid, invalid_value
from dynamap_async.simulated.expressions.conditions import (
    At,
    BeginsWith,
    Between,
    Both,
    Comparison,
    Condition,
    Contains,
    Exists,
    Given,
    HasType,
    In,
    Not,
    Operand,
    Size,
)
from dynamap_async.simulated.expressions.paths import Path, find, overlap_of, projected
from dynamap_async.simulated.expressions.updates import IfNotExists, Joined, Plain, Source, Sum, Update
from dynamap_async.simulated.keys import admit_new, position_of_key, readable
from dynamap_async.simulated.legacy import Literals
from dynamap_async.simulated.pages import page
from dynamap_async.simulated.service import denied
from dynamap_async.simulated.shapes import CONSUMED, ON_FAILURE
from dynamap_async.simulated.store import Entry, Index, Place, Position, Table, after
from dynamap_async.simulated.transactions import cancelled, carry_out, read_again, take_together
from dynamap_async.simulated.values import Item, Value
from dynamap_async.simulated.writes import ItemWrite, refuse_faults
from dynamap_async.units import Charge, read_half_units

if TYPE_CHECKING:
    from dynamap_async.simulated.capacity import Wanted
    from dynamap_async.simulated.service import Service

_TEXT = text(1, STATEMENT_LENGTH)
_PARAMETERS = listing(anything, 1)
EXECUTE_STATEMENT = Structure(
    {
        "Statement!": _TEXT,
        "Parameters": _PARAMETERS,
        "ConsistentRead": flag,
        "NextToken": text(1, 32_768),
        "ReturnConsumedCapacity": CONSUMED,
        "Limit": number(1),
        "ReturnValuesOnConditionCheckFailure": ON_FAILURE,
    }
)
BATCH_EXECUTE_STATEMENT = Structure(
    {
        "Statements!": listing(
            Structure(
                {
                    "Statement!": _TEXT,
                    "Parameters": _PARAMETERS,
                    "ConsistentRead": flag,
                    "ReturnValuesOnConditionCheckFailure": ON_FAILURE,
                }
            ),
            1,
            BATCH_STATEMENTS,
        ),
        "ReturnConsumedCapacity": CONSUMED,
    }
)
EXECUTE_TRANSACTION = Structure(
    {
        "TransactStatements!": listing(
            Structure(
                {
                    "Statement!": _TEXT,
                    "Parameters": _PARAMETERS,
                    "ReturnValuesOnConditionCheckFailure": ON_FAILURE,
                }
            ),
            1,
            TRANSACTION_ACTIONS,
        ),
        "ClientRequestToken": text(1, 36),
        "ReturnConsumedCapacity": CONSUMED,
    }
)
_TOKEN: Final = re.compile(
    r"""\s*(?:
    (?P<text>'(?:[^']|'')*')
    | (?P<quoted>"(?:[^"]|"")*")
    | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    | (?P<word>[A-Za-z_$][A-Za-z0-9_$]*)
    | (?P<sign><<|>>|<>|!=|<=|>=|[-=<>(){}\[\],.?:*+;])
    )""",
    re.VERBOSE,
)


class _Token(NamedTuple):
    kind: str
    text: str


_END = _Token("end", "")


@dataclass(slots=True)
class _Statement:
    """A statement, read."""

    verb: str
    table: str
    index: str | None = None
    where: Condition | None = None
    values: dict[str, Value] = field(default_factory=dict[str, Value])
    paths: tuple[Path, ...] | None = None
    item: Item | None = None
    update: Update = field(default_factory=Update)
    returning: str | None = None
    backwards: bool = False
    is_check: bool = False


def _malformed(why: str) -> Refused:
    return invalid(f"Statement wasn't well formed, can't be processed: {why}")


class _Parser:
    """Reads one statement.

    Args:
        statement: its text.
        parameters: what its question marks stand for.
    """

    def __init__(self, statement: str, parameters: Iterable[Value]) -> None:
        self._tokens: list[_Token] = []
        self._at = 0
        self._parameters = list(parameters)
        self._taken = 0
        self.values: dict[str, Value] = {}
        self._literals = Literals(self.values)
        at = 0
        end = len(statement.rstrip())
        while at < end:
            found = _TOKEN.match(statement, at)
            if found is None:
                raise _malformed(f"Unexpected character at {at}")
            kind = found.lastgroup or ""
            self._tokens.append(_Token(kind, found[kind]))
            at = found.end()

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else _END

    def _take(self) -> _Token:
        token = self._next
        self._at += 1
        return token

    def _word(self, *wanted: str) -> str | None:
        token = self._next
        if token.kind == "word" and token.text.upper() in wanted:
            self._at += 1
            return token.text.upper()
        return None

    def _sign(self, *wanted: str) -> str | None:
        token = self._next
        if token.kind == "sign" and token.text in wanted:
            self._at += 1
            return token.text
        return None

    def _need_word(self, wanted: str) -> None:
        if self._word(wanted) is None:
            raise self._unexpected()

    def _need_sign(self, wanted: str) -> None:
        if self._sign(wanted) is None:
            raise self._unexpected()

    def _unexpected(self) -> Refused:
        token = self._next
        return _malformed("Unexpected end" if token is _END else f"Unexpected token: {token.text}")

    def statement(self) -> _Statement:
        """Return the statement.

        Raises:
            Refused: it is none.
        """
        verb = self._word("SELECT", "INSERT", "UPDATE", "DELETE", "EXISTS")
        if verb is None:
            raise self._unexpected()
        if verb == "EXISTS":
            self._need_sign("(")
            self._need_word("SELECT")
            found = self._select()
            self._need_sign(")")
            found.is_check = True
        else:
            read = {"SELECT": self._select, "INSERT": self._insert, "UPDATE": self._update, "DELETE": self._delete}
            found = read[verb]()
        self._sign(";")
        if self._next is not _END:
            raise self._unexpected()
        if self._taken != len(self._parameters):
            raise invalid("Number of parameters in request and statement don't match.")
        found.values = self.values
        if found.where is not None:
            refuse_faults(found.where, self.values, "WHERE clause")
        return found

    def _name(self) -> str:
        token = self._take()
        if token.kind == "word":
            return token.text
        if token.kind == "quoted":
            return token.text[1:-1].replace('""', '"')
        self._at -= 1
        raise self._unexpected()

    def _source(self) -> tuple[str, str | None]:
        table = self._name()
        return table, self._name() if self._sign(".") else None

    def _path(self) -> Path:
        path: list[str | int] = [self._name()]
        while True:
            if self._sign("."):
                path.append(self._name())
            elif self._sign("["):
                token = self._take()
                if token.kind == "text":
                    path.append(token.text[1:-1].replace("''", "'"))
                elif token.kind == "number" and token.text.isdigit():
                    path.append(int(token.text))
                else:
                    self._at -= 1
                    raise self._unexpected()
                self._need_sign("]")
            else:
                return tuple(path)

    def _select(self) -> _Statement:
        paths: tuple[Path, ...] | None = None
        if not self._sign("*"):
            found = [self._path()]
            while self._sign(","):
                found.append(self._path())
            paths = tuple(found)
        self._need_word("FROM")
        table, index = self._source()
        statement = _Statement("SELECT", table, index, self._where(), paths=paths)
        if self._word("ORDER"):
            self._need_word("BY")
            self._path()
            statement.backwards = self._word("ASC", "DESC") == "DESC"
        return statement

    def _insert(self) -> _Statement:
        self._need_word("INTO")
        table = self._name()
        self._need_word("VALUE")
        value = self._value()
        if "M" not in value:
            raise _malformed("Expected a tuple")
        return _Statement("INSERT", table, item=value["M"])

    def _update(self) -> _Statement:
        table = self._name()
        sets: list[tuple[Path, Source]] = []
        removes: list[Path] = []
        adds: list[tuple[Path, str]] = []
        deletes: list[tuple[Path, str]] = []
        while word := self._word("SET", "REMOVE"):
            if word == "REMOVE":
                removes.append(self._path())
                continue
            while True:
                self._assign(sets, adds, deletes)
                if not self._sign(","):
                    break
        if not (sets or removes or adds or deletes):
            raise self._unexpected()
        update = Update(tuple(sets), tuple(removes), tuple(adds), tuple(deletes))
        if fault := overlap_of(update.paths):
            raise invalid(fault)
        where = self._where()
        return _Statement("UPDATE", table, where=where, update=update, returning=self._returning())

    def _assign(
        self,
        sets: list[tuple[Path, Source]],
        adds: list[tuple[Path, str]],
        deletes: list[tuple[Path, str]],
    ) -> None:
        path = self._path()
        self._need_sign("=")
        token = self._next
        if token.kind == "word" and token.text.lower() in {"set_add", "set_delete"}:
            self._take()
            self._need_sign("(")
            self._path()
            self._need_sign(",")
            operand = self._literals.operand(self._value())
            self._need_sign(")")
            (adds if token.text.lower() == "set_add" else deletes).append((path, operand.placeholder))
            return
        sets.append((path, self._sum()))

    def _sum(self) -> Source:
        left = self._term()
        while sign := self._sign("+", "-"):
            left = Sum(left, self._term(), sign)
        return left

    def _term(self) -> Source:
        token = self._next
        if token.kind == "word" and token.text.lower() in {"list_append", "if_not_exists"}:
            self._take()
            self._need_sign("(")
            first = self._sum()
            self._need_sign(",")
            second = self._sum()
            self._need_sign(")")
            if token.text.lower() == "list_append":
                return Joined(first, second)
            if isinstance(first, Plain) and isinstance(first.operand, At):
                return IfNotExists(first.operand.path, second)
            raise _malformed("if_not_exists needs a path")
        return Plain(self._operand())

    def _delete(self) -> _Statement:
        self._need_word("FROM")
        table = self._name()
        where = self._where()
        return _Statement("DELETE", table, where=where, returning=self._returning())

    def _returning(self) -> str | None:
        if not self._word("RETURNING"):
            return None
        kind, when = self._word("ALL", "MODIFIED"), self._word("OLD", "NEW")
        if kind is None or when is None:
            raise self._unexpected()
        self._need_sign("*")
        return f"{kind} {when}"

    def _where(self) -> Condition | None:
        return self._either() if self._word("WHERE") else None

    def _either(self) -> Condition:
        condition = self._all()
        while self._word("OR"):
            condition = Both(condition, self._all(), "OR")
        return condition

    def _all(self) -> Condition:
        condition = self._not()
        while self._word("AND"):
            condition = Both(condition, self._not(), "AND")
        return condition

    def _not(self) -> Condition:
        if self._word("NOT"):
            return Not(self._not())
        begin = self._at
        if self._sign("("):
            try:
                condition = self._either()
                self._need_sign(")")
            except Refused:  # what is in the parentheses is an operand
                self._at = begin
                self._taken = 0
            else:
                return condition
        return self._simple()

    def _simple(self) -> Condition:
        token = self._next
        if token.kind == "word" and token.text.lower() in {"begins_with", "contains", "attribute_type"}:
            name = self._take().text.lower()
            self._need_sign("(")
            first = self._operand()
            self._need_sign(",")
            second = self._operand()
            self._need_sign(")")
            if name == "begins_with":
                return BeginsWith(first, second)
            return Contains(first, second) if name == "contains" else HasType(first, second)
        left = self._operand()
        if sign := self._sign("=", "<>", "!=", "<", "<=", ">", ">="):
            return Comparison("<>" if sign == "!=" else sign, left, self._operand())
        negated = self._word("NOT") is not None
        found: Condition
        if self._word("BETWEEN"):
            low = self._operand()
            self._need_word("AND")
            found = Between(left, low, self._operand())
        elif self._word("IN"):
            close = ")" if self._sign("(") else "]"
            if close == "]":
                self._need_sign("[")
            choices = [self._operand()]
            while self._sign(","):
                choices.append(self._operand())
            self._need_sign(close)
            found = In(left, tuple(choices))
        elif self._word("IS"):
            negated = self._word("NOT") is not None
            found = self._is(left)
        else:
            raise self._unexpected()
        return Not(found) if negated else found

    def _is(self, left: Operand) -> Condition:
        word = self._word("MISSING", "NULL")
        if word is None or not isinstance(left, At):
            raise self._unexpected()
        if word == "MISSING":
            return Exists(left.path, wanted=False)
        return HasType(left, self._literals.operand({"S": "NULL"}))

    def _operand(self) -> Operand:
        token = self._next
        if token.kind == "word" and token.text.lower() == "size":
            following = self._tokens[self._at + 1 : self._at + 2]
            if following and following[0].text == "(":
                self._at += 2
                operand = self._operand()
                self._need_sign(")")
                return Size(operand)
        if self._sign("("):
            operand = self._operand()
            self._need_sign(")")
            return operand
        if token.kind == "quoted" or (
            token.kind == "word" and token.text.upper() not in {"TRUE", "FALSE", "NULL", "MISSING"}
        ):
            return At(self._path())
        return self._literals.operand(self._value())

    def _value(self) -> Value:
        token = self._take()
        if token.kind == "text":
            return {"S": token.text[1:-1].replace("''", "'")}
        if token.kind == "number":
            return {"N": token.text}
        if token.kind == "word" and token.text.upper() in {"TRUE", "FALSE"}:
            return {"BOOL": token.text.upper() == "TRUE"}
        if token.kind == "word" and token.text.upper() == "NULL":
            return {"NULL": True}
        if token.text == "?" and token.kind == "sign":
            self._taken += 1
            if self._taken > len(self._parameters):
                raise invalid("Number of parameters in request and statement don't match.")
            return self._parameters[self._taken - 1]
        if token.text == "-" and self._next.kind == "number":
            return {"N": f"-{self._take().text}"}
        if token.text == "[":
            return {"L": list(self._values("]"))}
        if token.text == "<<":
            return _set_of(list(self._values(">>")))
        if token.text == "{":
            return {"M": dict(self._members())}
        self._at -= 1
        raise self._unexpected()

    def _values(self, close: str) -> Iterator[Value]:
        while not self._sign(close):
            yield self._value()
            if not self._sign(","):
                self._need_sign(close)
                return

    def _members(self) -> Iterator[tuple[str, Value]]:
        while not self._sign("}"):
            token = self._take()
            if token.kind not in {"text", "quoted", "word"}:
                self._at -= 1
                raise self._unexpected()
            name = token.text if token.kind == "word" else token.text[1:-1]
            self._need_sign(":")
            yield name, self._value()
            if not self._sign(","):
                self._need_sign("}")
                return


def _set_of(values: list[Value]) -> Value:
    tags = {tag for value in values for tag in value}
    if len(tags) != 1 or not tags <= {"S", "N", "B"}:
        raise _malformed("A set has members of one type: text, number or binary")
    [tag] = tags
    return {f"{tag}S": [value[tag] for value in values]}


def _equal_values(where: Condition | None, values: dict[str, Value]) -> dict[str, list[Value]]:
    """Return the values that attributes must have by ``=`` or ``IN``, one of them each."""
    if isinstance(where, Both) and where.word == "AND":
        return {**_equal_values(where.left, values), **_equal_values(where.right, values)}
    if isinstance(where, Comparison) and where.sign == "=":
        for one, other in ((where.left, where.right), (where.right, where.left)):
            if isinstance(one, At) and len(one.path) == 1 and isinstance(other, Given):
                return {str(one.path[0]): [values[other.placeholder]]}
    if isinstance(where, In) and isinstance(where.operand, At) and len(where.operand.path) == 1:
        given = [each.given(values) for each in where.choices]
        if all(each is not None for each in given):
            return {str(where.operand.path[0]): [each for each in given if each is not None]}
    return {}


Done: TypeAlias = tuple[list[bytes], Table, Charge]
"""The items of an answer, the table, and what was taken."""


def _key(table: Table, statement: _Statement) -> Item:
    """Return the key that a statement about one item names.

    Raises:
        Refused: it does not name the whole key.
    """
    equal = _equal_values(statement.where, statement.values)
    if any(len(equal.get(part.name, ())) != 1 for part in table.parts):
        raise invalid("Where clause does not contain a mandatory equality on all key attributes")
    return {part.name: equal[part.name][0] for part in table.parts}


def _table(service: Service, statement: _Statement) -> Table:
    """Return the table of a statement.

    Raises:
        Refused: there is none, or its ARN is not one of this service: statements reach no other account.
    """
    table, name = service.table(statement.table), statement.table
    if name.startswith("arn:") and name != service.arn(table.name):
        raise denied(name)
    return table


def _write(service: Service, statement: _Statement, asked: dict[str, Any]) -> ItemWrite:
    """Return the write that an INSERT, an UPDATE or a DELETE says."""
    table = _table(service, statement)
    if statement.item is not None:
        item = statement.item
        position, size = admit_new(table, item)
        key = {part.name: item[part.name] for part in table.parts}
        return ItemWrite(
            table, position, key, Exists((table.hash[0].name,), wanted=False), statement.values, item=item, size=size
        )
    key = _key(table, statement)
    position = position_of_key(table, key)
    names = {part.name for part in table.parts}
    for path in statement.update.paths:
        if path[0] in names:
            raise invalid_value(f"Cannot update attribute {path[0]}. This attribute is part of the key")
    returns = asked.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
    write = ItemWrite(table, position, key, statement.where, statement.values, returns_on_failure=returns)
    if statement.verb == "UPDATE":
        refuse_faults(statement.update, statement.values, "UPDATE statement")
        write.update = statement.update
    write.is_check = statement.is_check
    return write


def _failed(write: ItemWrite, old: Item | None) -> Refused:
    if write.item is not None:
        return Refused("DuplicateItemException", "Duplicate primary key exists in table")
    members = {"Item": old} if write.returns_on_failure and old is not None else {}
    return Refused("ConditionalCheckFailedException", "The conditional request failed", **members)


def _changed(service: Service, statement: _Statement, asked: dict[str, Any]) -> Done:
    write = _write(service, statement, asked)
    old = write.old_item
    if statement.verb == "DELETE" and old is None:
        service.charge_in_vain(write)
        return [], write.table, Charge(table_halves=2)
    if not write.is_allowed(old):
        service.charge_in_vain(write)
        raise _failed(write, old)
    change, charge = service.carry_out(write, old)
    returned: list[bytes] = []
    if statement.returning is not None:
        kind, when = statement.returning.split()
        entry = change.old if when == "OLD" else change.new
        if entry is not None:
            returned = [entry.text if kind == "ALL" else wire.write(projected(entry.item, write.changed_paths))]
    return returned, write.table, charge


def _cut(statement: _Statement) -> Callable[[Entry], bytes]:
    paths = statement.paths
    if paths is None:
        return lambda entry: entry.text

    def cut(entry: Entry) -> bytes:
        item = entry.item
        found: dict[str, Value] = {}
        for path in paths:
            value = find(item, path)
            if value is not None:
                named = [step for step in path if isinstance(step, str)]
                found[named[-1]] = value
        return wire.write(found)

    return cut


def _place(table: Table, statement: _Statement) -> Place:
    if statement.index in table.vectors:
        raise invalid("Scan operation not supported on this index type")
    return table if statement.index is None else readable(table.indexes, statement.index)


def _positions(place: Place, statement: _Statement, start: Position | None) -> Iterator[Position]:
    """Yield the positions that a SELECT looks at: of the partition keys that it names, or of all."""
    equal = _equal_values(statement.where, statement.values)
    ranges: list[tuple[Position, Position | None]] = [(b"", None)]
    if all(part.name in equal for part in place.hash) and len(place.hash) == 1:
        [part] = place.hash
        begins: list[Position] = []
        for value in equal[part.name]:
            if part.type not in value:
                raise invalid("Key attribute in the WHERE clause has the wrong type")
            begins.append(place.partition([value]))
        ranges = [(begin, after(begin)) for begin in begins]
    walk = place.keys.backwards if statement.backwards else place.keys.between
    for low, high in ranges:
        if start is not None and low <= start and (high is None or start < high):  # where the last page ended
            low, high = (low, start) if statement.backwards else (start + b"\0", high)  # noqa: PLW2901
            start = None
        if start is None:
            yield from walk(low, high)


def _begin(place: Place, equal: dict[str, list[Value]]) -> Position:
    """Return where the partition key that a SELECT names begins; the beginning of all if it names none."""
    values = [equal[part.name][0] for part in place.hash if part.name in equal]
    return place.partition(values) if len(values) == len(place.hash) else b""


def _selected(
    service: Service, statement: _Statement, asked: dict[str, Any], start: Position | None = None
) -> tuple[Done, Position | None]:
    """Return a page of a SELECT, and where it ended if there may be more."""
    table = _table(service, statement)
    place = _place(table, statement)
    consistent = bool(asked.get("ConsistentRead"))
    if isinstance(place, Index) and place.is_global and consistent:
        raise invalid("Consistent reads are not supported on global secondary indexes")
    if service.lag is not None and not consistent:
        place = service.lag.seen(place, service.lag.age())
    equal = _equal_values(statement.where, statement.values)
    if statement.index is None and all(len(equal.get(part.name, ())) == 1 for part in table.parts):
        key = {part.name: equal[part.name][0] for part in table.parts}
        position = position_of_key(table, key)
        positions: Iterable[Position] = [position] if position in place.entries else []
    else:
        positions = _positions(place, statement, start)
    where = statement.where
    index = place if isinstance(place, Index) else None
    begin = _begin(place, equal)
    if service.throttle is not None:
        service.throttle.begin_page(table, index, begin)

    def fits(entry: Entry) -> bool:
        return where is None or where.holds(entry.item, statement.values)

    found = page(place, positions, int(asked.get("Limit", 0)), fits)
    charge = meters.read(found.size, consistent=consistent, index=index)
    if service.throttle is not None:
        service.throttle.end_page(table, index, begin, charge)
    return (list(map(_cut(statement), found.entries)), table, charge), found.ended


def _parsed(asked: dict[str, Any]) -> _Statement:
    parameters: list[Value] = asked.get("Parameters") or []
    return _Parser(asked["Statement"], parameters).statement()


def execute_statement(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out ExecuteStatement."""
    statement = _parsed(body)
    ended: Position | None = None
    identity = wire.write([body["Statement"], body.get("Parameters")]).hex()
    if statement.verb == "SELECT":
        done, ended = _selected(service, statement, body, _start(body, identity))
    else:
        done = _changed(service, statement, body)
    texts, table, charge = done
    return {
        "Items": tuple(texts),
        "NextToken": None if ended is None else b64encode(wire.write([identity, ended.hex()])).decode(),
        "ConsumedCapacity": meters.consumed(body.get("ReturnConsumedCapacity"), table, charge),
    }


def _start(body: dict[str, Any], identity: str) -> Position | None:
    token = body.get("NextToken")
    if token is None:
        return None
    try:
        of, ended = wire.read(b64decode(token, validate=True))
        start = bytes.fromhex(ended)
    except (Base64Error, ValueError, TypeError, Refused):
        raise invalid("Invalid NextToken") from None
    if of != identity:
        raise invalid("NextToken does not match request")
    return start


def batch_execute_statement(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out BatchExecuteStatement: each statement has its own success or failure."""
    responses: list[bytes] = []
    charges: dict[str, Charge] = {}
    for asked in body["Statements"]:
        try:
            statement = _parsed(asked)
            if statement.verb == "SELECT":
                _key(_table(service, statement), statement)
                (texts, table, charge), _ended = _selected(service, statement, asked)
            else:
                texts, table, charge = _changed(service, statement, asked)
        except Refused as refused:
            error: dict[str, Any] = {"Code": _code(refused), "Message": refused.message}
            if "Item" in refused.members:
                error["Item"] = refused.members["Item"]
            responses.append(wire.answer({"Error": error}))
            continue
        charges[table.name] = charges.get(table.name, Charge()) + charge
        responses.append(wire.answer({"TableName": table.name, "Item": texts[0] if texts else None}))
    return {
        "Responses": tuple(responses),
        "ConsumedCapacity": _capacities(service, body, charges),
    }


def _capacities(service: Service, body: dict[str, Any], charges: dict[str, Charge], kind: str | None = None) -> Any:
    asked = body.get("ReturnConsumedCapacity")
    found = [meters.consumed(asked, service.table(name), charge, kind=kind) for name, charge in charges.items()]
    return found if found and found[0] is not None else None


def _code(refused: Refused) -> str:
    code = refused.code.removesuffix("Exception")
    return f"{code}Error" if code in {"Validation", "Throttling"} else code


def execute_transaction(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out ExecuteTransaction: all statements or none; they all read, or all write."""
    token = body.get("ClientRequestToken")
    identity = wire.write(body["TransactStatements"]).decode()
    statements = [_parsed(asked) for asked in body["TransactStatements"]]
    reads = [statement.verb == "SELECT" and not statement.is_check for statement in statements]
    if any(reads) and not all(reads):
        raise invalid("Transaction request cannot include both read and write operations")
    if all(reads):
        return _read_together(service, body, statements)
    if token is not None and (before := service.remembered(token, identity)) is not None:
        read_again(service, before)
        return {"Responses": [{} for _statement in statements]}
    writes = [
        _write(service, statement, asked)
        for statement, asked in zip(statements, body["TransactStatements"], strict=True)
    ]
    try:
        done = carry_out(service, list(writes))
    except Refused as refused:
        reasons = refused.members.get("CancellationReasons")
        if reasons is None:
            raise
        raise cancelled([_of_statement(reason, write) for reason, write in zip(reasons, writes, strict=True)]) from None
    if token is not None:
        service.remember(token, identity, done)
    charges: dict[str, Charge] = {}
    for write, _size, charge in done:
        charges[write.table.name] = charges.get(write.table.name, Charge()) + charge
    return {
        "Responses": [{} for _statement in statements],
        "ConsumedCapacity": _capacities(service, body, charges, "Write"),
    }


def _of_statement(reason: dict[str, Any], write: ItemWrite) -> dict[str, Any]:
    if reason["Code"] == "ConditionalCheckFailed" and write.item is not None:
        return {"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"}
    return reason


def _read_together(service: Service, body: dict[str, Any], statements: list[_Statement]) -> dict[str, Any]:
    responses: list[bytes] = []
    charges: dict[str, Charge] = {}
    wanted: list[Wanted | None] = []
    for statement in statements:
        table = _table(service, statement)
        position = position_of_key(table, _key(table, statement))
        entry = table.entries.get(position)
        if (
            entry is not None
            and statement.where is not None
            and not statement.where.holds(entry.item, statement.values)
        ):
            entry = None
        charge = Charge(table_halves=read_half_units(entry.size if entry else 0, transactional=True))
        charges[table.name] = charges.get(table.name, Charge()) + charge
        wanted.append((table, position, charge, None))
        responses.append(wire.answer({"Item": None if entry is None else _cut(statement)(entry)}))
    take_together(service, "Read", wanted)
    return {"Responses": tuple(responses), "ConsumedCapacity": _capacities(service, body, charges, "Read")}
