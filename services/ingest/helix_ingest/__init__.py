"""1. event -> memories: segment, contextualise, classify, score, embed. Holds no state.

Which memories follow from an event? `drafts` answers; the other files are its steps. Next come
doc2query and kg (enrichment) and consolidation (the one writer).
"""
