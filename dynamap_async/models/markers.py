"""Field markers: what an annotation says about an attribute's role, and ``attr`` for the rest.

To a type checker a marker is a generic descriptor: class access gives an expression, instance access the value.
At run time ``PartitionKey[str]`` is ``Annotated[str, Role.PARTITION_KEY]``, so Pydantic sees plain ``str``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from types import EllipsisType, FrameType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Generic,
    Literal,
    Protocol,
    TypeAlias,
    TypedDict,
    TypeVar,
    Unpack,
    get_args,
    get_origin,
    overload,
)
from uuid import UUID

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WithJsonSchema, WrapValidator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from dynamap_async.codec import StoredForm, to_epoch_seconds
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import ModelDefinitionError
from dynamap_async.models.assigned import Assigned, new_write_id, unassigned
from dynamap_async.models.templates import DeclaredTemplate, OnlyWhen
from dynamap_async.wire import Tag

if TYPE_CHECKING:
    from pydantic import BaseModel

    from dynamap_async.expressions import Expr, HasPaths

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
P = TypeVar("P")

OtherForms: TypeAlias = StoredForm | Tag | tuple[StoredForm | Tag, ...]
"""What ``attr(also_stored_as=...)`` takes."""


class Role(Enum):
    """The role of an attribute in its table."""

    ATTRIBUTE = "Attr"
    PARTITION_KEY = "PartitionKey"
    SORT_KEY = "SortKey"
    TIME_TO_LIVE = "TimeToLive"
    VERSION = "Version"


@dataclass(frozen=True, slots=True)
class StoredAs:
    """What ``attr`` says beyond Pydantic's own field settings; kept in the field's metadata."""

    name: str | None = None
    form: StoredForm | None = None
    stored: bool = True
    """Whether the field is an attribute of its own; otherwise it is stored in a templated key only."""
    others: tuple[StoredForm | Tag, ...] = ()
    """The forms in which values are found too."""
    of_class: bool = False
    """Whether the form is that of all times of a class, which a subclass may replace."""


@dataclass(frozen=True, slots=True)
class Shards:
    """Over how many partitions the items of one partition key are spread: ``attr(shards=Shards(10, by="region"))``."""

    count: int
    """The number of partitions, 2 to 100."""
    _: KW_ONLY
    by: str | None = None
    """The field that an item's partition is calculated from; without it the sort key, for a partition key of the table,
    and the table's whole key, for one of an index."""
    before: int | None = None
    """The number of partitions before it was changed: reads look in the old places too, and writes move items."""


OURS: Final = (Role, StoredAs, Assigned, DeclaredTemplate, Shards)
"""What stands in a field's metadata for this library alone; Pydantic's part of it has no need of these."""


def set_metadata(info: FieldInfo, metadata: list[Any]) -> None:
    """Replace a field's metadata by a list of its own, because base classes may share the list.

    Args:
        metadata: all of it, from now on.
    """
    info.metadata = metadata


def stored_name(name: str, info: FieldInfo) -> str:
    """Return the stored attribute's name of a field: ``attr(name=...)``, else the field's own."""
    for each in info.metadata:
        if isinstance(each, StoredAs) and each.name is not None:
            return each.name
    return name


def other_forms(metadata: Iterable[Any]) -> tuple[StoredForm | Tag, ...]:
    """Return the forms in which a field's values are found too: ``attr(also_stored_as=...)``."""
    return next((each.others for each in metadata if isinstance(each, StoredAs) and each.others), ())


def stored_form(info: FieldInfo) -> StoredForm | None:
    """Return the field's other stored form: ``attr(stored_as=...)``."""
    return next((each.form for each in info.metadata if isinstance(each, StoredAs) and each.form is not None), None)


