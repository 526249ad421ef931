"""Seeding: the items that tables hold before a test begins, from instances, factories or JSON."""

import reprlib
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from types import GenericAlias
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import ConfigDict, ValidationError, create_model

from dynamap_async.errors import ConfigurationError
from dynamap_async.models import Model, definition_of
from dynamap_async.operations import needs_own_table
from dynamap_async.session import Session

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Items: TypeAlias = Model | Iterable[Model]
"""One instance, or several."""

Seed: TypeAlias = Items | Callable[[], Items]
"""Instances, or a factory: a function without arguments that makes them."""


async def seed(session: Session, *seeds: Seed) -> list[Model]:
    """Write items before a test begins, and return them in the order given.

    Args:
        session: an open session; the tables exist.
        seeds: instances, iterables of instances, or functions that return either.

    Raises:
        ConfigurationError: one of them is no instance of a model.
        BatchError: some could not be written.
        ConditionalCheckFailedError: an item with unique values or a number exists already.

    Cost: one BatchWriteItem for each 25 items; items of models with ``Unique`` or numbers are created one by one.
    """
    items = [item for each in seeds for item in items_of(each)]
    alone = [item for item in items if needs_own_table(definition_of(type(item)))]
    together = [item for item in items if not needs_own_table(definition_of(type(item)))]
    if together:
        await session.put_many(together)
    for item in alone:
        await session.create(item)
    return items


def read_items(source: str | Path, /, *models: type[Model]) -> list[Model]:
    """Return the items that a JSON file, or a JSON text, holds: ``{"Account": [{"owner": "ada"}], "Tweet": []}``.

    A file that ends in ``.jsonl`` holds one item a line: ``{"Account": {"owner": "ada"}}``.

    Args:
        source: a text is JSON, a ``Path`` is a file.
        models: the models whose names may stand there. The items are validated by Pydantic as JSON is.

    Raises:
        ConfigurationError: two of the models have the same name; or the JSON is malformed, names another model, or an
            item is wrong, with the file and the place. Pydantic's own error is its cause.

    Example:
        >>> read_items('{}')
        []
    """
    names = [model.__name__ for model in models]
    if len(set(names)) < len(names):
        raise ConfigurationError(f"{', '.join(names)}: models with the same name cannot be told apart in JSON")
    if isinstance(source, Path) and source.suffix == ".jsonl":
        return _read_lines(source, models)
    # GenericAlias is what list[...] makes; a type checker wants a type known to it in there.
    fields: dict[str, Any] = {model.__name__: (GenericAlias(list, model), []) for model in models}
    file = create_model("file", __config__=ConfigDict(extra="forbid"), **fields)
    try:
        read = file.model_validate_json(source.read_bytes() if isinstance(source, Path) else source)
    except ValidationError as error:
        raise _wrong(source.name if isinstance(source, Path) else "the JSON", error, names) from error
    return [item for name in names for item in getattr(read, name)]


def _read_lines(file: Path, models: Iterable[type[Model]]) -> list[Model]:
    fields: dict[str, Any] = {model.__name__: (model | None, None) for model in models}
    one = create_model("item", __config__=ConfigDict(extra="forbid"), **fields)
    items: list[Model] = []
    for number, line in enumerate(file.read_text("utf-8").split("\n"), 1):
        if line.strip():
            try:
                read = one.model_validate_json(line)
            except ValidationError as error:
                raise _wrong(f"{file.name}, line {number}", error, fields) from error
            items += [item for name in fields if (item := getattr(read, name)) is not None]
    return items


def _wrong(place: str, error: ValidationError, models: Collection[str]) -> ConfigurationError:
    """Return the error for a file, or for a line of it, that names the place of each fault. The first item is 1."""
    faults = error.errors(include_url=False)
    told = [f"{_spelled(each['loc'])}{_problem(each, models)}" for each in faults]
    return ConfigurationError(f"{place}: {told[0]}" if len(told) == 1 else "\n  ".join((f"{place}:", *told)))


def _spelled(place: Sequence[int | str]) -> str:
    """Return the place of a fault as text: ``Account, item 2, owner: ``."""
    parts = [f"item {each + 1}" if isinstance(each, int) else each for each in place]
    return f"{', '.join(parts)}: " if parts else ""


def _problem(fault: "ErrorDetails", models: Collection[str]) -> str:
    if fault["type"] == "json_invalid":
        return fault["msg"]
    if fault["type"] == "extra_forbidden" and len(fault["loc"]) == 1:
        return f"there is no such model; known models: {', '.join(models) or 'none'}"
    return f"{fault['msg']} {'in' if fault['type'] == 'missing' else 'instead of'} {reprlib.repr(fault['input'])}"


def items_of(seed: Seed) -> list[Model]:
    """Return the items of a seed.

    Raises:
        ConfigurationError: one of them is no instance of a model.
    """
    # A model's class can be called as well, and needs arguments that nobody gives.
    made: Any = seed() if callable(seed) and not isinstance(seed, type) else seed
    several: Iterable[Any] = made if _is_several(made) else (made,)
    return [_checked(item) for item in several]


def _is_several(made: object) -> bool:
    # Pydantic's instances can be iterated over: over their fields.
    return isinstance(made, Iterable) and not isinstance(made, Model)


def _checked(item: object) -> Model:
    if not isinstance(item, Model):
        raise ConfigurationError(f"{item!r} cannot be seeded: give instances of models, or functions that return them")
    return item
