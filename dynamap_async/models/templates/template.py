"""Key templates: they build keys, read them back, and give the range of keys that some of the parts select."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from dynamap_async.codec import StoredForm
from dynamap_async.errors import DecodeError, EncodeError
from dynamap_async.models.templates.formats import PartFormat, format_of
from dynamap_async.models.templates.pattern import DeclaredTemplate, OnlyWhen, PatternError, Slot, pieces_of

_LAST: Final = "\U0010ffff"
"""The last character of Unicode, which no text contains: it is reserved as none."""
_SURROGATES: Final = range(0xD800, 0xE000)


def just_after(text: str) -> str:
    """Return the first text that sorts after this one."""
    return text + "\0"


def after_all(text: str) -> str | None:
    """Return the first text that sorts after all that begin with this one; None if there is none."""
    # The greatest character has none behind it: the text without it is counted up instead.
    stem = text.rstrip(_LAST)
    if not stem:
        return None
    # Surrogates are no characters that DynamoDB stores as text.
    following = ord(stem[-1]) + 1
    return stem[:-1] + chr(_SURROGATES.stop if following in _SURROGATES else following)


def before(text: str) -> str:
    """Return a text that sorts before this one, and after all that anyone would write before it."""
    if not text:
        return text
    previous = ord(text[-1]) - 1
    if previous < 0:
        return text[:-1]
    return text[:-1] + chr(_SURROGATES.start - 1 if previous in _SURROGATES else previous) + _LAST


_SIGN: Final = "%"
_OWN: Final = frozenset("%0123456789ABCDEF")
"""The characters that an escaped one is written with."""


def can_escape(separator: str) -> bool:
    """Return whether no escaped text could contain the first character of a separator."""
    return separator[0] not in _OWN


class Escaping(NamedTuple):
    """Keeps the first character of a separator out of values by escaping it."""

    first: str

    def escaped(self, text: str) -> str:
        """Return a text with the character escaped."""
        if _SIGN not in text and self.first not in text:
            return text
        return "".join(_hex(each) if each in (_SIGN, self.first) else each for each in text)

    def plain(self, text: str) -> str:
        """Return the unescaped text; raises ValueError if it was not written by ``escaped``."""
        found = unquote(text, errors="strict")
        if self.escaped(found) != text:
            raise ValueError(f"{text!r} is not escaped text")
        return found


def _hex(character: str) -> str:
    return "".join(f"{_SIGN}{byte:02X}" for byte in character.encode())


class TemplatePart(NamedTuple):
    """One field in a template."""

    name: str
    """The field's name."""
    format: PartFormat
    before: str
    """The constant text before it; that between two parts is their separator."""
    closing: str
    """The constant text that ends it: before the next part, or at the end of the key."""
    last: bool
    """Whether no other part follows."""
    escaping: Escaping | None = None
    """How separators inside of the values are written; None if they are refused, or cannot be there."""
    watched: bool = False
    """Whether a value could contain what ends it."""
    form: str = ""
    """What the pattern says of its form."""
    follow: int = 0
    """How many characters follow it in every key, where they tell its end; 0 where a text or its width does."""

    @property
    def is_closed(self) -> bool:
        """Whether it is told from the beginning where it ends: by its width, a text, or the end of the key."""
        return not self.follow

    @property
    def closes(self) -> bool:
        """Whether the text that follows in the key leaves the order of the part's values as it is."""
        form = self.format
        # Texts of one width differ before anything that follows them, and nothing follows the end of the key.
        if form.width is not None or (self.last and not self.closing):
            return True
        if self.follow:
            return False
        if form.texts is not None:
            ordered = sorted(form.texts)
            return ordered == sorted(form.texts, key=lambda text: text + self.closing)
        # NUL sorts below every other character, so that a shorter value stays before a longer one that begins with it.
        return self.closing == "\0" and self.escaping is None

    def text(self, value: Any) -> str:
        """Return a value as it stands in the key.

        Raises:
            EncodeError: it is of another type, does not fit the form, or contains the separator.
        """
        try:
            text = self.format.write(value)
            if self.watched:
                text = self._closed(text)
        except EncodeError as error:
            raise error.at(self.name) from error.__cause__
        return text

    def _closed(self, text: str) -> str:
        if self.escaping is not None:
            return self.escaping.escaped(text)
        # Also where the value ends with the beginning of the separator, so that the two could be mistaken.
        if (text + self.closing).find(self.closing) != len(text):
            raise EncodeError(
                f"{text!r} contains {self.closing!r}, which separates the parts of the key, so another item could get "
                "the same key; use another value, another separator, or template(..., escape=True)"
            )
        return text

    def value(self, text: str) -> Any:
        """Return the value of a text from a key; raises ValueError, LookupError or ArithmeticError."""
        plain = text if self.escaping is None or not self.format.free else self.escaping.plain(text)
        value = self.format.read(plain)
        # Another program may write 7 where the form says 007. Read as 7, the item could not be found by the key that is
        # written.
        if not self.format.lossy and self.format.write(value) != plain:
            raise ValueError(f"{text!r} is not how {self.format.label} is written")
        return value

    def is_written(self, value: Any, text: str) -> bool:
        """Return whether a value stands in the key as this text."""
        try:
            return self.text(value) == text
        except EncodeError:
            return False


