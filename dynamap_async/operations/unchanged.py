"""Unchanged: the condition that an attribute of a stored item still reads as it did, and what one that is absent means.

Items that were stored before a field was declared lack its attribute, and read as its default. So absence is taken for
the value that it reads as, and not for a change.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from dynamap_async.errors import EncodeError
from dynamap_async.expressions import Comparison, Condition, Function, Or, Path, Value
from dynamap_async.models import Absence, Definition, FieldPlan, validated
from dynamap_async.planning import in_shards, places_of
from dynamap_async.wire import AttributeValue

_NULL = Value({"NULL": True})


def absent_value(model: type[BaseModel], field: FieldPlan, others: Mapping[str, Any] | None = None) -> Any:
    """Return what a field reads as from an item without the attribute.

    Args:
        model: the class.
        field: the field.
        others: the values of the item's other fields, of which a default factory may make its own.
    """
    info = model.__pydantic_fields__[field.name]
    if field.required or (info.default_factory_takes_validated_data and others is None):
        return field.of_absence()
    default: Any = info.get_default(call_default_factory=True, validated_data=None if others is None else dict(others))
    return (
        validated(Path(model, (field.stored,), field.name, field.converter), default)
        if info.validate_default
        else default
    )


def unchanged(definition: Definition[Any], attribute: str, item: Mapping[str, AttributeValue]) -> Condition:
    """Return the condition that an attribute of the stored item reads as it does in an item.

    Args:
        definition: the model.
        attribute: the stored name of a field.
        item: the item as it was read or written, its partition keys without shards.
    """
    field = definition.fields[definition.field_names[attribute]]
    path, stored = definition.path(field.name), item.get(attribute)
    absent = Function("attribute_not_exists", path)
    if stored is None:
        # The key of an index is never NULL: DynamoDB refuses such an item.
        null = (
            _NULL.stored in path.reads_as_none and attribute not in definition.require_table("changed").attribute_types
        )
        return Or((absent, Comparison("=", path, _NULL))) if null else absent
    same = in_shards(Comparison("=", path, Value(stored)), places_of((definition,)))
    return Or((absent, same)) if _means(definition, field, stored) else same


def _means(definition: Definition[Any], field: FieldPlan, stored: AttributeValue) -> bool:
    """Return whether a field reads the same from an item without the attribute."""
    if field.absence is not Absence.OTHER:
        return False
    try:
        return field.converter.encode(absent_value(definition.model, field)) == stored
    except EncodeError:
        return False
