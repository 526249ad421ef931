"""Settings of tables that take their time: each is made, described, changed, described, and then no difference."""

import pytest

from dynamap_async import Encryption, Recovery, Session, Table, TableSettings
from dynamap_async.testing import FrozenClock
from dynamap_async.testing.slow_tables import Durations, SlowTables

KEY = "arn:aws:kms:eu-west-1:000000000000:key/"
CHANGES = [
    ("stream", "keys", "new-and-old", ["set-stream", "set-stream"], {"stream-replaced"}),
    ("stream", "keys", "off", ["set-stream"], {"stream-replaced"}),
    ("recovery", Recovery(days=3), Recovery(days=30), ["set-point-in-time-recovery"], set()),
    ("recovery", Recovery(days=3), False, ["set-point-in-time-recovery"], {"recovery-off"}),
    ("deletion_protection", False, True, ["set-deletion-protection"], set()),
    ("deletion_protection", True, False, ["set-deletion-protection"], {"protection-off"}),
    ("table_class", "standard", "infrequent-access", ["set-table-class"], {"class-changed"}),
    ("encryption", Encryption(), Encryption(kms_key=f"{KEY}one"), ["set-encryption"], set()),
    ("encryption", Encryption(kms_key=f"{KEY}one"), Encryption(kms_key=f"{KEY}two"), ["set-encryption"], set()),
    ("tags", {"team": "shop"}, {"team": "web", "stage": "test"}, ["set-tags"], set()),
    ("tags", {"team": "shop"}, {}, ["set-tags"], {"tags-removed"}),
    ("replicas", ["us-east-1"], ["us-west-2"], ["set-replicas", "set-replicas"], {"replica-removed"}),
]


async def described(session, table, setting):
    """Return what DynamoDB says of a setting, as a model declares it."""
    match setting:
        case "recovery":
            found = await session.tables.backups.recovery(table)
            return False if found is None else Recovery(days=found.days)
        case "tags":
            return await session.tables.tags(table)
        case "replicas":
            return [each.region for each in (await session.tables.describe(table)).replicas]
        case _:
            return getattr((await session.tables.describe(table)).settings, setting)


@pytest.mark.parametrize(("setting", "before", "after", "kinds", "hazards"), CHANGES)
async def test_each_setting_is_made_changed_and_then_no_difference(no_tables, setting, before, after, kinds, hazards):
    def table(value):
        return Table("orders", partition_key="pk", settings=TableSettings(**{setting: value}))

    slow = SlowTables(clock=FrozenClock(1_772_366_400.0), durations=Durations(lag=2.0))
    async with Session(transport=slow.wrap(no_tables()), clock=slow.now) as session:
        await session.tables.apply(await session.tables.plan(table(before)))
        assert await described(session, table(before), setting) == before
        assert (await session.tables.plan(table(before))).is_empty
        plan = await session.tables.plan(table(after))
        assert [step.kind for step in plan.steps] == kinds
        assert {hazard.code for hazard in plan.hazards} == hazards
        await session.tables.apply(plan, allow=hazards, timeout_seconds=10_000)
        assert await described(session, table(after), setting) == after
        await session.tables.verify(table(after))
        assert (await session.tables.plan(table(after))).is_empty


def test_each_setting_is_among_them():
    others = {
        "billing",
        "autoscaled",
    }  # the tests of billing, and what is no setting of a table but a reason not to compare
    assert {setting for setting, *_ in CHANGES} == {*TableSettings.__dataclass_fields__} - others
