"""What is a regression, and what is noise."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

LEAST_ROUNDS = 4
"""Fewer rounds than that say nothing about the noise."""
LEAST_MOVE = 0.03
"""What became dearer by less is no regression, however little the rounds vary."""

State = Literal["same", "dearer", "cheaper", "too noisy", "too few rounds"]


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one question, in each round: CPU as a multiple of what the old version takes in the same round."""

    question: str
    noise: Sequence[float]
    """Of the old version, in another process: without noise it would be 1."""
    now: Sequence[float]
    """Of the new version."""

    @property
    def move(self) -> float:
        """How much dearer it became: 0.1 is a tenth."""
        return statistics.median(self.now) / statistics.median(self.noise) - 1

    @property
    def state(self) -> State:
        """Return whether the cost has changed, or only seems so in the noise.

        The noise is what the old version shows beside itself. Only where the new version lies above all of that in
        every round, it became dearer; of five rounds, that happens by chance once in 252 times.
        """
        if len(self.now) < LEAST_ROUNDS:
            return "too few rounds"
        if min(self.now) > max(self.noise) and self.move > LEAST_MOVE:
            return "dearer"
        if max(self.now) < min(self.noise) and self.move < -LEAST_MOVE:
            return "cheaper"
        return "too noisy" if self.blur > LEAST_MOVE else "same"

    @property
    def blur(self) -> float:
        """What could hide a move: how far the old version's own rounds, but for the farthest, lie from 1."""
        return sorted(abs(ratio - 1) for ratio in self.noise)[-2]
