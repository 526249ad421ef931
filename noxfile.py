"""The checks of this project; a session is a promise. `nox` without arguments keeps them all, as CI does."""

import atexit
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import nox

nox.needs_version = ">=2026.2"
nox.options.default_venv_backend = "virtualenv"  # comes with nox, so a machine with only Python and pip can run it

PROJECT = nox.project.load_toml("pyproject.toml")
# CI has both; elsewhere an absent one is reported as skipped, and the Python that runs nox always takes part.
PYTHONS = sorted({"3.11", "3.13", f"{sys.version_info.major}.{sys.version_info.minor}"})
ON_CI = os.environ.get("CI") == "true"
WHEELS: dict[tuple[Path, bool], Path] = {}
"""What was built: (Python, whether it may find a compiler) -> the wheel."""


def runs(python: str | Path) -> bool:
    """Return whether this is a Python, and no shim that leads nowhere."""
    try:
        return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def temporary_folder(prefix: str) -> str:
    """Make a folder that is removed when nox ends."""
    folder = tempfile.mkdtemp(prefix=prefix)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def find_pythons_of_pyenv() -> None:
    """Put each of PYTHONS that only pyenv has on PATH.

    Only that one name is linked: pyenv's own folder on PATH would also change which Python `python3` is.
    """
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv", "versions")
    folder = temporary_folder("dynamap-pythons-")
    for version in PYTHONS:
        name = f"python{version}"
        installed = [] if runs(name) else filter(runs, sorted(versions.glob(f"{version}.*/bin/{name}")))
        for python in installed:
            Path(folder, name).symlink_to(python)
            break
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"


find_pythons_of_pyenv()

# What reads or writes items: all else is the same without the native codec. Of the tests of concurrency these run over
# connections; all others are given dicts, which the codec in Python reads in any case.
PURE_TESTS = (
    *(f"tests/unit/{room}" for room in ("codec", "models", "native", "transport")),
    *("tests/property", "tests/contract", "tests/service"),
    *(
        f"tests/concurrency/test_{name}.py"
        for name in ("batch_cancellation", "batch_failures", "coalescing", "transactions", "writes_in_flight")
    ),
)
# Programs in processes of their own, and tables: what they read and write takes the same way as elsewhere.
PURE_LEAVES_OUT = tuple(
    f"--ignore=tests/service/test_{name}.py"
    for name in ("awslambda", "demo", "local_engine", "slow_tables", "table_plans")
)
ONE_ENGINE = ("-k", "not [memory")
# Of the processes in which `dynamap demo` runs, these fall to the newest Python, and all others to the lowest versions:
# Pythons differ in how they pass on an interrupt, releases of Typer and Rich in what they show.
INTERRUPTS = ("-k", "not [memory and not (test_demo and not interrupt)")
SHOWN = ("-k", "not [memory and not (test_demo and interrupt)")
READS_SOURCES = ("distance", "documentation", "logging", "objects", "outside_changes", "parameters_documented", "words")
# How much gets done before a simulated table, on a clock that jumps: minutes of it, and all that takes part has tests.
SIMULATED = ("benchmarks/test_situations", "concurrency/test_harmless_pacing")
SIMULATED_LEFT_OUT = tuple(f"--ignore=tests/{name}.py" for name in SIMULATED)
# The same on any Python; test_chance.py runs pytest, a dozen times.
OF_ANY_PYTHON = (
    tuple(f"--ignore=tests/{name}.py" for name in (f"architecture/test_{each}" for each in ("chance", *READS_SOURCES)))
    + SIMULATED_LEFT_OUT
)
BUILT_ON_OTHERS = (
    *("tests/unit", "tests/contract", "tests/service", "tests/property/test_codec_laws.py"),
    *("tests/property/test_model_laws.py", "tests/architecture/test_imports.py"),
    *("tests/concurrency/test_awaiting.py", "tests/concurrency/test_loops.py"),  # anyio
)

# In any order, without sockets but those that asyncio itself needs, each test twice, and once more where it fails.
BESIDE_OTHERS = ("--disable-socket", "--allow-unix-socket", "--count=2", "--reruns=1", "--timeout=60")

RUN_THREADS = ("hypothesis", "pytest")
TURNS_NO_LOCK_ON = """
import sys
from dynamap_async import native

assert native.ACTIVE, "the native codec was not built"
assert not sys._is_gil_enabled(), "this is no free-threaded Python"
"""

