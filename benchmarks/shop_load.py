"""Load on the example application: does it answer everybody, keep its memory, and leave nothing behind?

``python benchmarks/shop_load.py --connections 500 --seconds 60``. The shop (docs/examples/shop), the engine and the
clients are three processes of this machine, so the rate says what this machine does, and no more. What to look at are
errors, memory, requests to DynamoDB for each handled request, and what is left when the shop closes.
"""

import argparse
import asyncio
import json
import random
import socket
import sys
import time
from collections import Counter
from decimal import Decimal
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import uvicorn

from dynamap_async import Credentials, Session
from dynamap_async.testing.choice import running_engine

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path += [str(CHECKOUT / "docs" / "examples"), str(CHECKOUT)]

# Orders of one product wait for each other, so there are many, as in a shop.
PRODUCTS = [f"kind-{number}" for number in range(200)]
GRAPHQL = {"query": '{customer(customerId: "bob") {name}}'}
MIXES = {  # of 20 requests
    "reads": {"read": 20},
    "shop": {"read": 14, "list": 3, "page": 1, "graphql": 1, "order": 1},
}


def open_sockets() -> int:
    """Return how many sockets this process has."""
    links = Path("/proc/self/fd").iterdir()
    return sum(link.is_symlink() and str(link.readlink()).startswith("socket:") for link in links)


def memory_mib(process: int) -> float:
    """Return the resident memory of a process."""
    status = Path(f"/proc/{process}/status").read_text("utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


async def serve(endpoint_url: str) -> None:
    """Serve until the standard input ends; print the port, and at the end the account."""
    from shop.app import make_app
    from shop.models import Category, Product
    from shop.seed import prepare

    made: list[Session] = []

    def make_session() -> Session:
        credentials = Credentials(access_key_id="local", secret_access_key="local")
        made.append(Session(region="eu-west-1", endpoint_url=endpoint_url, credentials=credentials))
        return made[-1]

    async with make_session() as session:
        await prepare(session)
        await session.put_many(
            Product(product_id=each, name=each, category=Category.CHOCOLATE, price=Decimal(2), stock=10**9)
            for each in PRODUCTS
        )
    sockets = open_sockets()
    # By its protocol asyncio knows a TCP connection; only then it turns Nagle's algorithm off, which costs 40 ms each.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen(2048)
    print(listening.getsockname()[1], flush=True)
    # A client that gets no processor for five seconds, uvicorn's default, would write on connections just closed.
    config = uvicorn.Config(make_app(make_session), log_level="error", ws="none", timeout_keep_alive=120)
    server = uvicorn.Server(config)
    processor = time.process_time()

    def leave() -> None:
        asyncio.get_running_loop().remove_reader(sys.stdin)
        server.should_exit = True

    asyncio.get_running_loop().add_reader(sys.stdin, leave)
    await server.serve([listening])
    processor = time.process_time() - processor
    left = {"tasks": len(asyncio.all_tasks()) - 1, "sockets": open_sockets() - sockets}
    statistics = made[-1].statistics()
    print(
        json.dumps({"sent": statistics.requests, "retries": statistics.retries, "processor": processor, **left}),
        flush=True,
    )


async def ask(client: httpx.AsyncClient, kind: str) -> int:
    """Send one request, and return the answer's status."""
    match kind:
        case "read":
            answer = await client.get(f"/api/products/{random.choice(PRODUCTS)}")
        case "list":
            answer = await client.get("/api/products?category=tea")
        case "page":
            answer = await client.get("/")
        case "graphql":
            answer = await client.post("/api/graphql", json=GRAPHQL)
        case _:
            wanted = {"customer_id": "bob", "counts": {random.choice(PRODUCTS): 1}}
            answer = await client.post("/api/orders", json=wanted)
    return answer.status_code


async def drive(
    port: int, process: int, arguments: argparse.Namespace
) -> tuple[Counter[str], list[float], dict[str, str]]:
    """Keep all connections busy; return the answers by status, the server's memory each second, and the latencies."""
    answers: Counter[str] = Counter()
    memory: list[float] = []
    waited: dict[str, list[float]] = {}
    until = time.monotonic() + arguments.seconds
    kinds = [kind for kind, share in MIXES[arguments.mix].items() for _ in range(share)]
    random.Random(7).shuffle(kinds)
    turns = cycle(kinds)

    # A client for each connection: to find a free one among many takes httpx's pool more time than the request itself.
    tls = httpx.create_ssl_context()

    async def keep_asking() -> None:
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", verify=tls, timeout=30, trust_env=False
        ) as client:
            while time.monotonic() < until:
                kind, begun = next(turns), time.monotonic()
                try:
                    answers[f"{kind} {await ask(client, kind)}"] += 1
                except httpx.HTTPError as error:
                    answers[f"{kind} {type(error).__name__}"] += 1
                waited.setdefault(kind, []).append(time.monotonic() - begun)

    async def watch() -> None:
        while time.monotonic() < until:
            memory.append(memory_mib(process))
            await asyncio.sleep(1)

    async with asyncio.TaskGroup() as group:
        group.create_task(watch())
        for _ in range(arguments.connections):
            group.create_task(keep_asking())
    waits = {kind: f"{median(each):.2f} {max(each):.2f}" for kind, each in sorted(waited.items())}
    return answers, memory, waits


async def load(endpoint_url: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Start the shop as a process of its own, drive it, close it, and return the figures."""
    pipe = asyncio.subprocess.PIPE
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, __file__, "--serve", endpoint_url), stdin=pipe, stdout=pipe
    )
    port = int(await program.stdout.readline())
    answers, memory, waits = await drive(port, program.pid, arguments)
    program.stdin.close()
    account = json.loads(await program.stdout.read())
    await program.wait()
    handled = answers.total()
    return {
        "answers": dict(sorted(answers.items())),
        "handled per second": round(handled / arguments.seconds),
        "seconds to the answer, median and longest": waits,
        "sent again": account["retries"],
        "sent to DynamoDB for each handled": round(account["sent"] / handled, 3),
        "processor ms of the shop for each handled": round(account["processor"] / handled * 1000, 2),
        "memory MiB, by fifths of the time": [round(each) for each in memory[:: max(1, len(memory) // 5)][:6]],
        "left: tasks": account["tasks"],
        "left: sockets": account["sockets"],
    }


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Load on the example application.")
    parser.add_argument("--serve", metavar="URL", help=argparse.SUPPRESS)
    parser.add_argument("--engine", default="native", help="moto, native or a URL")
    parser.add_argument("--connections", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--mix", choices=MIXES, default="shop")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    arguments = parser.parse_args()
    if arguments.serve:
        asyncio.run(serve(arguments.serve))
        return
    with running_engine(arguments.engine) as endpoint_url:
        figures = asyncio.run(load(endpoint_url, arguments))
    for name, figure in figures.items():
        print(f"{name}: {figure}")
    if arguments.json is not None:
        write(arguments.json, figures)


def write(path: Path, figures: dict[str, Any]) -> None:
    """Write the figures, and what they were measured with."""
    from benchmarks.results import git, machine

    made = {"command": " ".join(["python", *sys.argv]), "commit": git("rev-parse", "HEAD"), "machine": machine()}
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    path.write_text(json.dumps({**made, "when": when, "figures": figures}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
