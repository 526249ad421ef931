"""Typed field expressions: what class access to a model's field gives, and the conditions made of it.

To a type checker ``Expr`` is invariant in the field's type, so that a comparison with another type is refused; what
only reads (``begins_with``, ``contains``, ``[...]``) hangs on a covariant base with concrete ``self`` types. The other
side of a comparison is only read as well: a field that may be None compares with one that may not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeAlias, TypeVar, overload

from dynamap_async.codec import ALL_TAGS, Converter, check_value, encode_any, refusal
from dynamap_async.errors import EncodeError, ExpressionError
from dynamap_async.errors.habits import FIELD_NAMES, closest, no_attribute
from dynamap_async.expressions.comparisons import between, compare, equal, is_in, unequal
from dynamap_async.expressions.conditions import Condition, Function, Or, Size, Value, path_in
from dynamap_async.expressions.paths import Path, undeclared
from dynamap_async.expressions.value_changes import Changeable
from dynamap_async.wire import AttributeValue, Tag

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from pydantic import BaseModel

    from dynamap_async.expressions.conditions import _UseAmpersand

    class _NotAnIterator:
        """The declared result of ``iter(field)``: no iterator, so that a checker refuses ``for`` and ``*``."""


_WITHOUT_SIZE: Final[frozenset[Tag]] = frozenset(("N", "BOOL", "NULL"))

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
V = TypeVar("V")
K = TypeVar("K")
P = TypeVar("P")
P_co = TypeVar("P_co", covariant=True)
D = TypeVar("D")


class HasPaths(Protocol[P_co]):
    """A nested model: class access to a field that holds one gives the model class to a type checker."""

    def __paths__(self) -> P_co:
        """Name the type whose class attributes are the paths below."""
        ...


class Readable(Generic[T_co]):
    """The operators that only read, for every type that a field may be narrowed to."""

    __slots__ = ("_operand",)

    _operand: Path | Size

    def begins_with(self: Readable[str | bytes | None], prefix: str | bytes, /) -> Condition:
        """Return the condition that the text or binary value starts with the prefix.

        Args:
            prefix: a text for fields that are stored as text, bytes for binary ones.

        Raises:
            ExpressionError: the field is not stored as text or binary data.
        """
        path = path_in(self._operand, "begins_with")
        # Whatever the checkers say, a program may pass anything.
        wanted: object = prefix
        for form in path.converter.forms:
            if form.tags.isdisjoint(("S", "B")):
                raise ExpressionError(
                    f"begins_with() needs a field that is stored as text or binary data, and {path} holds "
                    f"{path.converter.label}"
                )
        stored: AttributeValue = {}
        if isinstance(wanted, str | bytes):
            stored = _part(path, "begins_with", encode_any, wanted)
        if path.converter.tags.isdisjoint(stored):
            raise ExpressionError(f"{path}.begins_with(): {refusal(_part_of(path.converter), wanted).reason}")
        return Function("begins_with", path, (Value(stored),))


class Expr(Readable[T], Changeable[T], Generic[T]):
    """A field of a model, or a part of one, as an operand of conditions and updates.

    Args:
        operand: the path of the field, or the size of its value.
    """

    __slots__ = ()

    def __init__(self, operand: Path | Size, /) -> None:
        self._operand = operand

    def __repr__(self) -> str:
        return f"<Expr {self._operand}>"

    if not TYPE_CHECKING:  # checkers would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or not isinstance(self._operand, Path):
                raise AttributeError(name)
            raise _no_attribute(self._operand, name)

    def __eq__(self, other: T | Readable[T], /) -> Condition:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]  # answers a condition, not a bool
        return equal(self._operand, _operand_or_value(other))

    def __ne__(self, other: T | Readable[T], /) -> Condition:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]  # answers a condition, not a bool
        return unequal(self._operand, _operand_or_value(other))

    @overload
    def __lt__(self, other: T | Readable[T], /) -> Condition: ...
    @overload
    def __lt__(self: Readable[Decimal | None], other: int, /) -> Condition: ...
    def __lt__(self: Any, other: object, /) -> Condition:
        return compare("<", self._operand, _operand_or_value(other))

    @overload
    def __le__(self, other: T | Readable[T], /) -> Condition: ...
    @overload
    def __le__(self: Readable[Decimal | None], other: int, /) -> Condition: ...
    def __le__(self: Any, other: object, /) -> Condition:
        return compare("<=", self._operand, _operand_or_value(other))

    @overload
    def __gt__(self, other: T | Readable[T], /) -> Condition: ...
    @overload
    def __gt__(self: Readable[Decimal | None], other: int, /) -> Condition: ...
    def __gt__(self: Any, other: object, /) -> Condition:
        return compare(">", self._operand, _operand_or_value(other))

    @overload
    def __ge__(self, other: T | Readable[T], /) -> Condition: ...
    @overload
    def __ge__(self: Readable[Decimal | None], other: int, /) -> Condition: ...
    def __ge__(self: Any, other: object, /) -> Condition:
        return compare(">=", self._operand, _operand_or_value(other))

    def __hash__(self) -> int:
        return hash(self._operand)

    def __bool__(self) -> _UseAmpersand:
        raise ExpressionError(
            f"{self._operand} is a field, not a condition; write {self._operand} == True, or .exists()"
        )

    def __iter__(self) -> _NotAnIterator:
        raise ExpressionError(f"{self._operand} cannot be iterated over: it names a field, not the value of an item")

    def __contains__(self, other: object, /) -> bool:
        raise ExpressionError(f"write {self._operand}.contains({other!r}) instead of {other!r} in {self._operand}")

    def is_(self, value: T, /) -> Condition:
        """Return the condition that the value is this one: ``==`` spelled so that linters accept True and None.

        Args:
            value: what is stored, of the type of the field.
        """
        return self == value

    def between(self, low: T, high: T, /) -> Condition:
        """Return the condition ``low <= value <= high``.

        Args:
            low: the least value that matches.
            high: the greatest value that matches.

        With a low end above the high end it matches nothing: a query is answered without a request, and a write is
        refused.

        Raises:
            ExpressionError: the field's type has no order.
        """
        return between(self._operand, low, high)

    def is_in(self, *values: T | Readable[T | None]) -> Condition:
        """Return the condition that the value is one of these.

        Without values it matches nothing: a query is answered without a request, and a write is refused.

        Args:
            values: values of the type of the field, or other fields that may hold the value; ``*names`` for a list.

        Raises:
            EncodeError: a value is of another type than the field's.
            ExpressionError: a field is of another stored type.
        """
        return is_in(self._operand, tuple(map(_operand_or_value, values)))

    @overload
    def contains(self: Readable[str | None], part: str | Readable[str | None], /) -> Condition: ...
    @overload
    def contains(self: Readable[bytes | None], part: bytes | Readable[bytes | None], /) -> Condition: ...
    @overload
    def contains(self: Readable[AbstractSet[V] | None], member: V | Readable[V | None], /) -> Condition: ...
    @overload
    def contains(self: Readable[list[V] | tuple[V, ...] | None], member: V | Readable[V | None], /) -> Condition: ...
    @overload
    def contains(self: Changeable[Sequence[V]], member: V | Readable[V | None], /) -> Condition: ...
    @overload
    def contains(self: Changeable[Sequence[V] | None], member: V | Readable[V | None], /) -> Condition: ...
    def contains(self: Any, part: object, /) -> Condition:
        """Return the condition that the text has the part, or the set or list has the member.

        Args:
            part: a part of a text or of bytes, or a member of a set or list; or another field that holds one. An item
                without that field does not match.

        Raises:
            ExpressionError: the field is none of these, or the other one is stored as something that it cannot contain.
            EncodeError: the member is of another type than the field's members.
        """
        path = path_in(self._operand, "contains")
        part = _operand_or_value(part)
        if isinstance(part, Path | Size):
            return Function("contains", path, (_containable(path, part),))
        if path.converter.in_one_form:
            return Function("contains", path, (Value(_contained(path, path.converter, part)),))
        forms = path.converter.forms
        conditions = [Function("contains", path, (Value(_contained(path, form, part)),)) for form in forms]
        return Or(tuple(conditions))

    if TYPE_CHECKING:

        @overload
        def __getitem__(self: Readable[Sequence[HasPaths[P]] | None], index: int, /) -> P: ...  # type: ignore[overload-overlap]  # pyright: ignore[reportOverlappingOverload]  # a nested model is more specific
        @overload
        def __getitem__(self: Readable[Mapping[K, HasPaths[P]] | None], key: K, /) -> P: ...  # type: ignore[overload-overlap]  # a nested model is more specific
        @overload
        def __getitem__(self: Readable[list[V] | None], index: int, /) -> Expr[V]: ...
        @overload
        def __getitem__(self: Changeable[Sequence[V]], index: int, /) -> Expr[V]: ...
        @overload
        def __getitem__(self: Changeable[Sequence[V] | None], index: int, /) -> Expr[V]: ...
        @overload
        def __getitem__(self: Readable[Mapping[K, V] | None], key: K, /) -> Expr[V]: ...
        @overload
        def __getitem__(self: Readable[tuple[Any, ...] | None], index: int, /) -> Expr[Any]: ...
        @overload
        def __getitem__(self: Readable[BaseModel | None], name: str, /) -> Expr[Any]: ...
        @overload
        def __getitem__(self: Readable[DataclassInstance | None], name: str, /) -> Expr[Any]: ...

    def __getitem__(self, part: Any, /) -> Any:
        """Return the expression of an element of a list or tuple, a key of a map, or a nested model's field."""
        return at(path_in(self._operand, "[...]").child(part))

    def exists(self) -> Condition:
        """Return the condition that the item has the attribute (a stored NULL counts)."""
        return Function("attribute_exists", path_in(self._operand, "exists"))

    def missing(self) -> Condition:
        """Return the condition that the item does not have the attribute."""
        return Function("attribute_not_exists", path_in(self._operand, "missing"))

    def has_type(self, kind: Tag, /) -> Condition:
        """Return the condition that the stored type is this one.

        Args:
            kind: DynamoDB's letters of the type: S, N, B, BOOL, NULL, SS, NS, BS, L or M.
        """
        if kind not in ("S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"):
            raise ExpressionError(
                f"{self._operand}.has_type({kind!r}): the stored types are S N B BOOL NULL SS NS BS L M"
            )
        return Function("attribute_type", path_in(self._operand, "has_type"), (Value({"S": kind}),))

    def size(self) -> Expr[int]:
        """Return the size of the value: members of a set, list or map, bytes of binary data, UTF-16 units of text.

        Raises:
            ExpressionError: the field is stored as a number, a boolean or None, which have no size.
        """
        path = path_in(self._operand, "size")
        if all(form.tags <= _WITHOUT_SIZE for form in path.converter.forms):
            raise ExpressionError(
                f"{path}.size(): {path} holds {path.converter.label}, which is stored as "
                f"{' or '.join(sorted(path.converter.tags))} and has no size; compare the value itself",
                expression=str(path),
            )
        return Expr(Size(path))


