"""What a session adds to an operation, and checks of the models, conditions and numbers that it is given."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from dynamap_async import expressions
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import ConfigurationError, ExpressionError, OperationError, OutOfRangeError
from dynamap_async.models import Model, definition_of, no_model
from dynamap_async.schema import TABLE_RULE, names_table
from dynamap_async.service import ARN_START

if TYPE_CHECKING:
    from dynamap_async.expressions import Condition, Path

_MODELS: Final = type(Model)


@dataclass(frozen=True, slots=True)
class TableNames:
    """How the table names that models declare become DynamoDB's: by a mapping, or behind a prefix."""

    prefix: str = ""
    """Stands before every name that is not given."""
    given: Mapping[str, str] = field(default_factory=dict[str, str])
    """Declared name -> the name in DynamoDB, or the ARN, to which no prefix is added."""

    def full(self, declared: str) -> str:
        """Return the name, or the ARN, that DynamoDB knows a table by."""
        if declared in self.given:
            return self.given[declared]
        return declared if declared.startswith(ARN_START) else self.prefix + declared

    def declared(self, full: str) -> str | None:
        """Return the name that models declare for a table; None for a table that no model of the session can mean."""
        named = next((name for name, each in self.given.items() if each == full), None)
        if named is not None:
            return named
        if not full.startswith((self.prefix, ARN_START)):
            return None
        name = full if full.startswith(ARN_START) else full.removeprefix(self.prefix)
        return None if name in self.given else name


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a session adds to an operation."""

    tables: TableNames = TableNames()
    """How the names of tables that models declare become those of DynamoDB."""
    cursor_secret: bytes | None = None
    """Signs cursors."""
    clock: Callable[[], float] = time.time
    """The time of day in epoch seconds, which decides what is expired."""
    splices: bool = False
    """Whether a body may hold an item as its JSON, ``Spliced``: not for transports that look at it."""
    upgraded_to: dict[type[Any], int] = field(default_factory=dict[type[Any], int])
    """Model -> the version that a pass has proved no stored item to be behind of, as far as the session has learnt."""

    def now(self) -> int:
        """Return the time of day in whole epoch seconds."""
        return math.floor(self.clock())


def table_names(prefix: object, given: object) -> TableNames:
    """Return the table names that a session was configured with, checked.

    Args:
        prefix: stands before the names that are not given.
        given: declared name -> the name in DynamoDB, or the ARN; None for none.

    Raises:
        ConfigurationError: they are of a wrong type, DynamoDB has no such name, or two tables would become one.
    """
    if not isinstance(prefix, str):
        raise ConfigurationError(f'table_prefix={prefix!r} is not a string; write table_prefix="shop-dev-"')
    if given is None:
        return TableNames(prefix)
    if not isinstance(given, Mapping):
        raise ConfigurationError(
            f'table_names={given!r} is not a mapping; write table_names={{"users": "legacy_users"}}, with the '
            "declared name first"
        )
    names: dict[Any, Any] = {**given}
    for declared, full in names.items():
        if not isinstance(declared, str) or not names_table(full):
            raise ConfigurationError(
                f"table_names={{{declared!r}: {full!r}}}: {full!r} is no table; write its name, of {TABLE_RULE}"
            )
    twice = next((full for full in names.values() if list(names.values()).count(full) > 1), None)
    if twice is not None:
        both = " and ".join(repr(name) for name, full in names.items() if full == twice)
        raise ConfigurationError(
            f"table_names gives {both} the same name, {twice!r}, which would mix their items; declare models that "
            "share a table with one Table"
        )
    return TableNames(prefix, MappingProxyType(names))


def checked_model(model: object) -> type[Model]:
    """Return a model class, checked to be one.

    Raises:
        OperationError: it is something else.
    """
    # The metaclass tells it as well as a look at the bases, in a tenth of the time (benchmarks: concurrent_gets_400).
    if not isinstance(model, _MODELS):
        raise no_model(model)
    return model


def own_conditions(model: type[Model], conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Return the conditions, checked to be on the model, with conjunctions split.

    Raises:
        ExpressionError: one is no condition, or names a field of a model that the operation is not about.
    """
    for condition in conditions:
        if not isinstance(condition, expressions.Condition):
            raise not_a_condition_error(model.__name__, condition)
    parts = tuple(expressions.flatten(conditions))
    for part in parts:
        for path in expressions.paths_in(part):
            stored_path(model, path)
    return parts


