"""`dynamap demo` as a user starts it: the console entry point, in a process of its own."""

import ast
import json
import os
import re
import signal
import socket
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path
from textwrap import indent

import boto3
import pytest

import dynamap_async
from dynamap_async.cli.demo._story import STEPS
from dynamap_async.cli.demo.scenario import words_of
from dynamap_async.cli.demo.scenarios import SCENARIOS, chat, devices, forum, sessions
from dynamap_async.cli.demo.work import put_all
from dynamap_async.models import Model, definition_of
from dynamap_async.testing import LocalEngine

TIMEOUT_SECONDS = 300
DYNAMAP = Path(sysconfig.get_path("scripts")) / "dynamap"
PUBLISHED = Path(__file__).parents[1] / "scenarios" / "data"
CHECKOUT = Path(__file__).parents[2]
ESCAPE = "\x1b"
INSTALL = "pip install 'dynamap-async[cli]'"
# Everything in the environment that changes how a terminal program looks, or where AWS is.
UNWANTED = re.compile(r"AWS_.*|.*COLOR.*|COLUMNS|LINES|TERM|TTY_.*|GITHUB_ACTIONS|PYTHONWARNINGS|PYTHONIOENCODING")

# Question -> the scenario's folder, and the published request that it is.
ASKED = {
    forum.threads_of_a_forum: ("forum-product-catalog", "threads-in-forum"),
    forum.threads_by_subject: ("forum-product-catalog", "thread-subject-prefix"),
    forum.threads_by_last_post: ("forum-product-catalog", "lsi-recent-first"),
    forum.threads_posted_to_late_in_september: ("forum-product-catalog", "lsi-between"),
    forum.latest_replies: ("forum-product-catalog", "replies-of-thread-after"),
    forum.replies_of_an_author: ("forum-product-catalog", "replies-by-user"),
    forum.replies_of_an_author_in_a_thread: ("forum-product-catalog", "replies-by-user-prefix"),
    forum.cheap_books_in_print: ("forum-product-catalog", "books-in-print-under-100"),
    forum.red_bicycles: ("forum-product-catalog", "red-bikes"),
    forum.products_by_price: ("forum-product-catalog", "price-between-100-400"),
    forum.forums_without_a_count: ("forum-product-catalog", "no-threads-counter"),
    devices.warnings_by_filter: ("device-state-log", "filter-version"),
    devices.warnings_by_key: ("device-state-log", "composite-key-version"),
    devices.states_of_an_operator: ("device-state-log", "operator-between-dates"),
    devices.escalations: ("device-state-log", "escalated"),
    devices.escalations_of_a_day: ("device-state-log", "escalated-state-date"),
    devices.escalations_of_another_level: ("device-state-log", "escalated-other-state"),
    sessions.children_of_a_session: ("session-management", "children"),
    sessions.parent_of_a_child: ("session-management", "session-by-child"),
    sessions.sessions_of_a_customer: ("session-management", "sessions-by-customer"),
    sessions.one_session_of_a_customer: ("session-management", "one-session-of-customer"),
    sessions.first_session_of_a_customer: ("session-management", "last-login"),
    chat.comments_in_a_room: ("chat", "all-in-room"),
    chat.latest_comments: ("chat", "latest-10"),
    chat.comments_since: ("chat", "from-position"),
    chat.comments_of_half_a_minute: ("chat", "between"),
    chat.comments_of_a_user: ("chat", "user-items"),
    chat.creator_of_a_room: ("chat", "room-meta"),
}

