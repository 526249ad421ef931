"""Every example in the documentation and in the docstrings runs, and prints what is written below it."""

import doctest
import importlib
import re

NO_RUN = "python no-run: "
MOST_THAT_DO_NOT_RUN = 5


def test_what_a_reader_sees_of_a_page_runs_and_prints_what_is_below_it(stage, page, blocks):
    for block in blocks:
        stage.run(page, block)


def test_what_a_page_says_beside_its_examples_is_true(stage, page, checks):
    for block in checks:
        stage.run(page, block)


def test_the_last_example_of_a_how_to_is_a_whole_program(empty_stage, how_to, program):
    empty_stage.run_file(how_to, program)


def test_few_examples_do_not_run_and_each_says_why(all_blocks):
    infos = [(page, block.info) for page, blocks in all_blocks.items() for block in blocks]
    assert [each for each in infos if not re.fullmatch(rf"sh|python|\w+ file=[\w.]+|{NO_RUN}\w.+", each[1])] == []
    silent = [each for each in infos if each[1].startswith(NO_RUN)]
    assert len(silent) <= MOST_THAT_DO_NOT_RUN, silent


def test_docstring_examples_run(documented):
    module = importlib.import_module(documented)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert result.failed == 0
