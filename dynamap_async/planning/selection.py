"""Selections: what the items of a query become, whole models or tuples of selected values."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from dynamap_async.codec import EMPTY_SET, decode_any
from dynamap_async.errors import DecodeError, ItemDecodeError, ItemValidationError
from dynamap_async.expressions import Path
from dynamap_async.models import Absence, FieldPlan, Model, definition_of, drops_empty
from dynamap_async.wire import AttributeValue, WireItem

M = TypeVar("M", bound=Model)
Steps: TypeAlias = tuple[str | int, ...]

_NULL: Final[AttributeValue] = {"NULL": True}


def whole_items(model: type[M]) -> Callable[[Sequence[WireItem]], list[M]]:
    """Return the decoder of whole items."""
    return definition_of(model).items.decode


class _Selected(NamedTuple):
    path: Path
    field: FieldPlan
    """The field that the path is, or is inside of."""
    place: Steps
    """Where the value stands in a projected item."""


class SelectionDecoder:
    """Decodes selected values: one tuple per item, in the order of the selection."""

    def __init__(self, model: type[Model], selected: Sequence[Path]) -> None:
        self._model = model
        definition = definition_of(model)
        projected = [path.steps for path in selected]
        self._selected = [
            _Selected(
                path,
                definition.fields[definition.field_names[path.attribute]],
                _place_in_answer(path.steps, projected),
            )
            for path in selected
        ]

    def __call__(self, items: Sequence[WireItem]) -> list[tuple[Any, ...]]:
        """Return the tuples of wire items.

        Raises:
            ItemValidationError: a stored value does not fit its field; the error carries the tuples that do.
        """
        decoded: list[tuple[Any, ...]] = []
        failures: list[ItemValidationError] = []
        for item in items:
            try:
                decoded.append(tuple([self._value(item, selected) for selected in self._selected]))
            except ItemValidationError as failure:
                failures.append(failure)
        if failures:
            raise ItemValidationError.of_call(failures, decoded)
        return decoded

    def value(self, item: WireItem, position: int) -> Any:
        """Return one of the values of one wire item.

        Raises:
            ItemValidationError: the stored value does not fit its field.
        """
        return self._value(item, self._selected[position])

    def _value(self, item: WireItem, selected: _Selected) -> Any:
        path = selected.path
        found = _walk(item, selected.place)
        try:
            if found is None:
                return self._absent_part(path) if len(path.steps) > 1 else self._absent(selected)
            if found == _NULL and len(path.steps) == 1:
                return self._null(selected)
            return selected.field.of_stored(found) if len(path.steps) == 1 else path.converter.decode_final(found)
        except ValueError as error:
            raise self._failure(item, path, error) from error

    @staticmethod
    def _absent_part(path: Path) -> Any:
        # A part may be absent because what it is a part of is: no default of its own then applies. Whether that is
        # why, an answer does not tell; but an empty set is stored by its absence.
        return path.converter.decode(EMPTY_SET) if drops_empty(path) else None

    def _absent(self, selected: _Selected) -> Any:
        match selected.field.absence:
            case Absence.NONE:
                return None
            case Absence.EMPTY_SET:
                return _empty_set(selected)
            case Absence.OTHER:
                info = self._model.model_fields[selected.field.name]
                return info.get_default(call_default_factory=True, validated_data={})
            case Absence.ERROR:
                raise ValueError("the item does not have the attribute")

    def _null(self, selected: _Selected) -> Any:
        if selected.field.null_reads_as_empty_set:
            return _empty_set(selected)
        if selected.field.nullable:
            return None
        return selected.path.converter.decode_final(_NULL)

    def _failure(self, item: WireItem, path: Path, fault: ValueError) -> ItemValidationError:
        names = definition_of(self._model).require_table("read").keys.names
        key = {name: decode_any(item[name]) for name in names if name in item}
        kind, text = ItemValidationError, f"{path}: {fault}"
        if isinstance(fault, DecodeError):
            kind, text = ItemDecodeError, f"{self._model.__name__}.{fault.at(path.spelled)}"
        return kind(
            f"the stored item {key} does not fit {text}",
            model=self._model.__name__,
            key=key,
            item=item,
            validation_error=fault,
        )


def _empty_set(selected: _Selected) -> Any:
    return selected.path.converter.decode(EMPTY_SET)


def _place_in_answer(steps: Steps, projected: Sequence[Steps]) -> Steps:
    """Return where a path's value stands in a projected item.

    Of a list, a projection brings back only the elements asked for, closed up: ``history[2], history[5]`` arrive as a
    list of two, or of one where the stored list ends before position 5.
    """
    place: list[str | int] = []
    for depth, step in enumerate(steps):
        before = steps[:depth]
        whole = any(other == steps[: len(other)] for other in projected if len(other) <= depth)
        if isinstance(step, int) and not whole:
            asked = {other[depth] for other in projected if len(other) > depth and other[:depth] == before}
            step = sorted(asked, key=int).index(step)  # noqa: PLW2901 - the position moves to its rank
        place.append(step)
    return tuple(place)


def _walk(item: WireItem, steps: Steps) -> AttributeValue | None:
    """Return the stored value at a path, or None where the item has none."""
    value: AttributeValue = {"M": item}
    for step in steps:
        if isinstance(step, str):
            found = value.get("M", {}).get(step)
        else:
            elements = value.get("L", [])
            found = elements[step] if step < len(elements) else None
        if found is None:
            return None
        value = found
    return value
