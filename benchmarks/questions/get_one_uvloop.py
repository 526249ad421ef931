"""The same as `get_one`, with every library on uvloop."""

from dataclasses import replace

from benchmarks.questions.get_one import QUESTION as ON_ASYNCIO

QUESTION = replace(ON_ASYNCIO, asks=f"{ON_ASYNCIO.asks}, uvloop", group="uvloop", uvloop=True, quick=False)
