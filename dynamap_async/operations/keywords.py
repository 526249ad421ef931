"""Errors of keywords that are not taken here, and that other mappers take: with what to write here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, TypeVar

from dynamap_async.errors.habits import closest, no_keywords
from dynamap_async.models import Definition, definition_of

F = TypeVar("F", bound=Callable[..., Any])
NOT_GIVEN: Final[Any] = object()
"""Stands for an argument that was not given."""


def makes_optional(arguments: int) -> Callable[[F], F]:
    """Return a decorator that makes the last arguments of a method optional, so that the method itself can refuse.

    Python's own error comes before the method's, and names neither the model nor its key. Checkers demand them still.

    Args:
        arguments: how many; those that are not given are ``NOT_GIVEN``.
    """

    def allowing(method: F) -> F:
        method.__defaults__ = (*(NOT_GIVEN,) * arguments, *(method.__defaults__ or ()))
        return method

    return allowing


def no_key_keywords(call: str, subject: Any, given: Mapping[str, Any], options: Collection[str] = ()) -> TypeError:
    """Return the error of keywords, or of no key, where values of a key are taken by their position.

    Args:
        call: what was called: ``get``, ``Get``, or ``increment``, which takes a field behind the key.
        subject: its first argument, a model or an instance.
        given: the keywords.
        options: the keywords that it takes.

    Raises:
        OperationError: the subject is neither.
    """
    unknown = [name for name in given if name not in options]
    name = unknown[0] if unknown else ""
    model = subject if isinstance(subject, type) else type(subject)
    definition: Definition[Any] = definition_of(model)
    keys = definition.key_fields()
    told = f"{call}() " + (f"takes no keyword {name!r}" if unknown else "needs the values of the key")
    if near := closest(name, options):
        return TypeError(f"{told}; did you mean {near[0]}?")
    if name in definition.fields and call.lower() == "update" and name not in [field.name for field in keys]:
        item = f"{model.__name__}, ..." if subject is model else "item"
        return TypeError(f"{told}; write {call}({item}).set({model.__name__}.{name}, {given[name]!r})")
    parts = [repr(given[field.name]) if field.name in given else field.name for field in keys]
    named = [field.name for field in keys]
    named += [each for field in keys if field.template is not None for each in field.template.names]
    if name in named[len(keys) :]:
        parts = [f"Parts({', '.join(f'{each}={given[each]!r}' for each in unknown if each in named)})"]
    if call == "increment":
        counted = [each for each in unknown if each in definition.fields and each not in named]
        parts += [f"{model.__name__}.{each}, by={given[each]!r}" for each in counted[:1]] or [f"{model.__name__}.field"]
    return TypeError(f"{told}; write {call}({', '.join((model.__name__, *parts))})")


def no_item_keywords(call: str, subject: Any, given: Mapping[str, Any], options: Collection[str]) -> TypeError:
    """Return the error of keywords where a whole item is taken, as an instance of its model.

    Args:
        call: what was called: ``put``, ``create`` and so on.
        subject: its first argument, which should be an instance.
        given: the keywords.
        options: the keywords that it takes.

    Raises:
        OperationError: the subject is neither an instance nor a model.
    """
    unknown = [name for name in given if name not in options]
    name = unknown[0]
    told = f"{call}() takes no keyword {name!r}"
    if near := closest(name, options):
        return TypeError(f"{told}; did you mean {near[0]}?")
    model: type[Any] = subject if isinstance(subject, type) else type(subject)
    definition: Definition[Any] = definition_of(model)
    if model is subject:
        values = ", ".join(f"{each}={given[each]!r}" for each in unknown)
        return TypeError(f"{told}; write {call}({model.__name__}({values}))")
    if name in definition.fields:
        return TypeError(f"{told}; it writes the item as it is, so write item.{name} = {given[name]!r} before")
    return TypeError(f"{told}; it takes {' and '.join(options)}")


def no_query_keywords(method: str, models: tuple[Any, ...], given: Mapping[str, Any]) -> TypeError:
    """Return the error of keywords where a query or scan of models begins.

    Args:
        method: what was called.
        models: its arguments.
        given: the keywords.

    Raises:
        OperationError: the first argument is no model.
    """
    from dynamap_async.operations import Query  # only for the error

    name = next(iter(given))
    if not models:
        return TypeError(f"{method}() takes no keyword {name!r}; write {method}(Model).where(...)")
    model = models[0].__name__
    if name not in definition_of(models[0]).fields and callable(getattr(Query, name, None)):
        return TypeError(f"{method}() takes no keyword {name!r}; write {method}({model}).{name}(...)")
    return no_keywords(method, f"{method}({model}).where({{condition}})", model, given)
