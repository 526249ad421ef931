"""The pace: how many units a second are asked of one table or index, and what refusals say about that. Pure.

A refusal is evidence, not a verdict. What counts is the part of the recent attempts that was refused. Where it is more
than chance explains, the rate is lowered once, to what was delivered, as a trial: if then hardly anything is refused,
the rate was the reason. From there it is raised again, slowly at first, and each refusal takes a step back towards what
the trial has kept; beside more urgent requests it is raised later and less, for it is they who are refused. If as
much is refused as before, the reason is another (a hot partition, a fault, somebody who takes all that there is):
sending less would only get us less, so the pace is given up, and that part of refusals is expected for a while, longer
each time that it was found again. Where nothing at all is delivered, nothing can be learned: a part of what was
delivered before stays open, so that the end of an outage is noticed at once, and from there the rate doubles ten times
a second.

Source of the parts: Wald's sequential test decides the trial; the slow rise is AIMD's; that delivery and refusals are
looked at apart is BBR's. docs/decisions has the comparison.
"""

from __future__ import annotations

import math
from typing import Final

from dynamap_async.usage import PaceState

FIRST_RATE: Final = 100.0
"""Units a second to begin with, where most is refused before it is known what is delivered."""
_TOLERATED: Final = 0.01
"""The part of the attempts that may be refused without any doubt in a rate that was learned."""
_BORNE: Final = 0.05
"""And while nothing was learned: to be refused so rarely costs less than to try a lower rate."""
_DEVIATIONS: Final = 3.0
"""So many standard deviations more than is tolerated are no chance."""
_SPARE_REFUSALS: Final = 2.0
"""And so many refusals more, for the few that say nothing."""
_MEASURED_SECONDS: Final = 0.5
"""Over at least so long it is measured what is delivered, if it is little: it comes in lumps, and others change it."""
_SOONEST_SECONDS: Final = 0.12
"""Over at least so long, if much is delivered."""
_ROUND_SECONDS: Final = 0.5
"""A round of attempts, which are judged together, takes at least so long where nothing is refused."""
_ROUND_ATTEMPTS: Final = 50
"""It ends after so many attempts."""
_LONGEST_ROUND_SECONDS: Final = 2.0
"""And after so long, however few there were."""
_FLOOD: Final = 12
"""After so many attempts of which most were refused the rate is lowered before anything was measured."""
_NOTHING_SERVED: Final = 5
"""And after so many, where none was served."""
_GRACE_SECONDS: Final = 0.1
"""For so long after that, or after an outage, what was sent before is on its way, and takes what comes meanwhile."""
_CUT: Final = 0.97
"""To which part of what was delivered the rate is lowered."""
_MOST_CUT: Final = 0.7
"""To which part of itself the rate of a trial is lowered again at the most."""
_STEP: Final = 0.9
"""To which part of itself a rate that was learned is lowered at once by a refusal."""
_FEWER: Final = 8.0
"""How many times fewer refusals a lower rate has to bring to have been the remedy."""
_LIKELY: Final = 0.75
"""What is left of a part that was refused when it is measured again: chance has chosen a round that looks bad."""
_NEARLY_ALL: Final = 0.9
"""The part that is refused, after an outage that was none, of the little that is asked for."""
_SURE: Final = 3.0
"""The logarithm of how many times more likely one explanation has to be: twenty times."""
_SURER: Final = 4.0
"""The same for that the rate is the reason, which is believed for long: fifty times."""
_LEAST_ATTEMPTS: Final = 12
"""So many attempts a trial takes at least before it fails,"""
_LEAST_REFUSED: Final = 4
"""or so many refusals: where most is refused, the rate is so low that more of them would take long."""
_USUAL_ATTEMPTS: Final = 300
"""Over how many attempts it is known which part is usually refused."""
_TRIAL_SECONDS: Final = 0.4
"""So long a trial takes at least before it fails, and twice it has to: others may lower their rates meanwhile."""
_MORE: Final = 1.5
_A_FEW: Final = 0.05
"""Where so many times the part is refused that was before, and that much besides, the rate was not measured well."""
_EXPECTED_SECONDS: Final = 8.0
"""For so long it is believed, at first, that refusals have another reason than the rate; then for twice as long."""
_LONGEST_EXPECTED_SECONDS: Final = 60.0
"""And for no longer than that."""
_DOUBLING_SECONDS: Final = 0.1
"""In so long a rate doubles that may be far too low."""
_CALM_SECONDS: Final = 0.75
"""For so long after a refusal the rate is raised slowly; then faster and faster."""
_SHARED_CALM_SECONDS: Final = 4.0
"""For so long it is not raised at all where more urgent requests draw on it than those that wait."""
_MOST_DOUBLINGS: Final = 6.0
"""How often it doubles, twice a second, by how much the rate is raised."""
_SHARED_DOUBLINGS: Final = 2.0
"""The same beside more urgent requests: it is they who are refused when what the table has saved is spent."""
_LEAD: Final = 2.0
"""How many times as fast as what was delivered lately the rate may become."""
_SEEKING_LEAD: Final = 3.0
"""The same while the rate is doubled."""
_SHARED_LEAD: Final = 1.5
"""The same beside more urgent requests."""
_SHARED_SECONDS: Final = 1.0
"""For so long after more urgent requests have drawn on it, it is raised with care."""
_FLOOR: Final = 0.25
"""Which part of what was delivered before stays open while nothing is."""
_BACK: Final = 0.5
"""Which part of it is open at once when something is delivered again."""
_OUT_RATE: Final = 10.0
"""At least so many units a second are open while nothing is delivered."""
_LEAST_RATE: Final = 5.0
"""Units a second that are asked for however few were delivered: no table is so slow that it would be spared by less."""
_MEMORY_SECONDS: Final = 0.5
"""Over how long what was delivered is averaged."""
_IDLE_SECONDS: Final = 5.0
"""After so long without any use of a learned rate, and without a refusal, it is given up."""


