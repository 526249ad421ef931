"""Class-level settings of a model, and the faults of a class body that show before Pydantic reads it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any, Final, NamedTuple, TypeAlias

from pydantic import BaseModel

from dynamap_async.codec import StoredForm
from dynamap_async.errors import ModelDefinitionError
from dynamap_async.schema import NAME_RULE, TABLE_RULE, TableSettings, Throughput, is_name, names_table

SETTINGS: Final = "__dynamap_settings__"
"""The class attribute that holds a model's Settings."""

INDEXES: Final = "__dynamap_indexes__"
"""The class attribute that holds what a class body declares beside fields: indexes and unique constraints, by name."""

UPGRADE: Final = "__dynamap_upgrade__"
"""The attribute of a function of a model that holds the version of items to which it leads."""

DOWNGRADE: Final = "__dynamap_downgrade__"
"""The same of a function that leads back to an older version."""

# Of the class and of its metaclass: class access finds both before it asks for a field. (model_config is Pydantic's.)
_RESERVED: Final = frozenset(
    name for name in (*dir(BaseModel), *dir(type(BaseModel))) if not name.startswith("_") and name != "model_config"
)


_NOT_INHERITED: Final = frozenset(("abstract", "kind", "accepts", "complete_since", "writes"))
"""The keywords that say something of their own class only."""


class Settings(NamedTuple):
    """What the class statement says, or those of the model's bases: ``ModelKeywords`` has the keywords."""

    table: str | None = None
    """The table's name, before the session's prefix, or the pattern of such names where there is one per period; None
    for nested models and abstract bases."""
    abstract: bool = False
    throughput: Throughput | None = None
    hide_expired: bool = False
    """Whether reads leave out items whose time to live has passed, which DynamoDB deletes days later."""
    shared: Any = None
    """The ``Table``, if it is one that several models share: its module builds on this one."""
    kind: Any = None
    """What the class statement says of the kind of its items in it: text, ``UNMARKED``, ``BY_KEYS``, or None for
    nothing."""
    distinct_from: tuple[type[Any], ...] = ()
    """The models of the table that could make the same keys, as the class statement says."""
    schema_version: int | None = None
    """The version of the items that are written; None for items without versions."""
    schema_attribute: str = "schema_version"
    """The stored name of the attribute that holds an item's version."""
    accepts: int | None = None
    """The latest version that is read as it is; None for the model's own."""
    complete_since: int | None = None
    """The version that no stored item is behind of; None where that is not known."""
    writes: int | None = None
    """The version that items are written in; None for the model's own."""
    times_stored_as: StoredForm | None = None
    """The stored form of the datetimes that say nothing else; None for the usual one."""
    settings: TableSettings | None = None
    """What else the table has."""
    absent_when_none: bool = False
    """Whether members that are None are left out of the maps that hold instances."""

    @classmethod
    def of(cls, model: type[Any], given: Mapping[str, Any]) -> Settings:
        """Return the settings of a class: what its statement says, and where it is silent what its bases say.

        Args:
            model: the class.
            given: the checked keywords of its statement.
        """
        said = {keyword: value for keyword, value in given.items() if value is not None}
        table = said.get("table")
        if table is not None and not isinstance(table, str):
            said |= {"table": table.name, "shared": table}
        for base in (each.__dict__[SETTINGS] for each in model.__mro__[1:] if SETTINGS in each.__dict__):
            of_base = {name: value for name, value in base._asdict().items() if name not in _NOT_INHERITED}
            if "table" in said:  # to which ``shared`` belongs
                del of_base["shared"]
            distinct_from = (*said.get("distinct_from", ()), *of_base["distinct_from"])
            said = {name: value for name, value in of_base.items() if value is not None} | said
            said["distinct_from"] = distinct_from
        return cls(**said)


DistinctFrom: TypeAlias = type[BaseModel] | Sequence[type[BaseModel]]
"""What ``distinct_from`` takes: a model, or several."""


def checked_distinct(name: str, given: DistinctFrom) -> tuple[type[Any], ...]:
    """Return the models of ``distinct_from``.

    Raises:
        ModelDefinitionError: one is no model.
    """
    models = (given,) if isinstance(given, type | str) else tuple(given)
    for each in models:
        if not (isinstance(each, type) and SETTINGS in each.__dict__):
            raise fault(
                name, f"distinct_from={each!r} is not a model; name the models that share the Table with {name}"
            )
    return models


def fault(model: str, message: str, field: str | None = None) -> ModelDefinitionError:
    """Return the error of a wrong definition.

    Args:
        model: name of the class at fault.
        message: what is wrong and what to do about it, without the place.
        field: the field or index at fault, if one is.
    """
    return ModelDefinitionError(
        f"{model}.{field}: {message}" if field else f"{model}: {message}", model=model, field=field
    )


def check_index_name(name: str, *, model: str, field: str | None = None) -> None:
    """Raise ModelDefinitionError unless DynamoDB accepts the name of an index."""
    if not is_name(name):
        raise fault(model, f"index name {name!r} is not allowed; use {NAME_RULE}", field)


def check_table_name(name: str, model: str) -> None:
    """Raise ModelDefinitionError unless DynamoDB accepts a text for a table: its name, or its ARN."""
    if not names_table(name):
        raise fault(model, f"table name {name!r} is not allowed; use {TABLE_RULE}")


def names_periods(table: str) -> bool:
    """Return whether a table's name is a pattern, such as ``readings_{at:day}``: one table per period."""
    return "{" in table


