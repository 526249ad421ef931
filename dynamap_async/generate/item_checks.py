"""Checks of models against items: where what is stored and what is declared part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from pydantic import ValidationError

from dynamap_async.codec import decode_any
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import DynamapError
from dynamap_async.generate.names import text_shape
from dynamap_async.models import Definition, FieldPlan, Model, definition_of
from dynamap_async.wire import WireItem

_MOST: Final = 10


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference between models and items."""

    model: str
    """The model's name; empty where no model takes the items."""
    field: str
    """The field or attribute; empty where it is about the whole item."""
    problem: str
    """What is wrong, without any value."""
    count: int
    """In how many items."""
    key: Mapping[str, Any] | None
    """The key of one of them; None where all items lack something."""
    expired: int = 0
    """How many of them have expired, and are there until DynamoDB deletes them."""

    def line(self, *, values: bool) -> str:
        """Return the difference as a line of text.

        Args:
            values: whether the key may be shown; otherwise its shape is.
        """
        place = ".".join(filter(None, (self.model, self.field))) or "items"
        items = f"{self.count:,} {'item' if self.count == 1 else 'items'}"
        if self.key is None:
            return f"{place}: {self.problem} ({items} read)"
        key = self.key if values else {name: text_shape(str(value)) for name, value in self.key.items()}
        expired = f", {self.expired:,} of them expired" if self.expired else ""
        return f"{place}: {self.problem} ({items}{expired}, such as {dict(key)})"


def check_items(
    models: Sequence[type[Model]], items: Iterable[WireItem], *, now: datetime | None = None
) -> tuple[Difference, ...]:
    """Return the differences between models and items; none if every model reads the items and writes them back alike.

    Args:
        models: models of one table: all that share it, or one whose items alone are looked at.
        items: the items, in wire form.
        now: when items whose time to live has passed have expired; None for this moment.
    """
    found: dict[tuple[str, str, str], tuple[int, Mapping[str, Any] | None, int]] = {}
    seconds = (datetime.now(UTC) if now is None else now).timestamp()
    definitions = {model: definition_of(model) for model in models}
    seen: dict[type[Model], tuple[int, set[str]]] = {model: (0, set()) for model in models}
    for item in items:
        model, is_ours = _model_of(item, definitions)
        if model is None:
            problems = [] if is_ours else [("", "", "no model takes this kind of item")]
            definition = next(iter(definitions.values()))
        else:
            definition = definitions[model]
            present = _present(definition, item)
            count, names = seen[model]
            seen[model] = count + 1, names | (present or item).keys()
            problems = (
                [(model.__name__, "", "cannot be upgraded")] if present is None else [*_problems(definition, present)]
            )
        key = definition.items.shown_key(item)
        for problem in dict.fromkeys(problems):
            known, example, expired = found.get(problem, (0, key, 0))
            found[problem] = known + 1, example, expired + _has_expired(definition, item, seconds)
    for model, (count, names) in seen.items():
        # A field that no item has may be misspelt in the model.
        for plan in definitions[model].fields.values() if count else ():
            if plan.is_stored and plan.stored not in names:
                found[model.__name__, plan.name, "was never present"] = count, None, 0
    return tuple(Difference(*problem, *rest) for problem, rest in sorted(found.items(), key=lambda each: each[0]))


def _model_of(item: WireItem, definitions: Mapping[type[Model], Definition[Any]]) -> tuple[type[Model] | None, bool]:
    """Return the model of an item; if it has none, whether it is of a model that is not checked."""
    first = next(iter(definitions.values()))
    if first.kinds is None:
        return first.model, True
    table = first.kinds.table
    kind = table.kind_of(item)
    model = None if kind is None else table.models.get(kind)
    return (model, True) if model in definitions else (None, model is not None or len(definitions) < len(table.models))


def _has_expired(definition: Definition[Any], item: WireItem, now: float) -> bool:
    """Return whether an item's time to live has passed; a value that DynamoDB ignores never expires."""
    attribute = None if definition.table is None else definition.table.ttl_attribute
    stored = item.get(attribute or "", {}).get("N")
    return stored is not None and Decimal(str(stored)) < now


def _present(definition: Definition[Any], item: WireItem) -> WireItem | None:
    """Return an item upgraded to its model's version; None if that fails."""
    upgrades = definition.items.upgrades
    try:
        return item if upgrades is None else upgrades.upgraded(item)
    except DynamapError:
        return None


def _problems(definition: Definition[Any], item: WireItem) -> Iterator[tuple[str, str, str]]:
    name = definition.model.__name__
    stored = {plan.stored: plan for plan in definition.fields.values() if plan.is_stored}
    kinds, upgrades = definition.kinds, definition.items.upgrades
    own = {None if kinds is None else kinds.table.attribute, None if upgrades is None else upgrades.attribute}
    for attribute in sorted(item.keys() - stored.keys() - own):
        yield name, attribute, "is not a field of the model"
    try:
        values = definition.items.values(item)
        instance = definition.items.validated(values)
    except ValidationError as error:
        for each in error.errors(include_input=False, include_url=False)[:_MOST]:
            yield name, ".".join(map(str, each["loc"])), f"does not fit: {each['type'].replace('_', ' ')}"
        return
    except DynamapError as error:
        path = getattr(error, "path", None) or ("",)
        yield name, str(path[0]), "does not fit: it is stored in another form"
        return
    yield from _written_otherwise(definition, stored, item, instance)
    yield from _keys_otherwise(definition, instance)


def _written_otherwise(
    definition: Definition[Any], stored: Mapping[str, FieldPlan], item: WireItem, instance: Any
) -> Iterator[tuple[str, str, str]]:
    name = definition.model.__name__
    try:
        written = definition.items.encode(instance)
    except DynamapError:
        yield name, "", "can be read but not written"
        return
    for attribute in stored.keys() & item.keys():
        if not stored[attribute].converter.in_one_form:
            continue  # written in the first of its forms, and read in each
        # Decoded, because 1.0 and 1, or a set in another order, are the same values.
        old, new = decode_any(item[attribute]), decode_any(written[attribute]) if attribute in written else None
        if old != new:
            numbers = isinstance(old, int | Decimal) and isinstance(new, int | Decimal)
            problem = "loses digits of numbers" if numbers else "is written back in another form than it is stored"
            yield name, stored[attribute].name, problem


def _keys_otherwise(definition: Definition[Any], instance: Any) -> Iterator[tuple[str, str, str]]:
    """Yield the keys that differ from what their templates make."""
    if definition.computed is None:
        return
    for field in definition.computed.templates:
        key = getattr(instance, field)
        try:
            made = definition.computed.built(field, instance.__dict__)
        except DynamapError:
            made = None
        if isinstance(key, str) and made != key:
            yield definition.model.__name__, field, "differs from what its template makes of the parts"


def models_in(names: Mapping[str, Any], table: str) -> tuple[type[Model], ...]:
    """Return the models of a table.

    Args:
        names: the names of a module.
    """
    classes = [each for each in names.values() if isinstance(each, type) and issubclass(each, Model)]
    found = [each for each in classes if each is not Model and _has_table(each, table)]
    return tuple(dict.fromkeys(found))


def _has_table(model: type[Model], table: str) -> bool:
    schema = definition_of(model).table
    return schema is not None and schema.name == table
