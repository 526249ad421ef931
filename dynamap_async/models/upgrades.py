"""Versions of stored items: functions that bring an item of an older version to the present one when it is read."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping, Sequence
from functools import partial
from types import FunctionType
from typing import Any, Final, NamedTuple, TypeAlias, cast

from dynamap_async.codec import anything, decode_any, encode_any, readable_key
from dynamap_async.errors import DecodeError, EncodeError, ItemUpgradeError, ItemVersionError
from dynamap_async.expressions import Between, Comparison, Condition, Function, Path, Value
from dynamap_async.models.callers import warn_caller
from dynamap_async.models.settings import DOWNGRADE, SETTINGS, UPGRADE, Settings, fault, marked_functions
from dynamap_async.wire import AttributeValue, WireItem

FIRST: Final = 1
"""The version of an item that has none stored."""


_NONE: Final[Any] = object()
"""Stands for a default that was not given."""
_CHANGEABLE: Final = frozenset((list, dict, set))
"""The types of values that can be changed in place."""
_ONE_TEXT: Final = 10**18
"""Whole numbers below it are stored as Python writes them."""


class StoredItem(MutableMapping[str, Any]):
    """An item as it is stored: attribute name -> plain Python value, for upgrades to change in place.

    Values are str, int or Decimal, bytes, bool, None, sets, lists and dicts of these. What an upgrade does not change
    stays stored exactly as it is. A set that is left empty is removed with its attribute, as everywhere.
    """

    __slots__ = ("_held", "_values", "_wire")

    def __init__(self, wire: WireItem, held: Collection[str] | None = None) -> None:
        """Take an item as it is stored.

        Args:
            wire: the item, which is not changed.
            held: the names that may be looked at, because the item holds these if it is one of an index; None for any.
        """
        self._wire = dict(wire)
        """What is stored, without what was taken out."""
        self._held = held
        self._values: dict[str, Any] = {}
        """What was set, and what was looked at and can be changed in place."""

    def __getitem__(self, name: str) -> Any:
        values = self._values
        if name in values:
            return values[name]
        if self._held is not None and name not in self._held:
            raise self._refused(name)
        value = _value(self._wire[name])
        if type(value) in _CHANGEABLE:
            values[name] = value
        return value

    # What follows does what the class behind it does, in half the time: upgrades consist of little else.

    def __contains__(self, name: object) -> bool:
        if name in self._values:
            return True
        if self._held is not None and name not in self._held:
            raise self._refused(name)
        return name in self._wire

    def get(self, name: str, default: Any = None, /) -> Any:
        """Return the value of an attribute, or a default if there is none.

        Args:
            name: the attribute's name.
            default: what to return where there is none.
        """
        values = self._values
        if name in values:
            return values[name]
        if self._held is not None and name not in self._held:
            raise self._refused(name)
        stored = self._wire.get(name)
        if stored is None:
            return default
        value = _value(stored)
        if type(value) in _CHANGEABLE:
            values[name] = value
        return value

    def pop(self, name: str, default: Any = _NONE, /) -> Any:
        """Take an attribute out and return its value, or a default if there is none.

        Args:
            name: the attribute's name.
            default: what to return where there is none.

        Raises:
            KeyError: there is none, and no default.
        """
        values = self._values
        if name in values:
            self._wire.pop(name, None)
            return values.pop(name)
        if self._held is not None and name not in self._held:
            raise self._refused(name)
        stored = self._wire.pop(name, None)
        if stored is not None:
            return _value(stored)
        if default is _NONE:
            raise KeyError(name)
        return default

    def __setitem__(self, name: str, value: Any) -> None:
        self._values[name] = value

    def __delitem__(self, name: str) -> None:
        self.pop(name)

    def __iter__(self) -> Iterator[str]:
        if self._held is not None:
            raise self._refused()
        return iter(self._wire | self._values)

    def __len__(self) -> int:
        if self._held is not None:
            raise self._refused()
        return len(self._wire | self._values)

    def __repr__(self) -> str:
        stored = {name: _value(each) for name, each in self._wire.items() if name not in self._values}
        return f"StoredItem({stored | self._values})"

    def wire(self) -> WireItem:
        """Return the item in wire form.

        Raises:
            EncodeError: a value cannot be stored.
        """
        stored = dict(self._wire)
        for name, value in self._values.items():
            new = stored_form(value, name)
            if new is None:
                stored.pop(name, None)
            elif (old := stored.get(name)) is None or not _is_same(old, new):
                stored[name] = new
        return stored

    def _refused(self, name: object = None) -> BaseException:
        """Return the error of a look at what is not held."""
        what = "all attributes are" if name is None else f"{name!r} is"
        return LookupError(
            f"{what} looked at, and not among its needs=, so that it may be absent from an item of an index; "
            + ("leave out needs=" if name is None else "name it there")
        )


class WatchedItem(StoredItem):
    """A stored item that records which of its attributes are looked at."""

    __slots__ = ("looked_at",)

    def __init__(self, wire: WireItem, held: Collection[str] | None = None) -> None:
        """Take an item of which nothing was looked at yet.

        Args:
            wire: the item, which is not changed.
            held: the names that may be looked at; None for any.
        """
        super().__init__(wire, held)
        self.looked_at: Final[set[str]] = set()
        """The names of the attributes that were asked for, those included that the item does not have."""

    def __getitem__(self, name: str) -> Any:
        self.looked_at.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.looked_at.add(str(name))
        return super().__contains__(name)

    def get(self, name: str, default: Any = None, /) -> Any:
        """Return the value of an attribute, or a default if there is none.

        Args:
            name: the attribute's name.
            default: what to return where there is none.
        """
        self.looked_at.add(name)
        return super().get(name, default)

    def pop(self, name: str, default: Any = _NONE, /) -> Any:
        """Take an attribute out and return its value, or a default if there is none.

        Args:
            name: the attribute's name.
            default: what to return where there is none.

        Raises:
            KeyError: there is none, and no default.
        """
        self.looked_at.add(name)
        return super().pop(name, default)

    @property
    def used(self) -> frozenset[str]:
        """The names of the attributes that were asked for, or set."""
        return frozenset(self.looked_at).union(self._values)

    def __iter__(self) -> Iterator[str]:
        self.looked_at.update(self._wire)
        return super().__iter__()

    def __len__(self) -> int:
        self.looked_at.update(self._wire)
        return super().__len__()


def _value(stored: AttributeValue) -> Any:
    """Return an attribute value as a plain Python value; those that most are, at a third of the cost."""
    if len(stored) == 1:
        text = stored.get("S")
        if type(text) is str:
            return text
        members = stored.get("M")
        if type(members) is dict:
            return {name: _value(member) for name, member in members.items()}
        truth = stored.get("BOOL")
        if truth is True or truth is False:
            return truth
    return decode_any(stored)


def _copied(value: Any) -> Any:
    """Copy a list, dict or set with all lists, dicts and sets in it, in a fifth of the time of ``deepcopy``."""
    copy, kind = value.copy(), value.__class__
    if kind is not set:
        for place, each in value.items() if kind is dict else enumerate(value):
            if type(each) in _CHANGEABLE:
                copy[place] = _copied(each)
    return copy


def stored_form(value: Any, name: str) -> AttributeValue | None:
    """Return the stored form of an attribute that an upgrade has set; None for an empty set, which is not stored.

    Args:
        value: the plain Python value.
        name: the attribute's name.

    Raises:
        EncodeError: the value cannot be stored.
    """
    try:
        return _of_usual(value)
    except LookupError:
        if not value and isinstance(value, set | frozenset):
            return None
        _refuse_floats(value, name)
    try:
        return encode_any(value)
    except EncodeError as error:
        raise error.at(name) from error.__cause__


def _of_usual(value: Any) -> AttributeValue:
    """Return the stored form of a value of the types that most are of, at a third of the cost; else LookupError."""
    kind: Any = value.__class__
    if kind is str:
        return {"S": value}
    if kind is int and -_ONE_TEXT < value < _ONE_TEXT:
        return {"N": str(value)}
    if kind is dict:
        return {"M": {name if type(name) is str else _UNUSUAL[name]: _of_usual(each) for name, each in value.items()}}
    if kind is list:
        return {"L": [_of_usual(each) for each in value]}
    if kind is bool:
        return {"BOOL": value}
    if value is None:
        return {"NULL": True}
    raise LookupError


_UNUSUAL: Final[Mapping[object, str]] = {}
"""Has no name, so that looking one up raises LookupError."""


def _is_same(stored: AttributeValue, new: AttributeValue) -> bool:
    """Return whether two attribute values are of one value: numbers are spelled in several ways."""
    return stored == new or encode_any(decode_any(stored)) == new


def _refuse_floats(value: object, *path: str | int) -> None:
    if isinstance(value, float):
        raise EncodeError(f"{value!r} is a float, which has no exact value; give a Decimal or an int").at(*path)
    if isinstance(value, dict):
        for name, member in cast("dict[str, object]", value).items():
            _refuse_floats(member, *path, name)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for position, member in enumerate(cast("Collection[object]", value)):
            _refuse_floats(member, *path, position)


Upgrade: TypeAlias = Callable[[StoredItem], None]
"""Changes an item of one version into one of the next, or of the one before."""


class _StepMark(NamedTuple):
    """What a function in the body of a model is marked with."""

    to: int
    changes: frozenset[str] | None = None
    needs: frozenset[str] | None = None
    new_key: bool = False


def upgrade(
    *, to: int, changes: Collection[str] | None = None, needs: Collection[str] | None = None, new_key: bool = False
) -> Callable[[Upgrade | staticmethod[[StoredItem], None]], staticmethod[[StoredItem], None]]:
    """Mark a function in the body of a model that brings an item of version ``to - 1`` to version ``to``.

    It stands above ``@staticmethod``, takes the ``StoredItem`` and changes it in place. It knows nothing but the item:
    no I/O, no clock, nothing of the model as it is today, which will change again. It runs whenever an older item is
    read, so it is to give the same result each time. Subclasses inherit it.

    Args:
        to: the version that it leads to, from 2 to the model's ``schema_version``.
        changes: the stored names of the attributes that it sets, removes or changes in place. An update of any other
            attribute is then made to older items too; without it, an update is refused for every older item. A model
            that ``writes`` an older version needs it. An upgrade that changes another attribute is an error.
        needs: the stored names of the attributes that it looks at or removes, fields of the model aside. Where each
            upgrade of a model names them, an index that holds these and all fields serves reads of whole items without
            a look into the table. Without it, all attributes are needed.
        new_key: whether it may change attributes of the key. A read moves no item, so it is an error for one that is
            to get another key; ``session.upgrade`` puts the new item and deletes the old one in a transaction.
    """
    return partial(_marked, UPGRADE, _StepMark(to, _names("changes", changes), _names("needs", needs), new_key))


def _names(keyword: str, given: Collection[str] | None) -> frozenset[str] | None:
    if isinstance(given, str):
        raise fault("@upgrade", f"is given {keyword}={given!r}, one text; write {keyword}=({given!r},)")
    return None if given is None else frozenset(given)


def downgrade(*, to: int) -> Callable[[Upgrade | staticmethod[[StoredItem], None]], staticmethod[[StoredItem], None]]:
    """Mark a function in the body of a model that brings an item of version ``to + 1`` back to version ``to``.

    It is written like an upgrade, and undoes the one to ``to + 1``: what that would lose, it leaves in an attribute
    that older programs do not know. It changes only what the upgrades name in their ``changes=``. It runs when an item
    is written, in a model that ``writes`` an older version.

    Args:
        to: the version that it leads to, from 1 to the one before the model's ``schema_version``.
    """
    return partial(_marked, DOWNGRADE, _StepMark(to))


def _marked(
    mark: str, meaning: _StepMark, function: Upgrade | staticmethod[[StoredItem], None]
) -> staticmethod[[StoredItem], None]:
    plain = function.__func__ if isinstance(function, staticmethod) else function
    if not isinstance(plain, FunctionType):
        raise fault(
            getattr(plain, "__qualname__", type(plain).__name__),
            f"@{_SPELLED[mark]} marks a function that is written as `def name(item: StoredItem) -> None`",
        )
    setattr(plain, mark, meaning)
    return staticmethod(plain)


_SPELLED: Final = {UPGRADE: "upgrade", DOWNGRADE: "downgrade"}


class Upgrades:
    """The versions of one model's items: which can be read, and how older ones become present ones."""

    def __init__(
        self,
        model: str,
        settings: Settings,
        steps: Collection[FunctionType],
        back: Mapping[int, FunctionType],
        keys: Collection[str],
        stored: Collection[str],
    ) -> None:
        """Take the versions of a model's items, which the class statement declares.

        Args:
            model: the model's name.
            settings: its settings, with a version.
            steps: what leads to version 2, 3 and so on, to the present one.
            back: version -> what leads back to it from the next one; at least those that the model writes.
            keys: the stored names of the attributes of the table's key.
            stored: the stored names of the model's fields.
        """
        assert settings.schema_version is not None  # noqa: S101 - or there are none to describe
        self._model: Final = model
        self.version: Final = settings.schema_version
        """The present version, which instances are of."""
        self.written: Final = settings.writes or settings.schema_version
        """The version that items are written in."""
        self.attribute: Final = settings.schema_attribute
        """The stored name of the attribute that holds it."""
        self.marker: Final[WireItem] = {self.attribute: {"N": str(self.version)}}
        """What every item is written with, unless an older version is."""
        self._accepted: Final = max(self.version, settings.accepts or 0)
        self._older: Final = {str(each): each for each in range(FIRST, self.version)}
        """Older versions, as they are stored."""
        self.readable: Final = frozenset(str(each) for each in range(self.version, self._accepted + 1))
        """The versions that are read as they are, as they are stored."""
        self._steps: Final = tuple(steps)
        self._steps_from: Final = {each: self._steps[each - 1 :] for each in self._older.values()}
        """Older version -> what leads from it to the present one."""
        self._back: Final = tuple((to, back[to]) for to in range(self.version - 1, self.written - 1, -1))
        self._keys: Final = tuple(keys)
        self._complete_since: Final = settings.complete_since or 0
        self._changes_from: Final = {
            each: _told(steps_left, lambda mark: mark.changes) for each, steps_left in self._steps_from.items()
        }
        """Older version -> what the upgrades of its items name as changed; None where one of them names nothing."""
        marks = [
            (each.__name__, _mark_of(each, UPGRADE)) for each in self._steps[max(FIRST, self._complete_since) - 1 :]
        ]
        self.touched: Final = frozenset(name for _, mark in marks for name in mark.changes or ())
        """The attributes that upgrades of stored items change, as far as these name them."""
        self.unnamed: Final = " and ".join(name for name, mark in marks if mark.changes is None)
        """The upgrades of stored items that do not name what they change, as text."""
        self.needs: Final = _told(self._steps, lambda mark: mark.needs)
        """The attributes that the upgrades need besides the fields; None where they may need any."""
        self._held: Final = None if self.needs is None else self.needs.union(stored, keys, (self.attribute,))
        """What upgrades may look at; None for anything."""
        self._moving: Final = max((mark.to for each in steps if (mark := _mark_of(each, UPGRADE)).new_key), default=0)
        """Upgrades of items before this version may change the key."""

    @property
    def older_exist(self) -> bool:
        """Whether items of an older version may be stored."""
        return bool(self._steps) and self._complete_since < self.version

    @property
    def writes_older(self) -> bool:
        """Whether items are written in an older version than instances are of."""
        return bool(self._back)

    @property
    def accepts_later(self) -> bool:
        """Whether items of later versions are read as they are."""
        return self._accepted > self.version

    def path(self, model: type[Any]) -> Path:
        """Return the path of the attribute that holds the version.

        Args:
            model: the class that conditions on it are about.
        """
        return Path(model, (self.attribute,), self.attribute, anything())

    def present_or_accepted(self, model: type[Any]) -> Condition:
        """Return the condition that a stored item is of the present version, or of a later one that is accepted.

        Args:
            model: the class that the condition is about.
        """
        present, accepted = (Value({"N": str(each)}) for each in (self.version, self._accepted))
        return Between(self.path(model), present, accepted)

    def not_too_late(self, model: type[Any], *, or_first: bool = True) -> Condition:
        """Return the condition that a stored item can be read: its version is no later one than is accepted.

        Args:
            model: the class that the condition is about.
            or_first: whether an item of the first version, which has none stored, will do.
        """
        path = self.path(model)
        readable = Comparison("<=", path, Value({"N": str(self._accepted)}))
        return Function("attribute_not_exists", path) | readable if or_first else readable

    def still_of(self, model: type[Any], version: int) -> Condition:
        """Return the condition that a stored item is of a version; none stored is the first one.

        Args:
            model: the class that the condition is about.
            version: that in which the item was read.
        """
        path = self.path(model)
        same = Comparison("=", path, Value({"N": str(version)}))
        return Function("attribute_not_exists", path) | same if version == FIRST else same

    def stored_version(self, item: WireItem) -> int:
        """Return the version of a stored item.

        Raises:
            DecodeError: what is stored is none.
        """
        found = item.get(self.attribute)
        if found is None:
            return FIRST
        text = found.get("N", "")
        if text in self._older:
            return self._older[text]
        try:
            version = decode_any(found)
        except DecodeError:
            version = None
        if type(version) is not int or version < FIRST:
            problem = (
                f"{found} is not a version; versions are whole numbers from 1 up. Store the version that it is of; an "
                f"item of version {FIRST} needs none"
            )
            raise DecodeError(problem).at(self.attribute)
        return version

    def may_change(self, attribute: str) -> bool:
        """Return whether the upgrade of an older item that may be stored may change an attribute.

        Args:
            attribute: its stored name.
        """
        if not self.older_exist or attribute == self.attribute:
            return False
        return attribute in self.touched or (bool(self.unnamed) and (attribute not in self._keys or self._moving > 0))

    def why_lost(self, attribute: str) -> str | None:
        """Return why no update may set or take an attribute while items are written in an older version, if none may.

        Args:
            attribute: its stored name.
        """
        if not self.writes_older or not self.may_change(attribute):
            return None
        return (
            f"is stored in another form while items are written in version {self.written}, so that the update would be "
            f"lost, or take another value than is meant{self.why_any}; read the item, change and save() it"
        )

    @property
    def why_any(self) -> str:
        """Why any attribute may have changed, to be added to an error or a hazard; nothing where only some may."""
        return f" ({self.unnamed} may change any attribute, having no changes=: {_NAME_THEM})" if self.unnamed else ""

    def looked_up(self, names: frozenset[str]) -> frozenset[str]:
        """Return those of some names of attributes that upgrades may look at."""
        return names if self._held is None else names & self._held

    def kept(self, names: Collection[str]) -> Mapping[int, Sequence[str]]:
        """Return older version -> those of some names of attributes that its upgrades must leave as they are."""
        return {
            version: [name for name in names if name in self._keys or (changes is not None and name not in changes)]
            for version, changes in self._changes_from.items()
        }

    def used(self, item: WireItem) -> frozenset[str]:
        """Return the names of the attributes that the upgrades of an older item look at or set; none if it is not.

        Raises:
            ItemVersionError: what is stored as its version is none.
            ItemUpgradeError: as for ``upgraded``.
        """
        view, version = WatchedItem(item, self._held), self._version_of(item)
        if version < self.version:
            self._brought_up(item, version, view)
        return view.used

    def upgrade_at_hand(
        self, view: StoredItem, values: Mapping[str, Any], version: int, kept: Mapping[int, Sequence[str]]
    ) -> bool:
        """Upgrade those attributes of an item that are at hand; return False where that takes the whole item.

        Args:
            view: the item, whose upgrades change the values.
            values: attribute name -> plain Python value.
            version: the item's version, an older one.
            kept: version -> the names of those that must stay as they are.

        Raises:
            LooksFurtherError: an upgrade asked for another attribute.
        """
        names = kept[version]
        before: list[Any] = []
        for name in names:
            value = values.get(name)
            # A copy, because an upgrade may change it in place too, which it must not.
            before.append(_copied(value) if type(value) in _CHANGEABLE else value)
        try:
            for step in self._steps_from[version]:
                if step(view) is not None:
                    return False
        except Exception:  # noqa: BLE001 - whatever it is, it is raised again, and told, where the whole item is upgraded
            return False
        return not names or before == [values.get(name) for name in names]

    def is_behind(self, item: WireItem) -> bool:
        """Return whether a stored item is of an older version; errors are those of ``stored_version``."""
        return self.stored_version(item) < self.version

    def upgraded(self, item: WireItem) -> WireItem:
        """Return a stored item as it would be stored in the present version; the same one if it is.

        Raises:
            ItemVersionError: it is of a later version than can be read, or what is stored is none.
            ItemUpgradeError: an upgrade raised, changed the key, or left what cannot be stored.
        """
        found = self._version_of(item)
        if found > self._accepted:
            message = (
                f"its version is {found}, and {self._model} knows {self.version}: newer code wrote it. Deploy the code "
                f"that knows version {found}; or, if this code can read such items as they are, declare accepts={found}"
            )
            raise self._error(ItemVersionError, message, item, DecodeError(message))
        return item if found >= self.version else self._brought_up(item, found, StoredItem(item, self._held))

    def downgraded(self, item: WireItem) -> WireItem:
        """Return an item of the present version as it is written, which may be in an older one.

        Raises:
            EncodeError: a downgrade raised, changed the key, or left what cannot be stored.
        """
        if not self._back:
            return item
        view = StoredItem(item)
        for to, step in self._back:
            try:
                given = step(view)
            except Exception as error:
                raise self._unwritten(item, to, step, f"raised {type(error).__name__}: {error}") from error
            if given is not None:
                raise self._unwritten(item, to, step, f"returned {type(given).__name__}, not None")
        made = view.wire()
        if any(made.get(name) != item.get(name) for name in self._keys):
            raise self._unwritten(item, *self._back[-1], "or an earlier one changed the key, which must not change")
        if left := self._undeclared(item, made, self.written):
            problem = f"or an earlier one changed {left}, which no upgrade to a later version names: {_NAME_THEM}"
            raise self._unwritten(item, *self._back[-1], problem)
        return {**made, self.attribute: {"N": str(self.written)}}

    def written_over(self, older: WireItem, item: WireItem) -> WireItem:
        """Return an item of the present version as it is written in place of an older one that was read.

        An item of the first version that has none stored keeps none: others would take a number for a change.

        Args:
            older: the item that is stored.
            item: what it is to become.

        Raises:
            EncodeError: as for ``downgraded``.
        """
        made = self.downgraded(item)
        if self.written == FIRST and self.attribute not in older:
            return {name: value for name, value in made.items() if name != self.attribute}
        return made

    def _undeclared(self, before: WireItem, after: WireItem, version: int) -> str:
        """Return what differs between two forms of an item, of a version and of the present one, without being named.

        Text for an error; nothing where all is named, or where an upgrade names nothing.
        """
        named = self._changes_from[version]
        if named is None:
            return ""
        names = sorted((before.keys() | after.keys()) - named - {self.attribute})
        return ", ".join(repr(name) for name in names if before.get(name) != after.get(name))

    def _unwritten(self, item: WireItem, to: int, step: FunctionType, problem: str) -> EncodeError:
        key = {name: decode_any(item[name]) for name in self._keys if name in item}
        what = f"the downgrade to version {to}, {step.__name__}, {problem}"
        return EncodeError(f"the item {key} of {self._model} cannot be written: {what}", model=self._model)

    def watched(self, item: WireItem) -> tuple[WireItem, set[str]]:
        """Return an item of an older version as it would be stored in the present one, and what that depends on.

        Args:
            item: the stored item, which ``is_behind``.

        Returns:
            The item, and the names of the attributes that its upgrades looked at.

        Raises:
            ItemVersionError: what is stored as its version is none.
            ItemUpgradeError: an upgrade raised, changed the key without saying so, or left what cannot be stored.
        """
        view = WatchedItem(item, self._held)
        return self._brought_up(item, self._version_of(item), view, moves=True), view.looked_at

    def _version_of(self, item: WireItem) -> int:
        """Return the version of a stored item; ItemVersionError, with the item's key, where what is stored is none."""
        try:
            return self.stored_version(item)
        except DecodeError as error:
            raise self._error(ItemVersionError, str(error), item, error) from error

    def may_move(self, item: WireItem) -> bool:
        """Return whether the upgrade of an older item may give it another key.

        Args:
            item: the stored item, which ``is_behind``.
        """
        return self.stored_version(item) < self._moving

    def _brought_up(self, item: WireItem, version: int, view: StoredItem, *, moves: bool = False) -> WireItem:
        """Return an older item after its upgrades, which change the view of it; errors are those of ``upgraded``."""
        for number, step in enumerate(self._steps[version - 1 :], version + 1):
            try:
                given = step(view)
            except Exception as error:
                message = f"{_named(number, step)} raised {type(error).__name__}: {error}"
                raise self._error(ItemUpgradeError, message, item, DecodeError(message)) from error
            if given is not None:
                message = (
                    f"{_named(number, step)} returned {type(given).__name__}; it has to change the item in place, and "
                    "return None"
                )
                raise self._error(ItemUpgradeError, message, item, DecodeError(message))
        try:
            made = view.wire()
        except EncodeError as error:
            message = f"an upgrade left what cannot be stored: {error}"
            raise self._error(ItemUpgradeError, message, item, error) from error
        for name in self._keys:
            if made.get(name) != item.get(name) and not (moves and version < self._moving):
                remedy = "" if version >= self._moving else f"; session.upgrade({self._model}) does"
                message = (
                    f"an upgrade changed {name!r}, which is part of the key; reading an item does not move it{remedy}"
                )
                raise self._error(ItemUpgradeError, message, item, DecodeError(message))
        if left := self._undeclared(item, made, version):
            message = f"an upgrade from version {version} changed {left}, which none names: {_NAME_THEM}"
            raise self._error(ItemUpgradeError, message, item, DecodeError(message))
        made.update(self.marker)
        return made

    def _error(
        self, kind: type[ItemVersionError | ItemUpgradeError], message: str, item: WireItem, cause: ValueError
    ) -> ItemVersionError | ItemUpgradeError:
        key = readable_key(item, self._keys)
        return kind(
            f"the stored item {key} does not fit {self._model}: {message}",
            model=self._model,
            key=key,
            item=item,
            validation_error=cause,
        )


