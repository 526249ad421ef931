"""The process of a cold start: it imports one library, opens it, gets one item, and tells the CPU that all of it took.

Little is imported here before the library, so that each library pays for all that it needs, whenever it loads it.
"""

import sys
import time


def main() -> int:
    """Print the milliseconds since the process began, or why the library cannot do it, as JSON."""
    import asyncio
    import json
    from importlib import import_module

    from benchmarks.subjects import CannotError

    _mode, module, kind, keys, *endpoint = sys.argv[1:]
    subject = getattr(import_module(module), kind)()
    subject.prepare(1)

    async def first() -> dict[str, object]:
        try:
            if keys == "found":
                await subject.open_found(*endpoint)
            else:
                await subject.open(endpoint[0] if endpoint else None)
        except CannotError as error:
            return {"cannot": str(error)}
        await subject.get(0)
        cost = time.process_time() * 1e3
        await subject.close()
        return {"cost": cost}

    print(json.dumps(asyncio.run(first())))
    return 0
