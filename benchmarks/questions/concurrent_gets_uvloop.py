"""The same as `concurrent_gets_400`, with every library on uvloop."""

from dataclasses import replace

from benchmarks.questions.concurrent_gets_400 import QUESTION as ON_ASYNCIO

QUESTION = replace(ON_ASYNCIO, asks=f"{ON_ASYNCIO.asks}, uvloop", group="uvloop", uvloop=True, quick=False)
