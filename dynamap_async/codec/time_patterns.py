"""Patterns of times in text, in the directives of ``strftime``: how existing tables write dates and times.

Unlike ``strftime`` itself, every number has a fixed width, ``%3f`` stands for milliseconds, and ``%y`` for one of the
years 2000 to 2099, so that texts sort as the times do.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, tzinfo
from functools import cached_property
from typing import Any, Final

from dynamap_async.codec.encode_errors import refusal
from dynamap_async.codec.instants import base_time, is_naive
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import EncodeError

_PIECE: Final = re.compile(r"%(?P<directive>3f|.)|(?P<text>[^%]+)|(?P<stray>%)", re.DOTALL)
# Coarsest first: what each directive is of a time, and how many digits it has.
_DIRECTIVES: Final = {
    "Y": ("year", 4),
    "y": ("year", 2),
    "m": ("month", 2),
    "d": ("day", 2),
    "H": ("hour", 2),
    "M": ("minute", 2),
    "S": ("second", 2),
    "f": ("microsecond", 6),
    "3f": ("millisecond", 3),
}
_SHORT_YEARS: Final = range(2000, 2100)
_DATE_PARTS: Final = ("year", "month", "day")
_TIME_PARTS: Final = ("hour", "minute", "second")


@dataclass(frozen=True)  # without slots, for what is worked out once
class TimePattern:
    """How dates and times are written."""

    text: str
    """The pattern, such as ``%Y-%m-%dT%H:%M:%S``."""
    zone: tzinfo = UTC
    """The zone that the text means, where it says none."""

    @cached_property
    def pieces(self) -> tuple[tuple[str, int], ...]:
        """Each directive as what it is of a time, and its width; each constant as itself, and 0.

        Raises:
            ValueError: the pattern has another directive, none, or one twice.
        """
        found: list[tuple[str, int]] = []
        for piece in _PIECE.finditer(self.text):
            directive = piece["directive"]
            if directive in _DIRECTIVES:
                found.append(_DIRECTIVES[directive])
            elif piece["text"] or directive == "%":
                found.append((piece["text"] or "%", 0))
            else:
                known = ", ".join(f"%{each}" for each in _DIRECTIVES)
                raise ValueError(f"{piece[0]!r} in the pattern {self.text!r} is not one of {known} or %%")
        names = [name for name, width in found if width]
        if not names or len(set(names)) < len(names) or {"microsecond", "millisecond"} <= set(names):
            raise ValueError(f"the pattern {self.text!r} needs a directive such as %Y, and may use each directive once")
        return tuple(found)

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of a time that the text has, in order."""
        return tuple(name for name, width in self.pieces if width)

    @property
    def picture(self) -> str:
        """A text of this form, with 0 for each digit."""
        return "".join("0" * width or name for name, width in self.pieces)

    @property
    def sorts(self) -> bool:
        """Whether the bytes of the texts have the order of the times.

        They have where coarse parts come first, none is left out between, and the zone has no summer time.
        """
        order = [*dict.fromkeys(name for name, _ in _DIRECTIVES.values() if name != "millisecond")]
        parts = ["microsecond" if name == "millisecond" else name for name in self.parts]
        first = order.index(parts[0])
        begins = first == 0 or parts[0] == "hour"
        return begins and parts == order[first : first + len(parts)] and self.zone.utcoffset(None) is not None

    def write(self, value: Any) -> str:
        """Return a date or a time as text; what the pattern does not have is cut off.

        Raises:
            EncodeError: it is neither, or a datetime without an offset.
        """
        kind = date if set(self.parts) <= set(_DATE_PARTS) else time
        if isinstance(value, datetime):
            if is_naive(value):
                raise EncodeError(
                    f"{value.isoformat()} has no UTC offset, so its place in the order of times is unknown; add one, "
                    "such as tzinfo=UTC"
                )
            value = base_time(value).astimezone(self.zone)
        elif not isinstance(value, kind):
            raise refusal("datetime", value)
        if ("year", 2) in self.pieces and _part(value, "year") not in _SHORT_YEARS:
            raise EncodeError(f"{value} is not of the years 2000 to 2099, which %y stands for; use %Y")
        return "".join(f"{_part(value, name) % 10**width:0{width}d}" if width else name for name, width in self.pieces)

    @cached_property
    def _reader(self) -> re.Pattern[str]:
        return re.compile(
            "".join(f"(?P<{name}>[0-9]{{{width}}})" if width else re.escape(name) for name, width in self.pieces)
        )

    def read(self, text: str, kind: type[Any]) -> Any:
        """Return the date, time or datetime of a text; ValueError if it is none.

        Args:
            text: the text.
            kind: ``datetime``, ``date`` or ``time``; datetimes are given in UTC.
        """
        found = self._reader.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is not written as {self.text!r}")
        parts = {name: int(digits) for name, digits in found.groupdict().items()}
        micro = parts.get("microsecond", parts.get("millisecond", 0) * 1000)
        if ("year", 2) in self.pieces:
            parts["year"] += _SHORT_YEARS.start
        year, month, day = (parts.get(name, 1) for name in _DATE_PARTS)
        # Not by identity: tests that stop the clock put classes of theirs in the place of these.
        if issubclass(kind, date) and not issubclass(kind, datetime):
            return date(year, month, day)
        hour, minute, second = (parts.get(name, 0) for name in _TIME_PARTS)
        if issubclass(kind, time):
            return time(hour, minute, second, micro)
        return datetime(year, month, day, hour, minute, second, micro, tzinfo=self.zone).astimezone(UTC)


def _part(value: Any, name: str) -> int:
    part: int = value.microsecond // 1000 if name == "millisecond" else getattr(value, name)
    return part
