"""Batches: which single-item requests share a call, and which part of its answer belongs to which. Pure.

Invariant: a request is in at most one queue, and the requests of one call come from one queue: of one group, and of one
priority. Of one call, no two requests are about the same item.

Sizes are estimates: a call that asks for too much costs another call, never an item. An estimate rises at once and
falls slowly, for items of one table differ, and asking for too little costs less than asking twice.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import islice
from typing import Any, Final, TypeAlias

from dynamap_async.config import Priority
from dynamap_async.dataclass import dataclass
from dynamap_async.executor.calls import Call, Chunk
from dynamap_async.limits import (
    BATCH_ANSWER_BYTES,
    BATCH_GET_KEYS,
    BATCH_WRITE_BYTES,
    BATCH_WRITE_REQUESTS,
    ITEM_SIZE_BYTES,
    PAGE_BYTES,
)
from dynamap_async.native.json_text import json_bytes
from dynamap_async.request import PartOfAnswer, Request, Target, about_tables, identity_of, tables_of
from dynamap_async.service import ARN_START, table_arn
from dynamap_async.wire import Body, WireItem

ENTRY_BYTES: Final = 8_192
"""What an entry takes besides its item; for a deletion, its key."""


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What a batch call did not get to, as identities."""

    cut: frozenset[str]
    """Left over because the answer had reached its largest size."""
    throttled: frozenset[str]
    """Left over for want of capacity."""

    @property
    def all(self) -> frozenset[str]:
        """Everything left over."""
        return self.cut | self.throttled


NO_LEFTOVERS: Final = Leftovers(frozenset(), frozenset())
"""Of an answer that got to everything, as most do."""


def batch_get(requests: Sequence[Request]) -> Request:
    """Return the BatchGetItem request of GetItem requests for distinct keys, all consistent or all eventual."""
    tables: dict[str, dict[str, Any]] = {}
    for request in requests:
        entry = tables.setdefault(request.table, {"Keys": []})
        if request.body.get("ConsistentRead"):
            entry["ConsistentRead"] = True
        target = request.target
        assert target is not None  # noqa: S101 - the executor routes by it
        entry["Keys"].append(target.key)
    return Request(operation="BatchGetItem", body={"RequestItems": tables}, **about_tables(tables))


def found_items(requests: Sequence[Request], answer: Body) -> dict[str, WireItem]:
    """Return identity -> item of everything that a BatchGetItem answer holds; it comes in any order."""
    names = _key_names(requests)
    responses: Mapping[str, Sequence[WireItem]] = answer.get("Responses") or {}
    found: dict[str, WireItem] = {}
    for table, items in responses.items():
        key_names = names[table]
        for item in items:
            found[identity_of(table, {name: item[name] for name in key_names})] = item
    return found


def unread(requests: Sequence[Request], answer: Body) -> Leftovers:
    """Return what a BatchGetItem answer did not get to.

    An answer ends near 16 MB, and near 1 MB of one partition: that is no throttling. JSON is never shorter than what
    the service counts, so measuring its length errs towards sending again at once.
    """
    entries: Mapping[str, Any] = answer.get("UnprocessedKeys") or {}
    if not entries:
        return NO_LEFTOVERS
    names = _key_names(requests)
    left = frozenset(
        identity_of(table, {name: key[name] for name in names[table]})  # the answer's attributes come in any order
        for table, entry in entries.items()
        for key in entry["Keys"]
    )
    if not left:
        return Leftovers(left, left)
    responses: Mapping[str, Sequence[WireItem]] = answer.get("Responses") or {}
    sizes = {table: [json_bytes(item) for item in items] for table, items in responses.items()}
    if sum(map(sum, sizes.values())) >= BATCH_ANSWER_BYTES - ITEM_SIZE_BYTES:
        return Leftovers(left, frozenset())
    by_partition: dict[tuple[str, str], int] = {}
    for table, items in responses.items():
        for item, size in zip(items, sizes[table], strict=True):
            place = table, str(item[names[table][0]])
            by_partition[place] = by_partition.get(place, 0) + size
    cut = {
        _target(request).identity
        for request in requests
        if by_partition.get((request.table, str(next(iter(_target(request).key.values())))), 0)
        >= PAGE_BYTES - ITEM_SIZE_BYTES
    }
    return Leftovers(left & cut, left - cut)


