"""Members of nested values: which of them a value cannot do without, and which are left out where they are empty."""

import dataclasses
from typing import Any, NotRequired, Required, get_origin

from pydantic.fields import FieldInfo
from typing_extensions import is_typeddict

from dynamap_async.models.annotations import is_encoded, is_optional, set_type
from dynamap_async.models.markers import stored_form


def drops_empty_set(info: FieldInfo) -> bool:
    """Return whether a nested model's field is a set that is left out where it is empty, as absence reads as that."""
    if set_type(info.annotation) is None or is_optional(info.annotation):
        return False
    if stored_form(info) is not None or is_encoded(tuple(info.metadata)):
        return False
    if info.default_factory is not None:
        return info.default_factory in (set, frozenset)
    return info.is_required() or not info.default


def is_required_member(kind: Any, name: str, hint: Any) -> bool:
    """Return whether values cannot do without a member.

    Args:
        kind: a dataclass or a typed dict.
        name: the member.
        hint: its type, with what stands around it.
    """
    if is_typeddict(kind):
        return get_origin(hint) is not NotRequired and (get_origin(hint) is Required or name in kind.__required_keys__)
    fields: Any = getattr(kind, "__pydantic_fields__", None) or getattr(kind, "__dataclass_fields__", {})
    declared: Any = fields.get(name)
    info: Any = declared if isinstance(declared, FieldInfo) else getattr(declared, "default", None)
    if isinstance(info, FieldInfo):
        return info.is_required()
    return info is dataclasses.MISSING and getattr(declared, "default_factory", None) is dataclasses.MISSING
