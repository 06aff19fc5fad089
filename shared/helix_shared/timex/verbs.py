"""Word lists for the tense of an English clause; `tense` looks them up.

All words are in lower case. A form that is both present and past ("put", "quit") is in `SAME_IN_PAST` only.
"""

from __future__ import annotations

FUTURE = frozenset([
    "will", "won't", "shall", "gonna", "wanna", "gotta", "must", "mustn't", "should", "shouldn't", "ought",
    "need", "needs", "can", "can't", "cannot", "could", "would", "might", "let's", "please", "upcoming",
    "tomorrow", "soon",
])  # fmt: skip
"""Modal verbs and words that look ahead."""

PRESENT_BE = frozenset(["am", "is", "are", "isn't", "aren't", "ain't"])
PAST_BE = frozenset(["was", "were", "wasn't", "weren't"])
HAVE = frozenset(["have", "has", "haven't", "hasn't"])
DO = frozenset(["do", "does", "don't", "doesn't"])
IS_BEHIND = frozenset([
    "i", "you", "he", "she", "it", "we", "they", "there", "here", "that", "this", "what", "who", "where",
    "when", "how", "everyone", "everybody", "nobody",
])  # fmt: skip
"""Words whose "'s" is a verb; behind a noun it is mostly a genitive."""

SUBJECTS = frozenset(["i", "we", "they", "he", "she", "you", "it"])

PAST = frozenset([
    *PAST_BE, "had", "hadn't", "did", "didn't", "couldn't", "went", "came", "got", "said", "saw", "took",
    "made", "began", "ran", "left", "met", "ate", "awoke", "became", "been", "blew", "bought", "broke",
    "broken", "brought", "built", "burnt", "caught", "chose", "chosen", "dealt", "done", "drank", "drawn",
    "dreamt", "drew", "driven", "drove", "fed", "fell", "fallen", "felt", "fled", "flew", "flown", "forgave",
    "forgot", "forgotten", "fought", "found", "froze", "frozen", "gave", "given", "gone", "gotten", "grew",
    "grown", "heard", "held", "hid", "hidden", "kept", "knew", "known", "laid", "lain", "learnt", "led",
    "lent", "lit", "lost", "meant", "misunderstood", "overslept", "paid", "rang", "ridden", "risen", "rode",
    "rose", "sang", "sank", "sat", "seen", "sent", "shaken", "shone", "shook", "shot", "shown", "slept",
    "slid", "sold", "sought", "spent", "spilt", "spoke", "spoken", "spoilt", "stole", "stolen", "stood",
    "stuck", "struck", "swam", "swept", "swore", "sworn", "swum", "taken", "taught", "thought", "threw",
    "thrown", "told", "took", "tore", "torn", "understood", "undertook", "went", "withdrew", "woke", "woken",
    "won", "wore", "worn", "wound", "written", "wrote",
])  # fmt: skip
"""Past forms and participles that do not end in "-ed"."""

NOT_PAST = frozenset([
    "need", "feed", "speed", "seed", "red", "bed", "indeed", "hundred", "exceed", "proceed", "succeed",
    "embed", "bleed", "breed", "shed", "sacred", "naked", "wicked", "weed", "deed", "agreed-upon", "ted",
    "fred", "alfred", "wed", "med", "led-lamp", "unlimited", "mixed", "detailed", "united", "reed", "ahmed",
])  # fmt: skip
"""Words ending in "-ed" that are not past forms."""

SAME_IN_PAST = frozenset([
    "put", "cut", "hit", "read", "set", "cost", "hurt", "shut", "quit", "split", "spread", "bet", "beat",
    "cast", "upset", "reset", "broadcast", "let",
])  # fmt: skip

PLANNED_TO = frozenset([
    "decided", "agreed", "promised", "arranged", "planned", "scheduled", "booked", "set", "expected", "asked",
    "told", "invited", "reminded", "wants", "want", "hope", "hopes", "plan", "plans", "intend", "intends",
    "expect", "expects", "have", "has", "about", "ready", "offered", "volunteered", "signed", "due", "going",
    "aim", "aims",
])  # fmt: skip
"""With "to" and a verb behind them, what follows lies ahead of the saying."""

PLANNED_FOR = frozenset([
    "booked", "scheduled", "set", "planned", "reserved", "arranged", "fixed", "registered", "signed",
    "enrolled", "rescheduled", "postponed", "moved", "delayed", "pushed", "confirmed", "invited", "put",
    "got", "shifted", "changed", "extended", "deferred", "bumped", "brought", "prolonged", "bought",
    "lined", "pencilled", "penciled", "slated", "earmarked", "gave", "given", "shut", "granted", "slipped",
    "rebooked", "rearranged",
])  # fmt: skip
"""With "for", "to" or "until" in front of a date, that date is the one planned."""