class KeyTemplate(NamedTuple):
    """How the text of a key is made from fields."""

    pattern: str
    parts: tuple[TemplatePart, ...]
    """The fields in it, in order."""
    tail: str
    """The constant text behind the last part, or all of it."""
    when: tuple[OnlyWhen, ...] = ()
    """What an item has to be so that it has the key."""

    def __str__(self) -> str:
        return self.pattern

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fields, in order."""
        return tuple(part.name for part in self.parts)

    @property
    def depends_on(self) -> tuple[str, ...]:
        """The names of all fields that the key changes with: its parts, and those that say whether there is one."""
        return tuple(dict.fromkeys((*self.names, *(each.field for each in self.when))))

    def excludes(self, values: Mapping[str, Any]) -> bool:
        """Return whether ``when=`` allows no key for what is known of an item: field name -> value."""
        return any(each.field in values and not each.is_met_by(values[each.field]) for each in self.when)

    @property
    def breaks_order(self) -> tuple[str, ...]:
        """The parts because of which keys do not sort as the values do.

        Their texts do not sort as their values do, or their widths vary, so that what follows them compares too early:
        "Ann#b" stands after "Ann Lee#a". Without such parts keys have the order of the values, part by part.
        """
        return tuple(part.name for part in self.parts if not (part.format.sorts and part.closes))

    @property
    def readable(self) -> frozenset[str]:
        """The names of the fields whose values a key gives back exactly."""
        return frozenset(part.name for part in self.parts if not part.format.lossy)

    def part(self, name: str) -> TemplatePart:
        """Return the part of a field; LookupError if the template does not have it."""
        return self.parts[self.names.index(name)]

    def build(self, values: Mapping[str, Any]) -> str | None:
        """Return the key of field name -> value; None if a value is None or missing, or ``when=`` allows no key.

        Raises:
            EncodeError: a value does not fit; the error names its field.
        """
        text = ""
        if self.when and self.excludes(values):
            return None
        for part in self.parts:
            value = values.get(part.name)
            if value is None:
                return None
            text += part.before + part.text(value)
        return text + self.tail

    def parse(self, text: str) -> dict[str, Any]:
        """Return field name -> value of a key, without those that a key does not give back exactly.

        Raises:
            DecodeError: the text is not such a key.
        """
        return {part.name: value for part, _, value in self._read(text) if not part.format.lossy}

    def parse_exactly(self, text: str) -> dict[str, Any]:
        """Return values that make a key, field name -> value, also of those that others would make it of, too.

        Raises:
            DecodeError: no values make it.
        """
        values: dict[str, Any] = {}
        for part, found, value in self._read(text):
            if not part.is_written(value, found):
                raise self._foreign(text, f"{found!r} is not how {part.format.label} is written")
            values[part.name] = value
        return values

    def _read(self, text: str) -> Iterator[tuple[TemplatePart, str, Any]]:
        """Yield each part with its text in a key, and its value."""
        rest = text
        for part in self.parts:
            found, rest = self._taken(part, rest, text)
            try:
                value = part.value(found)
            except (ValueError, LookupError, ArithmeticError) as error:
                raise self._foreign(text, f"{found!r} is not a valid {part.format.label} for {part.name}") from error
            yield part, found, value
        if rest != self.tail:
            raise self._foreign(text, f"it ends with {rest!r}")

    def _taken(self, part: TemplatePart, rest: str, text: str) -> tuple[str, str]:
        """Return the text of a part at the beginning of a text, and the rest."""
        if not rest.startswith(part.before):
            raise self._foreign(text, f"{part.before!r} is missing before {part.name}")
        start = len(part.before)
        if part.format.width is not None:
            end = start + part.format.width
        elif part.follow:
            end = len(rest) - part.follow
        else:
            end = rest.find(part.closing, start) if part.closing else len(rest)
        if not start <= end <= len(rest):
            raise self._foreign(text, f"{part.name} does not end")
        return rest[start:end], rest[end:]

    def _foreign(self, text: str, why: str) -> DecodeError:
        return DecodeError(f"{text!r} is not a key of the template {self.pattern!r}: {why}")

    def prefix(self, values: Mapping[str, Any]) -> str:
        """Return what all keys with these leading parts begin with: closed by what follows them.

        Others begin with it only if one of these parts is not closed.

        Args:
            values: field name -> value of the first part, the first two, or so on; of none of them.

        Raises:
            EncodeError: a value does not fit.
            ValueError: a part before one of these is missing, or they are not of this template.
        """
        if self.names[: len(values)] != tuple(name for name in self.names if name in values) or not (
            values.keys() <= set(self.names)
        ):
            raise ValueError(f"{', '.join(values)} are not the first parts of {self.pattern!r}")
        given = self.parts[: len(values)]
        text = "".join(part.before + part.text(values[part.name]) for part in given)
        return text + (self.parts[len(given)].before if len(given) < len(self.parts) else self.tail)

    def bounds(
        self,
        leading: Mapping[str, Any],
        name: str,
        *,
        low: Any = None,
        high: Any = None,
        low_inclusive: bool = True,
        high_inclusive: bool = True,
    ) -> tuple[str | None, str | None]:
        """Return the first and the last text, both inclusive, of the keys whose next part lies in a range.

        Every key of the template between them has these leading parts, and its next part in the range as the bytes of
        its text have it, which is the order of the values if the part ``sorts``. Of a part that is ``lossy`` an
        exclusive bound counts as inclusive.

        Args:
            name: the part that follows them.
            low: the least value; None for no bound.
            high: the greatest value; None for no bound.

        Returns:
            Two texts; one is None where nothing bounds the keys on that side.

        Raises:
            EncodeError: a value does not fit.
            ValueError: the part is not the next one.
        """
        start, part = self.prefix(leading), self.part(name)
        if part is not self.parts[len(leading)]:
            raise ValueError(f"{name} is not the part behind {', '.join(leading) or 'the beginning'}")
        lossy, ends = part.format.lossy, part.last and not part.closing
        first: str | None = start or None
        if low is not None:
            text = start + part.text(low) + part.closing
            # Of several values with one text, an exclusive bound would leave out those that are above it.
            exact = low_inclusive or lossy
            first = text if exact else just_after(text) if ends else after_all(text)
        last = after_all(start) if start else None
        if high is not None:
            text = start + part.text(high) + part.closing
            exact = high_inclusive or lossy
            last = (text if part.last else after_all(text)) if exact else before(text)
        return first, last


def make_template(
    declared: DeclaredTemplate, types: Mapping[str, Any], stored: Mapping[str, StoredForm] = MappingProxyType({})
) -> KeyTemplate:
    """Return the template.

    Args:
        types: field name -> type, of all fields that the pattern names.
        stored: field name -> stored form, of those that have another than the usual one.

    Raises:
        PatternError: the pattern is wrong, or would make one key of different values.
    """
    pieces = pieces_of(declared.pattern)
    if not pieces:
        raise PatternError('is empty; write text, fields in braces, or both: "user:{user_id}"')
    slots = [place for place, piece in enumerate(pieces) if isinstance(piece, Slot)]
    formats = {place: _format(piece, types, stored) for place, piece in enumerate(pieces) if isinstance(piece, Slot)}
    parts = [_part(declared, pieces, place, formats, last=place == slots[-1]) for place in slots]
    names = [part.name for part in parts]
    for name in names:
        if names.count(name) > 1:
            raise PatternError(f"names {name} twice; name each field once")
    tail = pieces[-1] if isinstance(pieces[-1], str) else ""
    return KeyTemplate(declared.pattern, tuple(parts), tail, declared.when)


def _format(slot: Slot, types: Mapping[str, Any], stored: Mapping[str, StoredForm]) -> PartFormat:
    try:
        return format_of(types[slot.name], slot.form, stored.get(slot.name))
    except PatternError as error:
        raise PatternError(f"names {slot.name}, which {error}") from None


def _part(
    declared: DeclaredTemplate,
    pieces: Sequence[str | Slot],
    place: int,
    formats: Mapping[int, PartFormat],
    *,
    last: bool,
) -> TemplatePart:
    slot, previous, form = pieces[place], pieces[place - 1] if place else "", formats[place]
    assert isinstance(slot, Slot), f"{slot} is not a slot"  # noqa: S101 - the caller asks for slots
    following = pieces[place + 1] if place + 1 < len(pieces) else ""
    closing = following if isinstance(following, str) else ""
    follow = 0 if last or closing or form.width is not None else _width_of(pieces[place + 1 :], place + 1, formats)
    if not follow:
        _check_end(slot.name, form, closing, last=last)
    escaping = None
    if declared.escape and form.free and closing:
        if not can_escape(closing):
            raise PatternError(
                f"has {closing!r} after {slot.name}, and escaped text uses its first character; use another "
                "separator, such as #"
            )
        escaping = Escaping(closing[0])
    before = previous if isinstance(previous, str) else ""
    return TemplatePart(
        slot.name,
        form,
        before,
        closing,
        last,
        escaping,
        watched=form.free and bool(closing),
        form=slot.form,
        follow=follow,
    )


def _width_of(pieces: Sequence[str | Slot], first: int, formats: Mapping[int, PartFormat]) -> int:
    """Return how many characters some pieces always have; 0 where that varies.

    Args:
        first: the place of the first of them among all.
    """
    widths = [
        len(piece) if isinstance(piece, str) else formats[place].width or 0 for place, piece in enumerate(pieces, first)
    ]
    return sum(widths) if all(widths) else 0


def _check_end(name: str, form: PartFormat, closing: str, *, last: bool) -> None:
    if form.width is not None:
        return
    if not closing:
        if not last:
            raise PatternError(
                f"does not show where {name} ends, because its width varies and no text follows it; write a separator "
                f"after it, such as {{{name}}}#"
            )
        return
    if form.texts is not None:
        mistaken = sorted(text for text in form.texts if (text + closing).find(closing) != len(text))
        if mistaken:
            raise PatternError(
                f"has {closing!r} after {name}, whose value {mistaken[0]!r} contains it; use another separator"
            )
    elif form.alphabet is not None and closing[0] in form.alphabet:
        raise PatternError(
            f"has {closing!r} after {name}, which could be part of the number; use another separator, such as #, or "
            f"pad the number: {{{name}:06d}}"
        )
