import json
from collections.abc import Callable
from datetime import UTC, datetime

import grpc
import pytest

from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.recall_client import RecallClient
from helix_shared.errors import TemporaryError

from .fake_service import FakeService, a_reply

Recall = Callable[..., tuple[int, str, str]]


def test_the_table_shows_rank_score_type_date_and_text(service: FakeService, recall: Recall) -> None:
    """Markup in a memory stays text, and its escape sequences never reach the terminal."""
    service.reply = a_reply()
    code, out, _ = recall()
    assert code == 0
    for part in ("0.875", "decision", "2026-11-03", "[red]Postgres[/red]", "which, what", "generation  7"):
        assert part in out
    assert "embed 4.2" in out
    assert "\x1b" not in out


def test_a_probability_is_shown_instead_of_the_score(service: FakeService, recall: Recall) -> None:
    """A score has a meaning within one answer only, a probability has one of its own."""
    service.reply = a_reply()
    service.reply.memories[0].relevance = 0.0625
    out = recall()[1]
    assert out.splitlines()[0].split() == ["rank", "relevance", "type", "date", "memory"]
    assert "0.06" in out
    assert "0.875" not in out


def test_nothing_found_ends_with_0(recall: Recall) -> None:
    """The command says that nothing was found."""
    code, out, _ = recall()
    assert code == 0
    assert "nothing found" in out


def test_packed_prints_the_context_alone(service: FakeService, recall: Recall) -> None:
    """Standard output has the text for the prompt and nothing else."""
    service.reply = a_reply()
    assert recall("--packed")[1] == "[1] We chose Postgres.\n"


def test_packed_contexts_of_several_questions_have_headings(service: FakeService, recall: Recall) -> None:
    """The numbers of citations begin again with each; a blank line is between."""
    service.reply = a_reply()
    context = "[1] We chose Postgres.\n"
    assert recall("when\nand who?", "--packed")[1] == f"which?\n{context}\nwhen and who?\n{context}"


def test_packed_says_that_no_memory_fits_the_budget(service: FakeService, recall: Recall) -> None:
    """On standard error; not where nothing was found."""
    service.reply = a_reply()
    service.reply.context.text = ""
    code, out, err = recall("--packed", "--budget", "5")
    assert (code, out.strip(), "no memory fits the token budget" in err) == (0, "", True)
    del service.reply.memories[:]
    assert "budget" not in recall("--packed")[2]


def test_json_is_the_full_reply(service: FakeService, recall: Recall) -> None:
    """Fields have the names of the .proto file."""
    service.reply = a_reply()
    reply = json.loads(recall("--json")[1])
    assert reply["memories"][0]["memory"]["type"] == "decision"
    assert reply["applied_sequence"] == "42"


def test_every_option_reaches_the_request(service: FakeService, recall: Recall) -> None:
    """What the user narrows, the server is request."""
    options = "--user ada --principal ops --project web --session s1 --type code --prefer-project api"
    more = "--after 2026-11-01 --before 2026-11-02T12:00+02:00 --top-k 3 --budget 99 --profile x"
    recall(*options.split(), *more.split(), "--mode", "auto", "--never-skip", "--tz", "UTC")
    request = service.request
    assert (request.query, request.scope.tenant_id, request.scope.user_id) == ("which?", "acme", "ada")
    assert list(request.scope.principals) == ["ops"]
    assert (request.top_k, request.token_budget, request.ranking_profile) == (3, 99, "x")
    assert (request.mode, request.project_id, request.never_skip) == (recall_pb2.MODE_AUTO, "api", True)
    request_filter = request.filter
    lists = (request_filter.types, request_filter.project_ids, request_filter.session_ids)
    assert list(map(list, lists)) == [["code"], ["web"], ["s1"]]
    assert request_filter.event_after.ToDatetime(UTC) == datetime(2026, 11, 1, tzinfo=UTC)
    assert request_filter.event_before.ToDatetime(UTC) == datetime(2026, 11, 2, 10, tzinfo=UTC)


def test_fields_without_an_option_are_absent(service: FakeService, recall: Recall) -> None:
    """The ranking profile decides on them."""
    recall()
    request = service.request
    assert not request.HasField("top_k")
    assert not request.HasField("token_budget")
    assert not request.filter.HasField("event_after")