class DocumentPath:
    """A field that holds a nested model: its attributes are the nested model's fields, and nothing else.

    It has no methods of its own, so that no field is hidden by an operator's name; ``path(Tweet.address)`` gives the
    operators of the document as a whole.
    """

    __slots__ = ("_dynamap_path",)

    def __init__(self, path: Path) -> None:
        self._dynamap_path = path

    def __repr__(self) -> str:
        return f"<DocumentPath {self._dynamap_path}>"

    def __getattr__(self, name: str) -> Any:
        # copy, pickle, inspect and Pydantic probe dunder names, which no field has.
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return at(self._dynamap_path.member(name))
        except ExpressionError:
            converter = self._dynamap_path.converter
            near = closest(name, converter.names)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise AttributeError(
                f"{converter.label} has no field {name!r} (reached through {self._dynamap_path}){hint}"
            ) from None

    def __getitem__(self, name: str) -> Any:
        return at(self._dynamap_path.child(name))

    def __eq__(self, other: object) -> Any:  # a condition
        return equal(self._dynamap_path, _operand_or_value(other))

    def __ne__(self, other: object) -> Any:
        return unequal(self._dynamap_path, _operand_or_value(other))

    def __hash__(self) -> int:
        return hash(self._dynamap_path)

    def __bool__(self) -> bool:
        name = self._dynamap_path
        raise ExpressionError(f"{name} is a field, not a condition; write path({name}).exists()")

    def __iter__(self) -> _NotAnIterator:
        raise ExpressionError(
            f"{self._dynamap_path} cannot be iterated over: it names a field, not the value of an item"
        )


