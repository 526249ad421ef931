"""The state of an instance: the item as it was stored when a session last read or wrote it.

Values that never change are shared with the instance. Of the others their JSON is kept, where the native codec has read
it and it is short: lists and dicts would take more memory, and be work for the garbage collector. Else it is the
decoded form, from which Pydantic made its own lists, sets, dicts and nested models; where these might be the decoded
objects themselves, the stored form. What a state means is worked out when it is asked for, which is before a save and
at no other time.

Measured for 100 items of 12 fields (a nested model of 4, a set of 3, a list of 3 among them), Python 3.13, process
time, interleaved: decoding takes 641 us without states (median 752) and 658 us with them (median 755). Taking them
costs 62 us; 45 us are won back by giving Pydantic lists for sets, of which the states have need. Kept per item: 830
bytes. The stored items kept by reference would be 4.8 KiB each; as JSON text 0.45 KiB, for 65 us and more. So text is
what remains of what was written, of models whose validators see values before Pydantic does, of extra attributes, and
of items with members that a nested model does not know.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from enum import Enum
from functools import cached_property
from itertools import repeat
from operator import add, attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import BaseModel

from dynamap_async.errors import OperationError
from dynamap_async.models.assigned import PRESENCE
from dynamap_async.models.fields import FieldPlan
from dynamap_async.models.mutability import Mutability
from dynamap_async.native import JSON_ITEM
from dynamap_async.native.json_text import json_of
from dynamap_async.wire import WireItem

if TYPE_CHECKING:
    from dynamap_async.models.spelling import Spelling

SLOTS: Final = ("__dynamap_values__", "__dynamap_parts__", "__dynamap_unvalidated__")
"""Where an instance keeps its state, out of reach of Pydantic.

The first two are what was stored: fixed values, or all as JSON text; and the others. The third names the fields that
were assigned since they were validated. Only the third is looked at before a put, so a part of an item is marked there,
and an item of which the library would spell the stored key, or a time without a zone, otherwise.
"""


STATE: Final = "__dynamap_state__"
"""The name of an instance's state where it is pickled."""

UNVALIDATED: Final = SLOTS[2]
"""The name of its unvalidated fields where it is pickled."""

NO_FIELDS: Final[frozenset[str]] = frozenset()


class _Mark(Enum):
    MISSING = "missing"
    """Stands for a field without a value, or an attribute that the item does not have."""
    PARTIAL = "partial"
    """The state of an instance that was read from a part of its item."""
    RESPELLED = "respelled"


RESPELLED: Final[frozenset[Any]] = frozenset((_Mark.RESPELLED,))
"""Stands among the names of unvalidated fields where the key, or a time without a zone, is stored in another form than
the library writes."""