def test_options_on_time_and_context_reach_the_request(service: FakeService, recall: Recall) -> None:
    """Without them the fields are absent."""
    service.reply = a_reply()
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
    assert recall(*plain, "--expand-context", "session")[0] == 0
    request = service.request
    assert (request.min_seq, request.as_of.ToDatetime().isoformat()) == (42, "2026-11-01T00:00:00")
    assert list(request.already_served) == ["a" * 32, "b" * 32]
    assert request.expand_context == recall_pb2.EXPAND_CONTEXT_SESSION
    assert recall()[0] == 0
    assert (service.request.min_seq, service.request.HasField("as_of")) == (0, False)
    assert service.request.expand_context == recall_pb2.EXPAND_CONTEXT_UNSPECIFIED


def test_the_beginning_of_an_id_is_enough_in_each_of_several_questions(
    service: FakeService, recall: Recall
) -> None:
    """All of them leave out the same memories."""
    service.ids, service.reply = ["abcd" + "0" * 28], a_reply()
    assert recall("when?", "where?", "--already-served", "ABCD")[0] == 0
    sent = service.batch_request.requests
    assert [one.query for one in sent] == ["which?", "when?", "where?"]
    assert [list(one.already_served) for one in sent] == [service.ids] * 3
    code, _, err = recall("when?", "--already-served", "zz")
    assert (code, err.startswith("error: --already-served: 'zz' must be")) == (2, True)


def test_a_stale_answer_is_marked(service: FakeService, recall: Recall) -> None:
    """With the sequence that is applied and the one that was requested."""
    service.reply = a_reply()
    assert "stale" not in recall()[1]
    service.reply.stale, service.reply.wanted_sequence = True, 50
    assert "applied to sequence 42" in recall()[1]
    assert "stale, wanted sequence 50" in " ".join(recall()[1].split())


def test_the_relevance_of_the_answer_is_printed(service: FakeService, recall: Recall) -> None:
    """Only if the reply has one; with the reason if the recall abstained."""
    service.reply = a_reply()
    assert "relevance" not in recall()[1]
    service.reply.relevance = 0.874
    assert "relevance   0.87\n" in recall()[1]
    service.reply.abstained, service.reply.abstained_because = True, "no memory was found"
    assert "relevance   0.87; nothing packed: no memory was found" in recall()[1]


def test_packed_writes_the_reason_for_abstaining_to_standard_error(
    service: FakeService, recall: Recall
) -> None:
    """Standard output stays empty."""
    service.reply = a_reply()
    service.reply.context.text = ""
    service.reply.abstained, service.reply.abstained_because = True, "no memory was found"
    code, out, err = recall("--packed")
    assert (code, out.strip(), err.strip()) == (0, "", "nothing packed: no memory was found")


def test_an_impossible_sequence_is_a_usage_error(recall: Recall) -> None:
    """Negative, more than 64 bits, or no number."""
    for wrong in ("-1", str(2**64), "soon"):
        assert recall("--min-seq", wrong)[0] == 2


def test_explain_requests_an_explanation_and_prints_it(service: FakeService, recall: Recall) -> None:
    """Without the option none is requested."""
    service.reply = a_reply()
    recall()
    assert not service.request.explain
    service.reply.explanation.candidates.add(method="multiplicative", excerpt="We chose Postgres.")
    assert "relevance multiplicative" in recall("--explain")[1]
    assert service.request.explain


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
    service: FakeService, recall: Recall, status: grpc.StatusCode, code: int
) -> None:
    """2: change the request; 3: try later; 1: it failed. The message of the server is printed."""
    service.refuse = (status, "query: message of the server")
    actual, _, err = recall()
    assert actual == code
    assert "message of the server" in err


def test_waiting_ends_when_the_sequence_is_applied_and_not_before(service: FakeService) -> None:
    """The service applies one more event with every call."""
    with RecallClient(service.address) as client:
        assert client.wait_until_applied(3, wait_seconds=5).applied_sequence == 3
        with pytest.raises(TemporaryError, match="999"):
            client.wait_until_applied(999, wait_seconds=0.1)


def test_an_error_of_one_of_several_questions_names_the_option(service: FakeService, recall: Recall) -> None:
    """As that of a single question, and in JSON, too."""
    refused = recall_pb2.RecallError(code=3, message="ranking_profile: is unknown")
    service.results = [
        recall_pb2.RecallResult(response=a_reply()),
        recall_pb2.RecallResult(error=refused),
    ]
    code, _, err = recall("when?")
    assert (code, err) == (2, "error: when?: --profile: is unknown\n")
    told = recall("when?", "--json")[1]
    _, end = json.JSONDecoder().raw_decode(told)
    assert json.loads(told[end:]) == {"error": "--profile: is unknown"}
