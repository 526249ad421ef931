"""Random operations over several tables and indexes: each ends, nobody is overtaken, and nothing is spent twice."""

import heapq
from collections import defaultdict
from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st

from dynamap_async import Priority
from dynamap_async.executor.pacing.buckets import Bucket
from dynamap_async.executor.pacing.estimates import Estimate, RequestKind
from dynamap_async.executor.pacing.tickets import Ticket, UnitQueue

ESTIMATE = Estimate(RequestKind("PutItem", "t", None, False, 0), 1.0, {})
ROUNDING = 1e-6

BUCKETS = st.lists(
    st.tuples(st.sampled_from([1.0, 7.0, 100.0]), st.sampled_from([1.0, 5.0, 300.0])), min_size=1, max_size=4
)
OPERATIONS = st.lists(
    st.tuples(
        st.dictionaries(st.integers(0, 3), st.sampled_from([0.5, 1.0, 3.0, 40.0, 900.0]), min_size=1, max_size=3),
        st.sampled_from(Priority),
        st.sampled_from([0.0, 0.0, 0.0, 0.01, 0.7, 5.0]),
        st.sampled_from([None, None, None, 0.0, 0.02, 3.0]),
        st.sampled_from([0.5, 1.0, 1.0, 2.0, None]),
    ),
    min_size=1,
    max_size=40,
)


class Model:
    """A line, on a clock that jumps from one event to the next; what each operation met with."""

    def __init__(self, buckets):
        self.line = UnitQueue()
        self.buckets = []
        for rate, burst_seconds in buckets:
            bucket = Bucket(burst_seconds, 0.0)
            bucket.know(rate, 0.0)
            self.buckets.append(bucket)
        self.now = 0.0
        self.events = []
        self.order = count()
        self.waiting = []
        self.ended = []
        self.spent = defaultdict(float)
        self.largest = defaultdict(float)
        self.takes = {}
        """How many times as much as expected each operation will turn out to take; None for one that is not sent."""

    def at(self, time, what, *arguments):
        heapq.heappush(self.events, (time, next(self.order), what, arguments))

    def join(self, draws, priority, gives_up_after, takes):
        units = {self.buckets[number % len(self.buckets)]: units for number, units in draws.items()}
        ticket = Ticket(tuple(units.items()), priority, ESTIMATE)
        self.waiting.append(ticket)
        if gives_up_after is not None:
            self.at(self.now + gives_up_after, self.give_up, ticket)
        self.takes[ticket] = takes
        if self.line.join(ticket):
            self.admit()

    def give_up(self, ticket):
        if ticket in self.waiting:
            self.line.leave(ticket, self.now)
            self.waiting.remove(ticket)
            self.ended.append(ticket)
            assert ticket.is_spent
            self.admit()

    def admit(self):
        while admitted := self.line.admit(self.now):  # again, for what is settled may give units back
            for ticket in admitted:
                self.check_order(ticket)
                self.waiting.remove(ticket)
                self.settle(ticket)
        for ticket in self.waiting:
            full = [bucket.tokens >= bucket.depth - ROUNDING for bucket, _ in ticket.draws]
            assert not all(full), "somebody waits while all buckets are full"

    def check_order(self, ticket):
        for other in self.waiting:
            if other.number < ticket.number and other.priority == ticket.priority:
                assert [bucket for bucket, _ in other.draws] != [bucket for bucket, _ in ticket.draws], "overtaken"

    def settle(self, ticket):
        """The answer tells what was taken; of a failure that was not sent, nothing was."""
        self.ended.append(ticket)
        takes = self.takes[ticket]
        for bucket, units in ticket.draws:
            took = units * (takes or 0.0)
            self.spent[bucket] += took
            self.largest[bucket] = max(self.largest[bucket], took)
            if takes is not None:
                bucket.give(units - took)
        if takes is None:
            self.line.leave(ticket, self.now)
        ticket.admitted_at = None
        for bucket, _ in ticket.draws:
            # What an answer reveals, and what is larger than the bucket, may leave a debt; nothing else does.
            assert self.spent[bucket] <= bucket.pace.rate * self.now + 2 * self.largest[bucket] + ROUNDING

    def run(self):
        idle = 0
        while self.events or self.line.waiting:
            wakes = self.line.next_at(self.now)
            if self.events and (wakes is None or self.events[0][0] <= wakes):
                self.now, _, what, arguments = heapq.heappop(self.events)
                what(*arguments)
                continue
            self.now = wakes
            ended = len(self.ended)
            self.admit()
            idle = 0 if len(self.ended) > ended else idle + 1
            assert idle < 3, "it was said that somebody could go, and nobody could"


@settings(max_examples=300)
@given(buckets=BUCKETS, operations=OPERATIONS)
def test_every_operation_ends_in_its_turn_and_within_the_rates(buckets, operations):
    model, time = Model(buckets), 0.0
    for draws, priority, pause, gives_up_after, takes in operations:
        time += pause
        model.at(time, model.join, draws, priority, gives_up_after, takes)
    model.run()
    assert len(model.ended) == len(operations)
    assert not model.line.waiting
