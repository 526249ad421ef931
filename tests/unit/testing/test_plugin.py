"""The plugin in runs of its own: under pytest-asyncio in both modes, under anyio's plugin, and with pytest-xdist."""

import socket
from functools import partial
from importlib.metadata import entry_points

import pytest

# A run inside this one forgets the modules that it is the first to import.
import dynamap_async.testing.choice
import dynamap_async.testing.faults
import dynamap_async.testing.prepared  # noqa: F401

pytest_plugins = ["pytester"]

ACCOUNTS = """
import pytest
{imports}
from dynamap_async import Attr, Model, PartitionKey, attr


class Account(Model, table="accounts"):
    owner: PartitionKey[str]
    balance: Attr[int] = attr(default=0)


pytestmark = [pytest.mark.dynamap(models=[Account]){mark}]
"""
# Written and removed around the test in a fixture: in tasks of their own under pytest-asyncio, in one under anyio.
TESTS = """
@{fixture}
async def ada(dynamap_session):
    yield await dynamap_session.create(Account(owner="ada", balance=3))
    await dynamap_session.delete(Account, "ada")


async def test_that_uses_a_fixture(dynamap_session, ada):
    assert (await dynamap_session.get(Account, "ada")).balance == 3


@pytest.mark.parametrize("number", range(3))
async def test_with_tables_of_its_own(dynamap_session, number):
    await dynamap_session.create(Account(owner="ada"))


async def test_that_fails(dynamap_session):
    await dynamap_session.put(Account(owner="ada"))
    assert await dynamap_session.find(Account, "ada") is None
"""
MODES = {
    "strict": (["--asyncio-mode=strict"], "import pytest_asyncio", ", pytest.mark.asyncio", "pytest_asyncio.fixture"),
    "auto": (["--asyncio-mode=auto"], "", "", "pytest.fixture"),
    "anyio": (["-p", "no:asyncio"], "", ", pytest.mark.anyio", "pytest.fixture"),
    "anyio beside strict": (["--asyncio-mode=strict"], "", ", pytest.mark.anyio", "pytest.fixture"),
}


UNUSED = ["-p", "no:hypothesispytest", "-p", "no:xdist"]
"""Plugins that nothing here is about: with them, starting takes a quarter longer."""


@pytest.fixture
def run(pytester, dynamodb_endpoint, monkeypatch):
    """Run pytest inside this run, on its engine, with warnings as errors."""
    monkeypatch.setenv("DYNAMAP_ENGINE", dynamodb_endpoint)

    def run_with(*arguments, start=pytester.runpytest_inprocess):
        loop = [] if "no:asyncio" in arguments else ["-o", "asyncio_default_fixture_loop_scope=function"]
        unused = [] if "-n" in arguments else UNUSED
        return start("-p", "no:cacheprovider", "-W", "error", "-rs", *unused, *loop, *arguments)

    return run_with


@pytest.fixture
def run_apart(run, pytester):
    """Run pytest in the same way in a process of its own, which takes two seconds to start."""
    return partial(run, start=pytester.runpytest_subprocess)


@pytest.mark.parametrize("mode", MODES)
def test_sessions_open_on_the_loop_of_whichever_plugin_runs_the_test(run, pytester, tables_at, dynamodb_endpoint, mode):
    arguments, imports, mark, fixture = MODES[mode]
    anyio = mode.startswith("anyio")
    pytester.makepyfile(ACCOUNTS.format(imports=imports, mark=mark) + TESTS.format(fixture=fixture))
    before = tables_at(dynamodb_endpoint)
    result = run(*arguments)
    result.assert_outcomes(passed=4, failed=1, skipped=5 if anyio else 0)
    if anyio:
        result.stdout.fnmatch_lines(["SKIPPED *dynamap_session: sessions run on asyncio, not on trio"])
    assert tables_at(dynamodb_endpoint) == before


def test_a_session_opens_on_the_loop_that_several_tests_share(run, pytester):
    shared = """
@pytest.mark.asyncio(loop_scope="{0}")
class TestPer{0}:
    async def test_first(self, dynamap_session):
        await dynamap_session.create(Account(owner="ada"))

    async def test_second(self, dynamap_session):
        await dynamap_session.create(Account(owner="ada"))
"""
    tests = [shared.format(scope) for scope in ("function", "class", "module", "package", "session")]
    pytester.makepyfile("".join([ACCOUNTS.format(imports="", mark=""), *tests]))
    run("--asyncio-mode=strict").assert_outcomes(passed=10)


