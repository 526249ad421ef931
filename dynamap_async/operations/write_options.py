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
_KNOWN: Final = frozenset(_OPTIONS)


def check_options(call: str, subject: Any, given: Mapping[str, Any], *others: str, by_key: bool = False) -> None:
    """Refuse what is no option of a write; checkers do so too.

    Args:
        call: what was called, for the message.
        subject: its first argument, an instance or a model.
        given: the options.
        others: what else it takes.
        by_key: whether the subject may be a model, with values of its key behind it.

    Raises:
        TypeError: there is no such option.
    """
    if not given.keys() <= _KNOWN:
        raise (no_key_keywords if by_key else no_item_keywords)(call, subject, given, (*_OPTIONS, *others))
