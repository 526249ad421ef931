"""A key template, ready: builds keys, reads them back, and says which stretch of keys some of its parts select."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from dynamap_async.errors import DecodeError, EncodeError
from dynamap_async.models.templates.escaping import Escaping
from dynamap_async.models.templates.formats import PartFormat
from dynamap_async.models.templates.stretches import after_all, before, just_after


class Part(NamedTuple):
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

    @property
    def closes(self) -> bool:
        """Whether what follows in the key leaves the order of the parts' values alone."""
        form = self.format
        if form.width is not None or (self.last and not self.closing):
            return True
        if form.texts is not None:
            ordered = sorted(form.texts)
            return ordered == sorted(form.texts, key=lambda text: text + self.closing)
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
                f"{text!r} contains {self.closing!r}, which separates the parts of the key, so that another item could "
                "get the same key; take another value, another separator, or template(..., escape=True), which "
                "stores the key escaped"
            )
        return text

    def value(self, text: str) -> Any:
        """Return the value of a text from a key; raises ValueError, LookupError or ArithmeticError."""
        plain = text if self.escaping is None or not self.format.free else self.escaping.plain(text)
        value = self.format.read(plain)
        if not self.format.lossy and self.format.write(value) != plain:
            raise ValueError(f"{text!r} is not how {self.format.label} is written")
        return value


class KeyTemplate(NamedTuple):
    """How the text of a key is made of fields."""

    pattern: str
    parts: tuple[Part, ...]
    """The fields in it, in order."""
    tail: str
    """The constant text behind the last part, or all of it."""

    def __str__(self) -> str:
        return self.pattern

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fields, in order."""
        return tuple(part.name for part in self.parts)

    @property
    def breaks_order(self) -> tuple[str, ...]:
        """The parts that disturb the order of keys.

        Their texts do not sort as their values do, or their widths vary, so that what follows them compares too early:
        "Ann#b" stands after "Ann Lee#a". Without such parts keys have the order of the values, part by part.
        """
        return tuple(part.name for part in self.parts if not (part.format.sorts and part.closes))

    @property
    def readable(self) -> frozenset[str]:
        """The names of the fields whose values a key gives back exactly."""
        return frozenset(part.name for part in self.parts if not part.format.lossy)

    def part(self, name: str) -> Part:
        """Return the part of a field; LookupError if the template does not have it."""
        return self.parts[self.names.index(name)]

    def build(self, values: Mapping[str, Any]) -> str | None:
        """Return the key of these values: field name -> value; None if one of them is None or missing.

        Raises:
            EncodeError: a value does not fit; the error names its field.
        """
        text = ""
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
        values: dict[str, Any] = {}
        rest = text
        for part in self.parts:
            found, rest = self._taken(part, rest, text)
            try:
                value = part.value(found)
            except (ValueError, LookupError, ArithmeticError) as error:
                raise self._foreign(text, f"{found!r} is no {part.format.label} for {part.name}") from error
            if not part.format.lossy:
                values[part.name] = value
        if rest != self.tail:
            raise self._foreign(text, f"it ends with {rest!r}")
        return values

    def _taken(self, part: Part, rest: str, text: str) -> tuple[str, str]:
        """Return the text of a part, and what follows it."""
        if not rest.startswith(part.before):
            raise self._foreign(text, f"{part.before!r} is missing before {part.name}")
        start = len(part.before)
        if part.format.width is not None:
            end = start + part.format.width
        else:
            end = rest.find(part.closing, start) if part.closing else len(rest)
        if not start <= end <= len(rest):
            raise self._foreign(text, f"{part.name} does not end")
        return rest[start:end], rest[end:]

    def _foreign(self, text: str, why: str) -> DecodeError:
        return DecodeError(f"{text!r} is no key of the template {self.pattern!r}: {why}")

    def prefix(self, values: Mapping[str, Any]) -> str:
        """Return what all keys with these leading parts begin with, and no others: closed by what follows them.

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
            leading: as for ``prefix``.
            name: the part that follows them.
            low: the least value; None for no bound.
            high: the greatest value; None for no bound.
            low_inclusive: whether ``low`` itself belongs to the range.
            high_inclusive: whether ``high`` itself belongs to the range.

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
            exact = low_inclusive or lossy
            first = text if exact else just_after(text) if ends and part.format.width is None else after_all(text)
        last = after_all(start) if start else None
        if high is not None:
            text = start + part.text(high) + part.closing
            exact = high_inclusive or lossy
            last = (text if part.last else after_all(text)) if exact else before(text)
        return first, last
