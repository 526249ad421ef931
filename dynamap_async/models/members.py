"""Members of dataclasses and typed dicts: which of them a value cannot do without."""

import dataclasses
from typing import Any, NotRequired, Required, get_origin

from pydantic.fields import FieldInfo
from typing_extensions import is_typeddict


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
    field = fields.get(name)
    if isinstance(field, dataclasses.Field) and not isinstance(field.default, FieldInfo):
        return field.default is field.default_factory is dataclasses.MISSING
    info = field.default if isinstance(field, dataclasses.Field) else field
    return isinstance(info, FieldInfo) and info.is_required()
