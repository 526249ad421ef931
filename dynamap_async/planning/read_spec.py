"""What a query or scan asks for: its settings, what its items become, and what that needs of an index."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import BaseModel

from dynamap_async.errors import ExpressionError, OperationError
from dynamap_async.expressions import And, Condition, Path, flatten, paths_in
from dynamap_async.models import Definition, FieldPlan, Model, definition_of
from dynamap_async.planning.cards import CardDecoder
from dynamap_async.planning.context import checked_conditions, own_conditions, own_path
from dynamap_async.planning.entities import CollectionDecoder, Unknown
from dynamap_async.planning.invalid_items import Invalid, collecting
from dynamap_async.planning.need import Need
from dynamap_async.planning.replace_fields import revised
from dynamap_async.planning.route import Route
from dynamap_async.planning.selection import SelectionDecoder, whole_items
from dynamap_async.schema import IndexSchema, TableSchema
from dynamap_async.wire import WireItem


@dataclass(frozen=True, kw_only=True)  # without slots: see ``revised``
class ReadSpec:
    """What a query or scan asks for. Builders refine it; nothing is worked out before it is used."""

    model: type[Model]
    models: tuple[type[Model], ...] = ()
    """The models of an entity collection, ``model`` first; empty for one model."""
    unknown: Unknown = "error"
    """What becomes of items of no known model in an entity collection."""
    invalid: Invalid = "error"
    """What becomes of items that do not fit their model."""
    scan: bool = False
    conditions: tuple[Condition, ...] = ()
    index: str | None = None
    descending: bool = False
    limit: int | None = None
    page_size: int | None = None
    consistent: bool = False
    selected: tuple[Path, ...] | None = None
    """What is read of each item; None for all of it."""
    card: type[BaseModel] | None = None
    """The model that what is ``selected`` is read into; None for tuples."""
    segments: int | None = None
    checkpoint: str | None = None
    tables: tuple[str, ...] = ()
    """The names, before the session's prefix, of the tables that are read, where there is one per period; empty for
    those that the conditions tell."""
    skips_missing: bool = False
    """Whether tables of periods that do not exist count as empty."""

    @property
    def asked(self) -> tuple[type[Model], ...]:
        """The models whose items are read."""
        return self.models or (self.model,)

    @property
    def name(self) -> str:
        """The names of the models, for messages."""
        return ", ".join([model.__name__ for model in self.asked]) if self.models else self.model.__name__

    @property
    def sees_unknown(self) -> bool:
        """Whether items of no known model are read too."""
        return bool(self.models) and self.unknown != "skip"


_BLANK: Final = ReadSpec(model=Model)


def begun(model: type[Model], *, scan: bool = False) -> ReadSpec:
    """Return what a query or scan of a model asks for that asks for nothing yet."""
    return revised(_BLANK, model=model, scan=scan)


def decoder_of(spec: ReadSpec) -> Callable[[Sequence[WireItem]], list[Any]]:
    """Return what makes items of the result out of wire items."""
    decode = _decoder(spec)
    return decode if spec.invalid == "error" else collecting(decode)


def _decoder(spec: ReadSpec) -> Callable[[Sequence[WireItem]], list[Any]]:
    if spec.models:
        return CollectionDecoder(spec.models, spec.unknown)
    if spec.selected is None:
        return whole_items(spec.model)
    values = SelectionDecoder(spec.model, spec.selected)
    return values if spec.card is None else CardDecoder(spec.model, spec.card, values)


def with_invalid(spec: ReadSpec, become: Invalid) -> ReadSpec:
    """Return the spec that does this with items that do not fit their model.

    Raises:
        OperationError: there is no such choice.
    """
    if become not in ("error", "skip", "raw"):
        raise OperationError(f'invalid({become!r}): items that do not fit their model are "error", "skip" or "raw"')
    return revised(spec, invalid=become)


def need_of(spec: ReadSpec, *, counting: bool) -> Need:
    """Return what the result needs of the index that is read."""
    definitions, paths = [definition_of(model) for model in spec.asked], spec.selected
    expiry, kinds = definitions[0].expiry, definitions[0].kinds
    whole = not counting and paths is None
    if counting:
        attributes: tuple[str, ...] = ()
    elif paths is not None:
        attributes = tuple(path.attribute for path in paths)
    else:
        attributes = tuple(name for each in definitions for name in each.stored_names)
    card = spec.card
    return Need(
        model=spec.name,
        attributes=tuple(dict.fromkeys(attributes)),
        everything=whole and any(model.model_config.get("extra") == "allow" for model in spec.asked),
        consistent=spec.consistent,
        whole=whole,
        labels={} if card is None else {path.attribute: f"{card.__name__}.{path.spelled}" for path in paths or ()},
        expiry=None if expiry is None else expiry.stored,
        told_by=None if kinds is None else kinds.table.attribute,
    )


def searched(spec: ReadSpec) -> TableSchema:
    """Return the table with those indexes that items of the models can be in: they have all fields of the key."""
    definitions = [definition_of(model) for model in spec.asked]
    table = definitions[0].require_table("queried")
    if definitions[0].kinds is None:
        return table
    known = [each.field_names.keys() for each in definitions]
    return replace(
        table, indexes=tuple(each for each in table.indexes if all(set(each.keys.names) <= names for names in known))
    )


def conditions_of(spec: ReadSpec, conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Return conditions on what is read, with conjunctions taken apart.

    Those of a query may be on fields that only a key holds: the planner finds out whether a key answers them.

    Raises:
        ExpressionError: one is no condition, or is not about each of the models.
    """
    if not spec.models and spec.scan:
        return own_conditions(spec.model, conditions)
    checked_conditions(spec.name, conditions)
    parts = tuple(flatten(conditions)) if And in map(type, conditions) else conditions
    if not spec.models:
        for condition in parts:
            for path in paths_in(condition):
                own_path(spec.model, path)
        return parts
    for path in (path for condition in parts for path in paths_in(condition)):
        owner = next((model for model in spec.asked if issubclass(model, path.owner)), None)
        if owner is None:
            own_path(spec.model, path)
            continue
        field = definition_of(owner).fields[definition_of(owner).field_names[path.attribute]]
        for model in spec.models:
            _check_common(definition_of(model), path, field)
    return parts


