"""Which grammar splits a document: by its media type, or by the ending of its name."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final
from urllib.parse import urlsplit

MEDIA_TYPES: Final = {
    "text/x-python": "python",
    "text/javascript": "javascript",
    "text/typescript": "typescript",
    "text/x-go": "go",
    "text/x-rust": "rust",
    "text/x-java": "java",
}
ENDINGS: Final = {
    ".py": "python", ".pyi": "python",
    ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascript",
    ".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "tsx",
    ".go": "go", ".rs": "rust", ".java": "java",
}  # fmt: skip


def language_of(media_type: str, source_uri: str, title: str) -> str:
    """Grammar of a document, "" if it is no code.

    Plain text is code if the path of its URI, or else its title, has the ending of a known language.
    """
    if media_type not in {"text/plain", *MEDIA_TYPES}:
        return ""
    try:
        name = urlsplit(source_uri).path or title.strip()
    except ValueError:
        name = ""
    by_ending = ENDINGS.get(PurePosixPath(name).suffix.lower(), "")
    by_type = MEDIA_TYPES.get(media_type, by_ending)
    return "tsx" if (by_type, by_ending) == ("typescript", "tsx") else by_type
