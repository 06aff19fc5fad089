import json
from collections.abc import Iterator
from concurrent import futures
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import grpc
import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.clients.recall_client import RecallClient
from helix_cli.commands.query_options import moment
from helix_cli.commands.recall import route_line
from helix_memory.recall.v1 import recall_pb2, recall_pb2_grpc
from helix_shared.errors import InvalidInputError, TemporaryError
from helix_shared.timex import resolve_window

BERLIN = ZoneInfo("Europe/Berlin")


class Answers(recall_pb2_grpc.RecallServiceServicer):
    """A server of canned answers, to see what the command sends and prints."""

    def __init__(self) -> None:
        self.asked = recall_pb2.RecallRequest()
        self.reply = recall_pb2.RecallResponse()
        self.refuse: tuple[grpc.StatusCode, str] | None = None
        self.applied = 0

    def Recall(  # noqa: N802  gRPC's name
        self, request: recall_pb2.RecallRequest, context: grpc.ServicerContext
    ) -> recall_pb2.RecallResponse:
        """Remember the request; answer or refuse."""
        self.asked = request
        if self.refuse:
            context.abort(*self.refuse)
        return self.reply

    def GetStatus(  # noqa: N802  gRPC's name
        self, request: recall_pb2.GetStatusRequest, context: grpc.ServicerContext
    ) -> recall_pb2.GetStatusResponse:
        """Apply one more event with every look."""
        del request, context
        self.applied += 1
        return recall_pb2.GetStatusResponse(generation=1, applied_sequence=self.applied)

    def GetMemory(  # noqa: N802  gRPC's name
        self, request: recall_pb2.GetMemoryRequest, context: grpc.ServicerContext
    ) -> recall_pb2.GetMemoryResponse:
        """No command asks for it."""
        raise NotImplementedError


@pytest.fixture
def served() -> Iterator[tuple[Answers, str]]:
    """A running server and its address."""
    answers = Answers()
    server = grpc.server(futures.ThreadPoolExecutor(2))
    recall_pb2_grpc.add_RecallServiceServicer_to_server(answers, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield answers, f"127.0.0.1:{port}"
    server.stop(None)


def ask(address: str, *arguments: str) -> tuple[int, str, str]:
    """Exit code and output of a recall."""
    runner = CliRunner(env={"COLUMNS": "120"})
    result = runner.invoke(app, ["recall", "which?", "--tenant", "acme", "--query", address, *arguments])
    return result.exit_code, result.stdout, result.stderr


def some_reply() -> recall_pb2.RecallResponse:
    """One memory with everything around it."""
    reply = recall_pb2.RecallResponse(generation=7, applied_sequence=42, ranking_profile="helix")
    found = reply.memories.add(rank=1, score=0.875)
    found.memory.text = "We chose [red]Postgres[/red]\x1b[2J."
    found.memory.type = "decision"
    found.memory.occurred_at.FromDatetime(datetime(2026, 11, 3, tzinfo=UTC))
    reply.context.text = "[1] We chose Postgres."
    reply.route.intents.extend(["which", "what"])
    reply.stages.add(stage="embed", milliseconds=4.25)
    reply.total_milliseconds = 9.5
    return reply


def test_the_table_shows_rank_score_type_date_and_text(served: tuple[Answers, str]) -> None:
    """Markup in a memory stays text, and its escape sequences never reach the terminal."""
    answers, address = served
    answers.reply = some_reply()
    code, out, _ = ask(address)
    assert code == 0
    for part in ("0.875", "decision", "2026-11-03", "[red]Postgres[/red]", "which, what", "generation  7"):
        assert part in out
    assert "embed 4.2" in out
    assert "\x1b" not in out


def test_a_probability_is_shown_in_the_place_of_the_score(served: tuple[Answers, str]) -> None:
    """Scores only order one answer, so a score of 1 must not stand beside "probably not relevant"."""
    answers, address = served
    answers.reply = some_reply()
    answers.reply.memories[0].relevance = 0.0625
    out = ask(address)[1]
    assert out.splitlines()[0].split() == ["rank", "relevance", "type", "date", "memory"]
    assert "0.06" in out
    assert "0.875" not in out


def test_nothing_found_says_so_and_ends_well(served: tuple[Answers, str]) -> None:
    """An empty answer is an answer."""
    code, out, _ = ask(served[1])
    assert code == 0
    assert "nothing found" in out


def test_packed_prints_the_context_alone(served: tuple[Answers, str]) -> None:
    """What is piped into a prompt has nothing around it."""
    answers, address = served
    answers.reply = some_reply()
    assert ask(address, "--packed")[1] == "[1] We chose Postgres.\n"


def test_json_is_the_full_reply(served: tuple[Answers, str]) -> None:
    """Field names as in the proto file."""
    answers, address = served
    answers.reply = some_reply()
    reply = json.loads(ask(address, "--json")[1])
    assert reply["memories"][0]["memory"]["type"] == "decision"
    assert reply["applied_sequence"] == "42"


def test_every_option_reaches_the_request(served: tuple[Answers, str]) -> None:
    """What the user narrows, the server is asked."""
    options = "--user ada --principal ops --project web --session s1 --type code --prefer-project api"
    more = "--after 2026-11-01 --before 2026-11-02T12:00+02:00 --top-k 3 --budget 99 --profile x"
    ask(served[1], *options.split(), *more.split(), "--mode", "auto", "--never-skip", "--tz", "UTC")
    asked = served[0].asked
    assert (asked.query, asked.scope.tenant_id, asked.scope.user_id) == ("which?", "acme", "ada")
    assert list(asked.scope.principals) == ["ops"]
    assert (asked.top_k, asked.token_budget, asked.ranking_profile) == (3, 99, "x")
    assert (asked.mode, asked.project_id, asked.never_skip) == (recall_pb2.MODE_AUTO, "api", True)
    narrowed = asked.filter
    assert [list(narrowed.types), list(narrowed.project_ids), list(narrowed.session_ids)] == [
        ["code"],
        ["web"],
        ["s1"],
    ]
    assert narrowed.event_after.ToDatetime(UTC) == datetime(2026, 11, 1, tzinfo=UTC)
    assert narrowed.event_before.ToDatetime(UTC) == datetime(2026, 11, 2, 10, tzinfo=UTC)


def test_what_is_not_said_is_left_to_the_server(served: tuple[Answers, str]) -> None:
    """Absent options stay absent: the ranking profile decides."""
    ask(served[1])
    asked = served[0].asked
    assert not asked.HasField("top_k")
    assert not asked.HasField("token_budget")
    assert not asked.filter.HasField("event_after")


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (grpc.StatusCode.INVALID_ARGUMENT, 2),
        (grpc.StatusCode.UNAVAILABLE, 3),
        (grpc.StatusCode.DEADLINE_EXCEEDED, 3),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, 1),
        (grpc.StatusCode.INTERNAL, 1),
    ],
)
def test_each_grpc_status_has_its_exit_code(
    served: tuple[Answers, str], status: grpc.StatusCode, code: int
) -> None:
    """2: change the question; 3: try later; 1: it failed. The server's words are shown."""
    answers, address = served
    answers.refuse = (status, "query: says the server")
    actual, _, err = ask(address)
    assert actual == code
    assert "says the server" in err


