"""The keys of the library's own table are those of decision 27: what is stored under them cannot be renamed."""

import hashlib

from dynamap_async import Attr, Model, PartitionKey, SortKey, Table, Unique, attr
from dynamap_async.migrations.record import record_key
from dynamap_async.models import definition_of
from dynamap_async.operations import counter_of, own_table
from dynamap_async.operations.library_table import own_target
from dynamap_async.operations.upgrade_record import upgrade_record_key
from dynamap_async.planning import TableNames
from dynamap_async.schema import RecordKind, TableSchema
from dynamap_async.session.upgrade_place import upgrade_place_key


class Ticket(Model, table="tickets"):
    number: PartitionKey[int] = attr(autoincrement=True, name="no")
    email: Attr[str] = attr(name="e")
    size: Attr[int]
    by_both = Unique("email", "size")


class Line(Model, table="lines"):
    order: PartitionKey[str]
    number: SortKey[int] = attr(autoincrement=True)


class Cup(Model, table=Table("shop", partition_key="pk", discriminator="kind")):
    pk: PartitionKey[str]


def guard(**values: object) -> str | None:
    [unique] = definition_of(Ticket).uniques
    return unique.guard(definition_of(Ticket).items.encode_values({"number": 1, **values}))


def test_the_table_is_named_behind_the_prefix_and_has_a_text_for_a_key() -> None:
    table: TableSchema = own_table(TableNames("shop-"))
    assert (table.name, table.indexes, table.throughput) == ("shop-dynamap", (), None)
    assert [(each.name, each.type) for each in table.keys.attributes] == [("pk", "S")]
    assert own_target(TableNames("shop-"), "counter#a#b").key == {"pk": {"S": "counter#a#b"}}


def test_the_kinds_of_its_items_are_these() -> None:
    words = {kind.value for kind in RecordKind}
    assert words == {"counter", "unique", "lease", "migration", "upgraded", "checkpoint", "consumer"}


def test_a_lease_and_a_migration_are_named_by_their_own_names() -> None:
    assert RecordKind.LEASE.key("tables") == "lease#tables"
    assert record_key("2026-11-remove") == "migration#2026-11-remove"


def test_a_counter_is_named_by_table_and_attribute_and_the_partition_that_it_counts_for() -> None:
    assert counter_of(definition_of(Ticket), ()) == "counter#tickets#no"
    assert counter_of(definition_of(Line), ("a#1",)) == "counter#lines#number#4:Sa#1"


def test_a_partition_over_1_kb_is_hashed() -> None:
    long = "x" * 1100
    digest = hashlib.sha256(f"1101:S{long}".encode()).hexdigest()
    assert counter_of(definition_of(Line), (long,)) == f"counter#lines#number#sha256:{digest}"


def test_a_guard_is_named_by_table_and_attributes_and_values_with_their_lengths() -> None:
    assert guard(email="a@b", size=10) == "unique#tickets#1:e,4:size#4:Sa@b,3:N10"


def test_a_guard_over_2_kb_is_hashed() -> None:
    long = "x" * 3000
    digest = hashlib.sha256(f"unique#tickets#1:e,4:size#3001:S{long},2:N1".encode()).hexdigest()
    assert guard(email=long, size=1) == f"unique#tickets#1:e,4:size#sha256:{digest}"


def test_the_place_of_a_pass_is_named_by_table_and_kind_and_its_own_name() -> None:
    assert upgrade_place_key(Ticket, "2026-11") == "checkpoint#upgraded#tickets#2026-11"
    assert upgrade_place_key(Cup, "2026-11") == "checkpoint#upgraded#shop#Cup#2026-11"


def test_what_a_pass_proved_is_named_by_table_and_by_kind_in_a_shared_one() -> None:
    assert upgrade_record_key(definition_of(Ticket)) == "upgraded#tickets"
    assert upgrade_record_key(definition_of(Cup)) == "upgraded#shop#Cup"
