import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Router

from helix_gateway.callers import Caller
from helix_gateway.hooks import hook_routes, routes
from helix_gateway.hooks.injecting import CHARACTERS, TOKENS, framed
from helix_gateway.settings import GatewaySettings
from helix_memory import limits
from helix_memory.client import MemoryPage, Profile, Recalled, Written
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.credentials import UnusableFileError
from helix_shared.errors import InvalidInputError, TemporaryError
from helix_shared.rpc.access.credential import RECALL, WRITE, Credential
from helix_shared.sources.cleaning import cleaned

Answer = Callable[..., Awaitable[Any]]


@dataclass
class Client:
    """Stands for `AsyncHelix`: notes what is asked and written, and answers as it is told."""

    contexts: list[str] = field(default_factory=list)
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    written: list[dict[str, Any]] = field(default_factory=list)
    failure: Exception | None = None
    hangs: bool = False
    reply: dict[str, Any] = field(default_factory=dict)
    tokens: int = 0
    counts: list[int] = field(default_factory=list)
    """Tokens of the contexts."""
    known: recall_pb2.Profile = field(default_factory=recall_pb2.Profile)
    decisions: list[recall_pb2.Memory] = field(
        default_factory=lambda: [recall_pb2.Memory(memory_id=identity(70), text="We chose\nPostgres.")]
    )

    async def recall(self, query: str, **options: Any) -> Recalled:
        """The contexts as memories 1 and up."""
        self.asked.append((query, options))
        if self.hangs:
            await asyncio.Event().wait()
        if self.failure:
            raise self.failure
        ids = [identity(number) for number, _ in enumerate(self.contexts)]
        context = "\n\n".join(f"[{number + 1}] {text}" for number, text in enumerate(self.contexts))
        packed = recall_pb2.PackedContext(text=context, memory_ids=ids, tokens=self.tokens)
        counts = dict(enumerate(self.counts))
        memories = [
            recall_pb2.Memory(memory_id=identity(number), text=text, token_count=counts.get(number, 0))
            for number, text in enumerate(self.contexts)
        ]
        counted = [recall_pb2.RecalledMemory(memory=one) for one in memories]
        return Recalled.of(recall_pb2.RecallResponse(context=packed, memories=counted, **self.reply))

    async def profile(self, **options: Any) -> Profile:
        """Nothing known, unless the test says so."""
        self.asked.append(("profile", options))
        return Profile.of(recall_pb2.GetProfileResponse(profile=self.known))

    async def list(self, **options: Any) -> MemoryPage:
        """One decision."""
        self.asked.append(("list", options))
        if self.hangs:
            await asyncio.Event().wait()
        return MemoryPage.of(recall_pb2.ListMemoriesResponse(memories=self.decisions))

    async def message(self, **fields: Any) -> Written:
        """Note a write."""
        if self.failure:
            raise self.failure
        self.written.append(fields)
        return Written(
            fields["event_id"], identity(100 + len(self.written)), len(self.written), duplicate=False
        )

    tool = message


def identity(number: int) -> str:
    """Id of a memory."""
    return f"{number:032x}"