if TYPE_CHECKING:

    class _Field(Generic[T_co]):
        """A field by its type, for what depends on the type: a checker compares it as a class, never as a protocol."""

    class _Access(_Field[T_co]):
        """What reading a field gives: of the class, its expression, or the class of a nested model; else a value.

        ty passes the descriptor before the two arguments, as Python does; the others pass only those.
        """

        @overload
        def __call__(self: _Field[HasPaths[P] | None], instance: None, owner: Any, /) -> P: ...
        @overload
        def __call__(self, instance: None, owner: Any, /) -> Expr[T_co]: ...
        @overload
        def __call__(self, instance: BaseModel, owner: Any, /) -> T_co: ...
        @overload
        def __call__(self: _Field[HasPaths[P] | None], field: Any, instance: None, owner: Any, /) -> P: ...
        @overload
        def __call__(self, field: Any, instance: None, owner: Any, /) -> Expr[T_co]: ...
        @overload
        def __call__(self, field: Any, instance: BaseModel, owner: Any, /) -> T_co: ...
        def __call__(self, *given: Any) -> Any: ...

    def _access(get: Callable[[Any, Any, Any], T], /) -> _Access[T]: ...

    class _Readable(Generic[T_co]):
        """The reading half of a marker, covariant: what class access and instance access give."""

        # A protocol, which Attr is, is no _Readable to ty, and pyrefly finds no nested model by the type of `self`: so
        # reading is an object of its own, whose type is compared. pyright wants a function, and takes the last of two.
        if 1 == 1:  # noqa: PLR0133

            @_access
            def __get__(self, instance: Any, owner: Any, /) -> T_co: ...  # pyright: ignore[reportRedeclaration]  # see above
        else:

            @overload  # type: ignore[no-redef]  # see above
            def __get__(self: _Readable[HasPaths[P] | None], instance: None, owner: Any, /) -> P: ...
            @overload
            def __get__(self, instance: None, owner: Any, /) -> Expr[T_co]: ...
            @overload
            def __get__(self, instance: BaseModel, owner: Any, /) -> T_co: ...
            def __get__(self, instance: Any, owner: Any, /) -> Any: ...

    class _Writable(_Readable[T], Generic[T]):
        """The writing half, which also tells checkers what the constructor takes."""

        def __set__(self, instance: Any, value: T, /) -> None: ...

    class _WritableTime(_Writable[T], Generic[T]):
        def __set__(self, instance: Any, value: T | timedelta, /) -> None: ...

    # Checkers take `likes: Attr[int] = 0` for an assignment of an int to a descriptor. To a protocol they take it, and
    # members of a protocol are only those of bases that are protocols too: these have none, so each default fits. What
    # does not fit the type is refused when the class is made. `attr(default=...)` gives a subclass, which checkers
    # compare by the type between the brackets.

    class Attr(_Writable[T], Protocol[T]):  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues]  # see above
        """A field with a typed expression. Class access gives ``Expr[T]``, instance access ``T``."""

    PartitionKey: TypeAlias = Attr[T]
    SortKey: TypeAlias = Attr[T]
    Version: TypeAlias = Attr[T]

    class TimeToLive(_WritableTime[T], Attr[T], Protocol[T]):  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues]  # see above
        """The time after which DynamoDB deletes the item, stored as whole epoch seconds."""

    class _Given(TimeToLive[T], Attr[T]):
        """The type of ``attr``'s result: assignable to each marker, so that a default's type is checked."""


else:

    class _Marker:
        """A marker without its type; Pydantic meets it only where the ``[...]`` was forgotten."""

        @classmethod
        def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
            raise BareMarkerError(cls.__name__)

    class Attr(_Marker):
        """A field with a typed expression. Class access gives ``Expr[T]``, instance access ``T``."""

        def __class_getitem__(cls, type_: Any) -> Any:
            return Annotated[_type(type_), Role.ATTRIBUTE]

    class PartitionKey(_Marker):
        """The partition key of the model's table."""

        def __class_getitem__(cls, type_: Any) -> Any:
            return Annotated[_type(type_), Role.PARTITION_KEY]

    class SortKey(_Marker):
        """The sort key of the model's table."""

        def __class_getitem__(cls, type_: Any) -> Any:
            return Annotated[_type(type_), Role.SORT_KEY]

    class TimeToLive(_Marker):
        """The time after which DynamoDB deletes the item, stored as whole epoch seconds."""

        def __class_getitem__(cls, type_: Any) -> Any:
            # Defaults too: the usual one is now plus some days.
            return Annotated[
                _type(type_), Role.TIME_TO_LIVE, WrapValidator(_whole_seconds), Field(validate_default=True)
            ]

    class Version(_Marker):
        """The number of times that the item was written, for optimistic locking."""

        def __class_getitem__(cls, type_: Any) -> Any:
            return Annotated[_type(type_), Role.VERSION]