class Snapshots:
    """Records the states of one model's instances, a page at a time."""

    def __init__(
        self, model: type[BaseModel], fields: Sequence[FieldPlan], key: Sequence[FieldPlan], *, from_json: bool
    ) -> None:
        """Describe the states.

        Args:
            model: the class.
            fields: its fields.
            key: those of the table's key.
            from_json: whether items that are still their JSON are decoded as they are.
        """
        self._set_values = _setter(model, 0)
        self._set_parts = _setter(model, 1)
        self._set_unvalidated = _setter(model, 2)
        # A validator that sees the item before Pydantic did may have changed it, and extras are no fields.
        self._compact = rewrites(model) or model.model_config.get("extra") == "allow"
        # Of a key whose values can change, nothing else is kept that tells it.
        self._compact |= any(field.mutability is not Mutability.FIXED for field in key)
        self.fixed: tuple[str, ...] = tuple(field.name for field in fields if field.mutability is Mutability.FIXED)
        """The fields whose values never change in place."""
        self.own: tuple[str, ...] = tuple(field.name for field in fields if field.mutability is Mutability.OWN)
        """The fields whose decoded values are kept."""
        self.shared: tuple[FieldPlan, ...] = tuple(field for field in fields if field.mutability is Mutability.SHARED)
        """The fields whose stored values are kept."""
        self._model: Final = model
        self._fields: Final = fields
        self._key: Final = key
        self.key_places: tuple[tuple[str, int], ...] = tuple(
            (field.name, self.fixed.index(field.name)) for field in key if field.name in self.fixed
        )
        """The fields of the key, with their places among the fixed ones."""
        self._keeps_json = from_json and bool(self.own or self.shared)
        self._get_fixed = _getter(self.fixed)
        self._get_own = _getter(self.own)

    @cached_property
    def _spelling(self) -> Spelling | None:
        from dynamap_async.models.spelling import spelling_of  # for models whose items are read

        return spelling_of(self._model, self._fields, self._key)

    def take(
        self, page: Sequence[BaseModel], values: Sequence[dict[str, Any]], items: Sequence[WireItem], *, whole: bool
    ) -> None:
        """Record the stored items of a page.

        Args:
            page: the instances.
            values: what each was made of: field name -> decoded value.
            items: the stored items.
            whole: whether decoding left nothing out that belongs to a nested value.
        """
        if self._compact or not whole:
            self.take_as_stored(page, values, items)
            return
        if len(page) != 1 or not self._take_one(page[0], values[0], items[0]):
            attributes = list(map(_attributes, page))
            try:
                _each(self._set_values, page, map(self._get_fixed, attributes))
            except KeyError:  # a field that the session gives a value has none
                _each(self._set_values, page, _by_name(attributes, self.fixed))
            if (self.own or self.shared) and not (self._keeps_json and self._take_json(page, items)):
                self._take_parts(page, values, items)
        spelling = self._spelling
        if spelling is not None and (others := spelling.others(page, values, items)):
            self._note_spelling(others, page, items)

    def _take_parts(
        self, page: Sequence[BaseModel], values: Sequence[dict[str, Any]], items: Sequence[WireItem]
    ) -> None:
        """Record what can change as it was decoded, or as it is stored."""
        if self.shared:
            own, shared = _by_name(values, self.own), _stored(items, [field.stored for field in self.shared])
            _each(self._set_parts, page, map(_joined, own, shared) if self.own else shared)
        elif self.own:
            try:
                _each(self._set_parts, page, map(self._get_own, values))
            except KeyError:  # an attribute is absent
                _each(self._set_parts, page, _by_name(values, self.own))

    def _note_spelling(self, places: Iterable[int], page: Sequence[BaseModel], items: Sequence[WireItem]) -> None:
        """Record as they are stored the items of which the library would spell something otherwise."""
        for at in places:
            remember(page[at], items[at])
            self._set_unvalidated(page[at], RESPELLED)

    def _take_json(self, page: Sequence[BaseModel], items: Sequence[Any]) -> bool:
        """Record the JSON of what can change; return False where an item is none, or has too much of it."""
        if not items or type(items[0]) is not JSON_ITEM:
            return False
        try:
            texts = [item.kept for item in items]
        except AttributeError:  # of pages that are merged, one was left as its JSON and another was not
            return False
        if None in texts:
            return False
        _each(self._set_parts, page, texts)
        return True

    def take_as_stored(
        self, page: Sequence[BaseModel], values: Sequence[dict[str, Any]], items: Sequence[WireItem]
    ) -> None:
        """Record the stored items of a page of new instances, whatever their fields are.

        Args:
            page: the instances.
            values: what each was made of: field name -> decoded value.
            items: the stored items.
        """
        _each(self._set_values, page, map(json_of, items))
        spelling = self._spelling
        if spelling is not None and (others := spelling.others(page, values, items)):
            self._note_spelling(others, page, items)

    def _take_one(self, item: BaseModel, values: dict[str, Any], stored: Any) -> bool:
        """Record one instance; return False if it is not like most. It costs a third of a page of one."""
        parts = stored.kept if self._keeps_json and type(stored) is JSON_ITEM else None
        if parts is None and self.shared:
            return False
        try:
            fixed = self._get_fixed(_attributes(item))
            if parts is None and self.own:
                parts = self._get_own(values)
        except KeyError:  # it lacks a field
            return False
        self._set_values(item, fixed)
        if parts is not None:
            self._set_parts(item, parts)
        return True

    def mark_partial(self, page: Sequence[BaseModel], items: Sequence[WireItem]) -> None:
        """Record that instances were read from parts of their items: of these, their keys.

        Args:
            page: the instances.
            items: the stored items, or parts of them.
        """
        for made, item in zip(page, items, strict=True):
            values = tuple([vars(made).get(field.name, _Mark.MISSING) for field in self._key])
            self._set_values(made, _Mark.PARTIAL)
            self._set_parts(made, (values, tuple([item.get(field.stored) for field in self._key])))
            self._set_unvalidated(made, _Mark.PARTIAL)