OPENS_A_SESSION = """
import asyncio, aioboto3
from dynamap_async import Session

async def main():
    aio_session = aioboto3.Session("local", "local", region_name="eu-west-1")._session
    async with Session(aio_session=aio_session, endpoint_url="http://127.0.0.1:8000"):
        pass

asyncio.run(main())
"""


def built_wheel(session: nox.Session, *, compiler: bool = True) -> Path:
    """Return the wheel for a session: what is tested is what users install.

    Each Python builds it once, whichever session comes first: with the native codec, if it may find a compiler.
    """
    python = Path(session.bin, "python")
    built = (python.resolve(), compiler)  # a session's own leads to the one that it was made from
    if built not in WHEELS:
        folder = temporary_folder("dynamap-wheel-")
        environment = {**os.environ, **({} if compiler else {"CC": "false"})}
        # What a build says, pip passes on with -v only.
        command = [str(python), "-m", "pip", "wheel", "-q" if compiler else "-v", "--no-deps", "-w", folder, "."]
        said = nox.command.run(command, env=environment, silent=not compiler)
        if not compiler and str(said).count("the native codec was not built") != 1:
            session.error(f"a build without a compiler does not say so once: {said}")
        WHEELS[built] = next(Path(folder).glob("*.whl" if compiler else "*-none-any.whl"))
    return WHEELS[built]


def group(name: str) -> list[str]:
    """Return the requirements of a dependency group of pyproject.toml."""
    return nox.project.dependency_groups(PROJECT, name)


def install(session: nox.Session, *requirements: str) -> None:
    """Install without compiling: what programs import, they compile themselves, and keep."""
    session.install("--no-compile", *requirements)
    # Containers often turn caches of compiled modules off: then each process would compile all of it anew, with the
    # tests and every module that pytest rewrites.
    session.env["PYTHONDONTWRITEBYTECODE"] = ""


def install_tests(session: nox.Session, *, pins: Iterable[str] = (), compiler: bool = True) -> None:
    """Install the wheel with the extras that tests need, and what runs them."""
    install(session, f"{built_wheel(session, compiler=compiler)}[cli,moto]", *pins, *group("test"))
    # Without it, programs that tests start with `python -m` would find the checkout's package in the current folder.
    session.env["PYTHONSAFEPATH"] = "1"


def run_pytest(session: nox.Session, *arguments: str) -> None:
    """Run pytest with a fresh seed of hashes, which tests/conftest.py prints. On CI one run is like another."""
    session.env["PYTHONHASHSEED"] = os.environ.get("PYTHONHASHSEED", "0" if ON_CI else new_seed())
    session.run("pytest", *arguments)


def new_seed() -> str:
    """Draw a seed, for hashes or for Hypothesis."""
    return str(secrets.randbelow(2**32))