_VALUES: Final = (FieldInfo, date, time, timedelta, Decimal, UUID)


def _type(given: Any) -> Any:
    """Return the type of a marker, checked not to be a value, nor to be made of one.

    Raises:
        ModelDefinitionError: it is one, as in ``date: Attr[date] = attr(...)``, where the name means the default.
        HiddenTypeError: so it is, and the annotation is read after the body.
    """
    if _is_value(given):
        raise _named_as_its_type(sys._getframe(2))  # noqa: SLF001 - of the class body
    return given


class HiddenTypeError(TypeError):
    """A marker was given a default instead of its type; the metaclass turns this into a ModelDefinitionError."""


def hidden_type(model: str) -> ModelDefinitionError:
    """Return the error of a field with the name of its type."""
    return ModelDefinitionError(
        f"{model}: a field with a default has the name of its type, so that inside the class this name is the "
        "default; import the type under another name, such as import datetime as dt, and write Attr[dt.date]",
        model=model,
    )


def _is_value(given: Any) -> bool:
    return isinstance(given, _VALUES) or (
        get_origin(given) not in (None, Annotated, Literal) and any(map(_is_value, get_args(given)))
    )


def _named_as_its_type(frame: FrameType) -> Exception:
    """Return the error of a field with the name of its type, in the body of a class that does not exist yet.

    Annotations that are read later, as from Python 3.14 on, are read outside of the body, which has the class's name.
    """
    return hidden_type(frame.f_code.co_name) if "__qualname__" in frame.f_locals else HiddenTypeError()


def _in_union(_: Any, __: Any) -> Any:
    """Refuse a field as a member of a union: in ``date: Attr[date | None] = attr(...)`` the name means the field."""
    raise _named_as_its_type(sys._getframe(1))  # noqa: SLF001 - of the class body


# Only while the body of a class runs: Pydantic, which has a slower way for subclasses, is given its own class.
_InBody: Final[Any] = type(
    FieldInfo.__name__, (FieldInfo,), {"__slots__": (), "__or__": _in_union, "__ror__": _in_union}
)


def as_pydantic_knows(field: Any) -> None:
    """Make a field that ``attr`` or ``template`` described in the body of a class one of Pydantic's own class.

    Args:
        field: a value of the body; others stay as they are.
    """
    if type(field) is _InBody:
        field.__class__ = FieldInfo


class BareMarkerError(TypeError):
    """A marker was used without its type; the metaclass turns this into a ModelDefinitionError."""