def rewrites(model: type[BaseModel]) -> bool:
    """Return whether a validator of a model sees its values before Pydantic does, and so may change them."""
    decorators = model.__pydantic_decorators__
    validators = decorators.field_validators
    modes = [each.info.mode for name, each in validators.items() if not name.startswith(PRESENCE)]
    modes += [each.info.mode for each in decorators.model_validators.values()]
    return any(mode != "after" for mode in modes) or bool(decorators.validators or decorators.root_validators)


def remember(item: BaseModel, stored: WireItem | bytes) -> None:
    """Record the item that is stored now: a wire item, or the JSON of one."""
    values, parts, _ = _descriptors or _slots(type(item))
    values.__set__(item, stored if isinstance(stored, bytes) else json_of(stored))
    parts.__set__(item, None)


def remember_texts(items: Sequence[BaseModel], texts: Sequence[bytes]) -> None:
    """Record the items that are stored now, each as its JSON; their models need not be the same."""
    values, parts, _ = _slots(type(items[0]))
    _each(values.__set__, items, texts)
    _each(parts.__set__, items, repeat(None))


def forget(item: BaseModel) -> None:
    """Forget the state of an instance, as if no session had read or written it."""
    for slot in _slots(type(item))[:2]:
        _clear(slot, item)


def is_remembered(item: BaseModel) -> bool:
    """Return whether a session read or wrote an instance, or what it is a copy of."""
    return _values_of(item) is not None


def is_whole(item: BaseModel) -> bool:
    """Return whether a session read or wrote an instance, and all of it."""
    return _values_of(item) not in (None, _Mark.PARTIAL)


def unvalidated(item: BaseModel, use: str) -> frozenset[str]:
    """Return the names of the fields that were assigned since the instance was validated, with ``RESPELLED`` perhaps.

    Args:
        item: an instance that is about to be written.
        use: what is about to be done with it, such as ``written``, for messages.

    Raises:
        OperationError: it was read from a part, so that the write would take its other values for absent.
    """
    slot = _descriptors[2] if _descriptors else _slots(type(item))[2]
    try:
        names = slot.__get__(item)
    except AttributeError:
        return NO_FIELDS
    if names is _Mark.PARTIAL:
        name = type(item).__name__
        raise OperationError(
            f"this {name} was read without some of its attributes, so it cannot be {use}: they would be lost. Read it "
            f"with session.get({name}, key), or change single attributes with session.update"
        )
    return cast("frozenset[str]", names)


def mark_unvalidated(item: BaseModel, names: Iterable[str]) -> None:
    """Record that fields of an instance have values that were not validated."""
    slot = _slots(type(item))[2]
    known = _held(slot, item)
    if known is not _Mark.PARTIAL:
        slot.__set__(item, frozenset(names) if known is None else known.union(names))


def mark_assigned(item: BaseModel, name: str) -> None:
    """Record that one field of an instance was assigned. Each assignment calls this, so it is fast."""
    slot = _descriptors[2] if _descriptors else _slots(type(item))[2]
    try:
        names = slot.__get__(item)
    except AttributeError:
        slot.__set__(item, frozenset((name,)))
        return
    if names is not _Mark.PARTIAL and name not in names:
        slot.__set__(item, names | {name})


