"""Laws of texts in source: whatever a text is, it stays the text of one literal, one comment or one docstring."""

import ast
import io
import tokenize

from hypothesis import given
from hypothesis import strategies as st

from dynamap_async.source_text import comment, docstring, literal

TEXTS = st.text(st.one_of(st.sampled_from("\"\\\n\r\x0c\x00\u2028\u202e\ud800#'N{}$"), st.characters()), max_size=12)


@given(TEXTS)
def test_literal_is_one_line_that_python_reads_as_the_text(text):
    written = literal(text)
    assert ast.literal_eval(written) == text
    assert written.isprintable()


@given(st.lists(TEXTS, min_size=1, max_size=3))
def test_docstring_is_one_literal_whatever_its_lines_are(lines):
    [statement] = ast.parse(docstring(*lines).encode()).body
    assert ast.literal_eval(statement.value) == "\n".join([*lines, *([""] if len(lines) > 1 else [])])


@given(TEXTS)
def test_comment_is_one_line_and_no_code(text):
    written = comment(text)
    assert written.isprintable()
    kinds = {each.type for each in tokenize.generate_tokens(io.StringIO(written).readline)}
    assert kinds <= {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER}
