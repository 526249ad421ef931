"""Discovery: which shards a stream has, asked for at the start, now and then, and when a shard ends."""

from __future__ import annotations

import asyncio
from typing import Final

from dynamap_async.streams.requests import StreamDescription, StreamRequests
from dynamap_async.streams.shards import ShardGraph

DISCOVERY_SECONDS: Final = 30.0
"""How long after one description of a stream the next one is asked for: what was missed before is found then."""
_TRIES: Final = 10
"""How often the children of a shard that has ended are asked for: they are shown late."""
_FIRST_PAUSE_SECONDS: Final = 0.05
_LONGEST_PAUSE_SECONDS: Final = 1.0


class Discovery:
    """Finds the shards of one stream.

    Args:
        requests: asks the service.
        arn: the ARN of the stream.
        graph: learns of the shards.
    """

    def __init__(self, requests: StreamRequests, arn: str, graph: ShardGraph) -> None:
        self._requests: Final = requests
        self.arn: Final = arn
        self.graph: Final = graph

    async def refresh(self) -> StreamDescription:
        """Learn of all shards that the stream has now, and return what is known of it."""
        described = await self._requests.describe(self.arn)
        self.graph.add(described.shards)
        return described

    async def children_of(self, shard_id: str) -> bool:
        """Learn of the shards that go on from one that has ended; return whether there are any.

        They are asked for ten times in six seconds. Of a stream that was turned off there are none.

        Args:
            shard_id: the shard that has ended.
        """
        pause = _FIRST_PAUSE_SECONDS
        for number in range(_TRIES):
            if number:
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
            children = await self._requests.children(self.arn, shard_id)
            if children:
                self.graph.add(children)
                return True
        return False
