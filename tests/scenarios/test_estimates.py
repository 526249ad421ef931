"""What requests of each scenario are expected to take: after a hundred of a kind, within a tenth of what they take."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from dynamap_async.capacity import Charge, page_charge, read_charge, write_charge
from dynamap_async.codec import item_size
from dynamap_async.executor.consumed import Spending, TableOrIndex
from dynamap_async.executor.pacing.estimates import Estimates, spent_units
from dynamap_async.request import Request, Target
from dynamap_async.tables.build_samples import BuildSample
from dynamap_async.tables.requests import read_description

DATA = Path(__file__).parent / "data"


def published(scenario, file):
    return json.loads((DATA / scenario / f"{file}.json").read_text("utf-8"))


def texts(**attributes):
    return {name: {"S": text} for name, text in attributes.items() if text}


def scores():
    """Return the published game scores."""
    scored = [{**texts(UserId=user, GameTitle="Comet Quest"), "TopScore": {"N": "0"}} for user in ("123", "201", "301")]
    return {"GameScores": [*scored, texts(UserId="400", GameTitle="Comet Quest")]}


def ledger():
    """Return the items for which the published rows of invoices and bills stand."""
    found = []
    for row in published("invoices-adjacency", "rows")["rows"]:
        invoice, date, balance, status, due, bill, bill_due, amount, bill_balance, customer, name, state = row
        found += [
            texts(PK=invoice, SK="root", InvoiceDate=date, InvoiceBalance=balance, InvoiceStatus=status)
            | texts(InvoiceDueDate=due),
            texts(PK=invoice, SK=customer),
            texts(PK=invoice, SK=bill, BillAmount=amount, BillBalance=bill_balance),
            texts(PK=customer, SK=invoice, CustomerName=name, State=state),
            texts(PK=bill, SK=invoice, BillDueDate=bill_due, BillAmount=amount),
        ]
    return {"InvoiceAndBills": found}


def marketplace():
    """Return the published customer, a product of each state and the published order."""
    seed = published("marketplace-transaction", "seed")
    products = [texts(ProductId="p-1", ProductStatus=status) for status in seed["product_status"]]
    order = texts(OrderId="o-1", ProductId="p-1", **seed["published_order"])
    return {"Customers": seed["Customers"], "ProductCatalog": products, "Orders": [order]}


def photos():
    """Return a user, a photo, and what is said of it, in the published forms of keys."""
    of_photo = {"photoId": "01H1", "likingUsername": "bob"}
    return {
        "instagram": [
            texts(PK="USER#ann", SK="USER#ann", username="ann"),
            texts(PK="UP#ann", SK="PHOTO#01H1", username="ann", photoId="01H1"),
            texts(PK="PL#01H1", SK="LIKE#bob", GSI1PK="PL#01H1", GSI1SK="LIKE#01H2", likeId="01H2", **of_photo),
            texts(PK="PC#01H1", SK="COMMENT#01H3", commentId="01H3", content="x" * 1100, photoId="01H1"),
            texts(PK="FOLLOW#ann", SK="FOLLOW#bob", GSI1PK="FOLLOW#bob", GSI1SK="FOLLOW#ann"),
        ]
    }


def mall():
    """Return the published store, as it is stored, and the table, of which only the keys are published."""
    names = {"table": ("pk", "sk"), "units": ("gsi1pk", "gsi1sk"), "leases": ("gsi2pk", "gsi2sk")}
    keys, item = published("mall-directory", "keys"), texts(**published("mall-directory", "record"))
    for group, (partition, sort) in names.items():
        for name, parts in ((partition, keys[group]["pk"]), (sort, keys[group]["sk"])):
            item[name] = {"S": "#".join([item[part]["S"] for part in parts])}
    schemas = {
        group: [{"AttributeName": name, "KeyType": kind} for name, kind in zip(each, ("HASH", "RANGE"), strict=True)]
        for group, each in names.items()
    }
    indexes = [
        {"IndexName": name, "KeySchema": schemas[name], "Projection": {"ProjectionType": "ALL"}}
        for name in ("units", "leases")
    ]
    table = {
        "TableName": "mall-directory",
        "KeySchema": schemas["table"],
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": "S"} for each in names.values() for name in each
        ],
        "GlobalSecondaryIndexes": indexes,
    }
    return table, [item]


MADE = {"game-scores": scores, "invoices-adjacency": ledger, "marketplace-transaction": marketplace,
        "photo-sharing": photos}  # fmt: skip
"""The scenarios that are not published as items."""
FOLDERS = [folder.name for folder in sorted(DATA.iterdir()) if (folder / "schema.json").exists()]
TABLES = {
    f"{folder} {table['TableName']}": (table, items)
    for folder in FOLDERS
    for found in [MADE[folder]() if folder in MADE else published(folder, "items")]
    for table in published(folder, "schema")
    if (items := found.get(table["TableName"]))
} | {"mall-directory mall-directory": mall()}
KINDS = (
    "put", "put_again", "update", "delete", "transact", "get", "get_consistently", "query", "query_index", "scan"
)  # fmt: skip
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

    def update(self):
        before, after = self.chance.choice(self.items), self.chance.choice(self.items)
        return self.request("UpdateItem", body={}, target=Target({}, ""), writes=True), write_charge(
            self.schema, before, after
        )

    def transact(self):
        items = self.chance.choices(self.items, k=self.chance.randint(1, 5))
        charge = sum((write_charge(self.schema, None, item, transactional=True) for item in items), Charge())
        body = {"TransactItems": [{"Put": {"TableName": self.schema.name}} for _ in items]}
        targets = tuple(Target({}, str(number), item_size(item)) for number, item in enumerate(items))
        return self.request("TransactWriteItems", body=body, targets=targets, writes=True), charge

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

    def scan(self):
        found = self.chance.choices(self.items, k=40)
        return self.request("Scan", body={"Limit": 40}), page_charge(self.schema, found)

    def partition(self, attribute):
        """Return the items of one partition, up to what a page holds."""
        of = self.chance.choice([item for item in self.items if attribute in item])[attribute]
        return [item for item in self.items if item.get(attribute) == of][:200]


def spendings(traffic, request, charge):
    table = TableOrIndex(traffic.schema.name, None, request.writes)
    yield Spending(table, charge.table_halves)
    for name, halves in charge.index_halves.items():
        if traffic.indexes[name].kind.value == "local":
            yield Spending(table, halves, name)
        else:
            yield Spending(table._replace(index_name=name), halves)


def test_every_scenario_is_measured():
    assert {name.partition(" ")[0] for name in TABLES} == {file.parent.name for file in DATA.glob("*/*.json")}


@pytest.mark.parametrize(("table", "kind"), CASES)
def test_what_is_expected_is_near_to_what_is_taken(table, kind):
    traffic, estimates = Traffic(*TABLES[table]), Estimates()
    expected = taken = 0.0
    for number in range(LEARNING + MEASURED):
        request, charge = getattr(traffic, kind)()
        estimate = estimates.of(request)
        spent = spent_units(tuple(spendings(traffic, request, charge)))
        if number >= LEARNING:
            expected += sum(estimate.units.values())
            taken += sum(spent.values())
        estimates.learn([estimate], spent)
    assert expected == pytest.approx(taken, rel=0.1)


PAGE_BYTES, TABLE_BYTES = 2**19, 3 * 2**19
BUILT = [
    (name, index["IndexName"])
    for name, (table, _) in TABLES.items()
    for index in table.get("GlobalSecondaryIndexes") or ()
]


@pytest.mark.parametrize(("name", "index"), BUILT)
def test_what_building_an_index_is_expected_to_take_is_near_to_what_it_takes(name, index):
    table, items = TABLES[name]
    found = read_description({"Table": {**table, "TableStatus": "ACTIVE"}})
    taken = size = 0
    sample, stored, drawn = BuildSample(found.schema, found.schema.index(index)), [], random.Random(19)
    while size < TABLE_BYTES:
        stored.append(drawn.choice(items))
        size += item_size(stored[-1])
        taken += write_charge(found.schema, None, stored[-1]).index_halves.get(index, 0) / 2
        if size < PAGE_BYTES:
            sample.take(stored[-1:])
    found = replace(found, item_count=len(stored), size_bytes=size)
    estimate = sample.estimate(found, None, None)
    assert estimate.write_units == pytest.approx(taken, rel=0.05)
    assert estimate.storage_bytes > 100 * estimate.entries > 0


def test_estimates_are_measured_on_designs_enough():
    assert len({name.partition(" ")[0] for name, _ in BUILT}) >= 5