# Runs `dynamap` with a place where it stops and waits: before a step of the engine, or before the answer of the fifth
# request of a kind. At the end it tells which threads are alive.
STOPPING_DRIVER = """
import asyncio, signal, sys, threading
from dynamap_async.cli import main
from dynamap_async.testing import LocalEngine
from dynamap_async.transport import WireTransport

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background of a shell ignores the signal
place, sys.argv = sys.argv[1], ["dynamap", *sys.argv[2:]]
start, send, requests = LocalEngine._start, WireTransport.send, []

def stopping_start(self):
    port = start(self)
    if place == "engine":
        print("WAITING", flush=True)
        threading.Event().wait()
    return port

async def stopping_send(self, request):
    requests.append(request.operation)
    if request.operation == place and requests.count(place) == (1 if place.startswith("Batch") else 5):
        print("WAITING", flush=True)
        await asyncio.sleep(3600)
    return await send(self, request)

LocalEngine._start, WireTransport.send = stopping_start, stopping_send
try:
    main()
finally:
    print("THREADS", *(thread.name for thread in threading.enumerate()))
"""

HIDING_DRIVER = """
import sys
sys.modules[sys.argv[1]] = None  # as if it were not installed
sys.argv = ["dynamap", *sys.argv[2:]]
from dynamap_async.cli import main
main()
"""


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if not UNWANTED.fullmatch(name)}
    return kept | {"AWS_EC2_METADATA_DISABLED": "true", "PYTHONIOENCODING": "utf-8"} | more


def run(*command, **more):
    return subprocess.run(
        list(map(str, command)),
        capture_output=True,
        encoding="utf-8",
        env=environment(**more),
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


def interrupted(place, *arguments):
    """Run the demo up to a place, press Ctrl-C there, and return its exit status, output and errors."""
    command = [sys.executable, "-W", "always::ResourceWarning", "-c", STOPPING_DRIVER, place, *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", env=environment()
    ) as process:
        try:
            while "WAITING" not in process.stdout.readline():
                assert process.poll() is None, process.stderr.read()
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=TIMEOUT_SECONDS)
        finally:
            process.kill()
    return process.returncode, output, errors


def expected(question):
    folder, name = ASKED[question]
    requests = json.loads((PUBLISHED / folder / "expected.json").read_text("utf-8"))
    return next(request for request in requests if request["id"] == name)


@pytest.fixture(scope="module")
def shown():
    """Return what the tour shows."""
    return run(DYNAMAP, "demo", "--all")


@pytest.fixture(scope="module")
def told_at():
    """Return what gives the story on a pipe, at a width in columns; each process takes seconds to start."""
    return cache(lambda width: run(DYNAMAP, "demo", COLUMNS=width))


@pytest.fixture(scope="module")
def chat_at():
    """Return what gives the tour of one scenario on a pipe, at a width in columns."""
    return cache(lambda width: run(DYNAMAP, "demo", "--scenario", "chat", COLUMNS=width))


@pytest.fixture
def told(told_at):
    """Return the story where nothing tells a width."""
    return told_at("")


def test_story_succeeds_and_says_nothing_on_stderr(told):
    assert (told.returncode, told.stderr) == (0, "")


def test_story_has_five_steps_on_one_screen(told):
    assert re.findall(r"^(\d)  \w", told.stdout, re.MULTILINE) == list("12345")
    assert len(told.stdout.splitlines()) <= 60


@pytest.mark.parametrize(
    "seen",
    [
        "-> Order(user='ada', number=7, city='Rome'); sent: 40 BatchWriteItem, 1 GetItem",
        "-> 1,000 orders; sent: 10 BatchGetItem",
        "-> 10 orders through by-city; sent: 1 Query",
        "-> sent: nothing; NoIndexError: the query on Order has no equality condition",
        "-> VersionConflictError: UpdateItem of Account with owner='ada' on table 'accounts': it is based on",
        "-> sent: 10 GetItem; CapacityBudgetExceededError: GetItem on orders was not sent:",
    ],
)
def test_story_shows_what_really_happened(told, seen):
    assert seen in " ".join(told.stdout.split())


def test_story_shows_the_code_that_runs(told):
    lines = {line.strip() for line in told.stdout.splitlines()}
    for piece in (piece for step in STEPS for piece in step.pieces):
        ast.parse(piece.source if isinstance(piece.code, type) else f"async def f():\n{indent(piece.source, ' ')}")
        assert {line.strip() for line in piece.source.splitlines() if line} <= lines
    assert 'await session.get(Order, "ada", 7)' in lines


