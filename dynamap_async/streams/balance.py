"""Which shards a worker takes and asks for, so that each of a group has as many as the others. No I/O.

Invariant: workers that look at the same leases come to rest with numbers of shards that differ by one at most, and none
asks for a shard then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import NamedTuple


class ShardClaim(NamedTuple):
    """The lease of a shard that may be read, as a worker sees it."""

    owner: str | None = None
    """Who has it; None where nobody has, or whoever had it is gone."""
    asker: str | None = None
    """Who has asked for it, and is not known to be gone."""


class Moves(NamedTuple):
    """What a worker does next."""

    take: tuple[str, ...] = ()
    """The shards to take, which nobody has."""
    ask: str | None = None
    """The shard to ask its owner for."""


def fair_share(shards: int, workers: int) -> int:
    """Return how many shards each worker wants.

    Args:
        shards: how many may be read.
        workers: how many workers there are, at least 1.
    """
    return -(-shards // workers)


def free_shards(me: str, claims: Mapping[str, ShardClaim]) -> list[str]:
    """Return the shards that a worker may take: nobody has them, and nobody else was promised them.

    Args:
        me: the worker.
        claims: shard that may be read -> its lease.
    """
    return [shard for shard, claim in claims.items() if claim.owner is None and claim.asker in (None, me)]


def next_moves(me: str, claims: Mapping[str, ShardClaim], left: Collection[str] = ()) -> Moves:
    """Return what a worker does next.

    It takes what nobody has before it asks for anything, and it asks for one shard at a time, from who has most.

    Args:
        me: the worker.
        claims: shard that may be read -> its lease.
        left: the shards that nobody has had for so long that others would have taken them: it takes them even if they
            are more than its part, as some of those who seem to be there may be gone.
    """
    # Whoever has asked is a worker too, though it may have no shard yet.
    workers = {me} | {name for claim in claims.values() for name in claim if name is not None}
    counts = Counter(claim.owner for claim in claims.values() if claim.owner is not None)
    wants = fair_share(len(claims), len(workers)) - counts[me]
    free = sorted(free_shards(me, claims), key=lambda shard: (claims[shard].asker != me, shard))
    take = tuple(shard for at, shard in enumerate(free) if at < wants or shard in left)
    if take or wants <= 0 or any(claim.asker == me for claim in claims.values()):
        return Moves(take)
    # What is promised already counts as gone, or all who come ask the same one.
    promised = Counter(claim.owner for claim in claims.values() if claim.owner is not None and claim.asker is not None)
    remaining = {owner: count - promised[owner] for owner, count in counts.items() if owner != me}
    most = max(remaining, key=lambda owner: (remaining[owner], owner), default=None)
    if most is None or remaining[most] < counts[me] + 2:
        return Moves()
    return Moves(ask=min(shard for shard, claim in claims.items() if claim == (most, None)))
