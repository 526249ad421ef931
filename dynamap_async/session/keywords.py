"""Errors of keywords that methods of a session do not take, and other mappers do: with what to write here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from dynamap_async.errors.habits import closest, no_keywords
from dynamap_async.models import Definition, definition_of

F = TypeVar("F", bound=Callable[..., Any])
NO_KEY: Final[Any] = object()
"""Stands for the value of the partition key where none was given."""


def says_how_a_key_is_given(method: F) -> F:
    """Let a method be called without the key that its signature demands, so that it can say how to give one.

    Python's own error comes before the method's, and names neither the model nor its key.

    Args:
        method: a method of a model, then the values of its key.
    """
    method.__defaults__ = (NO_KEY, *(method.__defaults__ or ()))  # checkers still demand it
    return method


def no_key_keywords(method: Callable[..., Any], subject: Any, given: Mapping[str, Any]) -> TypeError:
    """Return the error of keywords, or of no key, where values of a key are taken by their position.

    Args:
        method: what was called.
        subject: its first argument, a model or an instance.
        given: the keywords.

    Raises:
        OperationError: the subject is neither.
    """
    name, value = next(iter(given.items()), ("", None))
    model = subject if isinstance(subject, type) else type(subject)
    definition: Definition[Any] = definition_of(model)
    keys = definition.key_fields()
    told = f"{method.__name__}() " + (f"takes no keyword {name!r}" if given else "needs the values of the key")
    if near := closest(name, list(getattr(method, "__kwdefaults__", None) or ())):
        return TypeError(f"{told}; did you mean {near[0]}?")
    if name in definition.fields and method.__name__ == "update" and name not in [field.name for field in keys]:
        item = f"{model.__name__}, ..." if subject is model else "item"
        return TypeError(f"{told}; write update({item}).set({model.__name__}.{name}, {value!r})")
    parts = [repr(given[field.name]) if field.name in given else field.name for field in keys]
    if any(field.template is not None and name in field.template.names for field in keys):
        parts = [f"Parts({', '.join(f'{each}={given[each]!r}' for each in given)})"]
    return TypeError(f"{told}; write {method.__name__}({', '.join((model.__name__, *parts))})")


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
