"""What is known of a table and its models, as values."""

from __future__ import annotations

from dynamap_async.dataclass import dataclass
from dynamap_async.generate.field_types import GuessedType, NestedDesign
from dynamap_async.generate.key_patterns import KeyPattern
from dynamap_async.schema import TableSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDesign:
    """One field of a model."""

    name: str
    """Its name in Python."""
    attribute: str | None
    """Its stored name; None where it lives in a key alone."""
    role: str
    """``PartitionKey``, ``SortKey``, ``TimeToLive`` or ``Attr``."""
    guessed: GuessedType
    """Its type, and what is said of its values."""
    optional: bool = False
    """Whether items may lack it."""
    lacks: str = ""
    """The separators that its texts may not have, so that its keys are not those of another model."""
    pattern: KeyPattern | None = None
    """How it is computed, if it is."""
    checks: tuple[str, ...] = ()
    """Doubts, each a sentence."""
    shapes: tuple[str, ...] = ()
    """Shapes of its texts, for a key that no pattern explains."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDesign:
    """One model."""

    name: str
    """The class's name."""
    kind: str | None
    """The text that tells its items in a shared table; None for items without a marker, for those that the templates of
    their keys tell, and in a table of its own."""
    count: int
    """How many items of it were sampled."""
    fields: tuple[FieldDesign, ...]
    """Its fields, those of the key first."""
    schema_version: int | None = None
    """The version that this library stored of each item; None where it stored none, or several."""
    checks: tuple[str, ...] = ()
    """Doubts, each a sentence."""

    def field_of(self, attribute: str) -> FieldDesign | None:
        """Return the field of a stored attribute, if there is one."""
        return next((each for each in self.fields if each.attribute == attribute), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDesign:
    """A table and its models."""

    schema: TableSchema
    """Keys, indexes, time to live, throughput and settings."""
    models: tuple[ModelDesign, ...]
    """The models, the most frequent first."""
    nested: tuple[NestedDesign, ...]
    """The classes of maps, inner ones first."""
    discriminator: str | None
    """The attribute that tells the models of a shared table; None in a table of one model, and where keys tell them."""
    is_prefix: bool
    """Whether it begins with the kind, and is not the kind itself."""
    by_keys: bool = False
    """Whether the models share the table, and nothing but the templates of their keys tells them."""
    sampled: int
    """How many items were sampled."""
    complete: bool
    """Whether these are all items of the table."""
    checks: tuple[str, ...] = ()
    """Doubts about the table."""

    @property
    def is_shared(self) -> bool:
        """Whether several models share the table."""
        return self.by_keys or self.discriminator is not None
