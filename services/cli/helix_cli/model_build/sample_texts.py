"""Texts on which `fidelity` compares two encoders, as varied as the memory of an agent.

Chat turns, facts, questions, tool output, code, dates and numbers, names, other scripts, one word and
whole paragraphs. Written for this purpose.
"""

from __future__ import annotations

SAMPLE_TEXTS: tuple[str, ...] = (
    # chat turns
    "Hi, I'm back from the dentist. What did I miss?",
    "Could you remind me to call my sister on Sunday? She moved to Lisbon last month.",
    "No, not that one. I meant the blue bike with the broken rear light.",
    "Thanks! That fixed it.",
    "We decided to drop the Thursday meeting and write a short summary instead.",
    "I've been vegetarian since 2019, but I do eat fish when I'm by the sea.",
    "ok",
    "Honestly I liked the old layout better, the new one hides the search box.",
    "My daughter's recital is on 14 June at half past six, please keep the evening free.",
    "I tried the recipe with oat milk and it curdled, next time I'll use coconut.",
    # facts and preferences
    "The user prefers answers in metric units and short sentences.",
    "Marta Kowalczyk leads the billing team and reports to Idris.",
    "The staging database runs PostgreSQL 16 on port 5433.",
    "Allergic to penicillin; carries an adrenaline pen.",
    "The office in Tallinn closes at noon on the last Friday of each month.",
    "Paul proposed to Ines on the ferry to Naxos.",
    "The deploy window is Tuesday and Thursday between 09:00 and 11:00 UTC.",
    "Invoice 2024-0913 over 1,284.50 euros was paid twice and refunded once.",
    # questions
    "Where did we put the keys to the summer house?",
    "Why did the nightly build fail on Monday?",
    "Who introduced me to the people from the sailing club?",
    "How do I rotate the signing key without downtime?",
    "What was the name of the restaurant with the terrace?",
    "Which of the two candidates had worked with Kafka before?",
    "when is the next release",
    "How many kilometres did I run in March?",
    # tool output, logs, code
    "ERROR 2024-11-02T03:14:07Z worker-3 connection reset by peer after 30000 ms, retry 4 of 5",
    "$ git status\nOn branch main\nYour branch is ahead of 'origin/main' by 2 commits.",
    "def area(radius: float) -> float:\n    return math.pi * radius**2",
    "SELECT tenant, count(*) FROM memories WHERE valid_to IS NULL GROUP BY tenant ORDER BY 2 DESC;",
    "TypeError: unsupported operand type(s) for +: 'int' and 'NoneType'",
    '{"status": "degraded", "queue_depth": 1843, "oldest_seconds": 92.4, "region": "eu-north-1"}',
    "HTTP 503 from https://api.example.org/v2/orders?limit=50 after 3 attempts",
    'fn main() { let total: u64 = (1..=10).product(); println!("{total}"); }',
    "src/cache/eviction.go:118: unreachable code",
    "curl -sS -X POST localhost:8080/v1/flush -d '{\"force\": true}'",
    "The migration adds a nullable column, backfills it in chunks of 5,000 rows, then sets NOT NULL.",
    # encyclopaedic sentences
    "The Danube flows through ten countries before it reaches the Black Sea.",
    "Photosynthesis turns carbon dioxide and water into sugar, with light as the source of energy.",
    "The treaty was signed in 1648 and ended thirty years of war in central Europe.",
    "A violin's strings are tuned in perfect fifths: G, D, A and E.",
    "Penguins huddle in turns so that none of them stays at the cold edge for long.",
    "Insulin lowers the level of glucose in the blood by helping cells take it up.",
    "Her second novel, published under a pen name, sold fewer than three hundred copies.",
    "Copper conducts heat about five times better than iron.",
    # numbers, names, other scripts, oddities
    "42",
    "3.14159 2.71828 1.41421 1.61803",
    "Łódź, Århus, São Paulo, Kraków, Nuuk",
    "Das Treffen wurde auf nächsten Mittwoch verschoben.",
    "La réunion a été reportée à mercredi prochain.",
    "会议推迟到下周三。",
    "Встреча перенесена на среду.",
    "🎉🎉 we shipped it!! 🚢",
    "a b c d e f g",
    "https://example.org/docs/setup#step-3",
    "URGENT!!! READ THIS NOW!!!",
    "tl;dr: cache was cold, warmed it, p95 back to 18 ms",
    # paragraphs
    (
        "The retrospective took longer than planned. Most of the trouble came from two places: the importer "
        "kept retrying a file it could never parse, and the alert for a full disk had been muted since the "
        "spring. We agreed that a file which fails three times goes to a separate folder with a note, that "
        "muted alerts expire after a week, and that whoever is on call reads the list of muted alerts aloud "
        "on Monday. Jonas will write the change, Amira reviews it, and we look at the numbers in a month."
    ),
    (
        "On our first day in Bergen it rained so hard that we spent the afternoon in the aquarium. The "
        "second day was clear, and we took the funicular up and walked down through the forest, past a "
        "small lake where someone had left a rowing boat with no oars. Dad slipped on the last stretch and "
        "hurt his wrist, not badly. In the evening we had fish soup near the harbour and met a couple from "
        "Winnipeg who were cycling to the North Cape. They gave us the address of a guest house in Voss."
    ),
    (
        "Soil holds more carbon than the air and all plants together. When a field is ploughed, part of "
        "that carbon meets oxygen and leaves as carbon dioxide. Leaving the roots in the ground, sowing a "
        "cover crop after the harvest and rotating what is grown all slow the loss, and in some trials "
        "they turn it round. How much of the gain lasts is disputed: measurements in the top thirty "
        "centimetres look better than those that go down a metre, because the carbon partly moves rather "
        "than accumulates."
    ),
    (
        "To restore a backup, stop the writer first and check that nothing holds the lock. Copy the newest "
        "complete folder to the data disk, compare the checksums with the manifest, and only then point the "
        "link at it. Start one reader and ask it for a record you know. If the answer is right, start the "
        "others; if not, put the link back and open a ticket with the name of the folder and the output of "
        "the checksum command. Never delete the old folder on the same day."
    ),
    (
        "User: I want to learn the cello, is 41 too late?\nAssistant: Not at all. Rent an instrument for the "
        "first half year and take a lesson a week.\nUser: I can't do more than twenty minutes a day.\n"
        "Assistant: Twenty minutes every day beats two hours on Saturday.\nUser: Good, then I'll start in "
        "September when the kids are back at school."
    ),
    (
        "Quarterly figures: revenue 4.82 million (up 6.1 %), gross margin 61.4 %, churn 2.3 % a month, cash "
        "for nineteen months. Hiring is frozen except for two engineers in support. The new pricing starts "
        "on 1 October for new customers and on 1 January for everybody else."
    ),
    (
        "class LruCache:\n    def __init__(self, capacity):\n        self.capacity = capacity\n"
        "        self.items = OrderedDict()\n\n    def get(self, key):\n        if key not in self.items:\n"
        "            return None\n        self.items.move_to_end(key)\n        return self.items[key]\n\n"
        "    def put(self, key, value):\n        self.items[key] = value\n"
        "        self.items.move_to_end(key)\n        if len(self.items) > self.capacity:\n"
        "            self.items.popitem(last=False)"
    ),
)
