"""Lists on a terminal, which has little room, and elsewhere."""

import io

import pytest

from dynamap_async.cli.output import show_rows


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def printed(monkeypatch):
    """Return a function (number of lines, stream) -> what is printed of a list, on both streams."""

    def shown(count, stream):
        errors = io.StringIO()
        monkeypatch.setattr("sys.stdout", stream)
        monkeypatch.setattr("sys.stderr", errors)
        show_rows(("N", "NAME"), [(str(number), f"n{number}") for number in range(count)])
        return stream.getvalue().splitlines(), errors.getvalue()

    return shown


def test_a_terminal_gets_200_lines_and_how_to_get_the_others(printed):
    lines, errors = printed(1_205, Terminal())
    assert (lines[0], lines[-1], len(lines)) == ("N    NAME", "199  n199", 201)
    assert errors == "1,005 more: a pipe or a file gets all of them, as in `| less`\n"


@pytest.mark.parametrize(("count", "stream"), [(1_205, io.StringIO), (200, Terminal), (0, Terminal)])
def test_all_lines_are_printed_where_there_is_room(printed, count, stream):
    lines, errors = printed(count, stream())
    assert (len(lines), errors) == (count + 1, "")
