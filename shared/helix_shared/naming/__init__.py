"""Names in texts, found by the same rules in documents (kg) and in questions (query).

Start with `find`: `find_names` reads a text, `title_candidates` a question; `canonical` gives the form of a
name in the graph, `written_form` that of a text for such a name. All are deterministic, linear in the length
of the text and never raise. May import the top-level modules of `helix_shared` only.
"""

from __future__ import annotations

from helix_shared.naming.code import base_name
from helix_shared.naming.find import Name, find_names, title_candidates
from helix_shared.naming.form import canonical, without_disambiguation
from helix_shared.naming.written import written_form

__all__ = [
    "Name", "base_name", "canonical", "find_names", "title_candidates", "without_disambiguation",
    "written_form",
]  # fmt: skip