Selectable: TypeAlias = Expr[V] | type[V]
"""What ``select`` takes: a field, or (to a type checker) the nested model that a field holds."""


def at(path: Path) -> Expr[Any] | DocumentPath:
    """Return what class access to a field gives: a DocumentPath where it holds a nested model, else an Expr."""
    return DocumentPath(path) if path.converter.document else Expr(path)


@overload
def path(field: str, /) -> Expr[Any]: ...
@overload
def path(field: type[D], /) -> Expr[D]: ...
def path(field: object, /) -> Expr[Any]:
    """Return the operators of a nested document as a whole, or of a stored attribute that no model declares.

    ``path(Tweet.address).exists()`` asks for the document. ``path("old_name")`` names an attribute as it is stored, in
    conditions, updates and ``select`` of any model that does not declare it; values are stored, and read, by their own
    type, as those of a field of type Any.

    Args:
        field: a field that holds a nested model, such as ``Tweet.address``, or the stored name of an attribute.

    Raises:
        ExpressionError: it names no field, or no attribute can have this name.
    """
    return Expr(undeclared(field) if isinstance(field, str) else path_of(field))


def path_of(expression: object) -> Path:
    """Return the path that a field expression names.

    Raises:
        ExpressionError: it names no path.
    """
    if isinstance(expression, DocumentPath):
        return expression._dynamap_path  # noqa: SLF001 - the class has no public names, by design
    if isinstance(expression, Expr):
        return path_in(expression._operand, "here")  # noqa: SLF001 - the operators and their operand are one concept
    raise ExpressionError(f"{expression!r} is not a field of a model; write Model.field")


