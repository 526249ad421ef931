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
    parser.add_argument("handler", choices=HANDLERS)
    parser.add_argument("--endpoint", required=True)
    options = parser.parse_args()
    uvloop.run(_serve(options.handler, options.endpoint))
    return 0


async def _serve(handler: str, endpoint: str) -> None:
    before = _tracked()
    async with HANDLERS[handler](endpoint) as (model, read):
        app = FastAPI()
        app.add_api_route("/posts/{user_id}", _route(read), response_model=model)
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


def _route(read: Read) -> Read:
    async def route(user_id: str) -> object:
        return await read(user_id)

    return route


def _tracked() -> int:
    """Return how many objects a full collection walks."""
    gc.collect()
    return len(gc.get_objects())