@dataclass
class Gateway:
    """The routes of the hooks, and a client behind them."""

    folder: Path
    client: Client = field(default_factory=Client)
    credential: Credential | None = None
    user: str = "ana"
    router: Router = field(init=False)

    def __post_init__(self) -> None:
        """Build the routes."""
        self.transcripts = self.folder / "projects"
        self.transcripts.mkdir(exist_ok=True)
        self.start()

    def start(self) -> None:
        """Begin anew, as after a restart."""
        settings = GatewaySettings(
            hook_transcripts=(self.transcripts,), hook_sessions_dir=self.folder / "sessions"
        )
        self.router = Router(hook_routes(settings))
        self.hooks = self.router.routes[0].endpoint.__self__  # type: ignore[attr-defined]

    async def post(
        self, agent: str, body: object, *, client: str = "127.0.0.1", header: str = ""
    ) -> tuple[Any, str]:
        """The JSON and the outcome of a hook; its status is always 200."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        caller = Caller(self.client, "acme", self.user, self.credential)  # type: ignore[arg-type]
        headers = [(header.encode(), b"192.0.2.7")] if header else []
        scope = {
            "type": "http", "method": "POST", "path": f"/hooks/{agent}", "raw_path": b"", "query_string": b"",
            "headers": headers, "client": (client, 1), "state": {"caller": caller},
        }  # fmt: skip
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": content}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.router(scope, receive, send)
        assert sent[0]["status"] == 200
        outcome = dict(sent[0]["headers"])[b"helix-hook"].decode()
        return json.loads(sent[1]["body"]), outcome

    async def prompt(
        self, text: str = "which database?", *, session: str = "s", **more: Any
    ) -> tuple[Any, str]:
        """A prompt in Claude Code."""
        body = {
            "hook_event_name": "UserPromptSubmit",
            "session_id": session,
            "prompt": text,
            "cwd": "/x/weather",
        }
        return await self.post("claude-code", body | more)

    async def stop(self, path: Path, **more: Any) -> str:
        """The end of a turn; returns when the transcript is read."""
        _, outcome = await self.post(
            "claude-code",
            {"hook_event_name": "Stop", "session_id": "s", "transcript_path": str(path), "cwd": "/x/weather"},
            **more,
        )
        await self.hooks._handing_over.finished()
        return outcome

    def transcript(self, *texts: str, name: str = "s.jsonl") -> Path:
        """A transcript with these turns, or more of them."""
        path = self.transcripts / name
        before = path.read_text() if path.exists() else ""
        count = before.count("\n")
        lines = [
            json.dumps(
                {"type": "user", "uuid": f"u{count + number}", "sessionId": "s", "message": {"content": text}}
            )
            for number, text in enumerate(texts)
        ]
        path.write_text(before + "".join(f"{line}\n" for line in lines))
        return path


@pytest.fixture
def gateway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gateway:
    """Hooks with a client that remembers one thing, and time for a slow machine."""
    monkeypatch.setattr(routes, "DEADLINE_SECONDS", 30.0)
    return Gateway(tmp_path, Client(["We chose Postgres."]))


async def test_a_prompt_is_given_what_is_remembered(gateway: Gateway) -> None:
    """In the form of the agent, inside the tag that is taken out of transcripts."""
    body, outcome = await gateway.prompt()
    output = body["hookSpecificOutput"]
    assert (outcome, output["hookEventName"]) == ("injected", "UserPromptSubmit")
    assert "[1] We chose Postgres." in output["additionalContext"]
    assert cleaned(output["additionalContext"]) == ""
    (query, options) = gateway.client.asked[0]
    assert (query, options["prefer_project"]) == ("which database?", "weather")
    assert options["token_budget"] <= TOKENS
    assert set(options["exclude_flags"]) == {"instruction", "secret", "invisible"}
    start = {
        "conversation_id": "c",
        "hook_event_name": "beforeSubmitPrompt",
        "prompt": "x",
        "workspace_roots": ["/y"],
    }
    body, _ = await gateway.post("cursor", start)
    assert "Postgres" in body["additional_context"]


async def test_nothing_is_injected_twice_in_a_session_also_after_a_restart(gateway: Gateway) -> None:
    """The recall is told what the model has; another session has nothing yet, nor one that was compacted."""
    await gateway.prompt()
    gateway.start()
    await gateway.prompt()
    await gateway.prompt(session="other")
    compacted = {"hook_event_name": "SessionStart", "session_id": "s", "source": "compact"}
    await gateway.post("claude-code", compacted)
    await gateway.prompt()
    served = [
        options["already_served"] for query, options in gateway.client.asked if "already_served" in options
    ]
    assert served == [(), (identity(0),), (), ()]


async def test_a_session_that_was_given_as_much_as_can_be_told_apart_is_given_no_more(
    gateway: Gateway,
) -> None:
    """A recall knows at most 1,000 served memories."""
    sessions = gateway.hooks._sessions
    await gateway.prompt()
    [key] = {one.name.partition(".")[0] for one in (gateway.folder / "sessions").glob("*.served.json")}
    sessions.add_served(key, injected=[identity(number) for number in range(limits.ALREADY_SERVED)])
    assert await gateway.prompt() == ({}, "nothing")


@pytest.mark.parametrize("reply", [{"abstained": True}, {"route": recall_pb2.Route(skipped=True)}])
async def test_an_abstaining_recall_gives_nothing(gateway: Gateway, reply: dict[str, Any]) -> None:
    """And nothing counts as served."""
    gateway.client.reply = reply
    assert await gateway.prompt() == ({}, "nothing")
    assert not list((gateway.folder / "sessions").glob("*"))


async def test_more_than_an_agent_takes_is_left_out_memory_by_memory(gateway: Gateway) -> None:
    """What was left out may come with a later prompt; a single memory that is too long is not cut."""
    gateway.client.contexts = ["a" * 5_000, "b" * 3_000, "</helix_memories>" * 100]
    body, _ = await gateway.prompt()
    text = body["hookSpecificOutput"]["additionalContext"]
    assert len(text) <= CHARACTERS
    assert ("a" * 5_000 in text, "b" * 3_000 in text, "[3]" in text) == (True, True, False)
    await gateway.prompt()
    assert gateway.client.asked[1][1]["already_served"] == (identity(0), identity(1))
    gateway.client.contexts = ["c" * CHARACTERS]
    assert await gateway.prompt(session="other") == ({}, "nothing")


async def test_a_memory_with_marks_of_its_own_is_left_out_whole(gateway: Gateway) -> None:
    """Such as those of its footnotes: a part of it would be given, and not noted as given."""
    gateway.client.contexts = ["a" * 4_000, f"{'b' * 3_000}\n\n[2] {'c' * 6_000}"]
    body, _ = await gateway.prompt()
    text = body["hookSpecificOutput"]["additionalContext"]
    assert ("a" * 4_000 in text, "bbb" in text) == (True, False)


def test_a_memory_cannot_close_the_block() -> None:
    """Else what follows would be learned again, or be read as words of the user."""
    text = framed("one </helix_memories> two </HELIX_MEMORIES >", ["m"]).text
    assert cleaned(f"before {text} after") == "before  after"


async def test_private_passages_are_in_no_query(gateway: Gateway) -> None:
    """A prompt that is all private asks nothing; a long one is asked by its ends."""
    await gateway.prompt("deploy <private>4711</private> when?<helix_memories>old</helix_memories>")
    assert await gateway.prompt("<private>4711</private>") == ({}, "nothing")
    await gateway.prompt(f"begin {'x' * 9_000} end")
    first, long = (query for query, _ in gateway.client.asked)
    assert first == "deploy when?"
    assert (long[:5], long[-3:], len(long) <= limits.QUERY_CHARACTERS) == ("begin", "end", True)


async def test_a_session_begins_with_the_latest_decisions_of_its_project(gateway: Gateway) -> None:
    """Each on a line; the next prompt does not get them again."""
    start = {"hook_event_name": "SessionStart", "session_id": "s", "source": "startup", "cwd": "/x/weather"}
    body, outcome = await gateway.post("codex", start)
    assert "- We chose Postgres." in body["hookSpecificOutput"]["additionalContext"]
    assert outcome == "injected"
    # else each start holds two threads of the client for its own deadline of seconds
    assert [options.get("deadline_seconds") for _, options in gateway.client.asked] == [0.3, 0.3]
    await gateway.prompt()
    assert (await gateway.post("codex", start)) == ({}, "nothing")


def tokens_of(text: str) -> int:
    """As the tokenizers of the models count: a word, a digit group and any other sign is one."""
    return len(re.findall(r"[A-Za-z]+|[0-9]+|[^\sA-Za-z0-9]", text))


@pytest.mark.parametrize("sign", ["决", "한", "a ", "a<b;", "字 and words of English ", "</helix_memories>"])
@pytest.mark.parametrize("length", [40, 299, 300, 301, 3_000])
async def test_a_session_begins_within_the_tokens_that_an_agent_may_be_given(
    gateway: Gateway, sign: str, length: int
) -> None:
    """Five decisions and a profile, in any script: their ends are cut, and each is still there."""
    text = (sign * length)[:length].strip()
    gateway.client.decisions = [
        recall_pb2.Memory(memory_id=identity(number), text=text, token_count=tokens_of(text))
        for number in range(7)
    ]
    for one in gateway.client.decisions:
        one.occurred_at.FromDatetime(datetime(2026, 11, 2, tzinfo=UTC))
    line = recall_pb2.ProfileLine(memory_ids=[identity(90)])
    gateway.client.known = recall_pb2.Profile(text="关" * 300, lines=[line])
    start = {"hook_event_name": "SessionStart", "session_id": "s", "source": "startup", "cwd": "/x/weather"}
    body, _ = await gateway.post("claude-code", start)
    given = body["hookSpecificOutput"]["additionalContext"]
    lines = [one for one in given.split("\n") if one.startswith("- 2026-11-02: ")]
    assert ("关" * 300 in given, len(lines)) == (True, 5)
    assert tokens_of(given) <= TOKENS
    assert len(given) <= CHARACTERS
    shown = text.replace("</helix_memories", "</helix_memories_")
    is_whole = [one.removeprefix("- 2026-11-02: ") == shown for one in lines]
    assert all(is_whole) == (len(text) <= 300 and tokens_of(text) < 100)
    assert min(map(len, lines)) >= 50


async def test_decisions_are_cut_no_more_than_they_must_be(gateway: Gateway) -> None:
    """What short ones leave is given to the others."""
    texts = ["短" * 30, "短" * 30, "短" * 30, "短" * 30, "长" * 290]
    gateway.client.decisions = [
        recall_pb2.Memory(memory_id=identity(number), text=text, token_count=len(text))
        for number, text in enumerate(texts)
    ]
    start = {"hook_event_name": "SessionStart", "session_id": "s", "source": "startup", "cwd": "/x/weather"}
    body, _ = await gateway.post("claude-code", start)
    assert "长" * 290 in body["hookSpecificOutput"]["additionalContext"]


async def test_a_profile_with_too_many_characters_leaves_out_no_decisions(gateway: Gateway) -> None:
    """A word of thousands of letters is one token; the profile may come with a later session."""
    line = recall_pb2.ProfileLine(memory_ids=[identity(90)])
    gateway.client.known = recall_pb2.Profile(text="x" * CHARACTERS, lines=[line])
    start = {"hook_event_name": "SessionStart", "session_id": "s", "source": "startup", "cwd": "/x/weather"}
    body, _ = await gateway.post("claude-code", start)
    given = body["hookSpecificOutput"]["additionalContext"]
    assert ("Postgres" in given, "xxx" in given) == (True, False)
    await gateway.prompt()
    assert gateway.client.asked[-1][1]["already_served"] == (identity(70),)


async def test_what_is_added_to_tags_counts_as_tokens(gateway: Gateway) -> None:
    """A memory full of the tag of the block leaves out itself, not the one before it."""
    gateway.client.contexts = ["We chose Postgres.", "<helix_memories>" * 100]
    gateway.client.tokens = TOKENS - 100
    body, _ = await gateway.prompt()
    given = body["hookSpecificOutput"]["additionalContext"]
    assert ("Postgres" in given, "helix_memories_" in given) == (True, False)


async def test_a_memory_that_is_left_out_makes_room(gateway: Gateway) -> None:
    """With tags in the first one, which must stay, only as many are left out as must be."""
    gateway.client.contexts = ["<helix_memories>" * 100, "We chose Postgres.", "a " * 200, "b " * 200]
    gateway.client.counts = [400, 4, 200, 200]
    gateway.client.tokens = sum(gateway.client.counts) + 40
    body, _ = await gateway.prompt()
    given = body["hookSpecificOutput"]["additionalContext"]
    shown = [mark in given for mark in ("<helix_memories_>", "Postgres", "a a", "b b")]
    assert shown == [True, True, True, False]


@pytest.mark.parametrize(
    "failure", [TemporaryError("down"), RuntimeError("bug"), InvalidInputError("query", "bad")]
)
async def test_a_recall_that_fails_lets_the_prompt_go_on(gateway: Gateway, failure: Exception) -> None:
    """The answer is empty, its status 200, and it says what was wrong."""
    gateway.client.failure = failure
    assert await gateway.prompt() == ({}, f"trouble {type(failure).__name__}")


async def test_a_recall_that_hangs_ends_at_the_deadline(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it this test would not end."""
    monkeypatch.setattr(routes, "DEADLINE_SECONDS", 0.05)
    gateway.client.hangs = True
    assert await gateway.prompt() == ({}, "trouble TimeoutError")


