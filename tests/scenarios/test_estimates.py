"""What requests of each scenario are expected to take: after a hundred of a kind, within a tenth of what they take."""

import json
import random
from pathlib import Path

import pytest

from dynamap_async.capacity import page_charge, read_charge, write_charge
from dynamap_async.codec import item_size
from dynamap_async.executor.governor.estimates import Estimates
from dynamap_async.executor.governor.places import spent_units
from dynamap_async.executor.metering import Spending
from dynamap_async.request import Request, Target
from dynamap_async.tables.requests import read_description

DATA = Path(__file__).parent / "data"
TABLES = {
    f"{folder.name} {table['TableName']}": (table, items)
    for folder in sorted(DATA.iterdir())
    if (folder / "items.json").exists()
    for table in json.loads((folder / "schema.json").read_text("utf-8"))
    if (items := json.loads((folder / "items.json").read_text("utf-8")).get(table["TableName"]))
}
KINDS = ("put", "put_again", "delete", "get", "get_consistently", "query", "query_index")
CASES = [
    (name, kind)
    for name, (table, _) in TABLES.items()
    for kind in KINDS
    if kind != "query_index" or any(f"{each}SecondaryIndexes" in table for each in ("Global", "Local"))
]
LEARNING, MEASURED = 100, 300


class Traffic:
    """Requests to one table of a scenario, drawn at random, and what each of them takes by the service's rules."""

    def __init__(self, table, items):
        self.schema = read_description({"Table": {"TableStatus": "ACTIVE", **table}}).schema
        self.items = items
        self.chance = random.Random(1)
        self.indexes = {index.name: index for index in self.schema.indexes}

    def request(self, operation, **facts):
        return Request(operation=operation, table=self.schema.name, **facts)

    def put(self):
        item = self.chance.choice(self.items)
        charge = write_charge(self.schema, None, item)
        return self.request("PutItem", body={}, target=Target({}, "", item_size(item)), writes=True), charge

    def put_again(self):
        before, item = self.chance.choice(self.items), self.chance.choice(self.items)
        charge = write_charge(self.schema, before, item)
        return self.request("PutItem", body={}, target=Target({}, "", item_size(item)), writes=True), charge

    def delete(self):
        charge = write_charge(self.schema, self.chance.choice(self.items), None)
        return self.request("DeleteItem", body={}, target=Target({}, ""), writes=True), charge

    def get(self):
        item = self.chance.choice([*self.items, None])
        return self.request("GetItem", body={}, target=Target({}, "")), read_charge(item)

    def get_consistently(self):
        charge = read_charge(self.chance.choice(self.items), consistent=True)
        return self.request("GetItem", body={"ConsistentRead": True}, target=Target({}, "")), charge

    def query(self):
        found = self.partition(self.schema.keys.names[0])
        return self.request("Query", body={}), page_charge(self.schema, found)

    def query_index(self):
        name = min(self.indexes)
        found = self.partition(self.indexes[name].keys.names[0])
        return self.request("Query", body={}, index=name), page_charge(self.schema, found, index=name)

    def partition(self, attribute):
        """Return the items of one partition, up to what a page holds."""
        of = self.chance.choice([item for item in self.items if attribute in item])[attribute]
        return [item for item in self.items if item.get(attribute) == of][:200]


def spendings(traffic, request, charge):
    table, writes = traffic.schema.name, request.writes
    yield Spending(table, None, False, writes, charge.table_halves)
    for name, halves in charge.index_halves.items():
        yield Spending(table, name, traffic.indexes[name].kind.value == "local", writes, halves)


@pytest.mark.parametrize(("table", "kind"), CASES)
def test_what_is_expected_is_near_to_what_is_taken(table, kind):
    traffic, estimates = Traffic(*TABLES[table]), Estimates()
    expected = taken = 0.0
    for number in range(LEARNING + MEASURED):
        request, charge = getattr(traffic, kind)()
        estimate = estimates.of(request)
        spent = spent_units(spendings(traffic, request, charge))
        if number >= LEARNING:
            expected += sum(estimate.units.values())
            taken += sum(spent.values())
        estimates.learn([estimate], spent)
    assert expected == pytest.approx(taken, rel=0.1)
