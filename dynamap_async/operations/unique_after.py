"""What an update leaves in the unique attributes of an item, as far as that can be told before it is sent."""

from collections.abc import Sequence
from typing import Any

from dynamap_async.errors import OperationError
from dynamap_async.expressions import Action, Call, Path, Remove, Set, Value
from dynamap_async.models import Definition
from dynamap_async.wire import AttributeValue, WireItem


def unique_attributes(definition: Definition[Any]) -> frozenset[str]:
    """Return the stored names of all unique fields."""
    return frozenset(field.stored for constraint in definition.uniques for field in constraint.fields)


def unique_after(definition: Definition[Any], actions: Sequence[Action], before: WireItem) -> WireItem:
    """Return the unique attributes as an update leaves them.

    Args:
        definition: the model.
        actions: all that the update does.
        before: what is stored until then; nothing for an item that the update makes.

    Raises:
        OperationError: one gets no constant, so only DynamoDB will know its value.
    """
    names = unique_attributes(definition)
    found: WireItem = {name: value for name, value in before.items() if name in names}
    for action in actions:
        name = action.path.attribute
        if name in names:
            value = _value(definition, action, before.get(name))
            found.pop(name, None)
            if value is not None:
                found[name] = value
    return found


def _value(definition: Definition[Any], action: Action, stored: AttributeValue | None) -> AttributeValue | None:
    match action:
        case Remove():
            return None
        case Set(source=Value(stored=value)):
            return value
        case Set(path=path, source=Call(name="if_not_exists", arguments=(Path() as looked, Value(stored=value)))) if (
            looked == path
        ):
            return value if stored is None else stored
        case _:
            field = f"{definition.model.__name__}.{action.path.spelled}"
            raise OperationError(
                f"{field} is unique, so the update has to say its value, as in set({field}, value); or read the item, "
                "change it and save it"
            )