def _whole_seconds(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    """Return a validated time to live, a duration counted from now, without the fraction of a second."""
    if isinstance(value, timedelta):
        value = datetime.now(UTC) + value
    try:
        found = handler(value)
    except ValidationError:
        # A field of epoch seconds takes a time too; whatever else it refused, it refuses again.
        if not isinstance(value, datetime) or value.utcoffset() is None:
            raise
        found = handler(to_epoch_seconds(value))
    # Time to live is stored in seconds, so an instance holds what a read will give back.
    return found.replace(microsecond=0) if isinstance(found, datetime) else found


if TYPE_CHECKING:

    class _Described(TypedDict, total=False):
        """What ``attr`` takes of each field; the subclasses have what some of its overloads take besides."""

        name: str | None
        alias: str | None
        description: str | None

    class _Stored(_Described, total=False):
        stored_as: StoredForm | None
        also_stored_as: OtherForms

    class _Kept(_Stored, total=False):
        frozen: bool

    class _Chosen(_Kept, total=False):
        shards: int | Shards | None


if TYPE_CHECKING:  # of overloads alone, which mypy then joins with the function
    # Fields that the session gives a value: left out of __init__, or, with default=..., not required there. mypy finds
    # out which of both by the names of keywords, and takes the first overload that has them: so the longest come first.

    @overload
    def attr(*, autoincrement: Literal[True], default: EllipsisType, **options: Unpack[_Stored]) -> _Given[int]: ...
    @overload
    def attr(
        *, autoincrement: Literal[True], init: Literal[False] = False, **options: Unpack[_Stored]
    ) -> _Given[int]: ...
    @overload
    def attr(*, on_create: Callable[[], T], default: EllipsisType, **options: Unpack[_Kept]) -> _Given[T]: ...
    @overload
    def attr(*, on_create: Callable[[], T], init: Literal[False] = False, **options: Unpack[_Kept]) -> _Given[T]: ...
    @overload
    def attr(*, on_update: Callable[[], T], default: EllipsisType, **options: Unpack[_Stored]) -> _Given[T]: ...
    @overload
    def attr(*, on_update: Callable[[], T], init: Literal[False] = False, **options: Unpack[_Stored]) -> _Given[T]: ...
    @overload
    def attr(
        *, write_id: Literal[True], default: EllipsisType, **options: Unpack[_Described]
    ) -> _Given[str | None]: ...
    @overload
    def attr(
        *, write_id: Literal[True], init: Literal[False] = False, **options: Unpack[_Described]
    ) -> _Given[str | None]: ...
    @overload
    def attr(*, default: T, **options: Unpack[_Chosen]) -> _Given[T]: ...
    @overload
    def attr(*, default_factory: Callable[[], T], **options: Unpack[_Chosen]) -> _Given[T]: ...
    @overload
    def attr(*, stored: bool = True, **options: Unpack[_Chosen]) -> Any: ...


def attr(  # noqa: PLR0913 - each setting is a keyword of its own
    *,
    stored: bool = True,
    default: Any = PydanticUndefined,
    default_factory: Callable[[], Any] | None = None,
    autoincrement: bool = False,
    on_create: Callable[[], Any] | None = None,
    on_update: Callable[[], Any] | None = None,
    write_id: bool = False,
    init: Literal[False] = False,  # noqa: ARG001 - for type checkers
    shards: int | Shards | None = None,
    frozen: bool = False,
    name: str | None = None,
    stored_as: StoredForm | None = None,
    also_stored_as: OtherForms = (),
    alias: str | None = None,
    description: str | None = None,
) -> Any:
    """Describe a field beyond its type. Constraints go into the type: ``Attr[Annotated[int, Field(ge=0)]]``.

    A field with ``autoincrement``, ``on_create``, ``on_update`` or ``write_id`` has no value before its item is
    written: reading it raises UnassignedFieldError. The constructor takes one all the same; for type checkers only with
    ``default=...`` beside it (three dots: no default, but not required).

    Args:
        stored: whether the field is an attribute of its own; False for one that a templated key holds: it is read back
            from the key.
        default: the value of a new item that gives none, and of a stored item without the attribute.
        default_factory: makes such a value each time.
        autoincrement: whether a new item without a value gets the next number of the table's counter; for keys, and for
            parts of their templates.
        on_create: gives the value of a new item without one, when it is written.
        on_update: gives the value each time that the item is written, also in place of an older one.
        write_id: whether the field gets a new random id each time that the item is written, by which a write whose
            answer was lost is recognised in the stored item; for one field ``Attr[str | None]``.
        init: not to be given; it tells type checkers that the constructor does not need the field.
        shards: over how many partitions the items of one value are spread, 2 to 100; for partition keys, of the table
            or of an index. ``Shards(20, by="region", before=10)`` also says what the partition is calculated from, and
            how many there were before.
        frozen: whether a stored item keeps its first value: ``update`` and ``save`` refuse to change it, and Pydantic
            refuses to assign it. ``put`` and ``replace`` write whole items, and so this field.
        name: the stored attribute's name, where it differs from the field's.
        stored_as: another stored form than the type's own, for tables that exist already.
        also_stored_as: forms in which some items of such a table hold the value, beside the one in which it is written:
            a ``StoredForm``, the letters of a stored type, such as ``"S"`` for numbers that are text, or a tuple of
            these. Reads take each, and conditions ask for each. Not for keys and their parts.
        alias: the name that Pydantic takes and gives in JSON; it does not change what is stored.
        description: the field's text in JSON schemas.
    """
    given: dict[str, Any] = {"alias": alias, "description": description, "default_factory": default_factory}
    made_on_update = new_write_id if write_id and on_update is None else on_update
    assigned = Assigned(autoincrement, on_create, made_on_update, write_id=write_id)
    if assigned.arguments:
        has_default = default_factory is not None or default not in (PydanticUndefined, ...)
        assigned = replace(assigned, has_default=has_default)
        # A factory, because a JSON schema would show a default.
        default, given["default_factory"], given["validate_default"] = PydanticUndefined, unassigned, True
    if frozen:
        given["frozen"] = True
    field: Any = Field(default, **{key: value for key, value in given.items() if value is not None})
    others = also_stored_as if isinstance(also_stored_as, tuple) else (also_stored_as,)
    field.metadata.append(StoredAs(name, stored_as, stored, others))
    if assigned.arguments:
        field.metadata.append(assigned)
    field.metadata.extend(given_shards(shards))
    field.__class__ = _InBody
    return field


def template(
    pattern: str,
    /,
    *,
    when: Mapping[str, Any] | None = None,
    escape: bool = False,
    shards: int | Shards | None = None,
    name: str | None = None,
    exclude: bool = False,
    description: str | None = None,
    init: Literal[False] = False,  # noqa: ARG001 - for type checkers
) -> Any:
    """Describe a key, of the table or of an index, that is made of other fields: ``template("city:{country}#{city}")``.

    It is computed when an instance is made and when a part of it changes, and never given: the constructor accepts it
    only as it would be computed. An instance that was read keeps the key that is stored. Where a part is None, so is
    the key: it is not stored, and the item is not in that index.

    A part is ``{field}``, or has a form: ``{words:06d}`` pads a number with zeros, ``{price:09.2f}`` with two decimals,
    ``{heat:+06d}`` with a place for the sign, ``{score:ordered}`` writes any number in a form that sorts;
    ``{name:upper}`` and ``{name:lower}`` change the case of text; ``{at:day}`` cuts a time off behind its year, month,
    day, hour, minute, second or millisecond. Datetimes are written in UTC, always 27 characters. ``{{`` and ``}}`` are
    braces.

    Args:
        pattern: constant text and parts; without parts a constant.
        when: field name -> the value, or a list or set of the values, that the field has to have, or ``...`` for any
            value but None; otherwise there is no key, and the item is not in that index:
            ``template("{customer}", when={"status": ["open", "held"]})``.
        escape: whether a value may contain the text that stands behind it in the pattern, and is then stored escaped;
            otherwise such a value is refused. Without either, two items could get one key.
        shards: over how many partitions the items of one key are spread, as for ``attr``.
        name: the stored attribute's name, where it differs from the field's.
        exclude: whether ``model_dump``, JSON and JSON schemas leave the key out, so that bodies and responses of a web
            service do not show it. It is stored all the same.
        description: the field's text in JSON schemas.
        init: not to be given; it tells type checkers that the constructor does not take the field.
    """
    given: dict[str, Any] = {} if description is None else {"description": description}
    if exclude:
        given["exclude"] = True
    # A factory, because a JSON schema would show a default; never validated, because what it gives is no text.
    field: Any = Field(default_factory=unassigned, validate_default=False, **given)
    field.metadata.append(DeclaredTemplate(pattern, escape, _only_when(when or {})))
    field.metadata.append(StoredAs(name))
    field.metadata.extend(given_shards(shards))
    if exclude:
        field.metadata.append(WithJsonSchema(None))  # ``exclude`` only keeps it out of schemas of what is given out
    field.__class__ = _InBody
    return field


def _only_when(when: Mapping[str, Any]) -> tuple[OnlyWhen, ...]:
    return tuple(OnlyWhen(name, None if values is ... else _several(values)) for name, values in when.items())


def _several(values: Any) -> tuple[Any, ...]:
    several = type(values) in (list, tuple, set, frozenset)
    return tuple(values) if several else (values,)


def given_shards(shards: int | Shards | None) -> tuple[Shards, ...]:
    """Return the argument ``shards=`` of ``attr`` or ``template``, as metadata of the field."""
    return () if shards is None else (shards if isinstance(shards, Shards) else Shards(shards),)


def declared_shards(info: FieldInfo) -> Shards | None:
    """Return the declared shards of a field, if it has any."""
    return next((each for each in info.metadata if isinstance(each, Shards)), None)


def declared_template(info: FieldInfo) -> DeclaredTemplate | None:
    """Return the template of a field, if it is computed."""
    return next((each for each in info.metadata if isinstance(each, DeclaredTemplate)), None)


def is_stored(info: FieldInfo) -> bool:
    """Return whether a field is an attribute of its own."""
    return all(each.stored for each in info.metadata if isinstance(each, StoredAs))
