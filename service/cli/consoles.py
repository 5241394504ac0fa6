"""How results and messages are written: results to standard output, everything else to standard error.

What is shown may come from files of strangers: names stand as they are, but for characters that a terminal would not
print, which are escaped. Nothing is wrapped, shortened or coloured on the way into a pipe.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import suppress

from rich.cells import cell_len
from rich.filesize import decimal

from schemas.errors import OutputError


def printable(text: str) -> str:
    """The text with everything escaped that is not printable: control characters, line ends, lone surrogates."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def say(line: str) -> None:
    """One line of the result."""
    say_text(f"{printable(line)}\n")


def document(content: object) -> str:
    """A JSON document, in ASCII whatever names are in it."""
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def say_document(content: object) -> None:
    """The one JSON document of a command that was asked for JSON."""
    say_text(document(content))


def say_text(text: str) -> None:
    """A whole text, unchanged. Raises OutputError where standard output cannot take it, BrokenPipeError where nobody
    reads it any more."""
    try:
        print(text, end="")  # noqa: T201 - what the command was asked for
    except BrokenPipeError:
        raise
    except OSError as error:
        raise unwritable(error) from None


def unwritable(error: OSError) -> OutputError:
    """What to tell of standard output that fails."""
    return OutputError("standard output", expected="that it can be written", found=str(error.strerror))


def say_table(headers: Sequence[str], rows: Sequence[Sequence[str | int]]) -> None:
    """Aligned columns of natural width under their headers; numbers to the right."""
    cells = [[printable(str(cell)) for cell in row] for row in (headers, *rows)]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    to_the_right = [bool(rows) and isinstance(cell, int) for cell in rows[0]] if rows else [False] * len(headers)
    for row in cells:
        padded = (
            f"{' ' * (width - cell_len(cell))}{cell}" if right else f"{cell}{' ' * (width - cell_len(cell))}"
            for cell, width, right in zip(row, widths, to_the_right, strict=True)
        )
        say("  ".join(padded).rstrip())


def tell(line: str) -> None:
    """One line of progress or advice on standard error. Where that fails, work goes on untold."""
    with suppress(OSError):
        if sys.stderr is not None:  # the caller may have closed it
            print(line, file=sys.stderr)  # noqa: T201


def tell_error(message: str) -> None:
    """What went wrong; a message of several lines keeps them."""
    tell("error: " + "\n".join(map(printable, message.split("\n"))))


def sized(size: int) -> str:
    """A size exactly and for people: `23398656 bytes (23.4 MB)`."""
    return f"{size} bytes ({decimal(size)})" if size >= 1000 else f"{size} bytes"


def counted(number: int, noun: str) -> str:
    """`1 object`, `3 objects`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
