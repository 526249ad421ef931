"""Rows: what the items of a query become, whole models or tuples of selected values."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

from dynamap_async.codec import MISFITS, decode_any
from dynamap_async.errors import ItemValidationError
from dynamap_async.expressions import Path
from dynamap_async.models import Absence, Model, definition_of
from dynamap_async.wire import AttributeValue, WireItem

M = TypeVar("M", bound=Model)


def whole_items(model: type[M]) -> Callable[[Sequence[WireItem]], list[M]]:
    """Return the decoder of whole items."""
    return definition_of(model).items.decode


class RowDecoder:
    """Decodes selected values: one tuple per item, in the order of the selection."""

    def __init__(self, model: type[Model], selected: Sequence[Path]) -> None:
        self._model = model
        definition = definition_of(model)
        fields = (definition.fields[definition.field_names[path.attribute]] for path in selected)
        projected = [path.steps for path in selected]
        places = (_place_in_answer(path.steps, projected) for path in selected)
        self._values = list(zip(selected, fields, places, strict=True))

    def __call__(self, items: Sequence[WireItem]) -> list[tuple[Any, ...]]:
        """Return the rows of wire items.

        Raises:
            ItemValidationError: a stored value does not fit its field; the error carries the rows that do.
        """
        rows: list[tuple[Any, ...]] = []
        failures: list[ItemValidationError] = []
        for item in items:
            try:
                rows.append(self._row(item))
            except ItemValidationError as failure:
                failures.append(failure)
        if not failures:
            return rows
        first = failures[0]
        raise ItemValidationError(
            str(first),
            model=first.model,
            key=first.key,
            item=first.item,
            validation_error=first.validation_error,
            items=rows,
            failures=failures,
        ) from first.validation_error

    def _row(self, item: WireItem) -> tuple[Any, ...]:
        values: list[Any] = []
        for path, field, place in self._values:
            found = _walk(item, place)
            nested = len(path.steps) > 1
            try:
                if found is None:
                    values.append(None if nested else self._absent(field.name, field.absence))
                elif "NULL" in found and "NULL" not in path.converter.tags:
                    values.append(set() if field.absence is Absence.EMPTY_SET and not nested else None)
                else:
                    values.append(path.converter.decode(found))
            except MISFITS as error:
                raise self._failure(item, path, error) from error
        return tuple(values)

    def _absent(self, name: str, absence: Absence) -> Any:
        match absence:
            case Absence.NONE:
                return None
            case Absence.EMPTY_SET:
                return set()
            case Absence.OTHER:
                return self._model.model_fields[name].get_default(call_default_factory=True, validated_data={})
            case Absence.ERROR:
                raise ValueError("the item does not have the attribute")

    def _failure(self, item: WireItem, path: Path, error: Exception) -> ItemValidationError:
        names = definition_of(self._model).require_table("read").keys.names
        key = {name: decode_any(item[name]) for name in names if name in item}
        fault = error if isinstance(error, ValueError) else ValueError(f"{path.converter.label} expected")
        return ItemValidationError(
            f"the stored item {key} does not fit {path}: {fault}",
            model=self._model.__name__,
            key=key,
            item=item,
            validation_error=fault,
        )


Steps: TypeAlias = tuple[str | int, ...]


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
        if isinstance(step, str) and step in value.get("M", {}):
            value = value["M"][step]
        elif isinstance(step, int) and step < len(value.get("L", [])):
            value = value["L"][step]
        else:
            return None
    return value