def not_a_condition_error(model: str, given: Condition) -> ExpressionError:
    """Return the error of a value that stands where a condition is expected.

    Args:
        given: the value, which only checkers take for a condition.
    """
    if isinstance(given, expressions.Expr | expressions.DocumentPath):
        bool(given)  # raises, and says what to write
    return ExpressionError(
        f"where({given!r}) is not a condition on a field of {model}; write the field on the left, as in "
        "where(Model.field == value)"
    )


def stored_path(model: type[Model], path: Path) -> Path:
    """Return the path, checked to be of an attribute that the model's items store.

    Raises:
        ExpressionError: it is another model's, or its field is stored in a computed key only.
    """
    own_path(model, path)
    definition = definition_of(model)
    name = definition.field_names.get(path.attribute, "")
    if definition.computed is not None and name in definition.computed.unstored:
        key = definition.computed.unstored[name]
        otherwise = f", or write a condition on {model.__name__}.{key}" if key != name else ""
        raise ExpressionError(
            f"{path} is stored in {definition.computed.place_of(name)} only, which DynamoDB cannot look into; drop its "
            f"stored=False{otherwise}",
            expression=str(path),
        )
    return path


def own_path(model: type[Model], path: Path) -> Path:
    """Return the path, checked to be of the model, of a base of it, or of an attribute that it does not declare.

    Raises:
        ExpressionError: it is another model's, or names a field of this one by its stored name.
    """
    if path.owner is not model and not path.is_declared:
        return undeclared_path((model,), path)
    if path.owner is not model and not issubclass(model, path.owner):
        name, owner = model.__name__, path.owner.__name__
        raise ExpressionError(
            f"{path} is a field of {owner}, but the operation is on {name}; "
            + (
                f"write {name}.{path.spelled}"
                if _field_name(path) in model.__pydantic_fields__
                else f"{name} has no such field, so name one that it has, or make it an operation on {owner}"
            ),
            expression=str(path),
        )
    return path


def undeclared_path(models: Sequence[type[Model]], path: Path) -> Path:
    """Return the path of an attribute given by its stored name, checked to be declared by no field of all models.

    What every model declares is named by its field, so that values are checked and keys are made use of. Where their
    fields are of several types, no field stands for all of them.

    Raises:
        ExpressionError: all of them declare it, with one type.
    """
    definitions = [definition_of(model) for model in models]
    names = [each.field_names.get(path.attribute) for each in definitions]
    fields = [each.fields[name] for each, name in zip(definitions, names, strict=True) if name is not None]
    if len(fields) == len(models) and not any(
        fields[0].converter.tags.isdisjoint(each.converter.tags) for each in fields
    ):
        raise ExpressionError(
            f"{path} is the field {models[0].__name__}.{names[0]}; write that instead",
            expression=str(path),
        )
    return path


def _field_name(path: Path) -> str:
    """Return the first name of a path, as the program spells it."""
    return re.split(r"[.\[]", path.spelled, maxsplit=1)[0]


def positive(number: object, what: str) -> int:
    """Return a number of items, checked to be a whole number from 1 up.

    Raises:
        OperationError: it is not a whole number.
        OutOfRangeError: it is less than 1.
    """
    if isinstance(number, bool) or not isinstance(number, int):
        raise OperationError(f"{what} must be a whole number from 1 up, not {number!r}")
    if number < 1:
        raise OutOfRangeError(f"{what} must be a whole number from 1 up, not {number!r}")
    return number