def mark_validated(item: BaseModel) -> None:
    """Record that all values of an instance are validated."""
    slot = _slots(type(item))[2]
    if _Mark.RESPELLED in (_held(slot, item) or ()):
        slot.__set__(item, RESPELLED)
    else:
        _clear(slot, item)


def hand_over(source: BaseModel, copy: BaseModel) -> None:
    """Give the copy of an instance its state; states never change, so both share it."""
    restore(copy, state_of(source), _held(_slots(type(source))[2], source))


def dumped_state(item: BaseModel) -> dict[str, Any]:
    """Return the state of an instance for pickling, by name; nothing without one."""
    state, names = state_of(item), _held(_slots(type(item))[2], item)
    dumped: dict[str, Any] = {} if state[0] is None else {STATE: state}
    return dumped if names is None else {**dumped, UNVALIDATED: names}


def restore(item: BaseModel, state: tuple[Any, Any], names: Any = None) -> None:
    """Give an instance the state of another.

    Args:
        item: the instance.
        state: what is remembered of the stored item.
        names: the unvalidated fields, or the mark of a part; None for neither.
    """
    if state[0] is _Mark.PARTIAL:  # all that older versions pickled
        names = _Mark.PARTIAL
    for slot, value in zip(_slots(type(item)), (*state, names), strict=True):
        if value is not None:
            slot.__set__(item, value)


def present(names: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    """Return name -> value, without those that were missing."""
    return {name: value for name, value in zip(names, values, strict=False) if value is not _Mark.MISSING}


_GET: Final[Callable[..., Any]] = cast("Any", dict).get
_joined: Final[Callable[[tuple[Any, ...], tuple[Any, ...]], tuple[Any, ...]]] = add
_attributes: Final[Callable[[BaseModel], dict[str, Any]]] = attrgetter("__dict__")


def _each(setter: Callable[[BaseModel, Any], None], page: Sequence[BaseModel], states: Iterable[Any]) -> None:
    """Set a slot of each instance, at the speed of C."""
    deque(map(setter, page, states), maxlen=0)


def _by_name(sources: Sequence[dict[str, Any]], names: Sequence[str]) -> Iterable[tuple[Any, ...]]:
    return zip(*(map(_GET, sources, repeat(name), repeat(_Mark.MISSING)) for name in names), strict=True)


def _stored(items: Sequence[WireItem], names: Sequence[str]) -> Iterable[tuple[Any, ...]]:
    if type(items[0]) is not JSON_ITEM:
        return _by_name(items, names)
    return [tuple([item.get(name, _Mark.MISSING) for name in names]) for item in items]


def _getter(names: tuple[str, ...]) -> Callable[[dict[str, Any]], tuple[Any, ...]]:
    if len(names) > 1:
        return itemgetter(*names)
    return lambda values: tuple([values[name] for name in names])


_descriptors: Final[list[Any]] = []


def _slots(model: type[Any]) -> list[Any]:
    # On the class, a slot is the descriptor that reads and writes it, past Pydantic's own attribute access. All models
    # have those of ``Model``; looking them up each time costs a write 1 us (benchmarks: put_one, batch_write).
    if not _descriptors:
        _descriptors.extend(getattr(model, name) for name in SLOTS)
    return _descriptors


def _setter(model: type[Any], slot: int) -> Callable[[BaseModel, Any], None]:
    setter: Callable[[BaseModel, Any], None] = _slots(model)[slot].__set__
    return setter


def state_of(item: BaseModel) -> tuple[Any, Any]:
    """Return the recorded state of an instance, None where a slot is empty."""
    values, parts, _ = _slots(type(item))
    return _held(values, item), _held(parts, item)


def _values_of(item: BaseModel) -> Any:
    return _held(_slots(type(item))[0], item)


def _held(slot: Any, item: BaseModel) -> Any:
    try:
        return slot.__get__(item)
    except AttributeError:
        return None


def _clear(slot: Any, item: BaseModel) -> None:
    with suppress(AttributeError):
        slot.__delete__(item)