def test_waiting_ends_when_the_sequence_is_applied_and_not_before(served: tuple[Answers, str]) -> None:
    """The server applies one more event with every look."""
    with RecallClient(served[1]) as client:
        assert client.wait_until_applied(3, wait_seconds=5).applied_sequence == 3
        with pytest.raises(TemporaryError, match="999"):
            client.wait_until_applied(999, wait_seconds=0.1)


def test_a_date_is_its_first_moment_in_the_callers_zone() -> None:
    """A time zone in the text is obeyed."""
    assert moment("--after", "2026-11-01", UTC) == datetime(2026, 11, 1, tzinfo=UTC)
    assert moment("--after", "2026-11-01", BERLIN) == datetime(2026, 10, 31, 23, tzinfo=UTC)
    assert moment("--after", "2026-11-01T02:00+02:00", BERLIN) == datetime(2026, 11, 1, tzinfo=UTC)
    assert moment("--after", "", BERLIN) is None
    with pytest.raises(InvalidInputError):
        moment("--after", "last week", UTC)


def test_the_route_line_names_skip_and_window() -> None:
    """A window with one end is shown with one end."""
    route = recall_pb2.Route(skipped=True, reason="a greeting")
    assert route_line(route, UTC) == "skipped: the question needs no memory; a greeting"
    window = recall_pb2.Route(intents=["when"])
    window.window_start.FromDatetime(datetime(2026, 11, 1, tzinfo=UTC))
    assert route_line(window, UTC) == "when; from 2026-11-01 to …"


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York", "Pacific/Auckland"])
@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("what did I do today?", "on 2026-11-22"),
        ("what did I do last week?", "from 2026-11-09 to 2026-11-15"),
        ("what did I do in March?", "from 2026-03-01 to 2026-03-31"),
    ],
)
def test_the_window_is_shown_in_the_days_that_the_question_means(
    served: tuple[Answers, str], zone: str, question: str, days: str
) -> None:
    """Of its own time zone, both inclusive."""
    answers, address = served
    noon = datetime(2026, 11, 22, 12, tzinfo=ZoneInfo(zone))
    window = resolve_window(question, noon.astimezone(UTC), zone=ZoneInfo(zone))
    assert window is not None
    answers.reply.route.window_start.FromDatetime(window[0])
    answers.reply.route.window_end.FromDatetime(window[1])
    assert f"route       what; {days}\n" in ask(address, "--tz", zone)[1]


