"""Reads C++ sources for the checks of this folder: which files there are, and their text without
comments and literals, so that a word in a comment is never taken for code."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]

_TOKEN = re.compile(
    r"""//(?:[^\n\\]|\\.|\\\n)*        # to the end of the line, also a continued one
      | /\*.*?\*/
      | R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)"
      | "(?:[^"\\\n]|\\.)*"
      | (?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+'   # not the separator in 1'000
    """,
    re.DOTALL | re.VERBOSE,
)


def without_comments_and_literals(text: str) -> str:
    """The same lines; comments become blanks and literals become empty ones."""

    def blank(match: re.Match) -> str:
        token = match.group(0)
        newlines = "\n" * token.count("\n")
        if token.startswith("/"):
            return " " + newlines
        return ("''" if token.startswith("'") else '""') + newlines

    return _TOKEN.sub(blank, text)


def without_comments(text: str) -> str:
    """As above, but literals stay: include lines need theirs."""
    return _TOKEN.sub(
        lambda m: " " + "\n" * m.group(0).count("\n") if m.group(0).startswith("/") else m.group(0),
        text,
    )


def sources(*folders: str, suffixes: tuple = (".h", ".cc")) -> list:
    """Source files under `folders`, sorted, as paths relative to the root."""
    found = []
    for folder in folders:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in suffixes and path.is_file():
                found.append(path.relative_to(ROOT))
    if not found:
        raise SystemExit(f"no sources under {', '.join(folders)}: the check would check nothing")
    return sorted(found)


def report(what: str, checked: int, errors: list) -> int:
    for error in errors:
        print(error)
    print(f"{what}: {checked} files, {len(errors)} errors")
    return 1 if errors else 0
