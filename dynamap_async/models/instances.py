"""Instances: giving a model instance values that the store knows, without validating them again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from dynamap_async.models.assigned import assigned_of
from dynamap_async.models.markers import Role, declared_template
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


def hash_of_given(item: BaseModel) -> int:
    """Return the hash of a frozen instance, made of what the program gave it.

    What a session gives (a version, a number, times, computed keys) does not count: it comes when the item is written,
    while the instance may be in a set. Equal instances have equal hashes all the same.
    """
    values, fields = vars(item), type(item).__pydantic_fields__
    return hash(tuple([values.get(name) for name, info in fields.items() if not _is_made(info)]))


def keep_hash(model: type[BaseModel], namespace: Mapping[str, Any]) -> None:
    """Let a new frozen class hash what the program gives, unless it says itself, or inherits, what its hash is.

    Args:
        model: the class; Pydantic gave it a hash of all fields.
        namespace: its body.
    """
    is_default = "__hash__" not in namespace and vars(model).get("__hash__") is not None
    if model.model_config.get("frozen") and is_default and any(map(_is_made, model.__pydantic_fields__.values())):
        type.__setattr__(model, "__hash__", hash_of_given)


def _is_made(info: FieldInfo) -> bool:
    return Role.VERSION in info.metadata or assigned_of(info) is not None or declared_template(info) is not None


def take_over(item: BaseModel, fresh: BaseModel) -> None:
    """Give an instance what another one of its class was read with: its values and what is remembered of its item.

    The other one is not to be used any more. Private attributes stay as they are.
    """
    for name in ("__dict__", "__pydantic_extra__", "__pydantic_fields_set__"):
        object.__setattr__(item, name, getattr(fresh, name))
    mark_validated(item)
    hand_over(fresh, item)
