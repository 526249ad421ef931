"""A table as DynamoDB knows it: keys, indexes and time to live, without any model; and which names DynamoDB takes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from dynamap_async.config import Throughput
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import OperationError
from dynamap_async.limits import ATTRIBUTE_NAME_BYTES, KEY_NAME_BYTES, TABLE_NAME_MAX, TABLE_NAME_MIN
from dynamap_async.schema.indexes import IndexKind, IndexSchema
from dynamap_async.schema.keys import KeySchema
from dynamap_async.schema.on_demand import OnDemand
from dynamap_async.schema.table_settings import TableSettings
from dynamap_async.service import table_arn
from dynamap_async.wire import KeyTag

NAME_RULE: Final = f"{TABLE_NAME_MIN} to {TABLE_NAME_MAX} characters of a-z A-Z 0-9 _ - ."
"""What a table's or an index's name is made of.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
"""
_NAME: Final = re.compile(rf"[A-Za-z0-9_.-]{{{TABLE_NAME_MIN},{TABLE_NAME_MAX}}}")
TABLE_RULE: Final = f"{NAME_RULE}, or the table's ARN, arn:aws:dynamodb:REGION:ACCOUNT:table/NAME"
"""What a table is named by in requests: by its ARN it may be one of another account.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/rbac-iam-actions.html
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSchema:
    """The declared form of one table."""

    name: str
    keys: KeySchema
    indexes: tuple[IndexSchema, ...] = ()
    ttl_attribute: str | None = None
    """Stored name of the attribute that holds the expiry time."""
    throughput: Throughput | None = None
    """Provisioned capacity; None makes an on-demand table."""
    settings: TableSettings = TableSettings()
    """Its other settings."""

    def index(self, name: str) -> IndexSchema:
        """Return the index of that name; raises KeyError if there is none."""
        for index in self.indexes:
            if index.name == name:
                return index
        raise KeyError(name)

    @property
    def on_demand(self) -> OnDemand | None:
        """What bounds its throughput where it is declared to be on-demand; None where that is not said."""
        billing = self.settings.billing
        return billing if isinstance(billing, OnDemand) else None

    @property
    def local_indexes(self) -> tuple[IndexSchema, ...]:
        """The indexes that share the table's partition key."""
        return self.indexes_of(IndexKind.LOCAL)

    @property
    def global_indexes(self) -> tuple[IndexSchema, ...]:
        """The indexes with a partition key of their own."""
        return self.indexes_of(IndexKind.GLOBAL)

    def indexes_of(self, kind: IndexKind) -> tuple[IndexSchema, ...]:
        """Return the indexes of a kind."""
        return tuple(index for index in self.indexes if index.kind is kind)

    @property
    def attribute_types(self) -> dict[str, KeyTag]:
        """Stored name -> stored type of every attribute that is part of a key of the table or of an index."""
        schemas = (self.keys, *(index.keys for index in self.indexes))
        return {attribute.name: attribute.type for schema in schemas for attribute in schema.attributes}

    def projects(self, index: IndexSchema, attribute: str) -> bool:
        """Return whether the index holds the attribute."""
        return (
            index.projection.type == "ALL"
            or attribute in index.projection.attributes
            or attribute in index.keys.names
            # Every index holds the table's key.
            or attribute in self.keys.names
        )

    def named(self, name: str) -> TableSchema:
        """Return the same table under another name."""
        return self if name == self.name else replace(self, name=name)


def names_table(text: object) -> bool:
    """Return whether DynamoDB takes a text for a table: as its name, or as its ARN."""
    arn = table_arn(text)
    return is_name(text if arn is None else arn.name)


def is_name(text: object) -> bool:
    """Return whether DynamoDB takes a text as the name of a table or an index."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


def is_attribute_name(text: object, *, most: int = ATTRIBUTE_NAME_BYTES) -> bool:
    """Return whether DynamoDB takes a text as the name of an attribute.

    Args:
        most: how long it may be, in bytes.
    """
    try:
        return isinstance(text, str) and 0 < len(text.encode()) <= most
    except UnicodeEncodeError:  # a lone surrogate
        return False


def check_schema(schema: TableSchema) -> None:
    """Raise OperationError for a name or a type that DynamoDB refuses.

    Args:
        schema: a table that no model declares.
    """
    for fault in _faults(schema):
        raise OperationError(fault)


def check_attribute_names(names: Iterable[object]) -> None:
    """Raise OperationError for the name of an attribute that DynamoDB refuses."""
    for fault in _name_faults(names, ATTRIBUTE_NAME_BYTES):
        raise OperationError(fault)


def _faults(schema: TableSchema) -> Iterator[str]:
    named = [("table", schema.name), *(("index", index.name) for index in schema.indexes)]
    for what, name in named:
        if not is_name(name):
            yield f"the {what} name {name!r} is not one that DynamoDB takes; use {NAME_RULE}"
    # As given: a program without type checker may name any type.
    types: dict[str, object] = {**schema.attribute_types}
    included = [name for index in schema.indexes for name in index.projection.attributes]
    expiry = [] if schema.ttl_attribute is None else [schema.ttl_attribute]
    yield from _name_faults((*types, *included, *expiry), KEY_NAME_BYTES)
    for name, tag in types.items():
        if tag not in ("S", "N", "B"):
            yield f"the key attribute {name!r} is of type {tag!r}; use S, N or B"
    for index in schema.indexes:
        projected: object = index.projection.type
        if projected not in ("ALL", "KEYS_ONLY", "INCLUDE"):
            yield f"the index {index.name!r} projects {projected!r}; use ALL, KEYS_ONLY or INCLUDE"


def _name_faults(names: Iterable[object], most: int) -> Iterator[str]:
    for name in names:
        if not is_attribute_name(name, most=most):
            shown = repr(str(name)[:40])
            yield f"the attribute name {shown} is not one that DynamoDB takes; use 1 to {most:,} bytes of UTF-8"
