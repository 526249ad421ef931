"""Every example in the documentation and in the docstrings runs, and prints what is written below it."""

import doctest
import importlib
import re

NO_RUN = "python no-run: "
MOST_THAT_DO_NOT_RUN = 5


def test_examples_run_and_print_what_is_below_them(stage, blocks):
    for block in blocks:
        if not block.info.startswith(NO_RUN):
            stage.run(block)


def test_few_examples_do_not_run_and_each_says_why(all_blocks):
    infos = [(page, block.info) for page, blocks in all_blocks.items() for block in blocks]
    assert [each for each in infos if not re.fullmatch(rf"python( file=[\w.]+)?|{NO_RUN}\w.+", each[1])] == []
    silent = [each for each in infos if each[1].startswith(NO_RUN)]
    assert len(silent) <= MOST_THAT_DO_NOT_RUN, silent


def test_docstring_examples_run(documented):
    module = importlib.import_module(documented)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert result.failed == 0
