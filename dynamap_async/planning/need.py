"""Needs: what a read needs of the index that answers it, and whether the index has it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dynamap_async.errors import OperationError, UnprojectedAttributeError
from dynamap_async.expressions import Condition, paths_in
from dynamap_async.schema import IndexKind, IndexSchema, TableSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What a query needs of the index that answers it."""

    model: str
    """Name of the model, for messages."""
    attributes: tuple[str, ...]
    """Stored names of the attributes that its result is made of."""
    everything: bool
    """Whether its result is made of all stored attributes, known or not."""
    consistent: bool
    whole: bool = False
    """Whether its result is whole items, which can be fetched from the table."""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Stored name -> the field that asks for it, of the model that the result is read into."""
    expiry: str | None = None
    """Stored name of the attribute that says which items are expired and left out, if any are."""
    told_by: str | None = None
    """Stored name of the attribute that tells its items from those of other models in the same table, if any do."""


def check_index(table: TableSchema, index: IndexSchema, need: Need, filters: Sequence[Condition]) -> None:
    """Raise OperationError where an index cannot give what a query or scan needs of it."""
    if need.consistent and index.kind is IndexKind.GLOBAL:
        raise OperationError(
            f"the index {index.name!r} is global, and DynamoDB reads global indexes with eventual consistency only; "
            "drop .consistent(), or read the table"
        )
    filtered = [path.attribute for condition in filters for path in paths_in(condition)]
    missing = [name for name in dict.fromkeys(filtered) if not table.projects(index, name)]
    if missing:
        raise UnprojectedAttributeError(
            f"the index {index.name!r} does not hold {_listed(missing)}, so a filter on it would find nothing; project "
            "it into the index, or query another index or the table",
            attributes=missing,
            index=index.name,
        )
    if is_completed(table, index, need):
        return
    if need.expiry is not None and not table.projects(index, need.expiry):
        raise UnprojectedAttributeError(
            f"the index {index.name!r} does not hold {need.expiry!r}, which says when an item of {need.model} expires, "
            "so expired items could not be left out; project it into the index, or query another index or the table",
            attributes=(need.expiry,),
            index=index.name,
        )
    if need.told_by is not None and not table.projects(index, need.told_by):
        raise UnprojectedAttributeError(
            f"the index {index.name!r} does not hold {need.told_by!r}, which tells what an item is in a shared table, "
            f"so items of other models than {need.model} could not be left out; project it into the index, or query "
            "another index or the table",
            attributes=(need.told_by,),
            index=index.name,
        )
    missing = _missing(table, index, need)
    if missing:
        raise UnprojectedAttributeError(
            f"the index {index.name!r} does not hold {_listed(missing)}{_wanted_by(missing, need)}; leave it out, "
            "project it into the index, or read whole items, which are completed from the table",
            attributes=missing,
            index=index.name,
        )


def is_completed(table: TableSchema, index: IndexSchema | None, need: Need) -> bool:
    """Return whether whole items are asked for, and the index does not hold them."""
    if index is None or not need.whole:
        return False
    untold = need.told_by is not None and not table.projects(index, need.told_by)
    return untold or bool(_missing(table, index, need)) or (need.everything and index.projection.type != "ALL")


def _missing(table: TableSchema, index: IndexSchema, need: Need) -> list[str]:
    if index.projection.type == "ALL":
        return []
    held = {*index.projection.attributes, *index.keys.names, *table.keys.names}
    return [name for name in dict.fromkeys(need.attributes) if name not in held]


def _wanted_by(missing: Sequence[str], need: Need) -> str:
    labels = [need.labels[name] for name in missing if name in need.labels]
    return f", which {' and '.join(labels)} would be filled from" if labels else f" of {need.model}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
