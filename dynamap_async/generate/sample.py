"""A sample: what the service says of a table, and some of its items. A value; taking one is in ``sampling``."""

from __future__ import annotations

from dynamap_async.dataclass import dataclass
from dynamap_async.schema import TableSchema, check_attribute_names, check_schema
from dynamap_async.wire import WireItem


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Some items of one table."""

    schema: TableSchema
    """Keys, indexes, time to live, throughput and settings, with the table's full name."""
    items: tuple[WireItem, ...]
    """The items in wire form, each once."""
    item_count: int | None = None
    """How many items the table has, as the service said up to six hours ago; None where nobody said."""
    read_units: float = 0.0
    """Read units that the sample took."""
    complete: bool = False
    """Whether these are all items of the table."""

    def __post_init__(self) -> None:
        """Refuse names that DynamoDB refuses, before models are made from them."""
        check_schema(self.schema)
        check_attribute_names(frozenset[str]().union(*self.items))
