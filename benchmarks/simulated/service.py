"""The operations: a request's body in, the answer's body out."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.simulated import definitions, units
from benchmarks.simulated.buckets import BURST_SECONDS, Clock, Take, charge
from benchmarks.simulated.consumed import Consumed
from benchmarks.simulated.counts import Counts
from benchmarks.simulated.expressions import holds, updated
from benchmarks.simulated.faults import ServiceError, Throttled, invalid, unknown_table
from benchmarks.simulated.keys import Key, group_of, place
from benchmarks.simulated.pages import Asked, Page, page, projected, scanned
from benchmarks.simulated.sizes import Wire, item_bytes
from benchmarks.simulated.tables import Change, Index, Table

Body = dict[str, Any]
Reasons = list[dict[str, str]]


@dataclass(slots=True)
class Service:
    """All tables, and the counts of requests."""

    clock: Clock
    burst_seconds: float = BURST_SECONDS
    refused_part: float = 0.0
    """The part of all requests for items that is refused whatever the rate, for reasons of the table's own."""
    failed_part: float = 0.0
    """The part of all requests for items that is answered with an internal error, and not carried out."""
    chance: random.Random = field(default_factory=lambda: random.Random(1))
    tables: dict[str, Table] = field(default_factory=dict[str, Table])
    counts: Counts = field(init=False)
    _operations: dict[str, Callable[[Body], Body]] = field(init=False)

    def __post_init__(self) -> None:
        self.counts = Counts(self.clock)
        self.counts.reset()
        self._operations = {
            "CreateTable": self._create_table,
            "UpdateTable": self._update_table,
            "DescribeTable": lambda body: {"Table": definitions.described(self.table(body["TableName"]))},
            "GetItem": self._get,
            "BatchGetItem": self._batch_get,
            "Query": self._query,
            "Scan": self._scan,
            "PutItem": lambda body: self._write("Put", body),
            "UpdateItem": lambda body: self._write("Update", body),
            "DeleteItem": lambda body: self._write("Delete", body),
            "BatchWriteItem": self._batch_write,
            "TransactWriteItems": self._transact,
        }

    def answer(self, operation: str, body: Body) -> Body:
        """Carry out an operation.

        Raises:
            ServiceError: the service would answer with an error.
        """
        carry_out = self._operations.get(operation)
        if carry_out is None:
            raise ServiceError("UnknownOperationException", f"the simulated table has no {operation}")
        self.counts.requests[operation] += 1
        if (self.refused_part or self.failed_part) and "Table" not in operation:
            drawn = self.chance.random()
            if drawn < self.refused_part:
                self.counts.refused += 1
                raise Throttled([], on_demand=False)
            if drawn < self.refused_part + self.failed_part:
                raise ServiceError("InternalServerError", "The request failed for an unknown reason.", status=500)
        try:
            return carry_out(body)
        except Throttled:
            self.counts.refused += 1
            raise

    def spend_burst(self) -> None:
        """Drop what is left of the burst of all tables and indexes."""
        for table in self.tables.values():
            for capacity in table.capacities():
                capacity.spend_burst(self.clock())

    def push(self, requests: int) -> None:
        """Put items of one unit into each table for a client that is not counted, as far as there are units."""
        for table in self.tables.values():
            for _ in range(requests):
                charge([Take(table.capacity, "Write", self.chance.getrandbits(30), 1.0)], self.clock())

    def table(self, name: str) -> Table:
        """Return a table."""
        found = self.tables.get(name)
        if found is None:
            raise unknown_table(name)
        return found

    def _create_table(self, body: Body) -> Body:
        if body["TableName"] in self.tables:
            raise ServiceError("ResourceInUseException", f"Table already exists: {body['TableName']}")
        table = self.tables[body["TableName"]] = definitions.created(body, self.clock, self.burst_seconds)
        return {"TableDescription": definitions.described(table)}

    def _update_table(self, body: Body) -> Body:
        table = self.table(body["TableName"])
        definitions.update(table, body, self.clock)
        return {"TableDescription": definitions.described(table)}

    def _get(self, body: Body) -> Body:
        table, consumed = self.table(body["TableName"]), Consumed()
        item, reasons = self._read(table, table.schema.key(body["Key"]), body, consumed)
        if reasons:
            raise Throttled(reasons, on_demand=table.on_demand)
        answer: Body = {} if item is None else {"Item": item}
        return _with_consumed(answer, consumed.told(body))

    def _read(self, table: Table, key: Key, asked: Body, consumed: Consumed) -> tuple[Wire | None, Reasons]:
        """Take the units of one item and return it, or the reasons for a refusal."""
        stored = table.stored(key)
        taken = units.read(stored[1] if stored else 0, _how(asked))
        reasons = charge([Take(table.capacity, "Read", place(key[:1]), taken)], self.clock())
        self.counts.attempt(group_of(key), reasons, read=taken)
        if reasons:
            return None, reasons
        consumed.add(table, None, taken)
        return stored and stored[0], []

    def _batch_get(self, body: Body) -> Body:
        wanted = body["RequestItems"]
        if not 1 <= sum(len(each["Keys"]) for each in wanted.values()) <= 100:
            raise invalid("Too many items requested for the BatchGetItem call")
        consumed, why, on_demand = Consumed(), [], False
        found: dict[str, list[Wire]] = {}
        left: dict[str, Body] = {}
        for name, asked in wanted.items():
            table = self.table(name)
            found[name] = []
            for key in _distinct(table, asked["Keys"]):
                item, reasons = self._read(table, table.schema.key(key), asked, consumed)
                if reasons:
                    why, on_demand = reasons, table.on_demand
                    left.setdefault(name, {**asked, "Keys": []})["Keys"].append(key)
                elif item is not None:
                    found[name].append(item)
        if why and not consumed.units:
            raise Throttled(why, on_demand=on_demand)
        return _with_consumed({"Responses": found, "UnprocessedKeys": left}, consumed.told(body), several=True)

    def _query(self, body: Body) -> Body:
        table = self.table(body["TableName"])
        asked = Asked.of(table, body)
        return self._page(table, asked.index, asked.partition, body, lambda: page(asked))

    def _scan(self, body: Body) -> Body:
        table = self.table(body["TableName"])
        start = table.schema.key(body["ExclusiveStartKey"]) if "ExclusiveStartKey" in body else None
        # Its pages are counted, and lie in a partition, as an item of a key that only they have.
        of = (("S", f"scan-{body.get('Segment', 0)}-{start}"),)
        return self._page(table, None, of, body, lambda: scanned(table, body, start))

    def _page(self, table: Table, index: Index | None, partition: Key, body: Body, read: Callable[[], Page]) -> Body:
        """Read a page if there are units. Its cost is known afterwards, so it may leave a debt."""
        capacity = (index and index.capacity) or table.capacity
        group = group_of(partition)
        least = Take(capacity, "Read", place(partition), 0.5)
        reasons = charge([least], self.clock())
        if reasons:
            self.counts.attempt(group, reasons)
            raise Throttled(reasons, on_demand=table.on_demand)
        items, size, last = read()
        taken = units.read(size, _how(body))
        least.lane.take(least.place, taken - least.units)
        self.counts.attempt(group, [], read=taken)
        consumed = Consumed()
        consumed.add(table, index.name if index else None, taken)
        answer: Body = {"Items": projected(items, body), "Count": len(items), "ScannedCount": len(items)}
        if last is not None:
            answer["LastEvaluatedKey"] = last
        return _with_consumed(answer, consumed.told(body))

    def _change(self, table: Table, kind: str, body: Body) -> Change:
        """Return the change of a put, an update, a delete or a condition check."""
        if kind == "Put":
            return table.put(body["Item"])
        found = table.delete(body["Key"])
        if kind == "Delete":
            return found
        if kind == "ConditionCheck":
            return Change(table, found.key, found.old, found.old)
        new = updated(body, found.old and found.old[0])
        return Change(table, found.key, (new, item_bytes(new)), found.old)

    def _write(self, kind: str, body: Body) -> Body:
        table, consumed = self.table(body["TableName"]), Consumed()
        change = self._change(table, kind, body)
        met = holds(body, change.old and change.old[0])
        # A write whose condition fails is charged all the same, but changes no index entry.
        reasons = self._charged([change], consumed, table_only=not met)
        if reasons:
            raise Throttled(reasons, on_demand=table.on_demand)
        if not met:
            told = {"Item": change.old[0]} if change.old and "ReturnValuesOnConditionCheckFailure" in body else {}
            raise ServiceError("ConditionalCheckFailedException", "The conditional request failed", **told)
        change.carry_out()
        values = body.get("ReturnValues", "NONE")
        shown = {"ALL_OLD": change.old, "ALL_NEW": change.new}.get(values)
        return _with_consumed({"Attributes": shown[0]} if shown else {}, consumed.told(body))

    def _charged(
        self, changes: list[Change], consumed: Consumed, *, factor: float = 1.0, table_only: bool = False
    ) -> Reasons:
        """Take the units of changes, all or none, and count each as one attempt."""
        parts = [
            [(index, take) for index, take in change.charges(factor) if index is None or not table_only]
            for change in changes
        ]
        reasons = charge([take for each in parts for _, take in each], self.clock())
        for change, each in zip(changes, parts, strict=True):
            self.counts.attempt(group_of(change.key), reasons, write=sum(take.units for _, take in each))
            if not reasons:
                for index, take in each:
                    consumed.add(change.table, index, take.units)
        return reasons

    def _batch_write(self, body: Body) -> Body:
        wanted = body["RequestItems"]
        if not 1 <= sum(map(len, wanted.values())) <= 25:
            raise invalid("Too many items requested for the BatchWriteItem call")
        consumed, why, on_demand = Consumed(), [], False
        left: dict[str, list[Body]] = {}
        for name, requests in wanted.items():
            table = self.table(name)
            changes = [
                self._change(table, kind.removesuffix("Request"), each)
                for request in requests
                for kind, each in request.items()
            ]
            if len({change.key for change in changes}) < len(changes):
                raise invalid("Provided list of item keys contains duplicates")
            for request, change in zip(requests, changes, strict=True):
                reasons = self._charged([change], consumed)
                if reasons:
                    why, on_demand = reasons, table.on_demand
                    left.setdefault(name, []).append(request)
                else:
                    change.carry_out()
        if why and not consumed.units:
            raise Throttled(why, on_demand=on_demand)
        return _with_consumed({"UnprocessedItems": left}, consumed.told(body), several=True)

    def _transact(self, body: Body) -> Body:
        changes, met = [], []
        for action in body["TransactItems"]:
            ((kind, each),) = action.items()
            change = self._change(self.table(each["TableName"]), kind, each)
            changes.append(change)
            met.append(holds(each, change.old and change.old[0]))
        consumed = Consumed()
        reasons = self._charged(changes, consumed, factor=2.0, table_only=not all(met))
        if reasons:
            self.counts.refused += 1
            raise _cancelled(
                ["ThrottlingError" if c.table.on_demand else "ProvisionedThroughputExceeded" for c in changes]
            )
        if not all(met):
            raise _cancelled(["None" if each else "ConditionalCheckFailed" for each in met], _shown(body, changes, met))
        for change in changes:
            change.carry_out()
        return _with_consumed({}, consumed.told(body, transaction="Write"), several=True)


