"""Local engines, and the rest of a test kit, for tests and trials of programs that use this library.

This package owns the engines and the sessions aimed at them, and what tests ask besides: seeds, a log of requests, a
clock that stands still, and scripted faults (``dynamap_async.testing.faults``). Nothing here needs pytest; the fixtures
made of it are in ``dynamap_async.pytest_plugin``, which pytest finds by itself.
"""

from dynamap_async.simulated import Capacity, Durations, Refusal, StreamCalls, StreamShards, Transition
from dynamap_async.testing.choice import find_engine
from dynamap_async.testing.clock import FrozenClock
from dynamap_async.testing.engine import Engine
from dynamap_async.testing.local import LocalEngine
from dynamap_async.testing.moto_engine import MotoEngine
from dynamap_async.testing.native import NativeEngine
from dynamap_async.testing.request_log import RequestLog
from dynamap_async.testing.seeding import read_items, seed
from dynamap_async.testing.virtual_clock import VirtualClockLoop

__all__ = [
    "Capacity",
    "Durations",
    "Engine",
    "FrozenClock",
    "LocalEngine",
    "MotoEngine",
    "NativeEngine",
    "Refusal",
    "RequestLog",
    "StreamCalls",
    "StreamShards",
    "Transition",
    "VirtualClockLoop",
    "find_engine",
    "read_items",
    "seed",
]