PLACED_ON = frozenset([
    "booked", "scheduled", "planned", "reserved", "arranged", "ordered", "rescheduled", "rebooked",
    "rearranged",
])  # fmt: skip
""""I booked it on Friday" dates the booking or what is booked."""

PUT_OFF = frozenset(["closed", "shut", "cancelled", "canceled"])
""""Town hall closed on the 12th": a notice of what is to come, or a report."""

ARRANGED = frozenset([
    "booked", "scheduled", "set", "planned", "reserved", "arranged", "registered", "rescheduled",
    "postponed", "moved", "delayed", "pushed", "confirmed", "shifted", "changed", "extended", "deferred",
    "bumped", "slipped", "pencilled", "penciled", "slated", "agreed", "cancelled", "canceled", "rebooked",
    "rearranged",
])  # fmt: skip
"""Where a clause with one of these ends, the date behind it is the one planned ("rescheduled: 12 April")."""

BOOKED = frozenset(["booked", "reserved", "registered", "enrolled", "rebooked"])
"""With an object or "for" behind them, a date without a year is that of what is booked."""

OBTAINED = BOOKED | frozenset(["got", "bought", "ordered", "paid", "purchased", "grabbed", "snagged"])
"""The same where what is obtained is an appointment ("got tickets for the gig 14 June")."""

OBTAINED_BY = frozenset(
    ["i", "we", "i've", "we've", "have", "just", "finally", "already", "also", "has", "and"]
)
"""Words before them of whoever did it; "was booked" is another thing."""

PAID = frozenset(["payment", "transfer", "refund", "receipt", "order", "purchase"])
"""What is confirmed when it is done ("payment confirmed, 16 March")."""

BY_ONESELF = frozenset(["moved", "changed", "shifted"])
"""Those of them that people do themselves ("we moved, 12 January")."""

BEHIND_ARRANGED = frozenset([
    "again", "back", "forward", "out", "up", "it", "them", "this", "that", "yet", "once", "more", "a", "by",
    "day", "week", "month", "year", "two", "few", "finally", "sorry", "too", "now",
])  # fmt: skip
"""What may stand between them and the end of the clause ("pushed back a week, now 12 April")."""

NEW_TIMES = frozenset(["date", "day", "time", "slot", "deadline", "one", "appointment"])
"""After "new" these announce a time to come ("new date: 26 September")."""

PLANNED_BY = frozenset(["promised", "asked", "wanted", "expected", "agreed", "requested", "told", "ordered"])
"""With "by" in front of a date, that date is still to come at the time of the promise."""

SCHEDULED = frozenset([
    "starts", "begins", "opens", "closes", "leaves", "departs", "arrives", "lands", "ends", "finishes",
    "expires", "runs", "takes", "goes", "comes", "flies", "travels", "returns", "moves", "meets", "visits",
    "plays", "performs", "launches", "ships", "releases", "retires", "graduates", "marries", "works", "hosts",
    "gives", "speaks", "presents", "joins", "lasts", "falls", "applies", "resumes", "stops", "drops", "airs",
    "kicks", "wraps", "turns", "renews", "sails", "stays", "sits", "suits", "fits", "fly", "arrive", "depart",
    "begin", "expire", "attend", "go", "meet", "sail", "become", "becomes", "migrate", "migrates",
])  # fmt: skip
"""Present forms used for timetables that are rarely nouns."""

ORDERS = frozenset([
    "add", "arrange", "ask", "attend", "backup", "be", "book", "bring", "buy", "call", "cancel", "check",
    "clean", "collect", "come", "complete", "confirm", "contact", "deliver", "deploy", "drop", "email",
    "fetch", "file", "finish", "fix", "follow", "get", "go", "hand", "install", "invite", "join", "launch",
    "leave", "mail", "make", "meet", "message", "move", "order", "pack", "pay", "phone", "pick", "plan",
    "prepare", "publish", "put", "register", "release", "remember", "remind", "renew", "rent", "reply",
    "reschedule", "return", "review", "schedule", "see", "send", "set", "ship", "sign", "start", "stop",
    "submit", "switch", "take", "test", "text", "tidy", "update", "upgrade", "visit", "wait", "wash",
    "water", "write",
])  # fmt: skip
"""Verbs that begin an order; a verb of looking up ("show", "list") says nothing about tense."""