def test_a_session_opens_on_the_loop_that_the_settings_name(run, pytester):
    pytester.makepyfile(ACCOUNTS.format(imports="", mark="") + TESTS.format(fixture="pytest.fixture"))
    settings = [f"asyncio_default_{what}_loop_scope=session" for what in ("test", "fixture")]
    run("--asyncio-mode=auto", "-o", settings[0], "-o", settings[1]).assert_outcomes(passed=4, failed=1)


def test_workers_of_xdist_do_not_disturb_each_other(run_apart, pytester, tables_at, dynamodb_endpoint):
    pytester.makepyfile(ACCOUNTS.format(imports="", mark="") + TESTS.format(fixture="pytest.fixture"))
    before = tables_at(dynamodb_endpoint)
    run_apart("--asyncio-mode=auto", "-n", "2").assert_outcomes(passed=4, failed=1)
    assert tables_at(dynamodb_endpoint) == before


def test_a_test_of_two_plugins_is_refused(run, pytester):
    pytester.makepyfile(
        ACCOUNTS.format(imports="", mark=", pytest.mark.anyio") + "async def test_it(dynamap_session): pass"
    )
    result = run("--asyncio-mode=auto")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*set asyncio_mode=strict, or take one of the marks away*"])


def test_a_test_without_a_loop_is_told_how_to_get_one(run, pytester):
    pytester.makepyfile("async def test_it(dynamap_session): pass")
    result = run("-p", "no:asyncio")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*mark it with pytest.mark.anyio, or install pytest-asyncio*"])


def test_a_marker_with_another_argument_is_refused(run, pytester):
    pytester.makepyfile("import pytest\n@pytest.mark.dynamap(model=[])\nasync def test_it(dynamap_session): pass")
    result = run("--asyncio-mode=auto")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*takes models=*and seed=*, and nothing else*"])


MARKED_WRONGLY = {
    "models=Account": "models is <class *Account'>: write a list, as in [[]Account]",
    "models='Account'": "models is 'Account': write a list, as in [[]Account]",
    "models=5": "models is 5: write a list, as in [[]Account]",
    "models=iter([Account])": "models is <list_iterator *: write a list, as in [[]Account]",
    "models=['Account']": "*'Account' is not a model; write class*",
    "seed=iter([])": "seed=<list_iterator * gives its items to the first test only: write a list, or a function *",
    "seed=(each for each in ())": "seed=<generator * gives its items to the first test only: write a list, or *",
    "seed=5": "*5 cannot be seeded: give instances of models, or functions that return them",
    "seed=[[5]]": "*[[]5[]] cannot be seeded: give instances of models*",
    "seed={'Account': []}": "*'Account' cannot be seeded: give instances of models*",
    "seed=Account": "*Account'> cannot be seeded: give instances of models*",
}


def test_a_marker_with_a_wrong_value_is_refused_with_what_to_write(run, pytester):
    marked = "\n\n@pytest.mark.dynamap({})\nasync def test_{}(dynamap_session): pass"
    tests = [marked.format(wrong, number) for number, wrong in enumerate(MARKED_WRONGLY)]
    pytester.makepyfile(ACCOUNTS.format(imports="", mark="") + "".join(tests))
    result = run("--asyncio-mode=auto", "--tb=short")
    result.assert_outcomes(errors=len(MARKED_WRONGLY))
    result.stdout.fnmatch_lines([line for problem in MARKED_WRONGLY.values() for line in ("*ERROR at*", problem)])


OVERRIDDEN_WRONGLY = {
    "engine(): return LocalEngine": 'dynamap_engine is for the whole run: write @pytest.fixture(scope="session")',
    "models(): return Account": "dynamap_models is <class *Account'>: write a list, as in [[]Account]",
    "settings(): return {'transport': 5}": "dynamap_settings has 'transport': *leave it out, or open a Session(*",
    "settings(): return {'client': 5}": "dynamap_settings has 'client': *leave it out, or open a Session(*",
}


def test_a_table_that_no_marker_names_is_told_with_the_marker_to_write(run, pytester):
    calls = {
        "get": 'dynamap_session.get(Account, "ada")',
        "put": 'dynamap_session.put(Account(owner="ada"))',
        "update": 'dynamap_session.update(Account, "ada").set(Account.balance, 1)',
        "query": 'dynamap_session.query(Account).where(Account.owner == "ada")',
        "scan": "dynamap_session.scan(Account).page(size=5)",
        "many": 'dynamap_session.get_many(Account, ["ada", "bob"])',
    }
    tests = [f"async def test_{name}(dynamap_session): await {call}" for name, call in calls.items()]
    text = ACCOUNTS.format(imports="", mark="").replace("models=[Account]", "") + "\n".join(tests)
    pytester.makepyfile(text)
    result = run("--asyncio-mode=auto", "--tb=short")
    result.assert_outcomes(failed=len(calls))
    # There may be more of that name: models of tests that ran before in this process.
    told = "this test has no table 'accounts': name its model, as in @pytest.mark.dynamap(models=[[]*Account*[]])"
    result.stdout.fnmatch_lines([f"*{told}"] * len(calls))


