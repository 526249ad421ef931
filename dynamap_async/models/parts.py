"""Keys told by field names: those of the key itself, or those that its templates are made of."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from dynamap_async.errors import EncodeError, OperationError
from dynamap_async.models.fields import FieldPlan

_UNTOLD: Final = object()


class Parts:
    """The parts of a key, by field name, wherever a key value is taken: ``get(Store, Parts(country="GB", id=7))``.

    In place of the partition key's value alone it tells the whole key. Beside other values it tells the one in its
    place.
    """

    __slots__ = ("values",)

    def __init__(self, **values: Any) -> None:
        """Take the parts: field name -> value."""
        self.values: Mapping[str, Any] = values

    def __repr__(self) -> str:
        return f"Parts({', '.join(f'{name}={value!r}' for name, value in self.values.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parts) and self.values == other.values

    def __hash__(self) -> int:
        return hash(frozenset(self.values.items()))


def key_values_of(model: str, fields: Sequence[FieldPlan], values: Sequence[Any]) -> Sequence[Any]:
    """Return a value for each field of a key, where some or all may be told by their parts.

    Args:
        model: the model's name, for messages.
        fields: the key's fields, partition key first.
        values: what the program gave.

    Raises:
        OperationError: a part is missing, or none of the key.
        EncodeError: a part does not fit.
    """
    if not any([isinstance(value, Parts) for value in values]):  # noqa: C419 - a list is faster, and this is hot
        return values
    if len(values) == 1 and isinstance(values[0], Parts):
        return _told(model, fields, values[0])
    if len(values) != len(fields):
        return values  # too many or too few: the caller says so
    return [
        _told(model, (field,), value)[0] if isinstance(value, Parts) else value
        for field, value in zip(fields, values, strict=True)
    ]


def _told(model: str, fields: Sequence[FieldPlan], parts: Parts) -> list[Any]:
    known = dict.fromkeys(name for field in fields for name in (*_names(field), field.name))
    unknown = [name for name in parts.values if name not in known]
    if unknown:
        raise OperationError(f"{unknown[0]!r} is no part of the key of {model}, which is made of {_listed(fields)}")
    found = [_value(model, field, parts.values) for field in fields]
    if any(value is _UNTOLD for value in found):
        told = ", ".join(name for name, value in parts.values.items() if value is not None) or "nothing"
        raise OperationError(f"the key of {model} is made of {_listed(fields)}; {parts!r} tells only {told}")
    return found


def _value(model: str, field: FieldPlan, values: Mapping[str, Any]) -> Any:
    if field.name in values:
        return values[field.name]
    if field.template is None or any(values.get(name) is None for name in field.template.names):
        return _UNTOLD
    try:
        return field.template.build(values)
    except EncodeError as error:
        raise error.at(model=model) from error.__cause__


def _names(field: FieldPlan) -> Iterable[str]:
    return (field.name,) if field.template is None else field.template.names


def _listed(fields: Sequence[FieldPlan]) -> str:
    return ", ".join(dict.fromkeys(name for field in fields for name in _names(field))) or fields[0].name
