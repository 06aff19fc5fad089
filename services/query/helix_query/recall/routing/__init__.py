"""Stage 2: classifies a query before anything is searched. Start with `route`.

`skip` tells which queries need no memory (`arithmetic`, `small_talk`, `supplied_text`). `rules` finds
intents in the words (`multi_hop`, `current_value`, `exact_lookup`), `past` whether it is about earlier times,
`asked_person` whom it asks about, `centroids` by example questions (`examples.toml`). `anchors` and
`event_lookup` turn "before the migration" into a time window;
`strip_times` removes times from a query. An intent is added in `profile.intent`, then in `rules` or
`examples.toml`. May import `profile`, `recall.candidates`, `recall.visibility` and shared packages.
"""
