"""Cards: other Pydantic models that the items of a model are read into, made of some of its fields."""

from collections.abc import Sequence
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from dynamap_async.codec import MISFITS, decode_any
from dynamap_async.errors import ItemValidationError, OperationError
from dynamap_async.expressions import Path
from dynamap_async.models import Model, decoder_for, definition_of, faults_of, fits, for_own_init, name_of
from dynamap_async.planning.context import stored_path
from dynamap_async.planning.selection import SelectionDecoder
from dynamap_async.wire import AttributeValue, WireItem

_NULL: Final[AttributeValue] = {"NULL": True}


def checked_card(model: type[Model], card: object) -> type[BaseModel]:
    """Return the class that items of a model are to be read into.

    Raises:
        OperationError: it is no Pydantic model, has no fields, or one that the items cannot fill.
    """
    if not (isinstance(card, type) and issubclass(card, BaseModel)) or card.__pydantic_root_model__:
        raise OperationError(
            f"into({card!r}) takes a class derived from pydantic.BaseModel, whose fields are named like fields of "
            f"{model.__name__}; for plain values write .select(...)"
        )
    if not card.__pydantic_complete__:
        card.model_rebuild()
    if not card.model_fields:
        raise OperationError(f"{card.__name__} has no fields, so there is nothing to read into it")
    fields = definition_of(model).fields
    for name, info in card.model_fields.items():
        if name not in fields:
            raise OperationError(
                f"{card.__name__}.{name} is no field of {model.__name__}, so it would never be read; name it like one, "
                "or compute it with @computed_field"
            )
        if not fits(info, fields[name]):
            raise OperationError(
                f"{card.__name__}.{name} is {name_of(info.annotation)}, and {model.__name__}.{name} is "
                f"{name_of(fields[name].annotation)}: it could not be filled; give both the same type"
            )
    return card


def card_paths(model: type[Model], card: type[BaseModel]) -> tuple[Path, ...]:
    """Return what is read of each item."""
    definition = definition_of(model)
    return tuple(stored_path(model, definition.path(name)) for name in card.model_fields)


class CardDecoder:
    """Decodes items of one model into instances of another.

    Values have the form and the meaning that the items' own model gives them: what its fields are stored as, and what
    it says of an absent attribute. The card's defaults are never used.
    """

    def __init__(self, model: type[Model], card: type[BaseModel], selection: SelectionDecoder) -> None:
        """Prepare for items of a model.

        Args:
            model: the items' own model.
            card: the class of the instances.
            selection: decodes the values of the card's fields, in their order, and knows what absent ones mean.
        """
        self._model = model
        self._card = card
        self._selection = selection
        self._rename = for_own_init(card)
        fields = definition_of(model).fields
        self._fields = [
            (place, name, fields[name].stored, decoder_for(card, info, fields[name]))
            for place, (name, info) in enumerate(card.model_fields.items())
        ]
        definition = definition_of(card) if issubclass(card, Model) else None
        self._snapshots = None if definition is None or definition.table is None else definition.items.snapshots

    def __call__(self, items: Sequence[WireItem]) -> list[Any]:
        """Return the instances of wire items.

        Raises:
            ItemValidationError: items do not fit; the error carries the instances of those that do.
        """
        made: list[Any] = []
        failures: list[ItemValidationError] = []
        for item in items:
            try:
                made.append(self._made(item))
            except ItemValidationError as failure:
                failures.append(failure)
        if self._snapshots is not None:
            self._snapshots.mark_partial(made)
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
                except MISFITS:
                    pass
            values[name] = self._selection.value(item, place)
        return values

    def _made(self, item: WireItem) -> BaseModel:
        values = self._values(item)
        try:
            # From attributes: a nested value comes as an instance of its own model, and the card may have another.
            made: BaseModel = self._card.__pydantic_validator__.validate_python(
                values if self._rename is None else self._rename(values),
                from_attributes=True,
                by_name=True,
                by_alias=False,
            )
        except ValidationError as error:
            names = definition_of(self._model).require_table("read").keys.names
            key = {name: decode_any(item[name]) for name in names if name in item}
            raise ItemValidationError(
                f"the stored item {key} does not fit {self._card.__name__}: {faults_of(error)}",
                model=self._card.__name__,
                key=key,
                item=item,
                validation_error=error,
            ) from error
        return made