def run_tests(
    session: nox.Session, *, pins: Iterable[str] = (), select: Iterable[str] = (), compiler: bool = True
) -> None:
    """Run pytest against the installed wheel, with a process for each core."""
    install_tests(session, pins=pins, compiler=compiler)
    run_pytest(session, "--numprocesses=auto", "--dist=loadfile", "--durations=25", *select, *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """The code follows the rules and the format of ruff, no word is misspelt, and zizmor finds the workflows safe."""
    install(session, *group("lint"))
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("codespell")
    session.run("zizmor", "--offline", "--quiet", ".github")


@nox.session
def types(session: nox.Session) -> None:
    """Checkers accept what is right and refuse what is wrong, except for marked lines; two read the package too."""
    install(session, f"{built_wheel(session)}[cli,moto]", *group("types"))
    session.run("mypy")
    session.run("pyright")
    session.run("pyright", "--verifytypes", "dynamap_async", "--ignoreexternal")
    tests = ("tests/typing", "tests/docs/test_checkers.py", "tests/unit/generate/test_checkers.py")
    session.run("pytest", *tests, env={"PYTHONSAFEPATH": "1"})


@nox.session
def layers(session: nox.Session) -> None:
    """Imports go downward only, and never in a circle."""
    install(session, *group("layers"))
    session.run("lint-imports")


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Every test passes against the built wheel; on the newest Python in asyncio's debug mode.

    Debug mode reports calls from a wrong thread. Where another Python runs everything, what says as much on one as on
    two is left out there: the tests on moto, which are those on the native engine, three quarters of the laws'
    examples, what reads sources, loads of simulated tables, and what the demo shows.
    """
    select: list[str] = []
    if session.python == PYTHONS[-1]:
        select = ["--override-ini=asyncio_debug=true"]
        if any(runs(f"python{version}") for version in PYTHONS[:-1]):
            session.env["DYNAMAP_EXAMPLES"] = os.environ.get("DYNAMAP_EXAMPLES", "0.25")
            select += [*INTERRUPTS, *OF_ANY_PYTHON]
    run_tests(session, select=select)


@nox.session(python="3.11")
def tests_minimum(session: nox.Session) -> None:
    """With the lowest versions that pyproject.toml allows pass the tests of what is built on other packages.

    What is left out takes nothing from them: the executor's tests on a virtual clock, laws of plain values, docs,
    interrupts of the demo, and three quarters of the laws' examples.
    """
    session.env["DYNAMAP_EXAMPLES"] = os.environ.get("DYNAMAP_EXAMPLES", "0.25")
    extras = PROJECT["project"]["optional-dependencies"]
    tested = ("cli", "local", "otel")  # not fastapi: the test client of its lowest version warns with our anyio
    lowest = [*PROJECT["project"]["dependencies"], *(each for extra in tested for each in extras[extra])]
    pins = [requirement.replace(">=", "==") for requirement in lowest]
    run_tests(session, pins=pins, select=[*BUILT_ON_OTHERS, *SHOWN])


@nox.session(python="3.11")
def tests_pure(session: nox.Session) -> None:
    """Without a compiler the wheel builds, for any Python, and says so; what reads and writes items passes the same."""
    session.env["DYNAMAP_NATIVE_CODEC"] = "0"
    session.env["DYNAMAP_EXAMPLES"] = os.environ.get("DYNAMAP_EXAMPLES", "0.25")
    run_tests(session, select=[*PURE_TESTS, *PURE_LEAVES_OUT, *ONE_ENGINE], compiler=False)


@nox.session(default=False)
def tests_threads(session: nox.Session) -> None:
    """On a free-threaded Python, the one that runs nox, the native codec turns no lock on, and passes its tests.

    Of the packages that tests take besides, not all have wheels for one.
    """
    install(session, str(built_wheel(session)), *(each for each in group("test") if each.startswith(RUN_THREADS)))
    session.env["PYTHONSAFEPATH"] = "1"
    session.run("python", "-W", "error", "-c", TURNS_NO_LOCK_ON)
    run_pytest(session, "tests/unit/native", "tests/unit/codec", "tests/property/test_native_laws.py", *session.posargs)


@nox.session(python="3.13")
def tests_loops(session: nox.Session) -> None:
    """On uvloop, and with tasks that begin at once, what waits and sends passes the same tests.

    All of it with both at a time, where what has a virtual clock stays on asyncio's own loop; what sends over
    connections with each alone, too.
    """
    install_tests(session)
    sends = ("tests/unit/transport", "tests/contract", "tests/unit/integrations")
    runs_on = {
        "uvloop,eager": (*sends, "tests/concurrency", "tests/service", *PURE_LEAVES_OUT, *SIMULATED_LEFT_OUT),
        "uvloop": (*sends, "tests/concurrency", "-m", "not virtual_clock"),
        "eager": sends,
    }
    for loop, select in runs_on.items():
        session.env["DYNAMAP_LOOP"] = loop
        run_pytest(session, "--numprocesses=auto", "--dist=loadfile", *ONE_ENGINE, *select, *session.posargs)


@nox.session
def beside(session: nox.Session) -> None:
    """The wheel works beside others: the newest aioboto3, which pins an old aiobotocore, and plugins of pytest."""
    install(session, str(built_wheel(session)), *group("beside"))
    session.run("python", "-m", "pip", "check")
    session.run("python", "-c", OPENS_A_SESSION, env={"PYTHONSAFEPATH": "1"})
    order = f"--randomly-seed={0 if ON_CI else new_seed()}"
    session.run("pytest", "--confcutdir=tests/beside", "tests/beside/plugins.py", *BESIDE_OTHERS, order)


@nox.session
def hosts(session: nox.Session) -> None:
    """The hosts of AWS are those of the rules that the newest botocore has, which aiobotocore does not allow yet."""
    install(session, str(built_wheel(session)), *group("beside"))
    session.install("--upgrade", "--no-deps", "botocore>=1.44.8")
    session.run("pytest", "--confcutdir=tests/beside", "tests/beside/hosts.py", *BESIDE_OTHERS)


@nox.session
def build(session: nox.Session) -> None:
    """The sdist builds, a wheel builds from it, and the package index would accept both."""
    install(session, *group("build"))
    folder = session.create_tmp()
    for old in Path(folder).glob("dynamap_async-*"):
        old.unlink()
    session.run("python", "-m", "build", "--outdir", folder)
    session.run("twine", "check", "--strict", *map(str, Path(folder).glob("dynamap_async-*")))


@nox.session
def site(session: nox.Session) -> None:
    """The documentation builds as a site: no dead link or anchor, each public name in it, a search that finds.

    Then axe-core looks at ten of its pages in Chromium; `-- FOLDER` keeps screenshots of them instead.
    """
    install(session, str(built_wheel(session)), *group("site"))
    session.run("python", "docs/site/build.py", env={"PYTHONSAFEPATH": "1"})
    session.run("python", "docs/site/accessibility.py", *session.posargs, env={"PYTHONSAFEPATH": "1"})


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """The examples and links of the documentation work; `tests` checks them too, this is the quick way."""
    run_tests(session, select=["tests/docs"])


@nox.session(default=False)
def tests_seeds(session: nox.Session) -> None:
    """The property tests pass on 200 fresh seeds, or as many as DYNAMAP_SEEDS says; each takes 15 seconds of CPU.

    What finds a failure is the number of examples over all seeds: each seed tries a quarter of them, in one process,
    so that 200 take less than an hour, and what fails is repeated within seconds.
    """
    install_tests(session)
    session.env["CI"] = "false"  # where Hypothesis draws nothing
    session.env["DYNAMAP_EXAMPLES"] = os.environ.get("DYNAMAP_EXAMPLES", "0.25")
    failed = []
    for number in range(int(os.environ.get("DYNAMAP_SEEDS", "200"))):
        seed = new_seed()
        session.log(f"{number + 1}: seed {seed}")
        try:
            run_pytest(session, "tests/property", "--quiet", f"--hypothesis-seed={seed}", *session.posargs)
        except nox.command.CommandFailed:
            failed.append(seed)
    if failed:
        session.error(f"failed on seeds {', '.join(failed)}; above stands what fell, and the command that repeats it")


@nox.session(default=False)
def tests_long(session: nox.Session) -> None:
    """A hundred times as many random programs, templates and designs as `tests` tries break no promise; a half hour.

    These are programs for the executor, 20,000 templates for the planner, 3,600 designs to generate models from, and
    400 samples of a table with a rare kind.
    """
    session.env["DYNAMAP_EXAMPLES"] = os.environ.get("DYNAMAP_EXAMPLES", "100")
    laws = [f"property/test_{each}" for each in ("executor_model", "narrowing_laws", "random_design_laws")]
    session.posargs[:] = [f"tests/{each}.py" for each in (*laws, "unit/generate/test_sampling")]
    run_tests(session)


@nox.session(default=False, python="3.13")
def bench(session: nox.Session) -> None:
    """Measure this library beside its peers; `-- --quick` is short, `-- publish` writes the tables of the docs."""
    install_benchmarks(session)
    folder = Path(session.virtualenv.location) / "apart"
    python = str(folder / "bin" / "python")
    if not Path(python).exists():
        session.run("python", "-m", "venv", str(folder))
    session.run(python, "-m", "pip", "install", "-q", *group("bench-apart"), external=True)
    session.run("python", "benchmarks", *session.posargs, env={"DYNAMAP_BENCH_APART": python})


@nox.session(default=False, python="3.13")
def bench_compare(session: nox.Session) -> None:
    """Fail if this library is dearer by more than 3 % than at a commit, HEAD or `-- NAME`; a few minutes."""
    install_benchmarks(session)
    session.run("python", "benchmarks", "compare", *session.posargs)


def install_benchmarks(session: nox.Session) -> None:
    """Install the wheel, as it is now, and the pinned libraries that it is measured beside."""
    session.install(str(built_wheel(session)), *group("bench"))
    session.install("--force-reinstall", "--no-deps", str(built_wheel(session)))  # the version stays, the code does not


@nox.session(default=False)
def coverage(session: nox.Session) -> None:
    """Report which lines and branches no test runs."""
    session.install(f"{built_wheel(session)}[cli,moto]", *group("test"))
    session.run("coverage", "erase")
    session.run("coverage", "run", "-m", "pytest", *session.posargs, env={"PYTHONSAFEPATH": "1"})
    session.run("coverage", "combine", "--quiet")
    session.run("coverage", "report")
