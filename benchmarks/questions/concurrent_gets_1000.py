"""Get single items from 1000 tasks at the same time: what a busy service does."""

from benchmarks.questions.gets_at_once import gets_at_once

QUESTION = gets_at_once(1000)
