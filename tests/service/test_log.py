"""What a session over a real connection logs: no credentials, no secret of cursors, and no item above DEBUG."""

import logging
from uuid import uuid4

import pytest

from dynamap_async import Attr, Credentials, Model, PartitionKey, RetryPolicy, SortKey, attr
from dynamap_async.errors import TransportError
from dynamap_async.testing.faults import Faults

SECRETS = {
    "access_key_id": "AKIAMARKER",
    "secret_access_key": "SECRETKEYMARKER",
    "session_token": "SESSIONTOKENMARKER",
}
CURSOR_SECRET = "CURSORSECRETMARKER"
MARKER = "ITEMMARKER"


class Note(Model, table="notes"):
    owner: PartitionKey[str]
    number: SortKey[int]
    text: Attr[str] = attr(default="")


@pytest.fixture
def faults():
    faults = Faults()
    faults.on("PutItem", times=1).throttle()
    faults.on("PutItem", nth=2).lose_answer()
    faults.on("BatchWriteItem", nth=1).leave_unprocessed(2)
    faults.on("BatchGetItem", nth=1).malformed_body()
    faults.on("GetItem").reset()
    return faults


@pytest.mark.asyncio
async def test_a_session_logs_no_secret_and_no_item_above_debug(engine, faults, caplog):
    caplog.set_level(logging.DEBUG, "dynamap_async")
    settings = {
        "credentials": Credentials(**SECRETS),
        "cursor_secret": CURSOR_SECRET,
        "retry": RetryPolicy(max_attempts=4, base_delay_seconds=0.0),
        "table_prefix": f"t{uuid4().hex[:12]}-",
    }
    async with faults.session(engine, **settings) as session:
        await session.tables.create(Note)
        await session.put(Note(owner=MARKER, number=0, text=MARKER))
        await session.put_many([Note(owner=MARKER, number=n, text=MARKER) for n in range(1, 9)])
        await session.get_many(Note, [(MARKER, n) for n in range(9)])
        query = session.query(Note).where(Note.owner == MARKER)
        page = await query.page(size=2)
        await query.page(size=2, after=page.cursor)
        with pytest.raises(TransportError):
            await session.get(Note, MARKER, 0)
    lines = [(each.levelno, each.getMessage()) for each in caplog.records if each.name.startswith("dynamap_async")]
    assert len(lines) >= 4
    assert [text for _, text in lines if any(secret in text for secret in (*SECRETS.values(), CURSOR_SECRET))] == []
    assert [text for level, text in lines if level > logging.DEBUG and MARKER in text] == []
