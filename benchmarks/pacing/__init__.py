"""Which law of pacing does least harm and most good? Several ones before a table in a model, on a clock that jumps."""