def test_a_session_of_another_loop_scope_is_told_what_to_give_its_fixture(run, pytester):
    pytester.makepyfile("""
        import pytest_asyncio
        from dynamap_async import Session, Model, PartitionKey

        class Account(Model, table="accounts"):
            owner: PartitionKey[str]

        @pytest_asyncio.fixture(scope="session", loop_scope="session")
        async def session(dynamodb_endpoint):
            async with Session(region="eu-west-1", endpoint_url=dynamodb_endpoint) as opened:
                yield opened

        async def test_it(session):
            await session.get(Account, "ada")
    """)
    result = run("--asyncio-mode=auto", "--tb=short")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*give the fixture that opens it the loop_scope of its tests*"])


def test_a_fixture_that_gives_something_wrong_is_refused_with_what_to_write(run, pytester):
    overridden = """
class Test{1}:
    @pytest.fixture
    def dynamap_{0}

    async def test_it(self, dynamap_session): pass
"""
    tests = [
        overridden.format(wrong.replace("()", "(self)"), number) for number, wrong in enumerate(OVERRIDDEN_WRONGLY)
    ]
    pytester.makepyfile(ACCOUNTS.format(imports="", mark="") + "".join(tests))
    result = run("--asyncio-mode=auto")
    result.assert_outcomes(errors=len(OVERRIDDEN_WRONGLY))
    result.stdout.fnmatch_lines([*OVERRIDDEN_WRONGLY.values()])


def test_the_option_wins_over_the_environment(run, pytester):
    pytester.makepyfile("def test_it(dynamodb_endpoint): assert dynamodb_endpoint == 'http://db.test:8000'")
    run("--dynamap-engine=http://db.test:8000").assert_outcomes(passed=1)


HANDED_ON = """
SEEN = []


@pytest.mark.parametrize("number", range(6))
async def test_it(dynamap_session, number):
    SEEN.append(dynamap_session.tables._names.prefix)
    await dynamap_session.create(Account(owner="ada"))
    if number == 2:
        pytest.fail("on purpose")
    if number == 4:
        pytest.skip("on purpose")


def test_which_tables_they_had():
    assert [SEEN.index(each) for each in SEEN] == [0, 0, 0, 3, 3, 5]
"""


UNREACHABLE = """
@pytest.fixture(scope="session")
def dynamodb_endpoint():
    return "http://127.0.0.1:99999"


async def test_it(dynamap_session): pass
"""


def test_an_engine_that_cannot_be_reached_is_one_error_that_names_it(run, pytester):
    pytester.makepyfile(ACCOUNTS.format(imports="", mark="") + TESTS.format(fixture="pytest.fixture"))
    with socket.socket() as idle:
        idle.bind(("127.0.0.1", 0))  # and does not listen
        url = "http://{}:{}".format(*idle.getsockname())
        result = run("--asyncio-mode=auto", f"--dynamap-engine={url}")
    result.assert_outcomes(errors=5)
    result.stdout.fnmatch_lines([f"no engine can be reached at {url} (*): start it first, *--dynamap-engine or *"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_an_engine_of_the_project_that_cannot_be_reached_is_told_with_what_names_it(run, pytester):
    pytester.makepyfile(ACCOUNTS.format(imports="", mark="") + UNREACHABLE)
    result = run("--asyncio-mode=auto")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["no engine can be reached at http://127.0.0.1:99999 *the fixture dynamodb_endpoint"])


def test_a_test_that_asks_for_the_engine_in_this_process_is_skipped_on_another(run, pytester):
    pytester.makepyfile("def test_it(dynamap_engine): raise AssertionError")
    run("--dynamap-engine=moto").assert_outcomes(skipped=1)


OWN_ENGINE = """
import pytest
from dynamap_async.testing import LocalEngine


@pytest.fixture(scope="session")
def dynamap_engine():
    with LocalEngine(lag=3600) as engine:
        yield engine
"""
LATE = """
def test_the_url_is_that_of_the_engine(dynamap_engine, dynamodb_endpoint):
    assert dynamodb_endpoint == dynamap_engine.endpoint_url


async def test_the_session_is_of_the_engine(dynamap_session, dynamap_engine):
    await dynamap_session.put(Account(owner="ada"))
    assert await dynamap_session.find(Account, "ada", consistent_read=True)
    seen = [await dynamap_session.find(Account, "ada") for _ in range(50)]
    assert None in seen
    assert dynamap_engine.items(dynamap_session.table_name(Account)) == [{"owner": {"S": "ada"}, "balance": {"N": "0"}}]
"""


@pytest.mark.parametrize("beside", [True, False])
def test_an_engine_of_the_project_is_that_of_all_fixtures(run, pytester, beside):
    tests = ACCOUNTS.format(imports="", mark="") + LATE
    if beside:
        pytester.makepyfile(OWN_ENGINE + tests)
    else:
        pytester.makeconftest(OWN_ENGINE)
        pytester.makepyfile(tests)
    run("--asyncio-mode=auto").assert_outcomes(passed=2)


def test_an_engine_of_some_tests_is_not_that_of_others(run, pytester):
    test = "async def test_it(dynamap_session): assert (await dynamap_session.scan(Account).count()) == 0"
    accounts = ACCOUNTS.format(imports="", mark="")
    own = OWN_ENGINE + accounts + "async def test_it(dynamap_session, dynamap_engine): assert dynamap_engine.tables()"
    pytester.makepyfile(test_a=accounts + test, test_b=own, test_c=accounts + test)
    run("--asyncio-mode=auto").assert_outcomes(passed=3)


def test_an_engine_of_the_project_that_is_none_is_refused_with_what_to_write(run, pytester):
    wrong = OWN_ENGINE.replace("yield engine", "yield engine.endpoint_url")
    pytester.makepyfile(wrong + ACCOUNTS.format(imports="", mark="") + "async def test_it(dynamap_session): pass")
    result = run("--asyncio-mode=auto")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["dynamap_engine is 'http://*': write `with LocalEngine() as engine: yield engine`, *"])