@pytest.mark.parametrize(
    ("start", "hours", "zone", "shown"),
    [
        ("2026-11-21T16:00+00:00", 0, "Asia/Tokyo", "2026-11-22"),
        ("2026-11-21T02:00+00:00", 0, "America/New_York", "2026-11-20"),
        ("2026-11-21T02:00+00:00", 0, "UTC", "2026-11-21"),
        ("2026-01-15T00:00+09:00", 24, "Asia/Tokyo", "2026-01-15"),
        ("2026-01-15T00:00+09:00", 24, "UTC", "2026-01-15"),
        ("2026-01-15T00:00+00:00", 24, "America/New_York", "2026-01-15"),
        ("2026-01-01T00:00-05:00", 31 * 24, "America/New_York", "2026-01-01"),
        ("2026-01-15T23:30+00:00", 1, "Europe/Berlin", "2026-01-16"),
    ],
)
def test_a_date_is_the_day_in_the_zone_that_was_asked_for(
    served: tuple[Answers, str], start: str, hours: int, zone: str, shown: str
) -> None:
    """A moment is one there; a whole day keeps its date, whoever published it."""
    answers, address = served
    answers.reply = some_reply()
    memory = answers.reply.memories[0].memory
    memory.occurred_at.FromDatetime(datetime.fromisoformat(start))
    if hours:
        memory.event_start.CopyFrom(memory.occurred_at)
        memory.event_end.FromDatetime(datetime.fromisoformat(start) + timedelta(hours=hours))
    assert ask(address, "--tz", zone)[1].splitlines()[1].split()[3] == shown


def test_the_ends_of_a_recall_are_asked_for(served: tuple[Answers, str]) -> None:
    """Each option is its field; without them the fields are absent."""
    answers, address = served
    plain = (
        "--min-seq",
        "42",
        "--as-of",
        "2026-11-01T00:00Z",
        "--already-served",
        "a" * 32,
        "--already-served",
        "b" * 32,
    )
    assert ask(address, *plain, "--expand-context", "session")[0] == 0
    asked = answers.asked
    assert (asked.min_seq, asked.as_of.ToDatetime().isoformat()) == (42, "2026-11-01T00:00:00")
    assert list(asked.already_served) == ["a" * 32, "b" * 32]
    assert asked.expand_context == recall_pb2.EXPAND_CONTEXT_SESSION
    assert ask(address)[0] == 0
    assert (answers.asked.min_seq, answers.asked.HasField("as_of")) == (0, False)
    assert answers.asked.expand_context == recall_pb2.EXPAND_CONTEXT_UNSPECIFIED


def test_a_stale_answer_says_so(served: tuple[Answers, str]) -> None:
    """With the sequence it has, and the one that was wanted."""
    answers, address = served
    answers.reply = some_reply()
    assert "stale" not in ask(address)[1]
    answers.reply.stale, answers.reply.wanted_sequence = True, 50
    assert "applied to sequence 42" in ask(address)[1]
    assert "stale, wanted sequence 50" in " ".join(ask(address)[1].split())


def test_how_likely_the_answer_is_stands_below_it(served: tuple[Answers, str]) -> None:
    """Nothing where the server tells nothing; when it abstained, why."""
    answers, address = served
    answers.reply = some_reply()
    assert "relevance" not in ask(address)[1]
    answers.reply.relevance = 0.874
    assert "relevance   0.87\n" in ask(address)[1]
    answers.reply.abstained, answers.reply.abstained_because = True, "no memory was found"
    assert "relevance   0.87; nothing packed: no memory was found" in ask(address)[1]


def test_a_packed_answer_that_abstained_says_so_beside_it(served: tuple[Answers, str]) -> None:
    """A prompt gets nothing of it: the reason goes to the error output."""
    answers, address = served
    answers.reply = some_reply()
    answers.reply.context.text = ""
    answers.reply.abstained, answers.reply.abstained_because = True, "no memory was found"
    code, out, err = ask(address, "--packed")
    assert (code, out.strip(), err.strip()) == (0, "", "nothing packed: no memory was found")


def test_a_sequence_that_cannot_be_is_refused_by_the_command(served: tuple[Answers, str]) -> None:
    """Below nought, or beyond 64 bits."""
    _, address = served
    for wrong in ("-1", str(2**64), "soon"):
        assert ask(address, "--min-seq", wrong)[0] == 2
