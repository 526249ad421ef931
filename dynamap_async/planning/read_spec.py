"""What a query or scan asks for: its settings, what its items become, and what that requires of an index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from pydantic import BaseModel

from dynamap_async.dataclass import dataclass, replace_fields
from dynamap_async.errors import ExpressionError, OperationError
from dynamap_async.expressions import And, Condition, Path, flatten, paths_in
from dynamap_async.models import Definition, FieldPlan, Model, definition_of
from dynamap_async.planning.context import not_a_condition_error, own_conditions, own_path, undeclared_path
from dynamap_async.planning.plan import Route
from dynamap_async.planning.projection import Requirements
from dynamap_async.planning.result_items import (
    CollectionDecoder,
    Invalid,
    SelectionDecoder,
    TargetDecoder,
    Unknown,
    checked_target,
    keep_invalid,
    target_paths,
)
from dynamap_async.planning.templated_keys import is_same_part_of_key
from dynamap_async.schema import IndexSchema, TableSchema
from dynamap_async.wire import WireItem


@dataclass(frozen=True, kw_only=True)  # without slots: see ``replace_fields``
class ReadSpec:
    """What a query or scan asks for. Builders return changed copies; nothing is computed before it is used."""

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
    target: type[BaseModel] | None = None
    """The model that what is ``selected`` is read into; None for tuples."""
    segments: int | None = None
    """In how many segments a scan is read at the same time; None for one scan."""
    segment: tuple[int, int] | None = None
    """The only segment that a scan reads, from 0 up, and of how many; None for all."""
    checkpoint: str | None = None
    tables: tuple[str, ...] = ()
    """The names, before the session's prefix, of the tables that are read, where there is one per period; empty for
    those that the conditions tell."""
    skips_missing: bool = False
    """Whether tables of periods that do not exist count as empty."""
    with_expired: bool = False
    """Whether items whose time to live has passed are read too, where the model hides them."""

    @property
    def read_models(self) -> tuple[type[Model], ...]:
        """The models whose items are read."""
        return self.models or (self.model,)

    @property
    def name(self) -> str:
        """The names of the models, for messages."""
        return ", ".join([model.__name__ for model in self.read_models]) if self.models else self.model.__name__

    def __str__(self) -> str:
        """Return the query in words: ``query on Parcel where Parcel.depot == 'york', limit 3``."""
        text = f"{'scan of' if self.scan else 'query on'} {self.name}"
        if self.conditions:
            text += f" where {' and '.join(map(str, self.conditions))}"
        if self.selected is not None:
            text += f", only {', '.join(path.spelled for path in self.selected)}"
        for word, value in (("index", self.index), ("limit", self.limit), ("page size", self.page_size)):
            text += "" if value is None else f", {word} {value}"
        return text + (", descending" if self.descending else "") + (", consistent" if self.consistent else "")

    @property
    def sees_unknown(self) -> bool:
        """Whether items of no known model are read too."""
        return bool(self.models) and self.unknown != "skip"

    @classmethod
    def of(cls, model: type[Model], *, scan: bool = False) -> ReadSpec:
        """Return the spec of a query or scan that asks for all items of a model."""
        return replace_fields(_ALL, model=model, scan=scan)

    @property
    def searched_table(self) -> TableSchema:
        """The table, with only those indexes whose key all of the models have."""
        definitions = [definition_of(model) for model in self.read_models]
        table = definitions[0].require_table("queried")
        if definitions[0].kinds is None:
            return table
        # An item without a key attribute of the index is not in the index: a query through it would miss all items of
        # that model.
        known = [each.field_names.keys() for each in definitions]
        indexes = [each for each in table.indexes if all(set(each.keys.names) <= names for names in known)]
        return replace(table, indexes=tuple(indexes))

    def checked_conditions(self, conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
        """Return the conditions, checked against the models, with conjunctions split.

        Those of a query may be on fields that only a key holds: the planner finds out whether a key answers them.

        Raises:
            ExpressionError: one is no condition, or is not about each of the models.
        """
        # A scan has no key condition, so that what only a key stores cannot be answered at all.
        if not self.models and self.scan:
            return own_conditions(self.model, conditions)
        for given in conditions:
            if not isinstance(given, Condition):
                raise not_a_condition_error(self.name, given)
        parts = tuple(flatten(conditions)) if And in map(type, conditions) else conditions
        for condition in parts:
            for path in paths_in(condition):
                if self.models:
                    self._check_models(path)
                else:
                    own_path(self.model, path)
        return parts

    def with_invalid(self, become: Invalid) -> ReadSpec:
        """Return the spec with another treatment of items that do not fit their model.

        Raises:
            OperationError: there is no such choice.
        """
        if become not in ("error", "skip", "raw"):
            raise OperationError(f'invalid({become!r}): items that do not fit their model are "error", "skip" or "raw"')
        return replace_fields(self, invalid=become)

    def with_target(self, target: object) -> ReadSpec:
        """Return the spec that reads items into another Pydantic model.

        Raises:
            OperationError: it is no Pydantic model, has no fields, or one that the items cannot fill.
        """
        checked = checked_target(self.model, target)
        return replace_fields(self, target=checked, selected=target_paths(self.model, checked))

    def decoder(self) -> Callable[[Sequence[WireItem]], list[Any]]:
        """Return the function that decodes wire items into the items of the result."""
        decode = self._decoder()
        return decode if self.invalid == "error" else keep_invalid(decode)

    def requirements(self, *, counting: bool) -> Requirements:
        """Return what the read requires of an index.

        Args:
            counting: only the number of items is wanted.
        """
        definitions, paths = [definition_of(model) for model in self.read_models], self.selected
        expiry, kinds = None if self.with_expired else definitions[0].expiry, definitions[0].kinds
        whole = not counting and paths is None
        if counting:
            attributes: tuple[str, ...] = ()
        elif paths is not None:
            attributes = tuple(path.attribute for path in paths)
        else:
            attributes = tuple(name for each in definitions for name in each.stored_names)
            attributes += tuple(name for each in definitions for name in _needed_to_upgrade(each))
        filled: dict[str, str] = {}
        if self.target is not None:
            filled = {path.attribute: f"{self.target.__name__}.{path.spelled}" for path in paths or ()}
        return Requirements(
            model=self.name,
            attributes=tuple(dict.fromkeys(attributes)),
            everything=whole and any(map(_takes_everything, definitions)),
            consistent=self.consistent,
            whole=whole,
            filled_fields=filled,
            expiry=None if expiry is None else expiry.stored,
            kind_attribute=None if kinds is None else kinds.table.attribute,
        )

    def projected_paths(
        self, index: IndexSchema | None, *, completed: bool, counting: bool
    ) -> tuple[tuple[str | int, ...], ...] | None:
        """Return the paths to project, without the keys; None to read whole items.

        Args:
            index: the index that is read; None for the table.
            completed: whether whole items are fetched from the table.
            counting: only the number of items is wanted.
        """
        if counting:
            return ()
        if completed:  # the keys are all that completion needs, and all that such an index may hold anyway
            return None if index is not None and index.projection.type == "KEYS_ONLY" else ()
        return None if self.selected is None else tuple(path.steps for path in self.selected)

    def optional_keys(self, route: Route) -> list[str]:
        """Return the key fields of a route that an item may lack, and that no condition requires."""
        required = {path.attribute for condition in route.key_conditions for path in paths_in(condition)}
        names = [name for name in route.keys.names if name not in required]
        optional: dict[str, None] = {}
        for definition in map(definition_of, self.read_models):
            known = definition.field_names
            fields = (definition.fields[known[name]] for name in names if name in known)
            optional.update((field.name, None) for field in fields if field.may_be_absent)
        return list(optional)

    def _decoder(self) -> Callable[[Sequence[WireItem]], list[Any]]:
        if self.models:
            return CollectionDecoder(self.models, self.unknown)
        if self.selected is None:
            return definition_of(self.model).items.decode
        values = SelectionDecoder(self.model, self.selected)
        return values if self.target is None else TargetDecoder(self.model, self.target, values)

    def _check_models(self, path: Path) -> None:
        """Raise ExpressionError for a path that is not about each of several models."""
        if not path.is_declared:
            undeclared_path(self.models, path)
            return
        owner = next((model for model in self.models if issubclass(model, path.owner)), None)
        if owner is None:
            own_path(self.model, path)
            return
        mine = definition_of(owner)
        field = mine.fields[mine.field_names[path.attribute]]
        for model in self.models:
            # A part of a key needs no attribute of that name in the other model: both keys have it at the same
            # position.
            if path.attribute in definition_of(model).field_names or not (
                is_same_part_of_key(mine, path.attribute, definition_of(model))
            ):
                _check_common(definition_of(model), path, field)


_ALL: Final = ReadSpec(model=Model)


def _check_common(definition: Definition[Any], path: Path, field: FieldPlan) -> None:
    name = definition.field_names.get(path.attribute)
    if name is None or definition.fields[name].converter.tags.isdisjoint(field.converter.tags):
        model = definition.model.__name__
        lacks = f"has no field stored as {path.attribute!r}" if name is None else f"stores {name} as another type"
        raise ExpressionError(
            f"{path} cannot be used in a query on several models: {model} {lacks}, so no {model} would match; use a "
            f"field that all of them have, query {path.owner.__name__} alone, or name the stored attribute: "
            f"path({path.attribute!r})",
            expression=str(path),
        )


def _takes_everything(definition: Definition[Any]) -> bool:
    """Return whether decoding needs all stored attributes, also undeclared ones, as upgrades may."""
    upgrades = definition.items.upgrades
    any_is_needed = upgrades is not None and upgrades.older_exist and upgrades.needs is None
    return definition.model.model_config.get("extra") == "allow" or any_is_needed


def _needed_to_upgrade(definition: Definition[Any]) -> Iterator[str]:
    """Yield the undeclared attributes that tell an item's version, and those that upgrades need."""
    upgrades = definition.items.upgrades
    if upgrades is not None:
        yield upgrades.attribute
        if upgrades.older_exist:
            yield from sorted(upgrades.needs or ())
