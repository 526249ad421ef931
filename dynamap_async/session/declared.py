"""Declared limits: the throughput that models declare of their tables and indexes, for ``CapacityPolicy``."""

from collections.abc import Iterator

from dynamap_async.errors import ModelDefinitionError
from dynamap_async.models import Model, definition_of
from dynamap_async.schema import TableSchema


def declared_limits(prefix: str, table: str) -> dict[tuple[str | None, bool], float | None]:
    """Return the units a second that models declare of a table and its global indexes, for reads and for writes.

    Args:
        prefix: stands before every table name.
        table: the table's full name.
    """
    limits: dict[tuple[str | None, bool], float | None] = {}
    if table.startswith(prefix):
        for schema in _schemas(Model, table.removeprefix(prefix)):
            throughputs = {None: schema.throughput} | {
                index.name: index.throughput or schema.throughput
                for index in schema.indexes
                if index.kind.has_throughput
            }
            for index, throughput in throughputs.items():
                if throughput is not None:
                    limits |= {(index, False): float(throughput.read), (index, True): float(throughput.write)}
    return limits


def _schemas(model: type[Model], table: str) -> Iterator[TableSchema]:
    """Return what each model says of the table of this name, before the prefix."""
    for subclass in model.__subclasses__():
        try:
            definition = definition_of(subclass)
        except ModelDefinitionError:
            pass  # a class that is wrong says so where it is used, not where others are
        else:
            if definition.is_in(table):
                yield definition.require_table("paced")
        yield from _schemas(subclass, table)
