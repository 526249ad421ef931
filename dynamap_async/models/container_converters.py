"""Converters of sets, lists, tuples and maps."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any, Final, Literal, get_args, get_origin

from dynamap_async import codec
from dynamap_async.codec import Converter, MapKey
from dynamap_async.models.annotations import (
    FROZEN_SETS,
    SETS,
    bare,
    hints_of,
    is_anything,
    is_kind_of,
    is_union,
    name_of,
)
from dynamap_async.models.converters import Compiler, UnstorableTypeError, deferred, not_found
from dynamap_async.models.json_text import json_dump
from dynamap_async.models.pydantic_types import Adapter
from dynamap_async.wire import Tag

_SEQUENCES: Final = (Sequence, MutableSequence, Iterable)
_MAPPINGS: Final = (Mapping, MutableMapping)
_LIST: Final[frozenset[Tag]] = frozenset(("L",))
_DICTS: Final = (dict, defaultdict, OrderedDict, Counter)


def container(compiler: Compiler, annotation: Any) -> Converter | None:
    """Return the converter of a collection type, or None for any other type.

    Args:
        compiler: makes the converters of the members.
        annotation: the type, unwrapped.
    """
    origin: Any = get_origin(annotation) or annotation
    args = get_args(annotation)
    if origin in SETS:
        member = compiler.exactly.member(args[0] if args else Any)
        return codec.set_of(member, frozen=origin in FROZEN_SETS, as_list=not compiler.exact)
    if origin is list:
        return codec.list_of(compiler.member(args[0] if args else Any))
    if origin in _SEQUENCES:
        member = compiler.member(args[0] if args else Any)
        return codec.list_of(member, accepts=(list, tuple, deque), label="Sequence")
    if origin is deque:
        made = codec.list_of(compiler.member(args[0] if args else Any), accepts=(deque,), label="deque")
        return _of_its_own_type(compiler, annotation, made)
    if origin is tuple:
        return _tuple(compiler, args)
    if origin in _DICTS or origin in _MAPPINGS:
        return _map(compiler, annotation, origin, args)
    if is_kind_of(origin, tuple) and hasattr(origin, "_fields"):
        return deferred(
            compiler,
            annotation,
            lambda: _named_tuple(compiler, origin),
            label=origin.__name__,
            tags=_LIST,
            types=(origin,),
        )
    return None


def _of_its_own_type(compiler: Compiler, annotation: Any, converter: Converter) -> Converter:
    """Return the converter, exact if it has to be: strict models take no list for a deque."""
    if not compiler.exact:
        return converter
    return converter.then(Adapter(annotation, (), compiler).build)


def _tuple(compiler: Compiler, args: tuple[Any, ...]) -> Converter:
    if not args:
        return codec.variadic_tuple_of(codec.anything())
    if len(args) == 2 and args[1] is Ellipsis:
        return codec.variadic_tuple_of(compiler.member(args[0]))
    return codec.tuple_of([compiler.member(arg) for arg in args if arg != ()])


def _named_tuple(compiler: Compiler, kind: type[Any]) -> Converter:
    try:
        hints = hints_of(kind, compiler.local)
    except NameError as error:
        raise not_found(kind, error) from None
    names: tuple[str, ...] = getattr(kind, "_fields", ())
    made = codec.tuple_of([compiler.member(hints.get(name, Any)) for name in names])
    return _of_its_own_type(compiler, kind, made)


def _map(compiler: Compiler, annotation: Any, origin: Any, args: tuple[Any, ...]) -> Converter:
    key = _map_key(compiler, args[0] if args else str)
    value = compiler.member(args[1] if len(args) > 1 else int if origin is Counter else Any)
    if origin in _MAPPINGS:
        return codec.map_of(key, value, accepts=(Mapping,), label="Mapping")
    made = codec.map_of(key, value, accepts=(origin,), label=origin.__name__)
    return made if origin is dict else _of_its_own_type(compiler, annotation, made)


def _map_key(compiler: Compiler, annotation: Any) -> MapKey:
    kind = str if is_anything(annotation) else bare(annotation)
    found = codec.map_key(kind) if is_kind_of(kind, object) and not get_args(kind) else None
    if found is None and get_origin(kind) is Literal:
        found = _literal_key(name_of(kind), get_args(kind))
    elif found is None and not is_union(kind):
        found = _dumped_key(Adapter(annotation, (), compiler), name_of(kind), exact=compiler.exact)
    if found is None:
        raise UnstorableTypeError(
            f"a stored map has text keys, and {name_of(kind)} has no text form that can be read back; use str, int, "
            "UUID, date or an enum as keys of the dict, or a StoredForm of your own"
        )
    return found


def _literal_key(label: str, values: tuple[object, ...]) -> MapKey | None:
    texts: dict[Any, str] = {}
    for value in values:
        form = codec.map_key(type(value))
        if form is None:
            return None
        texts[value] = form.encode(value)
    read = {text: value for value, text in texts.items()}

    def encode(key: Any) -> str:
        try:
            return texts[key]
        except (LookupError, TypeError):
            raise codec.refusal(f"{label} as the key of a map", key) from None

    return MapKey(label=label, encode=encode, decode=read.__getitem__) if len(read) == len(values) else None


def _dumped_key(adapter: Adapter, label: str, *, exact: bool) -> MapKey | None:
    if not adapter.is_text:
        return None
    dump = json_dump(adapter)

    def encode(key: Any) -> str:
        try:
            text: str = dump(key)
        except ValueError as error:
            raise codec.refusal(f"{label} as the key of a map", key, str(error)) from error
        return text

    return MapKey(label=label, encode=encode, decode=adapter.load if exact else str)
