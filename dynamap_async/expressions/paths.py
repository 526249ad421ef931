"""Document paths: which part of an item an expression names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, TypeAlias

from dynamap_async.codec import EMPTY_SET, Absence, Converter, abbreviate, anything, check_value, text_size
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import EncodeError, ExpressionError, OutOfRangeError
from dynamap_async.limits import ATTRIBUTE_NAME_BYTES, LIST_POSITION, PATH_DEPTH
from dynamap_async.wire import AttributeValue

Forms: TypeAlias = tuple[AttributeValue | None, ...]
"""Stored forms that read back as one value; None stands for the absence of the attribute."""

_SET_TAGS: Final = frozenset(("SS", "NS", "BS"))


class Undeclared:
    """Stands for the model of a path whose attribute no model declares: ``path("old_name")``."""


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """One attribute of a model's items, or a part inside it."""

    owner: type[Any]
    """The model class that the path was spelled with, or ``Undeclared``."""

    steps: tuple[str | int, ...]
    """Stored names, map keys and list positions, outermost first."""

    spelled: str
    """The path as the program spells it, without the model: ``address.city`` or ``history[0]``."""

    converter: Converter
    """How the values at the path are stored."""

    none_forms: Forms | None = None
    """The stored forms that read back as None; without it what the type alone tells."""

    empty_set_forms: Forms | None = None
    """The stored forms that read back as an empty set; without it what the type alone tells."""

    has_given_steps: bool = False
    """Whether a step is a map key or a list position that the program gave, and not a field that a class declares."""

    absence: Absence | None = None
    """What the attribute, or the part of a value, reads as where it is absent; None where no type declares it."""

    default: Callable[[], Any] | None = None
    """Makes what it reads as where it is absent; None where ``absence`` tells that, or nobody."""

    parent: Path | None = None
    """The path of the value that this is a part of; None for an attribute."""

    def __str__(self) -> str:
        return f"{self.owner.__name__}.{self.spelled}" if self.is_declared else self.spelled

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Path) and (self.owner, self.steps) == (other.owner, other.steps)

    def __hash__(self) -> int:
        return hash((self.owner, self.steps))

    @property
    def is_declared(self) -> bool:
        """Whether a model declares the attribute; otherwise only its stored name is known."""
        return self.owner is not Undeclared

    @property
    def model(self) -> str | None:
        """The name of the model that declares the attribute; None if none does."""
        return self.owner.__name__ if self.is_declared else None

    @property
    def attribute(self) -> str:
        """The stored name of the top-level attribute."""
        return str(self.steps[0])

    @property
    def parents(self) -> tuple[Path, ...]:
        """The paths of the values that this is inside of, outermost first."""
        return () if self.parent is None else (*self.parent.parents, self.parent)

    @property
    def reads_as_none(self) -> Forms:
        """The stored forms that read back as None, absence first; none where the type has no None."""
        if self.none_forms is not None:
            return self.none_forms
        return (*self._absent(Absence.NONE), {"NULL": True}) if "NULL" in self.converter.tags else ()

    @property
    def reads_as_empty_set(self) -> Forms:
        """The stored forms that read back as an empty set, absence first; none where the type is no set."""
        if self.empty_set_forms is not None:
            return self.empty_set_forms
        # Inside a list or map an empty set is stored as an empty list.
        return (*self._absent(Absence.EMPTY_SET), EMPTY_SET) if self.converter.tags & _SET_TAGS else ()

    def _absent(self, absence: Absence) -> tuple[None, ...]:
        """Return the form that a part has by its absence, if that reads as this value or nobody says as what."""
        return (None,) if self.absence in (None, absence) else ()

    def child(self, part: str | int) -> Path:
        """Return the path of one part of the value at this path.

        Raises:
            ExpressionError: the value's type has no such part.
            EncodeError: a map key is no text that DynamoDB stores.
            OutOfRangeError: there is no such position in any list.
        """
        spelled = f"{self.spelled}[{part!r}]"
        found = self.converter.step(part)
        if found is None:
            raise ExpressionError(
                f"{self} holds {self.converter.label}, which has no {part!r} inside", expression=spelled
            )
        if len(self.steps) == PATH_DEPTH:
            raise ExpressionError(f"{replace(self, spelled=spelled)} is deeper than {PATH_DEPTH} levels")
        step = found.step
        if isinstance(step, str):
            if (size := _name_size(step, spelled, self.model)) > ATTRIBUTE_NAME_BYTES:
                key = f"the map key {abbreviate(step)} has {size:,} bytes; use at most {ATTRIBUTE_NAME_BYTES:,}"
                raise EncodeError(key).at(self.spelled, model=self.model)
        elif not 0 <= step <= LIST_POSITION:
            raise OutOfRangeError(
                f"{replace(self, spelled=spelled)}: a position in a list is a number from 0 to {LIST_POSITION:,}"
            )
        # Fields of nested models are few, and known from the class; keys of maps and positions of lists are any number.
        given = self.has_given_steps or not self.converter.document
        return Path(
            self.owner,
            (*self.steps, step),
            spelled,
            found.converter,
            has_given_steps=given,
            absence=found.absence,
            default=found.default,
            parent=self,
        )

    def member(self, name: str) -> Path:
        """Return the path of a nested document's field, spelled with a dot."""
        child = self.child(name)
        return replace(child, spelled=f"{self.spelled}.{name}")

    def encode(self, value: object, form: Converter | None = None) -> AttributeValue:
        """Return a value to compare with the one at this path, in its stored form.

        Args:
            form: the form; None takes that in which values are written.

        Raises:
            EncodeError: the value is not of the field's type, or has no such form.
        """
        try:
            stored = (form or self.converter).encode(value)
            check_value(stored)
        except EncodeError as error:
            raise error.at(self.spelled, model=self.model) from None
        return stored

    def encode_each(self, value: object) -> tuple[AttributeValue, ...]:
        """Return the stored forms of a value to compare with the one at this path, the form that is written first.

        Raises:
            EncodeError: the value is not of the field's type.
        """
        first = self.encode(value)
        others: list[AttributeValue] = []
        for form in self.converter.forms[1:]:
            try:
                stored = form.encode(value)
            except EncodeError:  # so that no item holds it in this form
                continue
            if stored != first and stored not in others:
                others.append(stored)
        return first, *others


def _name_size(name: str, spelled: str, model: str | None = None) -> int:
    """Return the size in bytes of a name that a path has.

    Raises:
        EncodeError: it is not valid Unicode.
    """
    try:
        return text_size(name)
    except EncodeError as error:
        raise error.at(spelled, model=model) from None


def undeclared(name: str) -> Path:
    """Return the path of a stored attribute that no model declares.

    Raises:
        ExpressionError: no attribute can have it.
    """
    if not 0 < _name_size(name, f"path({name!r})") <= ATTRIBUTE_NAME_BYTES:
        raise ExpressionError(f"path({name[:40]!r}): the stored name of an attribute must have 1 to 65,535 bytes")
    # The name is one that a program gave, so that nothing is kept by it.
    return Path(Undeclared, (name,), f"path({name!r})", anything(), has_given_steps=True)