class Delivered:
    """How many units a second were delivered lately: an average that forgets."""

    __slots__ = ("_weight", "at")

    def __init__(self) -> None:
        self._weight = 0.0
        self.at: float = -math.inf
        """When something was delivered last."""

    def add(self, units: float, now: float) -> None:
        """Count units that an answer reported."""
        kept = self._weight * math.exp((self.at - now) / _MEMORY_SECONDS) if self._weight else 0.0
        self._weight = kept + units / _MEMORY_SECONDS
        self.at = now

    def rate(self, now: float) -> float:
        """Return the units a second."""
        return self._weight * math.exp((self.at - now) / _MEMORY_SECONDS) if self._weight else 0.0


class Pace:
    """The rate of one table or index, for reads or for writes."""

    __slots__ = (
        "_again",
        "_answered_at",
        "_began",
        "_expected",
        "_expected_seconds",
        "_expected_until",
        "_first_at",
        "_hasty_at",
        "_kept",
        "_out",
        "_refused",
        "_refused_at",
        "_seeking",
        "_sent_at",
        "_served",
        "_shared_at",
        "_sizes",
        "_steady",
        "_stepped_at",
        "_suspected",
        "_units",
        "_unproven",
        "_usual",
        "_usual_of",
        "_waited_at",
        "ceiling",
        "delivered",
        "rate",
    )

    def __init__(self) -> None:
        self.ceiling: float | None = None
        """Units a second that are known to be there; None while nothing is known."""
        self.rate: float | None = None
        """Units a second that may be spent; None for any number."""
        self.delivered: Final = Delivered()
        self._shared_at = -math.inf
        """When more urgent requests than those that wait drew on it last."""
        self._steady = 0.0
        """Units a second that were delivered when it was measured last."""
        self._kept = 0.0
        """What the rate was lowered to for the last trial; unless there is another, it is not lowered below that."""
        self._seeking = False
        """Whether the rate may be far too low, so that it is doubled as long as nothing is refused."""
        self._hasty_at = -math.inf
        """When the rate was lowered because nothing had been served, if nothing was since; minus infinity otherwise."""
        self._unproven = False
        """Whether a search has ended beside more urgent requests, and what the table has was not measured since."""
        self._out = False
        """Whether nothing at all was delivered lately."""
        self._suspected: float | None = None
        """The part that was refused before the rate was lowered for a trial; None where none is under way."""
        self._again = False
        """Whether the trial has failed once."""
        self._expected = 0.0
        """The part that is refused for other reasons than the rate."""
        self._expected_until = -math.inf
        self._expected_seconds = _EXPECTED_SECONDS
        self._waited_at = self._refused_at = self._stepped_at = -math.inf
        self._usual = 0.0
        """The part that was refused of the last few hundred attempts."""
        self._usual_of = 0.0
        self._began = self._sent_at = self._answered_at = -math.inf
        self._first_at = math.inf
        self._served = self._refused = 0.0
        self._sizes = self._units = 0.0

    @property
    def lowered(self) -> bool:
        """Whether refusals have made it less than what is known, or than any number."""
        return self.rate != self.ceiling

    @property
    def out(self) -> bool:
        """Whether everything was refused lately."""
        return self._out

    @property
    def trying(self) -> bool:
        """Whether it is being found out, by what little is sent, why so much was refused."""
        return (
            self._out
            or self._suspected is not None
            or (self.rate is not None and not self.lowered and self._refused > 0)
        )

    def state(self, now: float) -> PaceState:
        """Return what is believed."""
        if self._out:
            return "out"
        if self._suspected is not None:
            return "trying"
        if self.lowered and self.rate is not None and self._refused_at > -math.inf:
            return "learned"
        if now < self._expected_until:
            return "other reasons"
        return "open" if self.ceiling is None else "known"

    def know(self, ceiling: float | None) -> None:
        """Set what the limit is, None where there is none that is known; what was learned below the same one stays."""
        if ceiling != self.ceiling or self._refused_at == -math.inf:
            lowered = self.rate if self.lowered and ceiling is None and self._refused_at > -math.inf else None
            self.rate = ceiling if lowered is None else lowered
            self._suspected, self._seeking = None, False
        self.ceiling = ceiling

    def suppose(self, rate: float) -> None:
        """Spend no more than a rate until the limit is known."""
        self.rate = rate

    def served(self, units: float, attempts: int, sent_at: float | None, now: float, size: int = 1) -> None:
        """Record what was delivered.

        Args:
            units: how many units.
            attempts: to how many requests.
            sent_at: when they were admitted; None where nothing was waited for.
            now: the time.
            size: how many requests travelled together, those among them that were refused.
        """
        self.delivered.add(units, now)
        if not attempts:
            return
        if attempts >= size and (-math.inf if sent_at is None else sent_at) < self._hasty_at:
            # It was sent before the rate was lowered because nothing was served.
            self.rate, self._seeking, self._hasty_at = self.ceiling, False, -math.inf
            self._begin_round(now)
        elif not self._is_of_round(sent_at, now):
            return
        self._hasty_at = -math.inf
        if self._out:
            self._come_back(now)
        self._served += attempts
        self._sizes += attempts * size
        self._units += units
        if self._usual or self._usual_of < _USUAL_ATTEMPTS:  # otherwise none of the last few hundred was refused
            self._count(attempts / size, 0.0)
        if attempts < size:
            return  # the rest of it was refused: then it is judged
        if self._suspected is not None:
            self._judge_trial(now)
        elif now - self._began >= _ROUND_SECONDS:
            self._end_round(now)

    def refused(self, attempts: int, sent_at: float | None, now: float, size: int = 1) -> bool:
        """Record refusals; return whether they say that there is nothing left.

        Args:
            attempts: how many requests.
            sent_at: when they were admitted; None where nothing was waited for.
            now: the time.
            size: how many requests travelled together, those among them that were served.
        """
        if not self._is_of_round(sent_at, now):
            return False
        if not self._refused and self._suspected is None and not self._out:
            self._begin_round(now)  # what was served before may have come out of what the table had saved
        self._refused += attempts
        self._sizes += attempts * size
        self._refused_at = now
        self._count(attempts / size, 1.0)
        if self._suspected is not None:
            self._judge_trial(now)
            return True
        expected = self._expected_at(now)
        if self._out or not (self._is_too_much(expected) or self._is_measured()):
            if self.rate is not None and self.lowered and not self._out:
                self._step_back(sent_at, now)
            # What is refused for another reason has taken nothing of the rate.
            return self.rate is not None and not expected
        self._lower(sent_at, now)
        return True

    def waited(self, seconds: float, now: float) -> None:
        """Raise the rate, for requests have waited for so long and none was refused."""
        self._waited_at = now
        if self.rate is None or not self.lowered or seconds <= 0 or self._suspected is not None:
            return
        shared = self._is_shared(now)
        if self._seeking:
            rate = self.rate * 2 ** min(1.0, seconds / _DOUBLING_SECONDS)
        else:
            # The root: of two sessions the slower one gains more, for its rate, so that they come to equal shares.
            slope = 0.01 * self.rate + 0.3 * math.sqrt(self.rate)
            calm = now - self._refused_at - (_SHARED_CALM_SECONDS if shared else _CALM_SECONDS)
            doublings = min(max(0.0, 2 * calm), _SHARED_DOUBLINGS if shared else _MOST_DOUBLINGS)
            slope = 0.0 if shared and calm < 0 else slope * 2**doublings
            rate = self.rate + slope * min(seconds, 1.0)
        # No answers, no faster: they may be late, and tell of refusals.
        least, lead = (FIRST_RATE, _SEEKING_LEAD) if self._seeking else (0.0, _LEAD)
        lead = _SHARED_LEAD if shared else lead
        rate = min(rate, max(self.rate, least, lead * self.delivered.rate(now)))
        self.rate = rate if self.ceiling is None else min(rate, self.ceiling)

    def share(self, now: float) -> None:
        """Note that more urgent requests than those that wait draw on it: these feel it if it becomes too high."""
        self._shared_at = now

    def _is_shared(self, now: float) -> bool:
        return now - self._shared_at < _SHARED_SECONDS

    def _is_of_round(self, sent_at: float | None, now: float) -> bool:
        if now - self._began > _LONGEST_ROUND_SECONDS and self._suspected is None:
            self._end_round(now)
        # What waited for nothing was sent before the rate was lowered, if it is now.
        of_round = self.rate == self.ceiling if sent_at is None else sent_at >= self._began
        if of_round:
            self._sent_at = max(self._sent_at, now if sent_at is None else sent_at)
            self._answered_at = now
            self._first_at = min(self._first_at, now)
        return of_round

    @property
    def _measured_seconds(self) -> float:
        """For how long what was sent in this round is answered: the answers to the first of it took some time to come.

        What was sent in so long may have been answered in longer, where it waits on its way.
        """
        return max(self._sent_at - self._began, self._answered_at - self._first_at)

    @property
    def _part(self) -> float:
        """The part of what was tried in this round that was refused."""
        return self._refused / (self._served + self._refused)

    @property
    def _attempts(self) -> float:
        """How many attempts there were in this round, of which none knew the outcome of another.

        What travels together is served or refused together, and counts for one; of calls of several sizes, the large
        ones decide.
        """
        return (self._served + self._refused) ** 2 / self._sizes if self._sizes else 0.0

    def _count(self, attempts: float, refused: float) -> None:
        self._usual_of = min(_USUAL_ATTEMPTS, self._usual_of + attempts)
        self._usual += (refused - self._usual) * min(1.0, attempts / self._usual_of)

    def _begin_round(self, now: float) -> None:
        self._began = self._sent_at = self._answered_at = now
        self._first_at = math.inf
        self._served = self._refused = self._sizes = self._units = 0.0

    def _end_round(self, now: float) -> None:
        """Keep what a round without a verdict has measured, if it is enough; the next one begins."""
        seconds, attempts = now - self._began, self._attempts
        if seconds < _LONGEST_ROUND_SECONDS and attempts < _ROUND_ATTEMPTS:
            return
        # The last refusals may have come just before the round was long enough to judge them.
        if self._refused and (self._unproven or (self._goes_on(now) and self._is_too_much(self._expected_at(now)))):
            self._try_less(now)
            return
        self._unproven = False
        if self._served:
            self._steady = self._units / max(self._measured_seconds, _SOONEST_SECONDS)
        if self.lowered and now - max(self._waited_at, self._refused_at) > _IDLE_SECONDS:
            self.rate, self._seeking = self.ceiling, False
        self._begin_round(now)

    def _is_measured(self) -> bool:
        """Return whether a search has ended for so long, and refusals go on, that it is known what is delivered."""
        return self._unproven and self._measured_seconds >= _MEASURED_SECONDS

    def _expected_at(self, now: float) -> float:
        """Return the part that is refused for other reasons than the rate, as far as that is believed still."""
        return self._expected if now < self._expected_until else 0.0

    def _goes_on(self, now: float) -> bool:
        """Return whether refusals have come in the second half of the round, too."""
        return not self._out and now - self._refused_at < (now - self._began) / 2

    def _is_too_much(self, expected: float) -> bool:
        attempts = self._attempts
        allowed = min(1.0, expected + (_TOLERATED if self.lowered else _BORNE))
        chance = _DEVIATIONS * math.sqrt(attempts * allowed * (1 - allowed)) + _SPARE_REFUSALS
        return self._part * attempts > allowed * attempts + chance

    def _lower(self, sent_at: float | None, now: float) -> None:
        """Lower the rate, for more was refused than is borne; at first no more than it takes to measure it."""
        if self._seeking and now - self.delivered.at < _SOONEST_SECONDS:
            # It was enough before it was doubled last: what is there is measured at about that rate.
            self._step_back(sent_at, now)
            self._begin_round(now)
            return
        self._seeking = False
        if self._measured_seconds >= (_SOONEST_SECONDS if self._served >= _ROUND_ATTEMPTS else _MEASURED_SECONDS):
            self._try_less(now)
        elif (
            not self.lowered
            and self._part > 0.5
            and self._attempts >= (_FLOOD if self._served else _NOTHING_SERVED)
            and (self.rate is None or self.rate > max(FIRST_RATE, self._steady))
        ):
            rate = max(FIRST_RATE, self._steady * _CUT)
            self.rate, self._seeking = rate if self.ceiling is None else min(rate, self.ceiling), True
            self._hasty_at = -math.inf if self._served else now
            self._begin_round(now + _GRACE_SECONDS)

    def _try_less(self, now: float) -> None:
        """Lower the rate to what was delivered, to see whether that is why so much was refused."""
        if self.delivered.at < self._began or (self._served and self._has_ended(now)):
            self._go_out(now)
            return
        if not self._served:
            return  # what is delivered was sent earlier: it is not known how fast
        self._steady = self._units / max(self._measured_seconds, _SOONEST_SECONDS)
        rate = max(_LEAST_RATE, self._steady * _CUT)
        if self.rate is not None:
            # During a trial, what is delivered may be less than there is: it was held back.
            rate = min(self.rate, rate if self._suspected is None else max(rate, self.rate * _MOST_CUT))
        self.rate = self._kept = rate
        share = self._part * _LIKELY
        self._suspected, self._seeking = min(share, max(2 * _TOLERATED, self._usual)), False
        self._again = self._unproven = False
        self._begin_round(now + _GRACE_SECONDS)

    def _has_ended(self, now: float) -> bool:
        """Return whether nothing is delivered any more, though something was in this round: that says nothing of it.

        A gap between two requests of many units is no end: as many of their size have to be missing as make a flood.
        """
        seconds, size = now - self.delivered.at, max(1.0, self._units / self._served)
        return seconds >= _SOONEST_SECONDS and seconds * self._steady >= _FLOOD * size

    def _step_back(self, sent_at: float | None, now: float) -> None:
        """Lower a rate that was raised since the last trial, but not below what that has kept."""
        if self.rate is None or (sent_at is not None and sent_at < self._stepped_at):
            return
        if self._seeking:
            # It was enough before it was doubled last, but perhaps with what the table had saved.
            self._kept, self._seeking, self._unproven = self.rate / 2, False, self._is_shared(now)
            self.rate = max(self._kept, min(self.rate, self.delivered.rate(now)))
        least = max(self._kept, self.rate * _STEP)
        if not self._is_shared(now):
            least = max(least, self.delivered.rate(now) * _CUT)
        self.rate, self._stepped_at = min(self.rate, least), now

    def _go_out(self, now: float) -> None:
        """Keep a part of what was delivered before open, for nothing is delivered now, which says nothing of it."""
        rate = max(_OUT_RATE, self._steady * _FLOOR)
        self.rate = rate if self.ceiling is None else min(self.ceiling, rate)
        self._suspected, self._out = None, True
        self._begin_round(now)

    def _come_back(self, now: float) -> None:
        """Seek the rate, if not nearly all is refused still: so little is asked for that the rate is no reason then."""
        if self.rate is not None:
            self.rate = max(self.rate, self._steady * _BACK)
        self._out, self._seeking = False, True
        self._suspected, self._again = _NEARLY_ALL, True
        self._begin_round(now + _GRACE_SECONDS)  # a table that is just back refuses a few of the first requests

    def _judge_trial(self, now: float) -> None:
        suspected, part, attempts = self._suspected or 0.0, self._part, self._attempts
        more, less = math.log(_FEWER), math.log((1 - suspected) / (1 - suspected / _FEWER))
        evidence = attempts * (part * more + (1 - part) * less)
        if evidence <= -_SURER:
            self._expected, self._expected_seconds = 0.0, _EXPECTED_SECONDS
            self._suspected = None
            self._begin_round(now)
        elif evidence < _SURE or (attempts < _LEAST_ATTEMPTS and part * attempts < _LEAST_REFUSED):
            return
        elif not self._served:
            self._go_out(now)
        elif part > _MORE * suspected + _A_FEW:
            if self._measured_seconds >= _MEASURED_SECONDS:
                self._try_less(now)
        elif now - self._began >= _TRIAL_SECONDS:
            self._fail_trial(max(suspected, part), now)

    def _fail_trial(self, share: float, now: float) -> None:
        """Give the pace up, at the second time that a lower rate has not helped."""
        if not self._again:
            self._again = True
        else:
            self._expected, self._expected_until = share, now + self._expected_seconds
            self._expected_seconds = min(_LONGEST_EXPECTED_SECONDS, 2 * self._expected_seconds)
            self.rate, self._suspected, self._seeking = self.ceiling, None, False
        self._begin_round(now)
