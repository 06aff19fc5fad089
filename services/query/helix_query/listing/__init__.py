"""Lists without a query: memories, sessions and timelines, a page at a time.

Start with `pages`: it walks the memories of a caller in order and stops at a page. What a caller may see is
that of a recall (`recall.visibility`). A page reads at most `pages.MOST_SCANNED` memories, whatever it finds.
May import recall, generations and shared rooms; api calls it.
"""