@pytest.mark.parametrize("width", ["40", "", "120", "200"])
def test_story_fits_the_width_and_has_no_control_codes_on_a_pipe(told_at, width):
    shown = told_at(width)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert ESCAPE not in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= min(int(width or 80), 140)
    assert int(width or 80) < 80 or re.findall(r"[ \t]$", shown.stdout, re.MULTILINE) == []


def test_story_has_its_results_beside_the_code_on_a_wide_terminal(told_at):
    shown = told_at("120").stdout
    [line] = (line for line in shown.splitlines() if "session.gather" in line)
    assert line.endswith("-> 1,000 orders; sent: 10 BatchGetItem")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals on Windows")
@pytest.mark.parametrize(("more", "colors"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_story_has_colors_on_a_terminal_unless_they_are_declined(more, colors):
    status, shown = on_a_terminal("demo", **more)
    assert status == 0
    assert bool(re.search(rb"\x1b\[(3\d|9\d)m", shown)) is colors


def questions_of(*scenarios):
    return [question for scenario in scenarios for question in scenario.questions]


def test_every_question_is_compared_with_a_published_request():
    assert list(ASKED) == questions_of(*SCENARIOS.values())


def test_demo_succeeds_and_says_nothing_on_stderr(shown):
    assert (shown.returncode, shown.stderr) == (0, "")


def test_every_question_is_answered_with_the_published_number_of_items(shown):
    found = re.findall(r"(\d+) items? found, (\d+) read, 1 request, [\d.]+ read units?$", shown.stdout, re.MULTILINE)
    published = [expected(question) for question in ASKED]
    said = [request["expect"] for request in published]
    read = [
        (request.get("limit") and min(request["limit"], said["count"]))
        or said.get("scanned", said.get("scanned_without_limit"))
        for request, said in zip(published, said, strict=True)
    ]
    assert found == [(str(each["count"]), str(count)) for each, count in zip(said, read, strict=True)]


def test_every_question_is_shown_in_its_words_with_the_index_that_was_chosen(shown):
    blocks = re.split(r"^ ?\d+  ", shown.stdout, flags=re.MULTILINE)[1:]
    for block, question in zip(blocks, ASKED, strict=True):
        asked, way, *_ = block.splitlines()
        request = expected(question)
        assert asked.strip() == words_of(question)[0]
        if request["op"] == "Scan":
            assert way.strip().startswith("Scan of")
        elif question is not sessions.one_session_of_a_customer:  # the source asks the index, the planner the table
            assert (request["index"] or "through the table") in way


def test_units_of_filter_and_composite_key_are_those_that_the_source_prints(shown):
    blocks = {words_of(question)[0]: question for question in ASKED}
    for question, units in ((devices.warnings_by_filter, "1.5"), (devices.warnings_by_key, "0.5")):
        asked = next(text for text, each in blocks.items() if each is question)
        assert f"{units} read units" in shown.stdout.split(asked)[1].splitlines()[2]


def test_demo_ends_with_what_to_read_next(shown):
    last = shown.stdout.split("Read next\n")[1]
    pages = re.findall(r"^(docs/\S+)", last, re.MULTILINE)
    assert pages
    assert all((CHECKOUT / page).is_file() for page in pages)
    models = Path(last.strip().splitlines()[-1])
    assert {f"{name}.py" for name in SCENARIOS} <= {path.name for path in models.iterdir()}


def test_output_is_the_same_each_time_apart_from_timings(shown):
    def timeless(text):
        return re.sub(r"\d+\.\d\d s *$", "", text, flags=re.MULTILINE)

    assert timeless(run(DYNAMAP, "demo", "--all").stdout) == timeless(shown.stdout)


@pytest.mark.parametrize("width", ["", "20", "120"])
def test_output_to_a_file_has_no_control_codes_and_fits_the_width(chat_at, width):
    shown = chat_at(width)
    assert (shown.returncode, shown.stderr) == (0, "")
    *lines, path = shown.stdout.splitlines()
    assert ESCAPE not in shown.stdout
    assert "\r" not in shown.stdout
    assert max(map(len, lines)) <= int(width or 80)
    assert path.endswith("scenarios")  # never broken, so that it can be copied


def test_terminal_that_draws_no_lines_gets_plain_characters():
    shown = run(DYNAMAP, "demo", "--scenario", "chat", PYTHONIOENCODING="ascii")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.isascii()


def test_reader_that_leaves_early_ends_the_demo_quietly():
    reader = "import sys; sys.stdout.write(sys.stdin.readline())"
    with (
        subprocess.Popen([DYNAMAP, "demo"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as demo,
        subprocess.Popen([sys.executable, "-c", reader], stdin=demo.stdout, stdout=subprocess.DEVNULL),
    ):
        demo.stdout.close()
        assert demo.stderr.read() == b""
        assert demo.wait(TIMEOUT_SECONDS) == 1


def on_a_terminal(*arguments, **more):
    """Run `dynamap` on a terminal of 80 columns, and return its exit status and what it wrote."""
    import pty

    terminal, end = pty.openpty()
    process = subprocess.Popen(
        [DYNAMAP, *arguments],
        stdin=end,
        stdout=end,
        stderr=end,
        env=environment(TERM="xterm-256color", COLUMNS="80", **more),
    )
    os.close(end)
    shown = b""
    try:
        while piece := os.read(terminal, 65536):
            shown += piece
    except OSError:  # Linux tells the end of a terminal like this
        pass
    finally:
        os.close(terminal)
    return process.wait(TIMEOUT_SECONDS), shown


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals on Windows")
@pytest.mark.parametrize(("more", "colors"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_terminal_shows_progress_and_colors_unless_they_are_declined(more, colors):
    status, shown = on_a_terminal("demo", "--scenario", "chat", **more)
    assert status == 0
    assert b"8/8" in shown
    assert bool(re.search(rb"\x1b\[(3\d|9\d)m", shown)) is colors


def test_settings_of_the_environment_do_not_reach_the_engine_in_the_process():
    nowhere = "http://127.0.0.1:9"
    aws = {"AWS_PROFILE": "none-of-that-name", "AWS_CA_BUNDLE": "none", "AWS_ENDPOINT_URL": nowhere}
    proxies = {"HTTP_PROXY": nowhere, "http_proxy": nowhere, "NO_PROXY": "", "no_proxy": ""}
    shown = run(DYNAMAP, "demo", "--scenario", "chat", **aws, **proxies)
    assert (shown.returncode, shown.stderr) == (0, "")


def numbers_of(scenario):
    return [str(number) for number, _ in enumerate(scenario.questions, 1)]


def test_single_scenario_shows_its_questions_only(chat_at):
    assert re.findall(r"^ ?(\d+)  ", chat_at("").stdout, re.MULTILINE) == numbers_of(chat.SCENARIO)


def test_explain_shows_each_plan_with_its_request():
    shown = run(DYNAMAP, "demo", "--scenario", "sessions", "--explain", COLUMNS="1000").stdout
    assert re.findall(r"^ ?(\d+)  ", shown, re.MULTILINE) == numbers_of(sessions.SCENARIO)
    assert shown.count("key condition") == shown.count("KeyConditionExpression") == len(sessions.SCENARIO.questions)


@pytest.mark.parametrize("place", ["engine", "CreateTable", "BatchWriteItem", "Query"])
def test_interrupt_stops_everything_with_one_line(place):
    status, output, errors = interrupted(place, "demo", "--all")
    assert (status, errors) == (130, "Interrupted: everything is stopped, nothing is left running.\n")
    assert output.splitlines()[-1] == "THREADS MainThread"


def test_interrupt_stops_the_story_with_one_line():
    status, output, errors = interrupted("BatchGetItem", "demo")
    assert (status, errors) == (130, "Interrupted: everything is stopped, nothing is left running.\n")
    assert output.splitlines()[-1] == "THREADS MainThread"


def tables_of(endpoint_url):
    client = boto3.client(
        "dynamodb",
        endpoint_url=endpoint_url,
        region_name="eu-west-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
    )
    names = client.list_tables()["TableNames"]
    client.close()
    return names


@pytest.mark.parametrize("which", [[], ["--all"]], ids=["story", "tour"])
def test_named_engine_is_used_and_left_without_the_demo_s_tables(which):
    with LocalEngine() as engine:
        shown = run(DYNAMAP, "demo", *which, "--engine", engine.endpoint_url)
        assert (shown.returncode, shown.stderr) == (0, "")
        assert engine.endpoint_url in shown.stdout
        assert tables_of(engine.endpoint_url) == []


@pytest.mark.parametrize("place", ["CreateTable", "BatchWriteItem", "Query"])
def test_interrupt_deletes_the_tables_on_a_named_engine(place):
    with LocalEngine() as engine:
        status, _, errors = interrupted(place, "demo", "--all", "--engine", engine.endpoint_url)
        assert (status, errors.count("\n")) == (130, 1)
        assert tables_of(engine.endpoint_url) == []


def test_engine_that_does_not_answer_is_one_line_with_a_remedy():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # taken, and nobody listens
        failed = run(DYNAMAP, "demo", "--engine", f"http://127.0.0.1:{closed.getsockname()[1]}")
    assert failed.returncode == 1
    assert failed.stderr.count("\n") == 1
    assert "leave out --engine to use one in this process" in failed.stderr


@pytest.mark.parametrize("url", ["somewhere", "http://[", "ftp://127.0.0.1"])
def test_engine_that_is_no_address_is_one_line_with_a_remedy(url):
    failed = run(DYNAMAP, "demo", "--engine", url)
    assert (failed.returncode, failed.stderr.count("\n")) == (1, 1)
    assert "address" in failed.stderr or "must look like" in failed.stderr


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_missing_package_is_one_line_that_names_the_command_to_install_it(package):
    failed = run(sys.executable, "-c", HIDING_DRIVER, package, "demo")
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr.count("\n") == 1
    assert failed.stderr.endswith(f"{INSTALL}\n")


@pytest.mark.parametrize(
    ("arguments", "status", "texts"),
    [
        (["--version"], 0, [f"dynamap_async {dynamap_async.__version__}"]),
        (["--help"], 0, ["demo", "--version"]),
        (["demo", "--help"], 0, ["--all", "--scenario", "--engine", "--explain", *SCENARIOS]),
        (["demo", "--scenario", "nonsense"], 2, ["'nonsense'", *SCENARIOS]),
        (["nonsense"], 2, ["nonsense"]),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else None,
)
def test_command_line_says(arguments, status, texts):
    said = run(DYNAMAP, *arguments)
    assert said.returncode == status
    assert all(text in said.stdout + said.stderr for text in texts)
    assert ESCAPE not in said.stdout + said.stderr
    assert "Traceback" not in said.stderr


def keys_of(question, found):
    [folder, _] = ASKED[question]
    for item in found:
        if isinstance(item, Model):
            yield [next(iter(value.values())) for value in definition_of(type(item)).key_of(item).values()]
        else:  # the selected fields begin with the key
            assert folder == "forum-product-catalog"
            yield list(item[:2])


@pytest.mark.asyncio
@pytest.mark.parametrize("name", SCENARIOS)
async def test_questions_give_the_published_items_in_order(name, session):
    scenario = SCENARIOS[name]
    await session.tables.create(*scenario.models)
    await put_all(session, scenario.items(), lambda: None)
    for question in scenario.questions:
        said = expected(question)["expect"]
        found = list(keys_of(question, await question(session)))
        ordered = found if said["order"] == "exact" else sorted(found)
        assert ordered == said["primary_keys"], question.__name__
