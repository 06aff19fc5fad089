"""The lexicon: BM25 over words and exact tokens, in a tantivy index. Nothing outside this room knows tantivy.

Start with `reader` (searches of a published index) and `writer` (documents of the live index). `query` builds
queries, `analysis` (English words and stems) and `languages` (other scripts and their stems) turn text into
terms, `scopes` and `lengths` keep one tenant's documents out of the scores of another. Imports filter and
files.
"""
