"""Schema of the index, and tantivy queries built from terms, without a query parser.

Words score by BM25, summed over fields with their weights, in the caller's scopes (`scopes`). The filters of
a selection have a constant score of zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tantivy import FieldType, Occur, Query, Schema, SchemaBuilder

from helix_shared.artifacts.filter.filter import LackedTerm, NumberRange, TermSet
from helix_shared.artifacts.filter.filters import CLEAR_OF, TERM_FIELDS
from helix_shared.artifacts.lexicon.analysis import ANALYSER
from helix_shared.artifacts.lexicon.scopes import SCOPE, OpenScopes
from helix_shared.artifacts.lexicon.scores import ScoredQuery

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from helix_shared.artifacts.filter.selection import Selection

WORD_FIELDS: Final = ("text", "context", "section", "expansions")
"""`context` holds the turns around a turn, `section` the text around a piece of a longer text."""
EXACT: Final = "exact"
MAX_ALL_WORDS_DOCUMENTS: Final = 20_000
"""If more documents hold the rarest of some words, a search for all the words is skipped."""
COPY: Final = "copy"
"""Field that marks all documents of a memory but the first, companions included."""

_FIRST: Final = -(2**63)
_LAST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class FieldWeights:
    """Factor on the BM25 score of each field; a field with weight 0 is not searched."""

    text: float = 1.0
    context: float = 0.6
    section: float = 0.6
    expansions: float = 0.3
    exact: float = 1.0


@dataclass(frozen=True, slots=True)
class OrdinalSet:
    """All ordinals below `below`, those of `also`, and those of `runs` (first and last)."""

    below: int
    also: tuple[int, ...] = ()
    runs: tuple[tuple[int, int], ...] = ()


def lexicon_schema() -> Schema:
    """Schema of the index. No field is stored, since hits are ordinals."""
    builder = SchemaBuilder()
    for name in WORD_FIELDS:
        builder.add_text_field(name, tokenizer_name=ANALYSER, index_option="freq")
    for name in (EXACT, SCOPE, COPY, CLEAR_OF, *TERM_FIELDS):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("ordinal", indexed=True, fast=True)
    builder.add_integer_field("event_at", fast=True)
    return builder.build()


def filter_value(value: str) -> str:
    """A value as a term of a filter field, with a prefix, since an empty term cannot be searched."""
    return f"={value}"


def lexicon_query(
    schema: Schema,
    words: Sequence[str],
    exact: Sequence[str],
    scopes: OpenScopes,
    selection: Selection,
    *,
    weights: FieldWeights,
    within: OrdinalSet | None = None,
) -> ScoredQuery | None:
    """Documents of the scopes that hold any of the words or exact tokens; None if there are none.

    `within` restricts the search to these ordinals.
    """
    by_field: Mapping[str, tuple[float, Sequence[str]]] = {
        "text": (weights.text, words),
        "context": (weights.context, words),
        "section": (weights.section, words),
        "expansions": (weights.expansions, words),
        EXACT: (weights.exact, exact),
    }
    terms = [
        term
        for field, (weight, tokens) in by_field.items()
        if weight > 0
        for token in tokens
        for term in scopes.terms(field, token, weight)
    ]
    if not terms:
        return None
    scored = [term.query(schema) for term in terms]
    return ScoredQuery(schema, _filtered(schema, scored, selection, within), terms)


def tokens_query(
    schema: Schema,
    tokens: Sequence[str],
    scopes: OpenScopes,
    selection: Selection,
    *,
    within: OrdinalSet | None = None,
) -> ScoredQuery | None:
    """Documents of the scopes that hold one of the exact tokens, all with score 1; None if there are none."""
    terms = [term for token in tokens for _, term, *_ in scopes.terms(EXACT, token)]
    if not terms:
        return None
    holding = [(Occur.Should, Query.term_query(schema, EXACT, term, "basic")) for term in terms]
    scored = [Query.const_score_query(Query.boolean_query(holding), 1.0)]
    return ScoredQuery(schema, _filtered(schema, scored, selection, within))


def coverage_query(
    schema: Schema,
    weights: Mapping[str, int],
    scopes: OpenScopes,
    selection: Selection,
    *,
    within: OrdinalSet | None = None,
) -> ScoredQuery:
    """Documents of the scopes, scored with the sum of the `weights` of the words in their text.

    Term frequency and length do not count. Sums below 2^24 are exact.
    """
    scored = [
        Query.const_score_query(Query.term_query(schema, "text", term, "basic"), float(weight))
        for word, weight in weights.items()
        for _, term, *_ in scopes.terms("text", word)
    ]
    return ScoredQuery(schema, _filtered(schema, scored, selection, within))


def all_words_query(
    schema: Schema,
    words: Sequence[str],
    scopes: OpenScopes,
    selection: Selection,
    *,
    within: OrdinalSet | None = None,
) -> ScoredQuery | None:
    """Documents of the scopes whose text holds all `words`, with their BM25 score.

    None if there are none, or if more than `MAX_ALL_WORDS_DOCUMENTS` hold the rarest word.
    """
    found = list(scopes.terms_of_all("text", words, most=MAX_ALL_WORDS_DOCUMENTS))
    if not found:
        return None
    of_scopes = [Query.boolean_query([(Occur.Must, term.query(schema)) for term in terms]) for terms in found]
    every = [term for terms in found for term in terms]
    return ScoredQuery(schema, _filtered(schema, of_scopes, selection, within), every)


def copies_query(schema: Schema) -> Query:
    """All documents that are not the first of their memory."""
    return Query.term_query(schema, COPY, filter_value(COPY), "basic")


def ordinals_query(schema: Schema, start: int, end: int) -> Query:
    """All documents of the ordinals from `start` up to `end`."""
    return Query.range_query(
        schema,
        "ordinal",
        FieldType.Integer,
        lower_bound=start,
        upper_bound=end,
        include_lower=True,
        include_upper=False,
    )


def _filtered(
    schema: Schema, scored: Sequence[Query], selection: Selection, within: OrdinalSet | None
) -> Query:
    any_of = Query.boolean_query([(Occur.Should, query) for query in scored])
    conditions = [_clause(schema, clause) for one in selection.filters for clause in one.clauses()]
    if within is not None:
        conditions.append(_among(schema, within))
    if not conditions:
        return any_of
    unscored = [(Occur.Must, Query.const_score_query(query, 0.0)) for query in conditions]
    return Query.boolean_query([(Occur.Must, any_of), *unscored])


def _clause(schema: Schema, clause: TermSet | LackedTerm | NumberRange) -> Query:
    if isinstance(clause, TermSet):
        return Query.term_set_query(schema, clause.field, [filter_value(value) for value in clause.values])
    if isinstance(clause, LackedTerm):
        return _without_all(schema, clause)
    return Query.range_query(
        schema,
        clause.field,
        FieldType.Integer,
        lower_bound=_FIRST if clause.lower is None else clause.lower,
        upper_bound=_LAST if clause.upper is None else clause.upper,
        include_lower=True,
        include_upper=False,
    )


def _without_all(schema: Schema, clause: LackedTerm) -> Query:
    """All documents but those that hold every term; the engine cannot search for what is lacked alone."""
    terms = [Query.term_query(schema, clause.field, filter_value(value), "basic") for value in clause.values]
    every = Query.boolean_query([(Occur.Must, term) for term in terms])
    return Query.boolean_query([(Occur.Must, Query.all_query()), (Occur.MustNot, every)])


def _among(schema: Schema, within: OrdinalSet) -> Query:
    runs = ((0, within.below - 1), *within.runs)
    parts = [ordinals_query(schema, first, last + 1) for first, last in runs]
    if within.also:
        parts.append(Query.term_set_query(schema, "ordinal", list(within.also)))
    return parts[0] if len(parts) == 1 else Query.boolean_query([(Occur.Should, part) for part in parts])