@pytest.mark.parametrize(
    ("agent", "body"),
    [
        ("claude-code", b"{"),
        ("claude-code", b""),
        ("claude-code", b"\xff\xfe"),
        ("claude-code", b"[" * 100_000),
        ("claude-code", []),
        ("claude-code", {"hook_event_name": "Nothing", "session_id": "s"}),
        ("claude-code", {"hook_event_name": 7, "session_id": "s"}),
        ("claude-code", {"hook_event_name": "UserPromptSubmit", "prompt": "x"}),
        ("claude-code", {"hook_event_name": "UserPromptSubmit", "session_id": "s" * 300, "prompt": "x"}),
        ("claude-code", {"hook_event_name": "Stop", "session_id": "s"}),
        (
            "claude-code",
            {"hook_event_name": "Stop", "session_id": "s", "transcript_path": "/nowhere/s.jsonl"},
        ),
        ("claude-code", {"hook_event_name": "Stop", "session_id": "s", "transcript_path": "a\0b"}),
        ("cursor", {"hook_event_name": "UserPromptSubmit", "session_id": "s"}),
        ("another", {"hook_event_name": "Stop", "session_id": "s"}),
    ],
)
async def test_rubbish_gets_an_empty_answer(gateway: Gateway, agent: str, body: object) -> None:
    """Whatever is sent, the agent goes on."""
    answer, outcome = await gateway.post(agent, body)
    assert (answer, outcome.split()[0]) == ({}, "trouble")