def _shown(body: Body, changes: list[Change], met: list[bool]) -> list[Wire | None]:
    """Return the stored items that a transaction asks for where its conditions fail."""
    asked = ["ReturnValuesOnConditionCheckFailure" in part for each in body["TransactItems"] for part in each.values()]
    return [
        change.old[0] if change.old and wanted and not holding else None
        for change, wanted, holding in zip(changes, asked, met, strict=True)
    ]


def _cancelled(codes: list[str], items: list[Wire | None] | None = None) -> ServiceError:
    text = "Transaction cancelled, please refer cancellation reasons for specific reasons [" + ", ".join(codes) + "]"
    reasons = [
        {"Code": code} if item is None else {"Code": code, "Item": item}
        for code, item in zip(codes, items or [None] * len(codes), strict=True)
    ]
    return ServiceError("TransactionCanceledException", text, CancellationReasons=reasons)


def _distinct(table: Table, keys: list[Wire]) -> list[Wire]:
    if len({table.schema.key(key) for key in keys}) < len(keys):
        raise invalid("Provided list of item keys contains duplicates")
    return keys


def _how(asked: Body) -> units.Read:
    return "consistent" if asked.get("ConsistentRead") else "eventual"


def _with_consumed(answer: Body, told: list[Body], *, several: bool = False) -> Body:
    if told:
        answer["ConsumedCapacity"] = told if several else told[0]
    return answer
