"""A simulated DynamoDB in this process. It stands apart from the code that it tests."""

from __future__ import annotations

from dynamap_async.simulated.durations import Durations
from dynamap_async.simulated.expiry import LONGEST_SECONDS as LONGEST_EXPIRY_SECONDS
from dynamap_async.simulated.operations import SimulatedDynamoDB
from dynamap_async.simulated.server import Server
from dynamap_async.simulated.service import SEED
from dynamap_async.simulated.sharding import StreamCalls, StreamShards
from dynamap_async.simulated.states import Transition
from dynamap_async.simulated.store import Snapshot
from dynamap_async.simulated.supplies import Capacity, Refusal

__all__ = [
    "LONGEST_EXPIRY_SECONDS",
    "SEED",
    "Capacity",
    "Durations",
    "Refusal",
    "Server",
    "SimulatedDynamoDB",
    "Snapshot",
    "StreamCalls",
    "StreamShards",
    "Transition",
]
