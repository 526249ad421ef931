"""Making a template of its pattern and the types of the fields in it, or saying why it cannot be."""

from collections.abc import Mapping, Sequence
from typing import Any

from dynamap_async.models.templates.declared import DeclaredTemplate, PatternError
from dynamap_async.models.templates.escaping import Escaping, can_escape
from dynamap_async.models.templates.formats import PartFormat
from dynamap_async.models.templates.kinds import format_of
from dynamap_async.models.templates.pattern import Slot, pieces_of
from dynamap_async.models.templates.template import KeyTemplate, Part


def make_template(declared: DeclaredTemplate, types: Mapping[str, Any]) -> KeyTemplate:
    """Return the template.

    Args:
        declared: what the model says.
        types: field name -> type, of all fields that the pattern names.

    Raises:
        PatternError: the pattern is wrong, or would make one key of different values.
    """
    pieces = pieces_of(declared.pattern)
    if not pieces:
        raise PatternError('is empty, and a key is not; write text, fields in braces, or both: "user:{user_id}"')
    slots = [place for place, piece in enumerate(pieces) if isinstance(piece, Slot)]
    parts = [_part(declared, pieces, place, types, last=place == slots[-1]) for place in slots]
    names = [part.name for part in parts]
    for name in names:
        if names.count(name) > 1:
            raise PatternError(f"names {name} twice; a key needs each of its parts once")
    tail = pieces[-1] if isinstance(pieces[-1], str) else ""
    return KeyTemplate(declared.pattern, tuple(parts), tail)


def _part(
    declared: DeclaredTemplate, pieces: Sequence[str | Slot], place: int, types: Mapping[str, Any], *, last: bool
) -> Part:
    slot, previous = pieces[place], pieces[place - 1] if place else ""
    assert isinstance(slot, Slot), f"{slot} is no slot"  # noqa: S101 - the caller asks for slots
    following = pieces[place + 1] if place + 1 < len(pieces) else ""
    try:
        form = format_of(types[slot.name], slot.form)
    except PatternError as error:
        raise PatternError(f"names {slot.name}, which {error}") from None
    closing = following if isinstance(following, str) else ""
    _check_end(slot.name, form, closing, last=last)
    escaping = None
    if declared.escape and form.free and closing:
        if not can_escape(closing):
            raise PatternError(
                f"has {closing!r} behind {slot.name}, whose first character is one that escaped text is written with; "
                "take another separator, such as #"
            )
        escaping = Escaping(closing[0])
    before = previous if isinstance(previous, str) else ""
    return Part(slot.name, form, before, closing, last, escaping, watched=form.free and bool(closing))


def _check_end(name: str, form: PartFormat, closing: str, *, last: bool) -> None:
    if form.width is not None:
        return
    if not closing:
        if not last:
            raise PatternError(
                f"does not say where {name} ends, because its width varies and no text follows it; write a separator "
                f"behind it, such as {{{name}}}#"
            )
        return
    if form.texts is not None:
        mistaken = sorted(text for text in form.texts if (text + closing).find(closing) != len(text))
        if mistaken:
            raise PatternError(
                f"has {closing!r} behind {name}, whose value {mistaken[0]!r} contains it; take another separator"
            )
    elif form.alphabet is not None and closing[0] in form.alphabet:
        raise PatternError(
            f"has {closing!r} behind {name}, which could be a part of the number; take another separator, such as #, "
            f"or pad the number: {{{name}:06d}}"
        )