_METHODS: Final = tuple(name for name in dir(Expr) if not name.startswith("_"))


def _no_attribute(path: Path, name: str) -> AttributeError:
    """Return the error of an attribute that a field does not have, with what to write instead."""
    holds = f"{path} holds {path.converter.label}"
    if path.converter.step(name) is not None:
        return AttributeError(f"{holds}: write {path}[{name!r}], or derive that class from Model for {path}.{name}")
    kind = str(path) if name in FIELD_NAMES else f"{holds}; its expression"
    return no_attribute(kind, name, FIELD_NAMES, _METHODS, model=path.owner.__name__, field=str(path))


def _contained(path: Path, form: Converter, part: object) -> AttributeValue:
    """Return an element or part that the value at a path may contain, in this stored form."""
    member = form.member
    if member is not None:
        return _part(path, "contains", member.encode, part)
    if isinstance(part, str | bytes) and form.tags & (stored := _part(path, "contains", encode_any, part)).keys():
        return stored
    if form.tags & {"S", "B"}:
        raise ExpressionError(f"{path}.contains(): {refusal(_part_of(form), part).reason}")
    problem = "which has no parts"
    if "L" in form.tags:  # a tuple
        problem = f"whose positions have types of their own; compare one, as in {path}[0] == {part!r}"
    elif form is not path.converter:
        problem = f"also stored as {' or '.join(sorted(form.tags))}, which has no parts"
    raise ExpressionError(f"{path}.contains({part!r}): {path} holds {path.converter.label}, {problem}")


def _part(path: Path, function: str, encode: Callable[[Any], AttributeValue], part: object) -> AttributeValue:
    """Return a part that the value at a path may contain or begin with, in its stored form."""
    try:
        stored = encode(part)
        check_value(stored)
    except EncodeError as error:
        raise error.at(f"{path.spelled}.{function}()", model=path.model) from None
    return stored


def _containable(path: Path, part: Path | Size) -> Path | Size:
    """Return another operand that a text, a set or a list at a path may contain.

    Raises:
        ExpressionError: it can never contain that one.
    """
    member, whole = path.converter.member, path.converter.tags & {"S", "B"}
    # A text contains texts; a list or set contains what its members are stored as.
    tags = member.tags | whole if member is not None else whole
    stored: frozenset[Tag] = part.converter.tags if isinstance(part, Path) else frozenset(("N",))
    label = part.converter.label if isinstance(part, Path) else "int"
    several = [each for each in (path, part) if isinstance(each, Path) and not each.converter.in_one_form]
    if several:
        problem = f"{several[0]} has several stored forms, of which the other field may have another"
    elif path == part:
        problem = "DynamoDB refuses to compare a field with itself"
    elif path.converter.tags != ALL_TAGS and tags.isdisjoint(stored):
        problem = f"{path} holds {path.converter.label}, which never contains {label}"
    else:
        return part
    raise ExpressionError(f"{path}.contains({part}): {problem}; compare in Python after reading", expression=str(path))


def _part_of(form: Converter) -> str:
    """Return the stored type of a part of a text or binary value."""
    return " or ".join(name for tag, name in (("S", "str"), ("B", "bytes")) if tag in form.tags)


def _operand_or_value(value: object) -> object:
    match value:
        case Expr():
            return value._operand  # noqa: SLF001 - the operators and their operand are one concept
        case DocumentPath():
            return path_of(value)
        case _:
            return value
