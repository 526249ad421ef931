"""What a query or scan asks for: its settings, what its items become, and what that needs of an index."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from dynamap_async.expressions import Condition, Path, paths_in
from dynamap_async.models import Model, definition_of
from dynamap_async.operations.cards import CardDecoder
from dynamap_async.operations.planner import Need
from dynamap_async.operations.route import Route
from dynamap_async.operations.selection import SelectionDecoder, whole_items
from dynamap_async.schema import IndexSchema
from dynamap_async.wire import WireItem


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSpec:
    """What a query or scan asks for. Builders refine it; nothing is worked out before it is used."""

    model: type[Model]
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


def decoder_of(spec: ReadSpec) -> Callable[[Sequence[WireItem]], list[Any]]:
    """Return what makes items of the result out of wire items."""
    if spec.selected is None:
        return whole_items(spec.model)
    values = SelectionDecoder(spec.model, spec.selected)
    return values if spec.card is None else CardDecoder(spec.model, spec.card, values)


def need_of(spec: ReadSpec, *, counting: bool) -> Need:
    """Return what the result needs of the index that is read."""
    definition, paths = definition_of(spec.model), spec.selected
    whole = not counting and paths is None
    if counting:
        attributes: tuple[str, ...] = ()
    elif paths is not None:
        attributes = tuple(path.attribute for path in paths)
    else:
        attributes = tuple(plan.stored for plan in definition.fields.values())
    card = spec.card
    return Need(
        model=spec.model.__name__,
        attributes=attributes,
        everything=whole and spec.model.model_config.get("extra") == "allow",
        consistent=spec.consistent,
        whole=whole,
        labels={} if card is None else {path.attribute: f"{card.__name__}.{path.spelled}" for path in paths or ()},
        expiry=None if definition.expiry is None else definition.expiry.stored,
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
    definition = definition_of(spec.model)
    required = {path.attribute for condition in route.key_conditions for path in paths_in(condition)}
    names = [name for name in route.keys.names if name not in required]
    return [field for field in map(definition.field_names.__getitem__, names) if definition.fields[field].nullable]
