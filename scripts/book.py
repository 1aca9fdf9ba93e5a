"""What scripts write into the book: the text of a chapter between <!--NAME--> and <!--/NAME-->."""

from pathlib import Path

CHAPTERS = Path(__file__).resolve().parent.parent / "docs/src"


def write(chapter, name, text):
    """Replaces the text of that name in a chapter, such as performance.md. It must have both marks once."""
    file = CHAPTERS / chapter
    begin, end = f"<!--{name}-->\n", f"<!--/{name}-->\n"
    before, rest = file.read_text().split(begin)
    _, after = rest.split(end)
    file.write_text("".join([before, begin, text, "\n", end, after]))
