"""The same as `query_100`, with every library on uvloop."""

from dataclasses import replace

from benchmarks.questions.query_100 import QUESTION as ON_ASYNCIO

QUESTION = replace(ON_ASYNCIO, asks=f"{ON_ASYNCIO.asks}, uvloop", group="uvloop", uvloop=True, quick=False)
