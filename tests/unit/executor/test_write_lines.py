"""Lines of writes: whatever a write waits for is as urgent as that write, whoever comes and goes."""

from random import Random
from types import SimpleNamespace

import pytest

from dynamap_async import Priority
from dynamap_async.executor.batches import WriteRules
from dynamap_async.executor.calls import Call, Waiter
from dynamap_async.request import Request, Target

INTERACTIVE, BATCH, BACKGROUND = Priority
WAITING = SimpleNamespace(done=lambda: False)


class Asked(Call):
    """A call that counts how often anybody asks how urgent it is."""

    asked = 0

    @property
    def priority(self):
        Asked.asked += 1
        return super().priority


def write(priority, *items):
    targets = tuple(Target({"id": {"S": item}}, item, 1) for item in items)
    about = {"targets": targets} if len(items) > 1 else {"target": targets[0]}
    request = Request(operation="PutItem", body={}, table="t", writes=True, **about)
    return Asked(request, [Waiter(WAITING, 0.0, account=SimpleNamespace(priority=priority))])


def added(rules, call):
    """Add a call as a lane does; return what is lifted by it."""
    return [] if rules.add(call, shares=True) else list(rules.lift(call))


def test_what_stands_before_an_urgent_write_is_lifted_and_nothing_else():
    rules = WriteRules()
    first, second, other = [write(priority, item) for priority, item in ((BATCH, "a"), (BACKGROUND, "a"), (BATCH, "b"))]
    assert [added(rules, each) for each in (first, second, other)] == [[], [], []]
    urgent, behind = write(INTERACTIVE, "a"), write(BACKGROUND, "a")
    assert added(rules, urgent) == [second, first]
    assert added(rules, behind) == []
    assert [each.priority for each in (first, second, behind, other)] == [INTERACTIVE, INTERACTIVE, BACKGROUND, BATCH]


def test_a_transaction_that_is_lifted_lifts_what_it_waits_for_in_its_other_lines():
    rules = WriteRules()
    far, transaction, near, behind = [
        write(BACKGROUND, *items) for items in (("c",), ("a", "b"), ("b", "c"), ("c", "d"))
    ]
    for each in (far, transaction, near, behind):
        added(rules, each)
    assert added(rules, write(BATCH, "b")) == [near, transaction, far]
    assert behind.priority is BACKGROUND


@pytest.mark.parametrize("seed", range(10))
def test_nobody_ever_waits_for_what_is_less_urgent(seed):
    random, rules, standing, compared = Random(seed), WriteRules(), [], 0
    for _ in range(150):
        if standing and random.random() < 0.4:
            leaving = standing.pop(random.randrange(len(standing)))
            rules.remove(leaving)
        else:
            items = random.sample("abcd", random.choice([1, 1, 1, 2, 3]))
            standing.append(write(random.choice(list(Priority)), *items))
            added(rules, standing[-1])
        for place, call in enumerate(standing):
            for before in standing[:place]:
                if set(before.identities) & set(call.identities):
                    assert before.priority <= call.priority
                    compared += 1
    assert compared > 1000


def test_however_many_wait_for_one_item_each_is_looked_at_a_few_times():
    rules = WriteRules()
    for _ in range(500):
        added(rules, write(BACKGROUND, "a"))
    Asked.asked = 0
    for _ in range(500):
        added(rules, write(BATCH, "a"))
        added(rules, write(INTERACTIVE, "a"))
    assert Asked.asked < 6 * 1000
