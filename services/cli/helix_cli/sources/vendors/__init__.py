"""Reading the exports of other memory systems: mem0, Zep, Hindsight, server-memory and basic-memory.

Start with a vendor's module: it tells whether a record is its own, and makes events of it. `export_file`
finds the records of a file with their lines; `vendor_fields` has what the vendors share: ids that follow from
the vendor's, times, tags, later versions of a memory, and memories that the vendor hides. A reader yields the
items of `sources.items`. May import `sources` and, of `documents`, how a text becomes documents.
"""
