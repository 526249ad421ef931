"""Field markers: what an annotation says about an attribute's role, and ``attr`` for the rest.

To a type checker a marker is a generic descriptor: class access gives an expression, instance access the value.
At run time ``PartitionKey[str]`` is ``Annotated[str, Role.PARTITION_KEY]``, so Pydantic sees plain ``str``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar, overload

from pydantic import AfterValidator, Field
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from dynamap_async.codec import StoredForm
from dynamap_async.expressions import Expr, HasPaths

if TYPE_CHECKING:
    from pydantic import BaseModel

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
P = TypeVar("P")


class Role(Enum):
    """What an attribute is to its table."""

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


def stored_name(name: str, info: FieldInfo) -> str:
    """Return the stored attribute's name of a field: ``attr(name=...)``, else the field's own."""
    for each in info.metadata:
        if isinstance(each, StoredAs) and each.name is not None:
            return each.name
    return name


def stored_form(info: FieldInfo) -> StoredForm | None:
    """Return the field's other stored form: ``attr(stored_as=...)``."""
    return next((each.form for each in info.metadata if isinstance(each, StoredAs) and each.form is not None), None)


if TYPE_CHECKING:

    class _Read(Generic[T_co]):
        """The reading half of a marker, covariant: what class access and instance access give."""

        @overload
        def __get__(self: "_Read[HasPaths[P] | None]", instance: None, owner: Any, /) -> P: ...
        @overload
        def __get__(self, instance: None, owner: Any, /) -> Expr[T_co]: ...
        @overload
        def __get__(self, instance: BaseModel, owner: Any, /) -> T_co: ...
        def __get__(self, instance: Any, owner: Any, /) -> Any: ...

    class Attr(_Read[T], Generic[T]):
        """A field with a typed expression. Class access gives ``Expr[T]``, instance access ``T``."""

        def __set__(self, instance: Any, value: T, /) -> None: ...

    class PartitionKey(Attr[T]):
        """The partition key of the model's table."""

    class SortKey(Attr[T]):
        """The sort key of the model's table."""

    class TimeToLive(Attr[T]):
        """The time after which DynamoDB deletes the item, stored as whole epoch seconds."""

    class Version(Attr[T]):
        """The number of times that the item was written, for optimistic locking."""

    class _Given(PartitionKey[T], SortKey[T], TimeToLive[T], Version[T]):
        """What ``attr`` gives: assignable to each marker, so that a default's type is checked against the field's."""

else:

    class _Marker:
        """A marker without its type; Pydantic meets it only where the ``[...]`` was forgotten."""

        @classmethod
        def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
            raise BareMarkerError(cls.__name__)

    class Attr(_Marker):
        """A field with a typed expression. Class access gives ``Expr[T]``, instance access ``T``."""

        def __class_getitem__(cls, type_: Any) -> Any:
            return Annotated[type_, Role.ATTRIBUTE]

    class PartitionKey(_Marker):
        """The partition key of the model's table."""

        def __class_getitem__(cls, type_: Any) -> Any:
            return Annotated[type_, Role.PARTITION_KEY]

    class SortKey(_Marker):
        """The sort key of the model's table."""

        def __class_getitem__(cls, type_: Any) -> Any:
            return Annotated[type_, Role.SORT_KEY]

    class TimeToLive(_Marker):
        """The time after which DynamoDB deletes the item, stored as whole epoch seconds."""

        def __class_getitem__(cls, type_: Any) -> Any:
            # Defaults too: the usual one is now plus some days.
            return Annotated[type_, Role.TIME_TO_LIVE, AfterValidator(_whole_seconds), Field(validate_default=True)]

    class Version(_Marker):
        """The number of times that the item was written, for optimistic locking."""

        def __class_getitem__(cls, type_: Any) -> Any:
            return Annotated[type_, Role.VERSION]


class BareMarkerError(TypeError):
    """A marker was used without its type; the metaclass turns this into a ModelDefinitionError."""


def _whole_seconds(value: Any) -> Any:
    # Time to live is stored in seconds, so an instance holds what a read will give back.
    return value.replace(microsecond=0) if isinstance(value, datetime) else value


if TYPE_CHECKING:

    @overload
    def attr(
        *,
        name: str | None = None,
        stored_as: StoredForm | None = None,
        alias: str | None = None,
        description: str | None = None,
    ) -> Any: ...
    @overload
    def attr(
        *,
        default: T,
        name: str | None = None,
        stored_as: StoredForm | None = None,
        alias: str | None = None,
        description: str | None = None,
    ) -> _Given[T]: ...
    @overload
    def attr(
        *,
        default_factory: Callable[[], T],
        name: str | None = None,
        stored_as: StoredForm | None = None,
        alias: str | None = None,
        description: str | None = None,
    ) -> _Given[T]: ...


def attr(
    *,
    default: Any = PydanticUndefined,
    default_factory: Callable[[], Any] | None = None,
    name: str | None = None,
    stored_as: StoredForm | None = None,
    alias: str | None = None,
    description: str | None = None,
) -> Any:
    """Describe a field beyond its type. Constraints go into the type: ``Attr[Annotated[int, Field(ge=0)]]``.

    Args:
        default: the value of a new item that gives none, and of a stored item without the attribute.
        default_factory: makes such a value each time.
        name: the stored attribute's name, where it differs from the field's.
        stored_as: another stored form than the type's own, for tables that exist already.
        alias: the name that Pydantic takes and gives in JSON; it does not change what is stored.
        description: the field's text in JSON schemas.
    """
    given: dict[str, Any] = {"alias": alias, "description": description, "default_factory": default_factory}
    field: Any = Field(default, **{key: value for key, value in given.items() if value is not None})
    field.metadata.append(StoredAs(name, stored_as))
    return field
