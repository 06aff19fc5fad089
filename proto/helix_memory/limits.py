"""Every public limit with its unit.

An event or a request that breaks a limit is refused, and the reason names field and limit; nothing is
truncated. The AsyncAPI document is generated with these numbers.
"""

from typing import Final

TOKEN_PATTERN: Final = r"^[A-Za-z0-9_-]{1,64}$"  # noqa: S105  a subject token, no password
"""Tenant and session are opaque subject tokens. Subjects appear in logs: use no names or mail addresses."""

TOKEN_RULE: Final = "must be 1 to 64 letters (A to Z, a to z), digits, - or _"  # noqa: S105  as above
"""`TOKEN_PATTERN` in words, for refusals."""

EVENT_ID_PATTERN: Final = r"^[!-~]{1,128}$"
"""Printable ASCII without spaces, because the id is sent in a header."""

NAME_CHARACTERS: Final = 256
"""User, project, speaker, tool, tag, principal and document names."""

NAME_PATTERN: Final = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$"
"""No control characters and line separators: names are used in keys, filters, headers and logs."""

ID_DIGITS: Final = 32
"""Digits of the id of a memory."""

MEMORY_ID_PATTERN: Final = rf"^[0-9a-f]{{{ID_DIGITS}}}$"
"""128 bits as lower-case hexadecimal digits."""

ID_PREFIX_DIGITS: Final = 4
"""Fewest digits of the beginning of an id that FindIds takes."""

ID_PREFIXES: Final = 1_000
"""Beginnings of further ids in one call of FindIds."""

TEXT_PATTERN: Final = r"\S"
"""A text holds more than white space."""

EVENT_BYTES: Final = 256 * 1024
"""Body and headers of one event; the stream refuses a larger one."""

TEXT_CHARACTERS: Final = 100_000
"""One text inside an event."""

DOCUMENT_BYTES: Final = 180_000
"""One file inside a document event; as base64 it has 240,000 characters, so that the event fits."""

EXTRACTED_CHARACTERS: Final = 400_000
"""Text that an HTML page or a PDF file gives."""

PDF_PAGES: Final = 1_000

TITLE_CHARACTERS: Final = 1_000
URI_CHARACTERS: Final = 2_048
TAGS: Final = 32
PRINCIPALS: Final = 64
DOCUMENT_PARTS: Final = 1_000
SELECTED_IDS: Final = 1_000

FIRST_YEAR: Final = 1_000
LAST_YEAR: Final = 2_999
"""Every time of an event lies in these years, so that time arithmetic never overflows."""

ACCESSED_MEMORIES: Final = 1_000
"""Memories in one message about accesses."""

QUERY_CHARACTERS: Final = 4_096
TIME_ZONE_CHARACTERS: Final = 64
"""Name of a time zone in the IANA database."""
TOP_K: Final = 200
EXPLAINED_CANDIDATES: Final = 10_000
TOKEN_BUDGET: Final = 100_000
ALREADY_SERVED: Final = 1_000
"""Memories that a request may name as already served."""
BATCH_RECALLS: Final = 16
"""Requests in one batch of recalls."""
FILTER_VALUES: Final = 64
"""Values in one recall filter (types, projects, sessions, principals)."""
PAGE_SIZE: Final = 200
"""Entries of one page of a list."""
LISTED_TEXTS: Final = 200
"""Texts that a list of memories may name."""
PAGE_TOKEN_CHARACTERS: Final = 128
GROUP_MEMORIES: Final = 16_384
"""Memories of a session or an entity that a list counts: a count of so many means so many or more."""
GRAPH_NODES: Final = 150
"""Nodes of a part of the graph."""
GRAPH_HOPS: Final = 2
