"""The list of deviations, collected from the comments at the lines that deviate."""

import deviations
import pytest


def test_the_tracked_list_is_what_the_command_writes() -> None:
    written = deviations.TARGET.read_text("utf-8")
    assert written == deviations.markdown(), "run `make reference`"


def collected(text: str, suffix: str = ".rs") -> list[tuple[str, str]]:
    return deviations.deviations(text, suffix)


def test_a_tag_of_several_lines_is_joined() -> None:
    comment = """
    /// The window.
    ///
    /// Deviation (RFC 9438 section 4.6): reduces the window, as in
    /// Linux ([`Window::reduce`]), and not
    /// the flight size.
    fn reduce() {}
    """
    text = "reduces the window, as in Linux (`Window::reduce`), and not the flight size."
    assert collected(comment) == [("RFC 9438 section 4.6", text)]


def test_the_source_may_be_split_and_have_parentheses() -> None:
    comment = """
    // Deviation (Linux `tcp_cwnd_validate()`, of the kernel
    // 6.18 (2025)): checked for each packet.
    """
    source = "Linux `tcp_cwnd_validate()`, of the kernel 6.18 (2025)"
    assert collected(comment) == [(source, "checked for each packet.")]


def test_a_comment_may_have_several() -> None:
    comment = """
    // Deviation (A): first,
    // continued.
    // Deviation (B): second.
    //! - Deviation (C): third,
    //!   continued.
    //! - An item without a source.
    """
    assert collected(comment) == [
        ("A", "first, continued."),
        ("B", "second."),
        ("C", "third, continued."),
    ]


@pytest.mark.parametrize(
    "end",
    ["//", "/// The next item's.", "#[inline]", "*place = 1;", "let next = 2;", ""],
)
def test_it_ends_at_a_blank_line_of_the_comment_and_with_it(end: str) -> None:
    comment = f"// Deviation (RFC 5681): one\n// two.\n{end}\n// another comment.\n"
    assert collected(comment) == [("RFC 5681", "one two.")]


def test_a_mention_of_one_is_no_tag() -> None:
    assert collected("// The standard\n// Deviation (RFC 5681) of ten samples.\n") == []
    assert collected('let text = "// Deviation (RFC 5681): in a string";\n') == []


@pytest.mark.parametrize(
    ("suffix", "comment"),
    [
        (".py", "# Deviation (RFC 5681): one\n# two.\n#\n# three.\n"),
        (".h", "/* Deviation (RFC 5681): one\n * two. */\nint x;\n"),
        (".c", "/*\n * Deviation (RFC 5681): one\n * two.\n */\n*place = 1;\n"),
        (".c", "\t/* Deviation (RFC 5681): one two. */\n"),
    ],
)
def test_comments_of_other_languages_are_read(suffix: str, comment: str) -> None:
    assert collected(comment, suffix) == [("RFC 5681", "one two.")]
