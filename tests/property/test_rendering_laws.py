"""An update that is filled into what was rendered for its shape is rendered as it would be for itself."""

from itertools import product
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from dynamap_async import Attr, Model, PartitionKey, Update, Version, attr
from dynamap_async.errors import DynamapError
from dynamap_async.models import definition_of
from dynamap_async.planning.context import Context


class Account(Model, table="accounts"):
    id: PartitionKey[str]
    n: Attr[int] = attr(name="number", default=0)
    m: Attr[int] = attr(default=5)
    t: Attr[str | None] = attr(default=None)
    tags: Attr[set[str]] = attr(default_factory=set)
    parts: Attr[list[str]] = attr(default_factory=list)
    counts: Attr[dict[str, int]] = attr(default_factory=dict)
    version: Version[int] = attr(default=0)


TEXTS = ["a", "b", "c"]
VALUES = st.sampled_from(list(product(TEXTS, TEXTS, range(3), range(3))))
STEPS: list[Any] = [
    lambda u, x, y, n, k: u.set(Account.t, x),
    lambda u, x, y, n, k: u.set(Account.t, None if x == "a" else x),
    lambda u, x, y, n, k: u.set(Account.n, n),
    lambda u, x, y, n, k: u.set(Account.n, Account.m + n),
    lambda u, x, y, n, k: u.add(Account.n, n),
    lambda u, x, y, n, k: u.add(Account.m, n),
    lambda u, x, y, n, k: u.set(Account.m, Account.m.if_not_exists(k)),
    lambda u, x, y, n, k: u.add(Account.tags, {x, y}),
    lambda u, x, y, n, k: u.delete(Account.tags, {x}),
    lambda u, x, y, n, k: u.set(Account.parts, Account.parts.append([x, y])),
    lambda u, x, y, n, k: u.set(Account.parts, [x]),
    lambda u, x, y, n, k: u.set(Account.counts[x], n),
    lambda u, x, y, n, k: u.remove(Account.t),
    lambda u, x, y, n, k: u.where(Account.t == x),
    lambda u, x, y, n, k: u.where((Account.n < n) | (Account.m.is_in(n, k)), Account.t.begins_with(y)),
    lambda u, x, y, n, k: u.where(~Account.tags.contains(x), Account.parts.size() > n),
    lambda u, x, y, n, k: u.expect_version(n),
    lambda u, x, y, n, k: u.upsert(),
    lambda u, x, y, n, k: u.returning("nothing"),
]


def asked(steps: Any, values: Any) -> Any:
    """Return the request of an update, or how it failed."""
    try:
        update: Any = Update(Account, "ada")
        for step, each in zip(steps, values, strict=True):
            update = step(update, *each)
        request = update.request(Context())
    except DynamapError as error:
        return type(error), str(error)
    facts = request.body, list(request.body), request.conditional, request.resendable
    return *facts, request.target.key, request.target.size_bytes


@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=5), st.data())
@settings(deadline=None, max_examples=100)
def test_a_filled_update_is_the_update_that_would_be_rendered(steps: Any, data: Any) -> None:
    definition = definition_of(Account)
    definition.compiled.clear()
    for turn in range(3):
        values = data.draw(st.lists(VALUES, min_size=len(steps), max_size=len(steps)))
        known = len(definition.compiled)
        found = asked(steps, values)
        event("filled" if turn and len(definition.compiled) == known else "rendered, or refused")
        kept = dict(definition.compiled)
        definition.compiled.clear()
        assert found == asked(steps, values)
        definition.compiled.update(kept)