def batch_write(requests: Sequence[Request]) -> Request:
    """Return the BatchWriteItem request of PutItem and DeleteItem requests for distinct keys."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for request in requests:
        put = request.operation == "PutItem"
        entry = (
            {"PutRequest": {"Item": request.body["Item"]}} if put else {"DeleteRequest": {"Key": request.body["Key"]}}
        )
        tables.setdefault(request.table, []).append(entry)
    return Request(operation="BatchWriteItem", body={"RequestItems": tables}, writes=True, **about_tables(tables))


def written_bytes(request: Request) -> int:
    """Return how many bytes of a BatchWriteItem request a PutItem or DeleteItem request takes, or a little more.

    A request holds 16 MB of JSON, and JSON is longer than what is stored.
    """
    target = request.target
    size = 0 if target is None else target.json_bytes
    if not size and "Item" in request.body:
        size = json_bytes(request.body["Item"])
    return ENTRY_BYTES + size


def unwritten(requests: Sequence[Request], answer: Body) -> Leftovers:
    """Return what a BatchWriteItem answer did not get to; it has no size that could explain it."""
    entries: Mapping[str, Sequence[Any]] = answer.get("UnprocessedItems") or {}
    if not entries:
        return NO_LEFTOVERS
    names = _key_names(requests)
    contents = (
        (table, each["PutRequest"]["Item"] if "PutRequest" in each else each["DeleteRequest"]["Key"])
        for table, listed in entries.items()
        for each in listed
    )
    left = frozenset(identity_of(table, {name: item[name] for name in names[table]}) for table, item in contents)
    return Leftovers(frozenset(), left)


def _key_names(requests: Sequence[Request]) -> dict[str, tuple[str, ...]]:
    names: dict[str, tuple[str, ...]] = {}
    for request in requests:
        if request.table not in names:
            names[request.table] = tuple(_target(request).key)
    return names


def _target(request: Request) -> Target:
    assert request.target is not None, f"{request.operation} is not about one item"  # noqa: S101 - the executor routes by it
    return request.target


def parts_of_refused(batch: Sequence[Call], *, by_item: bool) -> list[list[Call]]:
    """Return the parts in which a refused batch of several requests is sent again.

    Args:
        batch: what was refused.
        by_item: whether to send the items of one table one by one, to see whether they are accepted then; else a
            table's items are halved, until the culprit is alone.
    """
    tables: dict[str, list[Call]] = {}
    for call in batch:
        tables.setdefault(call.request.table, []).append(call)
    if len(tables) > 1:
        return list(tables.values())
    if by_item:
        for call in batch:
            call.travel_alone()
        return [[call] for call in batch]
    middle = len(batch) // 2
    return [list(batch[:middle]), list(batch[middle:])]


UNKNOWN_BYTES: Final = 4_096
"""What an item of a table is taken for that was not read yet: 100 of them share a call."""
MOST_TABLES: Final = 1_000
"""Of how many tables sizes are known."""
_SAMPLE: Final = 8
_FALL: Final = 8


class Sizes:
    """The sizes of the items of each table, as they were last read."""

    def __init__(self) -> None:
        self.known: Final[dict[str, int]] = {}
        """Table -> how many bytes an item of it is taken for, where one was read."""

    def of(self, table: str) -> int:
        """Return how many bytes an item of a table is taken for."""
        return self.known.get(table, UNKNOWN_BYTES)

    def learn(self, table: str, items: Sequence[WireItem]) -> None:
        """Learn from items that were read, from some of them where there are many."""
        # Their JSON is never shorter than what the service counts, and no item is over its limit.
        sizes = [_json_bytes(item) for item in islice(items, _SAMPLE)]
        if not sizes:
            return
        average = sum(sizes) / len(sizes)
        if table not in self.known and len(self.known) >= MOST_TABLES:
            self.known.clear()  # the next answers tell
        known = self.known.get(table, 0)
        self.known[table] = int(max(average, known + (average - known) / _FALL))


def _json_bytes(item: Any) -> int:
    try:
        return min(json_bytes(item), ITEM_SIZE_BYTES)
    except TypeError:  # it is nested so deep that its readers will refuse it
        return ITEM_SIZE_BYTES


@dataclass(slots=True)
class Taken:
    """What was taken out of a queue."""

    batch: list[Call] = field(default_factory=list[Call])
    """The requests of one call."""
    withdrawn: list[Call] = field(default_factory=list[Call])
    """Those that nobody waits for any more."""


class Ready(deque[Call]):
    """A queue of requests that wait for a slot."""

    __slots__ = ()

    def take(self, most: int, most_bytes: int, alone: Container[str], weight: Callable[[Call], int]) -> Taken:
        """Take the requests of the next call: the first, whatever it weighs, and those after it that can share it.

        What is passed over stays first in line, so that nothing waits for more than those before it.

        Args:
            most: how many requests the call may hold.
            most_bytes: how much they may weigh together.
            alone: the tables whose requests travel alone.
            weight: returns what a call weighs, in bytes.
        """
        taken = Taken()
        identities: set[str] = set()
        passed_over: list[Call] = []
        size = 0
        while self and len(taken.batch) < most:
            call = self.popleft()
            request = call.request
            shares = request.batchable and not call.refused_in_batch and not (alone and request.table in alone)
            if not call.wanted:
                taken.withdrawn.append(call)
            elif not taken.batch and not shares:
                taken.batch.append(call)
                break
            elif call.identity in identities or not shares:
                passed_over.append(call)
            elif (more := size + weight(call)) > most_bytes and taken.batch:
                passed_over.append(call)
                break  # whoever comes after it may be lighter, but would go before it
            else:
                identities.add(call.identity)
                taken.batch.append(call)
                size = more
        self.extendleft(reversed(passed_over))
        return taken


def _by_priority() -> dict[Priority, Ready]:
    return {priority: Ready() for priority in Priority}


def _group_of(call: Call) -> bool | tuple[bool, str]:
    """Return what requests that may share a call have in common.

    That is their consistency, and where tables are named by ARNs the account: each has a host of its own.
    """
    table = call.request.table
    if table.startswith(ARN_START) and (owner := table_arn(table)) is not None:
        return call.consistent, owner.account
    return call.consistent


class Queues:
    """The calls of one lane that wait for a slot.

    Invariant: of each priority, the queues that are not empty stand in line for their turns, each once.
    """

    def __init__(self) -> None:
        """Create empty queues."""
        self.parts_of_refused: Final[deque[list[Call]]] = deque()
        """Batches that go before everything else: the parts of batches that were refused."""
        self._groups: defaultdict[bool | tuple[bool, str], dict[Priority, Ready]] = defaultdict(_by_priority)
        """What may share a call -> its queues."""
        self._chunks = _by_priority()
        """A queue of their own, for each is a call by itself, and takes turns with the calls of all others."""
        self._in_turn: dict[Priority, deque[Ready]] = {priority: deque() for priority in Priority}
        """The queues of each priority that are not empty, the next one first."""

    def add(self, call: Call, *, first: bool = False) -> None:
        """Put a call into its queue.

        Args:
            call: what waits.
            first: whether it was sent before, and goes before those that came later.
        """
        urgency = call.urgency = call.priority
        queue = (self._groups[_group_of(call)] if call.parts == 1 else self._chunks)[urgency]
        if not queue:
            self._in_turn[urgency].append(queue)
        if first:
            queue.appendleft(call)
        else:
            queue.append(call)

    def has(self, number: int) -> bool:
        """Return whether so many requests wait in one of the queues, or in one as a chunk, or were refused together."""
        if self.parts_of_refused:
            return True
        for queues in self._in_turn.values():
            for queue in queues:
                if len(queue) >= number or queue[0].parts > 1:
                    return True
        return False

    def urgency(self) -> Priority | None:
        """Return the priority of the most urgent that waits; None if nothing does."""
        if self.parts_of_refused:
            return self.parts_of_refused[0][0].urgency
        for priority, queues in self._in_turn.items():
            if queues:
                return priority
        return None

    def take(
        self, priority: Priority, most: int, most_bytes: int, alone: Container[str], weight: Callable[[Call], int]
    ) -> Taken:
        """Take the requests of the next call of a priority; the arguments are those of ``Ready.take``."""
        if self.parts_of_refused:
            return Taken(self.parts_of_refused.popleft())
        queues = self._in_turn[priority]
        if not queues:
            return Taken()
        queue = queues.popleft()
        taken = queue.take(most, most_bytes, alone, weight)
        if queue:
            queues.append(queue)
        return taken

    def take_out(self, call: Call) -> bool:
        """Take one call out of its queue; return whether it was in one."""
        for queues in self._in_turn.values():
            for queue in queues:
                if call in queue:
                    queue.remove(call)
                    if not queue:
                        queues.remove(queue)
                    return True
        return False

    def take_out_all(self, table: str) -> list[Call]:
        """Take out all calls about a table; return them in their order."""
        taken: list[Call] = []
        for queues in self._in_turn.values():
            for queue in tuple(queues):
                concerned = [each for each in queue if table in tables_of(each.request)]
                if concerned:
                    left = [each for each in queue if table not in tables_of(each.request)]
                    queue.clear()
                    queue.extend(left)
                    taken += concerned
                    if not left:
                        queues.remove(queue)
        return taken

    def clear(self) -> None:
        """Forget everything."""
        self.parts_of_refused.clear()
        for queues in self._in_turn.values():
            for queue in queues:
                queue.clear()
            queues.clear()


class ReadRules:
    """How GetItem requests share calls. A read joins another of the same key and consistency until that one is sent.

    A call asks for no more than its answer can hold, as far as the sizes that were read before tell.
    """

    writes: Final = False
    most: Final = BATCH_GET_KEYS
    most_bytes: Final = BATCH_ANSWER_BYTES

    def __init__(self) -> None:
        """Create rules with nothing that could be joined, and no sizes known."""
        self.joinable: Final[tuple[dict[str, Call], dict[str, Call]]] = ({}, {})
        """Identity -> what reads of that key join; of eventually consistent reads, and of consistent ones."""
        self._sizes: Final = Sizes()

    def joins(self, request: Request) -> Call | None:
        """Return the call that a request joins; None if it needs one of its own."""
        if request.target is None:
            return None
        return self.joinable[bool(request.body.get("ConsistentRead"))].get(request.target.identity)

    def add(self, call: Call, *, shares: bool) -> bool:
        """Add a call, for others to join if it shares calls; return True, for reads take no turns."""
        if shares:
            self.joinable[call.consistent][call.identity] = call
        return True

    def has_turn(self, call: Call) -> bool:
        """Return True: reads take no turns."""
        return True

    def begin(self, batch: Sequence[Call]) -> None:
        """Take calls that are sent now out of what others may join."""
        for call in batch:
            joinable = self.joinable[call.consistent]
            if joinable.get(call.identity) is call:
                del joinable[call.identity]

    def lift(self, call: Call) -> Sequence[Call]:
        """Return those that are lifted because a call waits for them: none, for reads take no turns."""
        return ()

    def remove(self, call: Call) -> Sequence[Call]:
        """Remove a call that has ended; return those whose turn may have come, which are none."""
        if not call.attempts:
            self.begin((call,))
        return ()

    def replace(self, call: Call, parts: Sequence[Call]) -> None:
        """Put the parts of a chunk in its place: nothing, for nobody joins them."""

    def takes(self, chunk: Chunk) -> bool:
        """Return whether a chunk may travel as a whole, by itself."""
        return chunk.size * self._sizes.of(chunk.asked.table) <= self.most_bytes

    def weight(self, call: Call) -> int:
        """Return how many bytes of ``most_bytes`` a call takes."""
        return self._sizes.known.get(call.request.table, UNKNOWN_BYTES)

    def batch(self, calls: Sequence[Call]) -> Request:
        """Return the request that carries several calls."""
        return batch_get([call.request for call in calls])

    def parts(self, calls: Sequence[Call], answer: Body) -> tuple[dict[str, Body], Leftovers]:
        """Return what the answer to several calls says of each identity, and what it left over."""
        requests = [call.request for call in calls]
        leftovers = unread(requests, answer)
        found = found_items(requests, answer)
        return {identity: PartOfAnswer(Item=item) for identity, item in found.items()}, leftovers

    def learn_of_call(self, call: Call, answer: Body) -> None:
        """Learn sizes from the answer to one call: to a chunk, or of a table of which nothing is known yet."""
        table = call.request.table
        if call.chunk is not None:
            responses: Mapping[str, Sequence[WireItem]] = answer.get("Responses") or {}
            self._sizes.learn(table, responses.get(table, ()))
        elif table not in self._sizes.known and (item := answer.get("Item")):
            self._sizes.learn(table, (item,))

    def learn(self, calls: Sequence[Call], parts: Mapping[str, Body]) -> None:
        """Learn sizes from the answer to several calls."""
        found: dict[str, list[WireItem]] = {}
        for call in calls:
            if item := parts.get(call.identity, {}).get("Item"):
                found.setdefault(call.request.table, []).append(item)
        for table, items in found.items():
            self._sizes.learn(table, items)


class WriteRules:
    """How PutItem, DeleteItem, UpdateItem and TransactWriteItems requests share calls and take turns.

    Invariant: all writes of one key form a line, conditional ones and updates included: the next is sent when the one
    before it was answered or given up. A transaction stands in the lines of all its keys, and is sent when it is the
    first of each; it joins them all at once, so that no two wait for each other. Writes are never merged. A cancelled
    write that was not sent leaves its lines; one that was sent keeps its place until it is answered. Whatever a write
    waits for is as urgent as that write, or more.
    """

    writes: Final = True
    most: Final = BATCH_WRITE_REQUESTS
    most_bytes: Final = BATCH_WRITE_BYTES

    def __init__(self) -> None:
        """Create rules with no line."""
        self.lines: Final[dict[str, Call]] = {}
        """Identity -> the first of its writes. As a rule it is the only one."""
        self._behind: Final[dict[str, OrderedDict[Call, None]]] = {}
        """Identity -> those behind the first, in order, where there are any. Any of them may leave at the same cost:
        thousands may wait for one key."""

    def joins(self, request: Request) -> Call | None:
        """Return None: writes are never merged."""
        return None

    def add(self, call: Call, *, shares: bool) -> bool:
        """Add a call to the line of each of its items; return whether it is the first of all."""
        lines, first = self.lines, True
        for identity in call.identities:
            if lines.setdefault(identity, call) is not call:
                self._behind.setdefault(identity, OrderedDict())[call] = None
                first = False
        return first

    def has_turn(self, call: Call) -> bool:
        """Return whether a call is the first of all its lines."""
        for identity in call.identities:  # noqa: SIM110 - all() costs three times as much (benchmarks: concurrent_puts)
            if self.lines[identity] is not call:
                return False
        return True

    def lift(self, call: Call) -> Sequence[Call]:
        """Make what a new call waits for as urgent as that call; return what was less urgent."""
        priority = call.priority
        lifted: list[Call] = []
        waiting = [call]
        for after in waiting:  # it grows by transactions, which wait in other lines as well
            for identity in after.identities:
                for before in self._before(after, identity):
                    if before.priority <= priority:
                        break  # and so is all before it
                    before.lift(priority)
                    lifted.append(before)
                    if len(before.identities) > 1:
                        waiting.append(before)
        return lifted

    def _before(self, call: Call, identity: str) -> Iterator[Call]:
        """Yield those that stand before a call in one of its lines, the last one first."""
        first = self.lines[identity]
        if first is call:
            return
        backwards = reversed(self._behind[identity])
        for each in backwards:
            if each is call:
                break
        yield from backwards
        yield first

    def begin(self, batch: Sequence[Call]) -> None:
        """Do nothing: a write that is sent keeps its place in line."""

    def remove(self, call: Call) -> Sequence[Call]:
        """Take a call out of its lines; return, each once, those who are now the first of one of them."""
        lines, behind = self.lines, self._behind
        if not behind:
            for identity in call.identities:
                del lines[identity]
            return ()
        first_now: dict[Call, None] = {}
        for identity in call.identities:
            line = behind.get(identity)
            if line is None:
                del lines[identity]
                continue
            if lines[identity] is call:
                following, _ = line.popitem(last=False)
                lines[identity] = following
                first_now[following] = None
            else:
                del line[call]
            if not line:
                del behind[identity]
        return list(first_now)

    def replace(self, call: Call, parts: Sequence[Call]) -> None:
        """Put the parts of a chunk in its place, which is the first, in their lines."""
        self.lines.update({part.identity: part for part in parts})

    def takes(self, chunk: Chunk) -> bool:
        """Return whether a chunk may travel as a whole: it is not too large, and the first write of all its items."""
        size = chunk.json_bytes + chunk.size * ENTRY_BYTES
        return size <= self.most_bytes and self.lines.keys().isdisjoint(chunk.identities)

    def weight(self, call: Call) -> int:
        """Return how many bytes of ``most_bytes`` a call takes."""
        return written_bytes(call.request)

    def batch(self, calls: Sequence[Call]) -> Request:
        """Return the request that carries several calls."""
        return batch_write([call.request for call in calls])

    def parts(self, calls: Sequence[Call], answer: Body) -> tuple[dict[str, Body], Leftovers]:
        """Return what the answer left over; it says nothing of the others."""
        return {}, unwritten([call.request for call in calls], answer)

    def learn_of_call(self, call: Call, answer: Body) -> None:
        """Do nothing: the answer to a write says nothing of sizes."""

    def learn(self, calls: Sequence[Call], parts: Mapping[str, Body]) -> None:
        """Do nothing: the answer to a write says nothing of sizes."""


Rules: TypeAlias = ReadRules | WriteRules
"""What reads and writes of single items do not have in common."""