NAMES_TOO = frozenset([
    "backup", "book", "call", "check", "clean", "contact", "deploy", "drop", "email", "file", "finish", "fix",
    "hand", "install", "invite", "join", "launch", "leave", "mail", "message", "move", "order", "pack",
    "phone", "pick", "plan", "publish", "register", "release", "rent", "reply", "return", "review",
    "schedule", "set", "ship", "sign", "start", "stop", "switch", "test", "text", "update", "upgrade",
    "visit", "wait", "wash", "water",
])  # fmt: skip
"""Those that also name a thing or what was done: "Deploy on 12 January failed", "Update 3 June: fixed"."""

KNOWING = frozenset(["know", "remember", "recall", "recollect", "think", "forget"])
"""After these the tense of the clause says nothing of the date ("do you remember the dinner on Friday")."""

HABITS = frozenset([
    "usually", "normally", "always", "often", "generally", "typically", "sometimes",
    "rarely", "mostly", "seldom", "regularly", "tend", "tends", "weekly", "daily", "monthly", "yearly",
])  # fmt: skip

APPOINTMENTS = frozenset([
    "appointment", "meeting", "dentist", "doctor", "flight", "interview", "exam", "deadline", "party",
    "wedding", "concert", "call", "dinner", "lunch", "breakfast", "brunch", "review", "audit", "launch",
    "release", "demo", "standup", "trip", "vacation", "ticket", "tickets", "reservation", "booking",
    "checkup", "conference", "workshop", "webinar", "rehearsal", "ceremony", "reminder", "todo", "kickoff",
    "retro", "viewing", "surgery", "haircut", "delivery", "graduation", "due", "presentation", "playdate",
    "vet", "physio", "training", "freeze", "cutover", "milestone", "scan", "mri", "hearing", "inspection",
    "handover", "recital", "fixture", "jab", "vaccination", "booster", "mot", "renewal", "christening",
    "funeral", "barbecue", "bbq", "picnic", "sleepover", "invitation", "seats", "op", "operation", "exams",
    "finals", "birthday", "bday", "anniversary", "gig", "festival",
])  # fmt: skip
"""Nouns that without any verb announce something ("Dentist on 2 April")."""

ABSENT = frozenset(["off", "away"])
"""Directly before a date these announce something, too ("kids off 21 December")."""

JUDGEMENTS = frozenset([
    "great", "lovely", "nice", "amazing", "awesome", "wonderful", "fantastic", "fun", "terrible", "awful",
    "beautiful", "thanks", "thank", "sorry", "good", "bad", "best", "congrats", "congratulations", "loved",
])  # fmt: skip
"""As first word of a sentence without a verb these judge what may as well be over."""

LOOK_BACK = frozenset([
    "since", "after", "photo", "photos", "picture", "pictures", "video", "videos", "notes", "scar", "receipt",
    "receipts", "recording", "minutes",
])  # fmt: skip
"""Before such a noun these are about what is over ("photos of the birthday on 3 October")."""

LOOKS_AHEAD = frozenset(["deadline", "reminder", "due", "coming", "remind"])

NO_ING = frozenset([
    "bring", "thing", "something", "anything", "everything", "nothing", "king", "ring", "sing", "spring",
    "string", "wing", "swing", "during", "morning", "evening", "ceiling", "sibling", "sterling", "cling",
    "fling", "sling", "sting", "interesting", "amazing", "according", "including", "regarding",
])  # fmt: skip

NOUNS_ON_ING = frozenset([
    "wedding", "meeting", "training", "painting", "building", "opening", "closing", "hearing", "reading",
    "recording", "christening", "briefing", "viewing", "fitting", "screening", "filing", "pricing", "parking",
    "housing", "clothing", "wiring", "drawing", "listing", "outing", "gathering", "crossing", "hiring",
    "boarding", "booking", "finding", "rating", "setting", "timing", "warning", "being", "feeling", "saying",
])  # fmt: skip
"""Behind a genitive these are rather nouns ("Marta's wedding")."""

BOUNDARIES = frozenset([
    ",", ":", "(", ")", "\u2014", "\u2013", "-", "and", "but", "or", "because", "so", "while", "although",
    "though", "that", "which", "who", "when", "if", "then", "where", "whether", "what", "why", "how", "after",
    "before", "as",
])  # fmt: skip
"""Tokens a clause begins behind."""

NO_VERBS = frozenset([
    "to", "on", "in", "at", "for", "with", "from", "by", "of", "about", "the", "a", "an", "my", "our", "your",
    "his", "her", "their", "this", "that", "some", "any", "no", "all", "up", "out", "until", "till", "into",
])  # fmt: skip
"""Words after a pronoun that show that it is not a subject ("give it to Anna")."""

ADVERBS = frozenset(
    ["just", "also", "then", "never", "still", "already", "once", "only", "all", "both", "not", "now"]
)