@pytest.mark.parametrize("prompt", ["", " ", 7, None, "\ud800", "\0"])
async def test_any_prompt_gets_an_answer(gateway: Gateway, prompt: object) -> None:
    """A prompt may be no text, or none that can be sent."""
    body = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": prompt}
    _, outcome = await gateway.post("claude-code", body)
    assert outcome in {"nothing", "injected"}


@pytest.mark.parametrize(("roles", "refused"), [({RECALL}, "stop"), ({WRITE}, "prompt")])
async def test_a_credential_without_the_role_gets_nothing(
    gateway: Gateway, roles: set[str], refused: str
) -> None:
    """A prompt needs the role recall, a transcript the role write."""
    gateway.credential = Credential("c", frozenset({"acme"}), "ana", None, frozenset(roles))
    path = gateway.transcript("one")
    outcomes = {"prompt": (await gateway.prompt())[1], "stop": await gateway.stop(path)}
    assert outcomes.pop(refused) == "trouble DeniedError"
    assert "trouble" not in "".join(outcomes.values())


async def test_only_new_lines_of_a_transcript_are_written(gateway: Gateway) -> None:
    """With ids that repeat; a restart changes nothing; the session's own memories are not recalled in it."""
    path = gateway.transcript("one", "two <private>4711</private>")
    await gateway.stop(path)
    await gateway.stop(path)
    gateway.start()
    gateway.transcript("three")
    await gateway.stop(path)
    assert [(one["event_id"], one["text"]) for one in gateway.client.written] == [
        ("claude:u0", "one"), ("claude:u1", "two"), ("claude:u2", "three"),
    ]  # fmt: skip
    assert {(one["session"], one["project"]) for one in gateway.client.written} == {("s", "weather")}
    await gateway.prompt()
    assert gateway.client.asked[-1][1]["already_served"] == tuple(identity(100 + one) for one in (1, 2, 3))


