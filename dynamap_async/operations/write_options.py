"""What writes of one item take beside the item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypedDict

from dynamap_async.operations.keywords import no_item_keywords, no_key_keywords

if TYPE_CHECKING:
    from dynamap_async.expressions import Condition


class WriteOptions(TypedDict, total=False):
    """What ``Put``, ``Create``, ``Replace`` and ``Delete`` take beside the item, as keywords.

    A new one is declared here, kept by ``WholeItemWrite`` and sent by its writes, and spelled out by the methods of
    ``Session`` that take it.
    """

    where: Condition | None
    """What must hold of the stored item."""
    read_first: bool
    """Whether to read the stored item first, which a model with ``Unique`` needs. A delete needs it for a key, and for
    an instance that no session read or wrote."""


_OPTIONS: Final = tuple(WriteOptions.__annotations__)
OPTIONS: Final = frozenset(_OPTIONS)
"""Their names. A caller compares them itself: most writes have no others, and then need no call to learn it."""


def unknown_options(call: str, subject: Any, given: Mapping[str, Any], *others: str, by_key: bool = False) -> TypeError:
    """Return the error of a write that was given something else than its options; checkers refuse it too.

    Args:
        call: what was called, for the message.
        subject: its first argument, an instance or a model.
        given: the options.
        others: what else it takes.
        by_key: whether the subject may be a model, with values of its key behind it.
    """
    return (no_key_keywords if by_key else no_item_keywords)(call, subject, given, (*_OPTIONS, *others))
