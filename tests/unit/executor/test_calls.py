"""What may become of a call: it waits, is on the wire, waits again, and ends once."""

import asyncio

import pytest

from dynamap_async.errors import ConnectionFailedError, Outcome
from dynamap_async.executor.calls import Call, CallState, Chunk, Waiter
from dynamap_async.request import Request, Target

READ = Request(operation="GetItem", body={}, table="t", target=Target({"id": {"N": "1"}}, "t 1"))
WRITE = Request(operation="PutItem", body={}, table="t", target=Target({"id": {"N": "1"}}, "t 1"), writes=True)


class Several(Chunk):
    """Three reads, as one."""

    def __init__(self):
        self.asked, self.size = READ, 3

    def call(self):
        return READ

    def requests(self):
        return [READ] * 3

    def takes(self, answer):
        return True


@pytest.fixture
def waiter():
    with asyncio.Runner() as runner:
        yield Waiter(runner.get_loop().create_future(), 0.0)


def test_a_call_waits_until_its_first_attempt_begins(waiter):
    call = Call(READ, [waiter])
    assert call.state is CallState.WAITING
    assert call.begin_attempt(1.0)
    assert (call.state, call.attempts, call.first_sent) == (CallState.ON_THE_WIRE, 1, 1.0)


def test_a_second_attempt_begins_when_the_first_is_over(waiter):
    call = Call(READ, [waiter])
    call.begin_attempt(1.0)
    call.come_back()
    assert call.state is CallState.WAITING
    assert call.begin_attempt(2.0)
    assert (call.attempts, call.first_sent) == (2, 1.0)


def test_no_second_attempt_begins_while_one_is_under_way(waiter):
    call = Call(READ, [waiter])
    call.begin_attempt(1.0)
    with pytest.raises(AssertionError):
        call.begin_attempt(1.0)


def test_what_was_not_sent_does_not_come_back(waiter):
    with pytest.raises(AssertionError):
        Call(READ, [waiter]).come_back()


def test_no_attempt_begins_of_what_nobody_waits_for(waiter):
    call = Call(READ, [waiter])
    waiter.future.cancel()
    assert not call.begin_attempt(1.0)
    assert (call.state, call.attempts) == (CallState.WAITING, 0)


def test_what_was_given_up_during_an_attempt_stays_given_up(waiter):
    call = Call(READ, [waiter])
    call.begin_attempt(1.0)
    call.fail(ValueError("closed"))
    call.come_back()
    assert call.state is CallState.ENDED
    assert isinstance(waiter.future.exception(), ValueError)


def test_an_attempt_that_is_discounted_leaves_as_many_as_before(waiter):
    call = Call(READ, [waiter])
    call.begin_attempt(1.0)
    call.come_back()
    call.discount_attempt()
    assert call.attempts == 0


@pytest.mark.parametrize("is_final", [True, False])
def test_a_final_answer_speaks_for_attempts_whose_outcome_was_unknown(waiter, is_final):
    call = Call(WRITE, [waiter])
    call.note_failure(waited=False, may_have_written=True, is_final=False)
    assert call.outcome is Outcome.UNKNOWN
    call.note_failure(waited=False, may_have_written=False, is_final=is_final)
    assert call.outcome is (Outcome.NOT_SENT if is_final else Outcome.UNKNOWN)


def test_the_outcome_of_a_write_is_unknown_while_it_is_on_the_wire(waiter):
    call = Call(WRITE, [waiter])
    assert call.outcome is Outcome.NOT_SENT
    call.begin_attempt(1.0)
    assert call.outcome is Outcome.UNKNOWN


def test_a_question_for_the_item_takes_the_place_of_a_write_that_may_have_been_done(waiter):
    call, lost = Call(WRITE, [waiter]), ConnectionFailedError("lost", outcome=Outcome.UNKNOWN, operation="", table="t")
    call.ask_instead(lost, READ)
    assert (call.request, call.lost) == (READ, lost)


def test_each_request_of_a_chunk_waits_until_its_one_waiter_is_answered(waiter):
    call = Call(READ, [waiter], Several())
    assert call.waiting == 3
    call.answer({})
    assert call.waiting == 0


def test_each_waiter_of_a_lone_read_waits_by_itself(waiter):
    other = Waiter(waiter.future.get_loop().create_future(), 0.0)
    call = Call(READ, [waiter])
    call.join(other)
    assert call.waiting == 2
    waiter.future.cancel()
    assert call.waiting == 1


def test_a_request_of_a_chunk_goes_on_where_the_chunk_was(waiter):
    chunk = Call(READ, [waiter], Several())
    chunk.begin_attempt(1.0)
    part = chunk.part(READ, waiter, None)
    chunk.leave_to_parts()
    assert chunk.state is CallState.APART
    assert (part.state, part.attempts, part.first_sent) == (CallState.ON_THE_WIRE, 1, 1.0)