def test_a_test_that_asks_for_the_engine_is_skipped_where_the_project_names_a_url(run, pytester):
    pytester.makepyfile(
        ACCOUNTS.format(imports="", mark="") + UNREACHABLE + "\n\ndef test_engine(dynamap_engine): raise AssertionError"
    )
    result = run("--asyncio-mode=auto", "-k", "test_engine")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(
        ["SKIPPED * project's fixture dynamodb_endpoint *; override dynamap_engine in its place"]
    )


def test_tables_are_handed_on_to_the_next_test_unless_one_breaks_off(run, pytester):
    pytester.makepyfile(ACCOUNTS.format(imports="", mark="") + HANDED_ON)
    run("--asyncio-mode=auto", "--dynamap-engine=moto").assert_outcomes(passed=5, failed=1, skipped=1)


def test_the_native_engine_is_started_by_its_name(run, pytester, native_executable):
    pytester.makepyfile(ACCOUNTS.format(imports="", mark="") + TESTS.format(fixture="pytest.fixture"))
    run("--asyncio-mode=auto", "--dynamap-engine=native").assert_outcomes(passed=4, failed=1)


IDLE = """
import sys

def test_it():
    found = [name for name in sys.modules if name.partition(".")[0] == "dynamap_async"]
    assert found == ["dynamap_async", "dynamap_async.pytest_plugin"]
    assert not {"aiobotocore", "aiohttp", "boto3", "flask", "moto", "pydantic"} & {*sys.modules}
"""


def test_a_run_that_does_not_use_the_plugin_imports_nothing_but_the_plugin(run_apart, pytester):
    pytester.makepyfile(IDLE)
    result = run_apart("--strict-markers", "--strict-config")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["plugins: *dynamap*"])


def test_modules_of_the_package_are_used_as_they_were_compiled_before(run_apart, pytester):
    pytester.makepyfile(
        """
        import sys

        def test_it(dynamap_faults):
            loader = sys.modules["dynamap_async.testing.faults"].__loader__
            assert "pytest" not in type(loader).__module__, loader
        """
    )
    run_apart().assert_outcomes(passed=1)


def test_help_markers_and_fixtures_show_what_the_plugin_offers(run, pytester):
    title, option = "DynamoDB for tests (dynamap_async):", "  --dynamap-engine=memory|moto|native|URL"
    run("--help").stdout.fnmatch_lines([title, option])
    run("--markers").stdout.fnmatch_lines(["@pytest.mark.dynamap(models=(), seed=None): the models whose tables *"])
    run("--fixtures").stdout.fnmatch_lines(["dynamap_session -- *", "*An open session *"])


def test_pytest_finds_the_plugin_by_its_entry_point():
    (found,) = entry_points(group="pytest11", name="dynamap")
    assert found.module == "dynamap_async.pytest_plugin"