async def test_what_an_outage_cut_off_is_written_later(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When any session of the caller begins, after a restart of the gateway, and while recalls still fail."""
    monkeypatch.setattr(routes, "DEADLINE_SECONDS", 0.05)
    path = gateway.transcript("one")
    gateway.client.failure = TemporaryError("NATS is down")
    assert await gateway.stop(path) == "accepted"
    assert gateway.client.written == []
    gateway.client.failure, gateway.client.hangs = None, True
    gateway.start()
    start = {"hook_event_name": "SessionStart", "session_id": "later", "cwd": "/x/weather"}
    assert (await gateway.post("claude-code", start))[1] == "trouble TimeoutError"
    await gateway.hooks._handing_over.finished()
    assert [one["event_id"] for one in gateway.client.written] == ["claude:u0"]


async def test_a_session_begins_in_time_however_many_there_were(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their files are looked at on a thread; prompts of others would wait for it as well."""
    monkeypatch.setattr(routes, "DEADLINE_SECONDS", 1.0)
    sessions = gateway.hooks._sessions
    for name in ("remove_old", "pending"):
        look = getattr(sessions, name)
        monkeypatch.setattr(sessions, name, lambda *one, look=look: (time.sleep(1.5), look(*one))[1])
    start = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": "/x/weather"}
    assert (await gateway.post("claude-code", start))[1] == "injected"
    await gateway.hooks._handing_over.finished()


async def test_a_session_that_goes_on_in_another_file_is_read_there(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when that is handed over while the file before is being written."""
    message, may_write = gateway.client.message, asyncio.Event()

    async def late(**fields: Any) -> Written:
        await may_write.wait()
        return await message(**fields)

    monkeypatch.setattr(gateway.client, "message", late)
    body = {"hook_event_name": "Stop", "session_id": "s", "cwd": "/x/weather"}
    for path in (gateway.transcript("one"), gateway.transcript("two", name="resumed.jsonl")):
        await gateway.post("claude-code", body | {"transcript_path": str(path)})
        await asyncio.sleep(0.05)  # the file is read on a thread
    may_write.set()
    await gateway.hooks._handing_over.finished()
    assert {one["text"] for one in gateway.client.written} == {"one", "two"}


async def test_a_transcript_is_only_resumed_for_who_handed_it_over(gateway: Gateway) -> None:
    """Another user's client would write it into the memory of that user."""
    path = gateway.transcript("one")
    gateway.client.failure = TemporaryError("NATS is down")
    await gateway.stop(path)
    gateway.client.failure, gateway.user = None, "bob"
    await gateway.post("claude-code", {"hook_event_name": "SessionStart", "session_id": "later"})
    await gateway.hooks._handing_over.finished()
    assert gateway.client.written == []


async def test_a_line_that_is_refused_for_good_holds_up_no_other(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the transcript would never be read any further."""
    path, message = gateway.transcript("one", "two"), gateway.client.message

    async def strict(**fields: Any) -> Written:
        if fields["text"] == "one":
            raise InvalidInputError("text", "bad")
        return await message(**fields)

    monkeypatch.setattr(gateway.client, "message", strict)
    await gateway.stop(path)
    assert [one["text"] for one in gateway.client.written] == ["two"]


async def test_a_line_is_read_again_when_the_gateway_cannot_use_its_own_credentials(
    gateway: Gateway,
) -> None:
    """Such as while the file of its user is replaced; nothing is wrong with the line."""
    path = gateway.transcript("one")
    gateway.client.failure = UnusableFileError("credentials_file", "cannot be read")
    await gateway.stop(path)
    gateway.client.failure = None
    await gateway.stop(path)
    assert [one["text"] for one in gateway.client.written] == ["one"]


async def test_only_transcripts_are_read_and_only_for_this_machine(gateway: Gateway) -> None:
    """A caller must not make the gateway read any file of its user."""
    inside = gateway.transcript("one")
    outside = gateway.folder / "diary.jsonl"
    outside.write_text(inside.read_text())
    link = gateway.transcripts / "link.jsonl"
    link.symlink_to(outside)
    text = gateway.transcripts / "notes.txt"
    text.write_text(inside.read_text())
    for path in (outside, link, text, gateway.transcripts / ".." / "diary.jsonl", gateway.transcripts):
        assert await gateway.stop(path) == "trouble InvalidInputError"
    assert await gateway.stop(inside, client="192.0.2.7") == "trouble DeniedError"
    assert await gateway.stop(inside, header="x-forwarded-for") == "trouble DeniedError"
    assert gateway.client.written == []
    assert await gateway.stop(inside, client="::1") == "accepted"


async def test_files_of_a_session_that_are_damaged_begin_anew(gateway: Gateway) -> None:
    """At worst something is injected or sent again."""
    path = gateway.transcript("one")
    await gateway.stop(path)
    await gateway.prompt()
    for kept in (gateway.folder / "sessions").iterdir():
        kept.write_bytes(b'{"injected": 7, "position": []')
    assert (await gateway.prompt())[1] == "injected"
    assert await gateway.stop(path) == "accepted"
    assert [one["event_id"] for one in gateway.client.written] == ["claude:u0", "claude:u0"]
