"""Laws of change streams: which shards may be read, how far a shard was handled, and who reads which."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamap_async.streams.balance import ShardClaim, fair_share, free_shards, next_moves
from dynamap_async.streams.positions import Handled, Position
from dynamap_async.streams.shards import ShardGraph, StreamShard

SEEDS = st.integers(0, 2**32)


def lineage(chance, most=30):
    """Return shards as they come to be: each may close, and have one or two children."""
    shards = [StreamShard(f"shard-{number:03}") for number in range(chance.randint(1, 4))]
    leaves = [shard.id for shard in shards]
    while len(shards) < most and chance.random() < 0.95:
        parent = leaves.pop(chance.randrange(len(leaves)))
        for _ in range(chance.randint(1, 2)):
            child = StreamShard(f"shard-{len(shards):03}", parent)
            shards.append(child)
            leaves.append(child.id)
    return shards


def in_pages(chance, shards):
    """Return shards in pages in any order, some of them twice."""
    mixed = [*shards, *chance.choices(shards, k=3)]
    chance.shuffle(mixed)
    return [mixed[at : at + 4] for at in range(0, len(mixed), 4)]


# The graph


@given(SEEDS)
def test_pages_in_any_order_make_the_same_graph(seed):
    chance = random.Random(seed)
    shards = lineage(chance)
    graph = ShardGraph()
    for page in in_pages(chance, shards):
        graph.add(page)
    assert graph.shards == sorted(shards)
    assert graph.leaves() == sorted({each.id for each in shards} - {each.parent for each in shards})
    for shard in shards:
        assert graph.children(shard.id) == sorted(each.id for each in shards if each.parent == shard.id)


@given(SEEDS)
def test_every_shard_is_read_once_and_none_before_its_parent_is_finished(seed):
    chance = random.Random(seed)
    shards = lineage(chance)
    pages = in_pages(chance, shards)
    graph, finished = ShardGraph(), set()
    read = []
    # A page is described whole before its descendants may be read; see the next law for what a gap means.
    for page in pages:
        graph.add(page)
    while ready := graph.readable(finished):
        shard = chance.choice(ready)
        read.append(shard)
        finished.add(shard)
    assert sorted(read) == sorted(each.id for each in shards)
    parents = {each.id: each.parent for each in shards}
    assert all(read.index(parents[shard]) < read.index(shard) for shard in read if parents[shard] is not None)


@given(SEEDS)
def test_a_parent_that_nobody_describes_is_finished(seed):
    chance = random.Random(seed)
    shards = lineage(chance)
    trimmed = set(chance.sample(sorted(each.id for each in shards), chance.randint(0, len(shards) - 1)))
    known = [each for each in shards if each.id not in trimmed]
    ready = ShardGraph(known).readable(())
    assert ready == sorted(each.id for each in known if each.parent is None or each.parent in trimmed)


@given(SEEDS)
def test_only_a_child_closes_a_shard(seed):
    shards = lineage(random.Random(seed))
    wire = [
        {
            "ShardId": each.id,
            "SequenceNumberRange": {"StartingSequenceNumber": "5000", "EndingSequenceNumber": "999"},
            **({} if each.parent is None else {"ParentShardId": each.parent}),
        }
        for each in shards
    ]
    graph = ShardGraph(StreamShard.described(each) for each in wire)
    assert {each.id for each in shards if graph.has_closed(each.id)} == {each.parent for each in shards} - {None}


@given(SEEDS)
def test_nothing_that_was_not_read_is_forgotten_and_nothing_read_within_a_day(seed):
    chance = random.Random(seed)
    shards = lineage(chance)
    names = [each.id for each in shards]
    ended = {name: chance.uniform(0, 2) for name in names if chance.random() < 0.7}
    described = {name for name in names if chance.random() < 0.5}
    graph = ShardGraph(shards)
    gone = graph.forgettable(described, ended, 1.0)
    assert all(name in ended and ended[name] < 1.0 and name not in described for name in gone)
    assert set(gone) == {name for name in names if ended.get(name, 2) < 1.0} - described
    graph.forget(gone)
    assert {each.id for each in graph.shards} == set(names) - set(gone)


# Positions


@given(SEEDS)
def test_the_position_is_the_last_change_of_which_all_earlier_ones_are_done(seed):
    chance = random.Random(seed)
    numbers = sorted(chance.sample(range(1, 10**6), chance.randint(1, 40)))
    handled = Handled(Position())
    begun, done = [], set()
    while len(done) < len(numbers):
        waiting = [number for number in begun if number not in done]
        if len(begun) < len(numbers) and (not waiting or chance.random() < 0.5):
            begun.append(numbers[len(begun)])
            handled.begin(begun[-1], float(len(begun)))
            continue
        number = chance.choice(waiting)
        done.add(number)
        before = handled.position
        moved = handled.done(number)
        first = next((each for each in begun if each not in done), None)
        passed = begun if first is None else begun[: begun.index(first)]
        expected = Position("after", passed[-1], float(len(passed))) if passed else Position()
        assert (handled.position, handled.count, handled.under_way) == (
            expected,
            len(passed),
            len(begun) - len(passed),
        )
        assert moved == (handled.position != before)


times = st.floats(0, 2e9, allow_nan=False)


@given(
    st.one_of(
        st.just(Position()),
        st.builds(Position, st.sampled_from(["latest", "time"]), st.none(), times),
        st.builds(Position, st.just("after"), st.integers(0, 10**40), st.none() | times),
    )
)
def test_a_stored_position_reads_back(position):
    assert Position.read(str(position)) == position


# Who reads which


class Group:
    """Workers of one group, as they look at the leases one after the other."""

    def __init__(self, chance):
        self.chance = chance
        self.workers = [f"worker-{number}" for number in range(chance.randint(1, 8))]
        owners = [None, *self.workers, "gone"]
        self.claims = {f"shard-{number}": ShardClaim(chance.choice(owners)) for number in range(chance.randint(1, 20))}
        self.asked = 0
        # Those who are gone are known to be by now.
        self.claims = {
            shard: ShardClaim(None if claim.owner == "gone" else claim.owner) for shard, claim in self.claims.items()
        }

    def look(self, me):
        """Let one worker look, and give away what others have asked it for; return whether anything has happened."""
        given = [shard for shard, claim in self.claims.items() if claim.owner == me and claim.asker is not None]
        for shard in given:
            self.claims[shard] = ShardClaim(None, self.claims[shard].asker)
        # Now and then a shard was left by all, as far as this one has seen.
        left = {shard for shard in free_shards(me, self.claims) if self.chance.random() < 0.2}
        moves = next_moves(me, self.claims, left)
        assert left <= set(moves.take)
        for shard in moves.take:
            assert self.claims[shard].owner is None
            self.claims[shard] = ShardClaim(me)
        if moves.ask is not None:
            self.asked += 1
            assert self.claims[moves.ask].owner not in (None, me)
            assert sum(claim.asker == me for claim in self.claims.values()) == 0, "one at a time"
            self.claims[moves.ask] = self.claims[moves.ask]._replace(asker=me)
        return bool(given or moves.take or moves.ask)

    def rest(self):
        """Let all look until none does anything."""
        for _ in range(len(self.claims) * len(self.workers) * 4 + 10):
            self.chance.shuffle(self.workers)
            acted = [self.look(me) for me in self.workers]
            if any(acted):
                continue
            # A shard that was given to a worker which does not want it any more is anybody's after a while.
            left = [shard for shard, claim in self.claims.items() if claim.owner is None and claim.asker is not None]
            if not left:
                return
            self.claims.update((shard, ShardClaim()) for shard in left)
        raise AssertionError(f"they do not come to rest: {self.claims}")


@given(SEEDS)
def test_workers_come_to_rest_with_as_many_shards_as_each_other(seed):
    group = Group(random.Random(seed))
    group.rest()
    counts = Counter(claim.owner for claim in group.claims.values())
    numbers = [counts[me] for me in group.workers]
    assert sum(numbers) == len(group.claims)
    assert max(numbers) - min(numbers) <= 1
    assert max(numbers) <= fair_share(len(group.claims), len(group.workers))


@given(SEEDS)
def test_a_worker_that_joins_has_its_share_after_as_few_moves_as_can_be(seed):
    group = Group(random.Random(seed))
    group.rest()
    group.asked = 0
    group.workers.append("new")
    group.rest()
    counts = Counter(claim.owner for claim in group.claims.values())
    assert group.asked == counts["new"] == len(group.claims) // len(group.workers)


@pytest.mark.parametrize(("shards", "workers", "share"), [(0, 1, 0), (1, 3, 1), (4, 2, 2), (5, 2, 3)])
def test_each_worker_wants_its_part_rounded_up(shards, workers, share):
    assert fair_share(shards, workers) == share
