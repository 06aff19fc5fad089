"""Bounds how deep the elements of an HTML page nest, before it is parsed.

A parser of the HTML standard looks up all open elements for a paragraph at each start of a block, so its time
is quadratic in their depth. Browsers bound the depth as well (512 in Blink), and show deeper elements flat.
The tags are matched by name, as in a page without mistakes: a page with mistakes may nest somewhat deeper.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final

MOST_DEPTH: Final = 512
_TOKEN: Final = re.compile(
    r"<!--.*?(?:-->|\Z)"
    r"|<(?P<raw>script|style|xmp|iframe|noembed|noframes|textarea|title)\b.*?(?:</(?P=raw)\b|\Z)"
    r"|<(?P<end>/?)(?P<name>[a-z][^\s/>]*)(?P<rest>(?:[^>\"']|\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z))*)(?:>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_HIDDEN: Final = re.compile(r"\shidden(?:[\s=/]|\Z)", re.IGNORECASE)
_UNCOUNTED: Final = frozenset(
    {"area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "keygen",
     "link", "meta", "param", "source", "track", "wbr",
     "html", "head", "body", "p", "li", "dd", "dt", "tr", "td", "th", "thead", "tbody", "tfoot", "caption",
     "colgroup", "option", "optgroup", "rb", "rp", "rt", "rtc", "template"}
)  # fmt: skip
"""They have no end, or another start ends them, or they bound the look-up themselves."""
_UNSHOWN: Final = "<template>"
_LINE: Final = "<br>"
_NOTHING: Final = "<!---->"
_ENDS: Final = {_UNSHOWN: "</template>"}
_INLINE: Final = frozenset(
    {"a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font",
     "i", "ins", "kbd", "label", "mark", "nobr", "q", "ruby", "s", "samp", "small", "span", "strike",
     "strong", "sub", "sup", "time", "tt", "u", "var"}
)  # fmt: skip


def with_bounded_depth(source: str, *, left_out: frozenset[str]) -> str:
    """The page without elements deeper than `MOST_DEPTH`; their text stays, a line for each block.

    Deeper elements that are not shown stay out: those named in `left_out`, and those with `hidden`. A page
    that nests less is returned as it is. Takes linear time.
    """
    if source.count("<") <= MOST_DEPTH:
        return source
    opened: defaultdict[str, list[str]] = defaultdict(list)
    depth, copied = 0, 0
    parts: list[str] = []
    for token in _TOKEN.finditer(source):
        name = (token["name"] or "").lower()
        if not name or name in _UNCOUNTED:
            continue
        if token["end"]:
            if not opened[name]:
                continue
            depth -= 1
            replacement = opened[name].pop()
        else:
            replacement = "" if depth < MOST_DEPTH else _replacement(name, token["rest"], left_out)
            opened[name].append(_ENDS.get(replacement, replacement))
            depth += 1
        if replacement:
            parts += [source[copied : token.start()], replacement]
            copied = token.end()
    return "".join([*parts, source[copied:]]) if parts else source


def _replacement(name: str, attributes: str, left_out: frozenset[str]) -> str:
    """What stands for a start that is too deep; its end is that of the same element."""
    if name in left_out or _HIDDEN.search(attributes):
        return _UNSHOWN
    return _NOTHING if name in _INLINE else _LINE
