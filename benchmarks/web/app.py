"""The web service: FastAPI under uvicorn, in one process, with uvloop and httptools as `uvicorn[standard]` has them."""

import argparse
import gc
import socket
import time

import uvicorn
import uvloop
from fastapi import FastAPI

from benchmarks.web.handlers import HANDLERS, Read


def main() -> int:
    """Serve until the process is ended; the port is printed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("serving")
    parser.add_argument("library", choices=HANDLERS)
    parser.add_argument("--endpoint", required=True)
    options = parser.parse_args()
    uvloop.run(_serve(options.library, options.endpoint))
    return 0


async def _serve(library: str, endpoint: str) -> None:
    before = _tracked()
    async with HANDLERS[library](endpoint) as (model, read):
        app = FastAPI()
        app.add_api_route("/posts/{user_id}", _handler(read), response_model=model)
        tracked = _tracked() - before

        @app.get("/usage")
        async def usage() -> dict[str, float]:
            return {"cpu": time.process_time(), "tracked": tracked}

        @app.get("/freeze")
        async def freeze() -> dict[str, float]:
            gc.collect()
            gc.freeze()
            return {}

        listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
        print(listening.getsockname()[1], flush=True)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
        await server.serve(sockets=[listening])


def _handler(read: Read) -> Read:
    async def handler(user_id: str) -> object:
        return await read(user_id)

    return handler


def _tracked() -> int:
    """Return how many objects a full collection walks."""
    gc.collect()
    return len(gc.get_objects())
