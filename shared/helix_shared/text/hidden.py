"""Characters that a reader does not see, or that reorder what a reader sees.

The ranges are used inside a character class of a regular expression. `flags` of ingest flags a text that has
one; the explorer shows each by its name. Joiners and the selectors of emoji are none: scripts need them.
"""

from __future__ import annotations

from typing import Final

INVISIBLE: Final = r"\U000e0000-\U000e007f\U000e0100-\U000e01ef\ufff9-\ufffb\u2060-\u2064\u180e\u200b\ufeff"
"""Tags, selectors of variants, annotations, and characters without width."""
DIRECTIONS: Final = r"\u202a-\u202e\u2066-\u2069"
"""Embeddings, overrides and isolates."""
CONTROLS: Final = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f"
"""Without tab, the ends of lines, and NEL."""
