"""`dynamap consumers`: who of a group has which shard, and how it is released and reset."""

import asyncio
import json
from uuid import uuid4

import pytest

from dynamap_async import Model, PartitionKey, TableSettings

MODELS = """
from dynamap_async import Model, PartitionKey, TableSettings

class Visit(Model, table="visits", settings=TableSettings(stream="new-and-old")):
    number: PartitionKey[int]
"""


class Visited(Model, table="visits", settings=TableSettings(stream="new-and-old")):
    number: PartitionKey[int]


@pytest.fixture
def prefix(engine, project):
    """Let a group handle three changes and stop; return the prefix of its tables."""
    prefix = f"c{uuid4().hex[:8]}-"
    place = f'endpoint_url = "{engine.endpoint_url}"\ntable_prefix = "{prefix}"\n'
    (project / "dynamap.toml").write_text(f'models = ["shop.py"]\ndefault = "local"\n[env.local]\n{place}', "utf-8")
    (project / "shop.py").write_text(MODELS, "utf-8")

    async def handle_some():
        seen = asyncio.Queue()
        async with engine.session(table_prefix=prefix) as session:
            await session.tables.create(Visited)
            await session.put_many([Visited(number=number) for number in range(3)])
            worker = asyncio.create_task(session.consumer(Visited, group="search").run(seen.put))
            for _ in range(3):
                await seen.get()
            worker.cancel()
            await asyncio.wait([worker])

    asyncio.run(handle_some())
    return prefix


def test_it_tells_each_shard_of_the_group(prefix, run):
    result = run("consumers search")
    assert result.exit_code == 0, result.output
    header, line = result.stdout.splitlines()
    assert header.split() == ["TABLE", "SHARD", "STATE", "HANDLED", "UP", "TO", "WORKER"]
    assert f"{prefix}visits" in line
    assert " free " in line


def test_json_has_the_position_of_each_shard(prefix, run):
    [shard] = json.loads(run("consumers search --json").stdout)[f"{prefix}visits"]
    assert shard["state"] == "free"
    assert shard["position"].startswith("after ")


def test_a_group_that_was_reset_is_not_known_any_more(prefix, run):
    result = run("consumers search --reset --yes")
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (0, "Forgot 1 shard."), result.output
    result = run("consumers search")
    assert result.exit_code == 1
    assert f"there is no group 'search' of these tables: {prefix}visits" in result.stderr


def test_what_nobody_has_is_not_released(prefix, run):
    result = run("consumers search --release --yes")
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (0, "Freed 0 shards."), result.output


def test_release_and_reset_together_are_refused(prefix, run):
    assert run("consumers search --release --reset").exit_code == 2
