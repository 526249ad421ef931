"""The choice of a model's table, where there is one for each period."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dynamap_async.errors import OperationError
from dynamap_async.models import Definition, KeyValue, Model, Table, definition_of
from dynamap_async.schema import TableSchema


def check_period(models: Sequence[type[Model] | Table], period: KeyValue | None) -> None:
    """Raise OperationError if a period is given, and no model has one table per period.

    Args:
        models: the models or shared tables that are meant.
        period: any value of the field that the period is made of; None for none.
    """
    if period is None or any(not isinstance(each, Table) and definition_of(each).periods for each in models):
        return
    names = ", ".join(repr(each) if isinstance(each, Table) else each.__name__ for each in models)
    raise OperationError(f"period={period!r}, but {names} has one table for all time; drop it")


def table_in(definition: Definition[Any], use: str, period: KeyValue | None) -> TableSchema:
    """Return a model's table; that of a period where there is one for each.

    Args:
        definition: the model.
        use: what the table is needed for, for the message.
        period: any value of the field that the period is made of.

    Raises:
        ModelDefinitionError: the model has no table.
        OperationError: the period is missing.
        EncodeError: the period is of the wrong type.
    """
    schema, periods = definition.require_table(use), definition.periods
    if periods is None:
        return schema
    if period is None:
        raise OperationError(
            f"{periods.model} has one table per period, named {schema.name!r}; choose one with period=..., any value "
            f"of {periods.field.name}"
        )
    return replace(schema, name=periods.name(period))


def schema_of(given: type[Model] | Table, use: str, period: KeyValue | None) -> TableSchema:
    """Return the table of a model or a table itself, before any prefix.

    Args:
        given: the model, or the table.
        use: what the table is needed for, for the message.
        period: the period, where there is one table for each.
    """
    return given.schema if isinstance(given, Table) else table_in(definition_of(given), use, period)
