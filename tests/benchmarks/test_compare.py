"""What counts as a regression: beyond what the old version shows beside itself; and the stub that both are asked on."""

import asyncio

import pytest

from benchmarks.compare import command
from benchmarks.compare.judge import Change
from benchmarks.compare.stub_loop import StubLoop
from benchmarks.compare.worker import questions_to
from benchmarks.subjects.ours import Ours

QUIET = [0.99, 1.0, 1.0, 1.01, 1.02]


def change(now, *, noise=QUIET, question="get_one"):
    return Change(question, noise, now)


@pytest.mark.parametrize(
    ("now", "noise", "state"),
    [
        (QUIET, QUIET, "same"),
        ([1.01, 1.05, 1.06, 1.07, 1.08], QUIET, "same"),
        ([1.04, 1.05, 1.06, 1.07, 1.08], QUIET, "dearer"),
        ([0.90, 0.91, 0.92, 0.93, 0.94], QUIET, "cheaper"),
        ([1.025, 1.026, 1.027, 1.028, 1.029], QUIET, "same"),
        ([1.04, 1.05, 1.06, 1.07, 1.08], [0.9, 0.95, 1.0, 1.05, 1.1], "too noisy"),
        ([1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.4], "same"),
        ([1.20, 1.21, 1.22], QUIET[:3], "too few rounds"),
    ],
    ids=["equal", "overlap", "above", "below", "by-less-than-3-percent", "noise-hides-it", "one-bad-round", "three"],
)
def test_a_change_is_told_from_noise_by_what_the_old_version_shows_beside_itself(now, noise, state):
    assert change(now, noise=noise).state == state


DEARER = [1.10, 1.11, 1.12, 1.13, 1.14]


@pytest.mark.parametrize(
    ("answers", "code", "asked"),
    [
        ([[change(QUIET)]], 0, [[]]),
        ([[change(DEARER), change(QUIET, question="decode")], [change(DEARER)]], 1, [[], ["get_one"]]),
        ([[change(DEARER)], [change(QUIET)]], 0, [[], ["get_one"]]),
    ],
    ids=["same", "dearer-both-times", "dearer-once"],
)
def test_the_comparison_fails_where_a_second_measurement_agrees(monkeypatch, answers, code, asked):
    given, names = iter(answers), []

    def measure(old, new, *, only, rounds, slices):
        names.append(list(only))
        return next(given)

    monkeypatch.setattr(command, "installed", lambda commit, folder: str(folder))
    monkeypatch.setattr(command, "measure", measure)
    monkeypatch.setattr("sys.argv", ["benchmarks", "compare"])
    assert command.main() == code
    assert names == asked


def test_every_question_is_answered_without_a_socket():
    async def ask():
        loop = asyncio.get_running_loop()
        subject = Ours()
        subject.prepare(200)
        await subject.open(f"http://127.0.0.1:{loop.port}")
        for make in questions_to(subject).values():
            work, _ = make()
            await work()
        assert (await subject.get(7)).user_id == "user-000007"
        assert loop.stub_ns > 0
        await subject.close()

    with asyncio.Runner(loop_factory=StubLoop) as runner:
        runner.run(ask())


class Keeping(asyncio.BufferedProtocol):
    """Keeps what it is given, ten bytes at a time."""

    def __init__(self):
        self.kept = b""

    def get_buffer(self, sizehint):
        self._buffer = bytearray(10)
        return self._buffer

    def buffer_updated(self, nbytes):
        self.kept += self._buffer[:nbytes]


def test_a_protocol_with_a_buffer_of_its_own_is_answered_too():
    async def ask():
        transport, protocol = await asyncio.get_running_loop().create_connection(Keeping, "127.0.0.1", 1)
        transport.write(b"GET /nothing HTTP/1.1\r\n\r\n")
        assert protocol.kept == b""
        await asyncio.sleep(0)
        assert protocol.kept.endswith(b"{}")
        transport.close()

    with asyncio.Runner(loop_factory=StubLoop) as runner:
        runner.run(ask())