def _check_common(definition: Definition[Any], path: Path, field: FieldPlan) -> None:
    name = definition.field_names.get(path.attribute)
    if name is None or definition.fields[name].converter.tags.isdisjoint(field.converter.tags):
        model = definition.model.__name__
        lacks = f"has no field stored as {path.attribute!r}" if name is None else f"stores {name} as another type"
        raise ExpressionError(
            f"{path} cannot select among several models: {model} {lacks}, so no {model} would ever fit; use a field "
            f"that all of them have, or query {path.owner.__name__} alone",
            expression=str(path),
        )


def requested(
    spec: ReadSpec, index: IndexSchema | None, *, completed: bool, counting: bool
) -> tuple[tuple[str | int, ...], ...] | None:
    """Return the paths of what is read of each item, its keys aside; None for everything that is there."""
    if counting:
        return ()
    if completed:  # the keys are all that completion needs, and all that such an index may hold anyway
        return None if index is not None and index.projection.type == "KEYS_ONLY" else ()
    return None if spec.selected is None else tuple(path.steps for path in spec.selected)


def optional_keys(spec: ReadSpec, route: Route) -> list[str]:
    """Return the key fields of a route that an item may lack, and that no condition requires."""
    required = {path.attribute for condition in route.key_conditions for path in paths_in(condition)}
    names = [name for name in route.keys.names if name not in required]
    optional: dict[str, None] = {}
    for definition in map(definition_of, spec.asked):
        fields = (definition.fields[definition.field_names[name]] for name in names if name in definition.field_names)
        optional.update((field.name, None) for field in fields if field.nullable)
    return list(optional)
