"""The tables that models declare, without a session. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dynamap_async.errors import OperationError
from dynamap_async.models import Definition, KeyValue, Model, Table, definition_of
from dynamap_async.operations import needs_own_table, own_table
from dynamap_async.operations.upgrade_record import with_versions
from dynamap_async.planning import TableNames, subclass_definitions
from dynamap_async.planning import table_names as names_of_tables
from dynamap_async.schema import TableSchema
from dynamap_async.tables.periods import check_period, schema_of
from dynamap_async.tables.requests import merged


def declared_tables(
    *models: type[Model] | Table,
    table_prefix: str = "",
    table_names: Mapping[str, str] | None = None,
    period: KeyValue | None = None,
) -> tuple[TableSchema, ...]:
    """Return the tables that models declare: what ``session.tables.create`` would make. Nothing is sent.

    Args:
        models: models with a table, or tables; models that share one count as one.
        table_prefix: stands before every table's name, as in a session.
        table_names: declared name -> the table's name in DynamoDB, to which no prefix is added, as in a session.
        period: a value of the field that tells the period, for models with one table per period.

    Returns:
        One per table, and the library's own table last, if a model needs it.

    Raises:
        OperationError: what is given is no model; a period is missing, or none is known.
        ConfigurationError: the names cannot be those of tables.
        ModelDefinitionError: a model has no table, or models of one table disagree.
    """
    return all_tables(models, names_of_tables(table_prefix, table_names), period)


def all_tables(
    models: tuple[type[Model] | Table, ...], names: TableNames, period: KeyValue | None
) -> tuple[TableSchema, ...]:
    """Return the tables of some models, and the library's own one last if a model needs it."""
    tables = merged_tables(models, names, period)
    own = [own_table(names)] if any(map(needs_library_table, models)) else []
    return (*tables, *own)


def merged_tables(
    models: tuple[type[Model] | Table, ...], names: TableNames, period: KeyValue | None
) -> list[TableSchema]:
    """Return each table of some models, those of one table merged, without the library's own."""
    check_models(models)
    check_period(models, period)
    by_name: dict[str, list[TableSchema]] = {}
    for model in models:
        declared = schema_of(model, "created or deleted", period)
        schema = declared.named(names.full(declared.name))
        by_name.setdefault(schema.name, []).append(schema)
    return [merged(schemas) for schemas in by_name.values()]


def tables_of_all_periods(
    models: tuple[type[Model] | Table, ...], found: Iterable[str], names: TableNames
) -> tuple[TableSchema, ...]:
    """Return the tables that models declare; of models with one table per period, every one that is there.

    Args:
        models: models with a table, or tables; models that share one count as one.
        found: the full names of all tables that are there.
        names: how declared names become those of DynamoDB.

    Raises:
        OperationError: what is given is no model, or none of them has one table per period.
    """
    check_models(models)
    if all(isinstance(each, Table) or definition_of(each).periods is None for each in models):
        raise OperationError("all_periods=True, but no model has one table per period; drop it")
    there = {full: names.declared(full) for full in found}
    by_name: dict[str, list[TableSchema]] = {}
    for model in models:
        if isinstance(model, Table) or (periods := definition_of(model).periods) is None:
            declared = schema_of(model, "compared", None)
            own = [declared.named(names.full(declared.name))]
        else:
            schema = definition_of(model).require_table("compared")
            own = [schema.named(full) for full, name in there.items() if name is not None and periods.has(name)]
        for each in own:
            by_name.setdefault(each.name, []).append(each)
    library = [own_table(names)] if any(map(needs_library_table, models)) else []
    return (*(merged(schemas) for schemas in by_name.values()), *library)


def owners_of(
    models: tuple[type[Model] | Table, ...], found: Iterable[str], names: TableNames
) -> dict[str, tuple[type[Model] | Table, ...]]:
    """Return each of some tables with the models that it belongs to.

    Args:
        models: models with a table, or tables.
        found: the full names of tables.
        names: how declared names become those of DynamoDB.
    """

    def owns(given: type[Model] | Table, name: str | None) -> bool:
        if name is None:
            return False
        periods = None if isinstance(given, Table) else definition_of(given).periods
        own = given.schema if isinstance(given, Table) else definition_of(given).require_table("listed")
        return own.name == name if periods is None else periods.has(name)

    return {full: tuple(each for each in models if owns(each, names.declared(full))) for full in found}


def versions_of(
    owners: Mapping[str, Iterable[type[Model] | Table]],
) -> Mapping[str, tuple[Definition[Any], ...]]:
    """Return of each table the definitions of those of its models whose items have versions.

    Args:
        owners: each table -> the models that it belongs to, or the table as it is declared.
    """
    return {name: _versions_of(given) for name, given in owners.items()}


def _versions_of(given: Iterable[type[Model] | Table]) -> tuple[Definition[Any], ...]:
    return tuple(dict.fromkeys(found for model in _models_of(given) for found in with_versions(model)))


def models_with_unique_values(given: Iterable[type[Model] | Table]) -> tuple[str, ...]:
    """Return the names of those of some models, and of a table's, whose writes are transactions: of unique values."""
    own = [definition_of(model) for model in _models_of(given)]
    several = [each for definition in own for each in (definition, *subclass_definitions(definition))]
    return tuple(dict.fromkeys(each.model.__name__ for each in several if each.uniques))


def _models_of(given: Iterable[type[Model] | Table]) -> list[type[Model]]:
    return [model for each in given for model in (each.models.values() if isinstance(each, Table) else (each,))]


def check_models(given: tuple[object, ...]) -> None:
    """Raise OperationError for what is neither a model nor a table."""
    for each in given:
        if not isinstance(each, (type(Model), Table)):
            raise OperationError(
                f"{each!r} is neither a model nor a Table; pass the classes themselves, as in create(Tweet, Follow)"
            )


def needs_library_table(given: type[Model] | Table) -> bool:
    """Return whether a model, or one of a table's, keeps something in the library's own table."""
    models = given.models.values() if isinstance(given, Table) else (given,)
    return any(needs_own_table(definition_of(model)) for model in models)