def _named(number: int, step: FunctionType) -> str:
    return f"the upgrade to version {number}, {step.__name__},"


def _told(steps: Collection[FunctionType], told: Callable[[_StepMark], frozenset[str] | None]) -> frozenset[str] | None:
    """Return all names that upgrades tell; None where one of them tells none."""
    found: set[str] = set()
    for step in steps:
        names = told(_mark_of(step, UPGRADE))
        if names is None:
            return None
        found |= names
    return frozenset(found)


_NAME_THEM: Final = "name what it changes in @upgrade(to=..., changes=(...)), by stored names"
"""What to do about changes that are not named."""


def upgrades_of(model: type[Any], stored: Collection[str], keys: Collection[str]) -> Upgrades | None:
    """Return the versions of a model's items; None for a model without any.

    Args:
        model: the class.
        stored: the stored names of its fields.
        keys: the stored names of the attributes of the table's key.

    Raises:
        ModelDefinitionError: the chain of upgrades is not complete, or the class says what does not go together.
    """
    settings: Settings = getattr(model, SETTINGS)
    found, back = marked_functions(model, UPGRADE), marked_functions(model, DOWNGRADE)
    name, version = model.__name__, settings.schema_version
    if version is None:
        if found and not settings.abstract:
            raise fault(
                name, "is an upgrade, but the model has no schema_version; add schema_version=...", next(iter(found))
            )
        return None
    if settings.accepts is not None and settings.accepts <= version:
        raise fault(
            name,
            f"accepts={settings.accepts} is not later than schema_version={version}; drop it, because older versions "
            "are upgraded anyway",
        )
    if settings.complete_since is not None and settings.complete_since > version:
        raise fault(
            name,
            f"complete_since={settings.complete_since} is later than schema_version={version}; give the version that "
            "every stored item has reached",
        )
    if settings.writes is not None:
        _check_writes(name, settings.writes, settings)
    if settings.table is None and not settings.abstract:
        raise fault(name, "has a schema_version, but no table, so it has no items; drop schema_version")
    if settings.schema_attribute in stored:
        raise fault(
            name,
            f"stores a field as {settings.schema_attribute!r}, where the version of its items is stored; name another "
            'attribute with schema_attribute="..."',
        )
    made = Upgrades(name, settings, _chain(name, version, found), _way_back(name, settings, back), keys, stored)
    _warn_of_unnamed(name, made)
    return made


