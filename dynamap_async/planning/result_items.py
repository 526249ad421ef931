"""What the items of a read become: instances of one model or several, selected values, or another Pydantic model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

from pydantic import BaseModel

from dynamap_async.codec import EMPTY_SET, MISSING, Absence
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import DecodeError, ItemDecodeError, ItemValidationError, OperationError
from dynamap_async.errors.items import each_outcome
from dynamap_async.expressions import Path
from dynamap_async.models import (
    FieldPlan,
    Model,
    Table,
    decode_mixed,
    decoder_for,
    definition_of,
    faults_of,
    fits,
    for_own_init,
    kind_error,
    left_out_at,
    name_of,
)
from dynamap_async.planning.context import stored_path
from dynamap_async.wire import AttributeValue, WireItem

E = TypeVar("E")

Invalid: TypeAlias = Literal["error", "skip", "raw"]
"""What becomes of an item that does not fit its model: it is an error, left out, or given as an ``InvalidItem``."""

Unknown: TypeAlias = Literal["error", "skip", "raw"]
"""What becomes of an item of no known model: it is an error, left out, or given as it is stored."""

DecodeItems: TypeAlias = Callable[[Sequence[WireItem]], list[Any]]


@dataclass(frozen=True, slots=True)
class InvalidItem:
    """A stored item that does not fit its model."""

    key: dict[str, Any]
    """The item's key: stored attribute name -> Python value."""
    wire_item: WireItem
    """The item, in wire form."""
    error: ItemValidationError
    """Why it does not fit."""


def keep_invalid(decode: DecodeItems) -> DecodeItems:
    """Return a decoder that gives an ``InvalidItem`` in the place of each item that does not fit."""

    def decoded(items: Sequence[WireItem]) -> list[Any]:
        try:
            return decode(items)
        except ItemValidationError as error:
            outcomes = each_outcome(error, items)
            return [
                InvalidItem(each.key, each.item, each) if isinstance(each, ItemValidationError) else each
                for each in outcomes
            ]

    return decoded


Steps: TypeAlias = tuple[str | int, ...]

_NULL: Final[AttributeValue] = {"NULL": True}