def throughput_of(name: str, throughput: Throughput | None, settings: TableSettings | None) -> Throughput | None:
    """Return the provisioned capacity of a table, which is declared by itself or among its settings.

    Args:
        name: the model, or the table, as errors name it.
        throughput: that which is declared by itself.
        settings: the settings of the table.

    Raises:
        ModelDefinitionError: both are declared, and not alike.
    """
    billing = None if settings is None else settings.billing
    if None not in (throughput, billing) and throughput != billing:
        raise fault(name, f"has {throughput!r}, and TableSettings(billing={billing!r}); give one of them")
    return billing if isinstance(billing, Throughput) else throughput


_TYPES: Final[Mapping[str, tuple[type[Any], str]]] = {
    "throughput": (Throughput, "is not a Throughput; write Throughput(read=10, write=2)"),
    "settings": (TableSettings, "is not a TableSettings; write TableSettings(recovery=Recovery())"),
    "hide_expired": (bool, "must be True or False"),
    "absent_when_none": (bool, "must be True or False"),
    "times_stored_as": (
        StoredForm,
        "is not a stored form; use EPOCH_SECONDS, EPOCH_MILLISECONDS or time_text(...), or make a StoredForm",
    ),
}
"""A keyword -> the type of its values, and what a message says of others."""

_NUMBERS_OF_VERSIONS: Final = ("schema_version", "accepts", "complete_since", "writes")


def check_keywords(name: str, given: Mapping[str, Any]) -> None:
    """Refuse what keywords of a class statement, or of a ``Table``, cannot mean.

    Args:
        name: the class, or the table, as errors name it.
        given: the keywords; those that are None say nothing.

    Raises:
        ModelDefinitionError: a value has another type than the keyword's, or two contradict each other.
    """
    for keyword, (kind, problem) in _TYPES.items():
        value = given.get(keyword)
        if value is not None and not isinstance(value, kind):
            raise fault(name, f"{keyword}={value!r} {problem}")
    for keyword in _NUMBERS_OF_VERSIONS:
        number = given.get(keyword)
        if number is not None and (type(number) is not int or number < 1):
            raise fault(name, f"{keyword}={number!r} is not a version; give a whole number from 1 up")
    attribute = given.get("schema_attribute")
    if attribute is not None and (not isinstance(attribute, str) or not attribute):
        raise fault(name, f"schema_attribute={attribute!r} is not the name of an attribute; give a string")


def check_table(name: str, table: object, *, abstract: bool) -> None:
    """Refuse what cannot be a model's table.

    Args:
        name: the class, as errors name it.
        table: the table's name; None for no table.
        abstract: whether the class only gives fields and indexes to others.

    Raises:
        ModelDefinitionError: it is no name, or the class is abstract.
    """
    if table is None:
        return
    if not isinstance(table, str):
        raise fault(name, f'table={table!r} is not a table name; write table="tweets", or give a Table')
    if abstract:
        raise fault(
            name, f"is abstract and names the table {table!r}; an abstract model has no table, so drop one of the two"
        )
    if not names_periods(table):
        check_table_name(table, name)


def check_names(name: str, bases: tuple[type[Any], ...], namespace: dict[str, Any], indexes: Collection[str]) -> None:
    """Raise ModelDefinitionError for names in a class body that can never work.

    Args:
        name: the class's name.
        bases: its base classes; only ``Model`` itself has BaseModel as its only one.
        namespace: the class body, without its indexes.
        indexes: the names of its index attributes.
    """
    if bases == (BaseModel,):
        return
    for attribute, annotation in _annotations(namespace).items():
        if "ClassVar" in str(annotation):
            continue
        if attribute in indexes:
            raise fault(name, "an index is not a field; drop its annotation, or write ClassVar[GlobalIndex]", attribute)
        if attribute in _RESERVED:
            raise fault(
                name,
                f"{attribute!r} is a name of Pydantic's BaseModel, so {name}.{attribute} could not be used in "
                f"conditions; give the field another name, and store it with attr(name={attribute!r})",
                attribute,
            )


def _annotations(namespace: dict[str, Any]) -> dict[str, Any]:
    """Return the annotations of a class body that is not yet a class."""
    found: dict[str, Any] | None = namespace.get("__annotations__")
    if found is None and sys.version_info >= (3, 14):
        annotationlib: Any = importlib.import_module("annotationlib")
        annotate = annotationlib.get_annotate_from_class_namespace(namespace)
        if annotate is not None:
            found = annotationlib.call_annotate_function(annotate, format=annotationlib.Format.FORWARDREF)
    return found or {}


def bases_with_items(model: type[Any]) -> Iterator[Any]:
    """Give the definitions of a model's bases that have items of their own in the table which it shares."""
    shared = getattr(model, SETTINGS).shared
    for base in model.__mro__[1:]:
        definition = base.__dict__.get("__dynamap_definition__")
        if definition is None or shared is None:
            continue
        settings: Settings = base.__dict__[SETTINGS]
        if not settings.abstract and settings.shared is shared:
            yield definition


def marked_functions(model: type[Any], mark: str) -> dict[str, FunctionType]:
    """Return the functions of a model and its bases that have a mark, by the names that they have in the class.

    Args:
        model: the class.
        mark: ``UPGRADE`` or ``DOWNGRADE``.
    """
    found: dict[str, object] = {}
    for base in reversed(model.__mro__):
        found.update(base.__dict__)
    functions = {name: value.__func__ for name, value in found.items() if isinstance(value, staticmethod)}
    return {name: each for name, each in functions.items() if isinstance(each, FunctionType) and hasattr(each, mark)}