def _warn_of_unnamed(model: str, upgrades: Upgrades) -> None:
    if upgrades.writes_older and upgrades.unnamed:
        message = (
            f"{model} writes items in version {upgrades.written}, so its upgrades must say what they change, and "
            f"{upgrades.unnamed} does not: {_NAME_THEM}. Until then every update() of a {model} is refused; the next "
            "release will refuse the class"
        )
        warn_caller(message, FutureWarning)


def _check_writes(model: str, written: int, settings: Settings) -> None:
    version, complete = settings.schema_version or FIRST, settings.complete_since or FIRST
    if written >= version:
        raise fault(
            model, f"writes={written} is not older than schema_version={version}, which is written anyway; drop it"
        )
    if complete > written:
        raise fault(
            model,
            f"complete_since={complete} is later than writes={written}, so older items are still being written; drop "
            "one of them",
        )


def _chain(model: str, version: int, found: Mapping[str, FunctionType]) -> list[FunctionType]:
    """Return what leads to version 2, 3 and so on, to the present one; ModelDefinitionError where one is missing."""
    steps = _by_version(model, found, UPGRADE, FIRST + 1, version)
    if missing := [str(each) for each in range(FIRST + 1, version + 1) if each not in steps]:
        raise fault(
            model,
            f"has schema_version={version}, but no upgrade to version {' and '.join(missing)}; add a function with "
            f"@upgrade(to={missing[0]}) above @staticmethod",
        )
    return [steps[to] for to in sorted(steps)]