class _Selected(NamedTuple):
    path: Path
    field: FieldPlan | None
    """The field that the path is, or is inside of; None for an attribute that the model does not declare."""
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
                definition.fields[definition.field_names[path.attribute]] if path.is_declared else None,
                _place_in_answer(path.steps, projected),
            )
            for path in selected
        ]

    def __call__(self, items: Sequence[WireItem]) -> list[tuple[Any, ...]]:
        """Return a tuple for each wire item.

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
        path, field = selected.path, selected.field
        found = _walk(item, selected.place)
        try:
            if field is None:
                return None if found is None else path.converter.decode_final(found)
            if found is None:
                return self._absent_part(path) if len(path.steps) > 1 else self._absent(path, field)
            if found == _NULL and len(path.steps) == 1:
                return self._null(path, field)
            return field.of_stored(found) if len(path.steps) == 1 else path.converter.decode_final(found)
        except Exception as error:
            raise self._failure(item, path, error) from error

    @staticmethod
    def _absent_part(path: Path) -> Any:
        # A part may be absent because what it is a part of is: no default of its own then applies. Whether that is
        # why, an answer does not tell; but an empty set is stored by its absence.
        if path.absence is Absence.MISSING:
            return MISSING
        return path.converter.decode(EMPTY_SET) if left_out_at(path) == EMPTY_SET else None

    def _absent(self, path: Path, field: FieldPlan) -> Any:
        match field.absence:
            case Absence.NONE:
                return None
            case Absence.EMPTY_SET:
                return _empty_set(path)
            case Absence.MISSING:
                return MISSING
            case Absence.OTHER:
                info = self._model.model_fields[field.name]
                return info.get_default(call_default_factory=True, validated_data={})
            case Absence.ERROR:
                raise ValueError("the item does not have the attribute")

    @staticmethod
    def _null(path: Path, field: FieldPlan) -> Any:
        if field.null_reads_as_empty_set:
            return _empty_set(path)
        if field.nullable:
            return None
        return path.converter.decode_final(_NULL)

    def _failure(self, item: WireItem, path: Path, fault: Exception) -> ItemValidationError:
        key = definition_of(self._model).items.shown_key(item)
        kind, text = ItemValidationError, f"{path}: {fault if isinstance(fault, ValueError) else faults_of(fault)}"
        if isinstance(fault, DecodeError):
            kind, text = ItemDecodeError, f"{self._model.__name__}.{fault.at(path.spelled)}"
        upgrades = definition_of(self._model).items.upgrades
        if upgrades is not None and upgrades.may_change(path.attribute):
            text += (
                ". select() and into() read items as they are stored and do not upgrade them, and this one may be of a "
                "version before "
                f"{upgrades.version}: read whole items, or upgrade all of them first, session.upgrade("
                f"{self._model.__name__})"
            )
        return kind(
            f"the stored item {key} does not fit {text}",
            model=self._model.__name__,
            key=key,
            item=item,
            validation_error=fault,
        )


def _empty_set(path: Path) -> Any:
    return path.converter.decode(EMPTY_SET)


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


def checked_target(model: type[Model], target: object) -> type[BaseModel]:
    """Return the class that items are read into, checked against their model.

    Raises:
        OperationError: it is no Pydantic model, has no fields, or one that the items cannot fill.
    """
    if not (isinstance(target, type) and issubclass(target, BaseModel)) or target.__pydantic_root_model__:
        raise OperationError(
            f"into({target!r}) needs a Pydantic model whose fields are named like fields of {model.__name__}; for "
            "plain values write .select(...)"
        )
    # A class that names another one defined below it is completed when it is used first.
    if not target.__pydantic_complete__:
        target.model_rebuild()
    if not target.model_fields:
        raise OperationError(f"{target.__name__} has no fields, so there is nothing to read into it")
    fields = definition_of(model).fields
    for name, info in target.model_fields.items():
        if name not in fields:
            raise OperationError(
                f"{target.__name__}.{name} is not a field of {model.__name__}, so it could not be filled; rename it, "
                "or compute it with @computed_field"
            )
        if not fits(info, fields[name]):
            raise OperationError(
                f"{target.__name__}.{name} is {name_of(info.annotation)}, and {model.__name__}.{name} is "
                f"{name_of(fields[name].annotation)}: it could not be filled; give both the same type"
            )
    return target


def target_paths(model: type[Model], target: type[BaseModel]) -> tuple[Path, ...]:
    """Return the paths of the fields that are read into a target."""
    definition = definition_of(model)
    return tuple(stored_path(model, definition.path(name)) for name in target.model_fields)


class TargetDecoder:
    """Decodes items of one model into instances of another.

    Values have the form and the meaning that the items' own model gives them: what its fields are stored as, and what
    it says of an absent attribute. The target's defaults are never used.

    Args:
        model: the items' own model.
        target: the class of the instances.
        selection: decodes the values of the target's fields, in their order, and knows what absent ones mean.
    """

    def __init__(self, model: type[Model], target: type[BaseModel], selection: SelectionDecoder) -> None:
        self._model = model
        self._target = target
        self._selection = selection
        self._to_names = for_own_init(target)
        fields = definition_of(model).fields
        self._fields = [
            (place, name, fields[name].stored, decoder_for(target, info, fields[name]))
            for place, (name, info) in enumerate(target.model_fields.items())
        ]
        definition = definition_of(target) if issubclass(target, Model) else None
        self._snapshots = None if definition is None or definition.table is None else definition.items.snapshots

    def __call__(self, items: Sequence[WireItem]) -> list[Any]:
        """Return an instance for each wire item.

        Raises:
            ItemValidationError: items do not fit; the error carries the instances of those that do.
        """
        made: list[Any] = []
        read: list[WireItem] = []
        failures: list[ItemValidationError] = []
        for item in items:
            try:
                made.append(self._instance(item))
            except ItemValidationError as failure:
                failures.append(failure)
            else:
                read.append(item)
        if self._snapshots is not None:
            self._snapshots.mark_partial(made, read)
        if failures:
            raise ItemValidationError.of_call(failures, made)
        return made

    def _values(self, item: WireItem) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for place, name, attribute, decode in self._fields:
            found = item.get(attribute)
            if found is not None and found != _NULL:
                try:
                    values[name] = decode(found)
                    continue
                except Exception:  # noqa: BLE001, S110 - the field's own way to read it says what is wrong
                    pass
            # Slower, but it knows defaults, and its error names the field.
            values[name] = self._selection.value(item, place)
        return values

    def _instance(self, item: WireItem) -> BaseModel:
        values = self._values(item)
        try:
            # From attributes: a nested value comes as an instance of its own model, and the target may have another.
            made: BaseModel = self._target.__pydantic_validator__.validate_python(
                values if self._to_names is None else self._to_names(values),
                from_attributes=True,
                by_name=True,
                by_alias=False,
            )
        except Exception as error:
            key = definition_of(self._model).items.shown_key(item)
            raise ItemValidationError(
                f"the stored item {key} does not fit {self._target.__name__}: {faults_of(error)}",
                model=self._target.__name__,
                key=key,
                item=item,
                validation_error=error,
            ) from error
        return made


@dataclass(frozen=True, slots=True)
class UnknownItem:
    """An item of a shared table that is of no known model, as it is stored."""

    kind: str | None
    """The kind that is stored with it; None where there is none, or it is no text."""
    wire_item: WireItem
    """The item, in wire form."""


class Grouped:
    """The items of an entity collection by model, each group in the order in which they came.

    ``Grouped(page.items)[Order]`` is a list of orders, empty where there is none; that of a base class has the items
    of its subclasses too.
    """

    __slots__ = ("items",)

    def __init__(self, items: Iterable[Any], /) -> None:
        self.items: tuple[Any, ...] = tuple(items)
        """All items, in order."""

    def __repr__(self) -> str:
        counts: dict[str, int] = {}
        for item in self.items:
            name = type(item).__name__
            counts[name] = counts.get(name, 0) + 1
        return f"Grouped({', '.join(f'{name}: {count}' for name, count in counts.items())})"

    def __getitem__(self, model: type[E], /) -> list[E]:
        """Return the items that are instances of a class."""
        return [item for item in self.items if isinstance(item, model)]


class CollectionDecoder:
    """Decodes items of several models of a shared table, each as its own."""

    def __init__(self, models: Sequence[type[Model]], unknown: Unknown) -> None:
        first = definition_of(models[0])
        assert first.kinds is not None, f"{models[0]} shares no table"  # noqa: S101 - checked_collection was asked
        self._table: Table = first.kinds.table
        self._models = tuple(models)
        self._unknown = unknown
        self._key = first.items.shown_key

    def __call__(self, items: Sequence[WireItem]) -> list[Any]:
        """Return an instance for each wire item.

        Raises:
            ItemKindError: an item is of none of the models; the error carries the others.
            ItemValidationError: an item does not fit its model; the error carries those that do.
        """
        return decode_mixed(items, [self._decoder_or_fault(item) for item in items])

    def _decoder_or_fault(self, item: WireItem) -> Any:
        kind = self._table.kind_of(item)
        model = None if kind is None else self._table.models.get(kind)
        if model is not None and issubclass(model, self._models):
            return definition_of(model).items
        if self._unknown == "raw":
            return UnknownItem(kind if isinstance(kind, str) else None, {**item})
        return kind_error(self._table, item, self._key(item), [each.__name__ for each in self._models])
