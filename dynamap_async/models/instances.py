"""Instances: giving a model instance values that the store knows, without validating them again."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from dynamap_async.models.state import hand_over, mark_validated


def give(item: BaseModel, values: Mapping[str, Any]) -> None:
    """Set fields of an instance, of a frozen one too: field name -> value, each of the field's own type."""
    if not values:
        return
    own = vars(item)
    lacking = not own.keys() >= values.keys()
    own.update(values)
    if lacking:
        # In the order of the fields, in which Pydantic shows and dumps them.
        ordered = {name: own[name] for name in type(item).__pydantic_fields__ if name in own}
        object.__setattr__(item, "__dict__", {**ordered, **own})
    item.__pydantic_fields_set__.update(values)


def take_over(item: BaseModel, fresh: BaseModel) -> None:
    """Give an instance what another one of its class was read with: its values and what is remembered of its item.

    The other one is not to be used any more. Private attributes stay as they are.
    """
    for name in ("__dict__", "__pydantic_extra__", "__pydantic_fields_set__"):
        object.__setattr__(item, name, getattr(fresh, name))
    mark_validated(item)
    hand_over(fresh, item)