def _way_back(model: str, settings: Settings, found: Mapping[str, FunctionType]) -> dict[int, FunctionType]:
    """Return version -> what leads back to it; ModelDefinitionError where one is missing that items are written by."""
    version = settings.schema_version or FIRST
    steps = _by_version(model, found, DOWNGRADE, FIRST, version - 1)
    written = settings.writes or version
    if missing := [to for to in range(version - 1, written - 1, -1) if to not in steps]:
        raise fault(
            model,
            f"writes={written}, but has no downgrade to version {' and '.join(map(str, missing))}; add a function "
            f"with @downgrade(to={missing[0]}) above @staticmethod",
        )
    return steps


def _by_version(
    model: str, found: Mapping[str, FunctionType], mark: str, first: int, last: int
) -> dict[int, FunctionType]:
    steps: dict[int, FunctionType] = {}
    for name, step in found.items():
        to = _mark_of(step, mark).to
        if not first <= to <= last:
            reach = f"those of {model} go from {first} to {last}" if first <= last else f"{model} has only one version"
            raise fault(model, f"leads to version {to}; {reach}", name)
        if to in steps:
            raise fault(model, f"leads to version {to}, like {steps[to].__name__}; drop one of them", name)
        steps[to] = step
        _check_function(model, name, step, "an upgrade" if mark == UPGRADE else "a downgrade")
    return steps


def _mark_of(step: FunctionType, mark: str) -> _StepMark:
    found: _StepMark = getattr(step, mark)
    return found


def _check_function(model: str, name: str, step: FunctionType, what: str) -> None:
    if inspect.iscoroutinefunction(step) or inspect.isgeneratorfunction(step) or inspect.isasyncgenfunction(step):
        raise fault(model, f"is {what}, so it must be a plain function, without `async` and `yield`", name)
    try:
        inspect.signature(step).bind(None)
    except TypeError:
        raise fault(
            model, f"is {what}, so it must take (item: StoredItem), not {inspect.signature(step)}", name
        ) from None
