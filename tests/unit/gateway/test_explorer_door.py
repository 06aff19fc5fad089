"""Who may look at the explorer's pages, and which forms it takes."""

import json
from typing import Any

import httpx
import pytest

from helix_gateway.explorer import signing_in
from helix_gateway.explorer.broker import Broker
from helix_memory.recall.v1 import recall_pb2
from tests.unit.gateway.explorers import ID, OTHER, OWN, Letters, Memories, form_key
from tests.unit.gateway.gateways import HOST, StubHelix, client_of


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dead letter; NATS is not what these tests are about."""
    for name in ("letters", "letter", "streams"):
        monkeypatch.setattr(Broker, name, getattr(Letters, name))


async def test_forms_change_memories() -> None:
    """Correct leads to the new version, forget to a list that offers to restore."""
    helix = Memories()
    async with client_of(helix) as client:
        key = await form_key(client)

        async def post(path: str, **fields: str) -> str:
            answer = await client.post(
                f"/explorer/memories/{ID}/{path}", data={"form_key": key, **fields}, headers=OWN
            )
            assert answer.status_code == 303, answer.text
            return str(answer.headers["location"])

        assert await post("correct", text="one\r\ntwo") == f"/explorer/memories/{OTHER}?done=corrected"
        went = await post("forget")
        assert f"/explorer/memories/{ID}/restore" in (await client.get(went)).text
        assert (await post("undo", other=OTHER)).endswith("done=undone")
        helix.is_applied = False
        assert (await post("correct", text="later")).endswith("done=stored")
    written = [one for one in helix.done if one[0] != "list"]
    assert written == [
        ("correct", ID, "one\ntwo"), ("forget", ID), ("undo", ID, OTHER), ("correct", ID, "later"),
    ]  # fmt: skip


async def test_the_page_after_a_form_is_one_that_is_there() -> None:
    """A correction that was taken back is hidden, so the memory that it had corrected is shown."""
    async with client_of(Memories()) as client:
        key = await form_key(client)
        answer = await client.post(
            f"/explorer/memories/{OTHER}/undo", data={"form_key": key, "other": ID}, headers=OWN
        )
    assert answer.headers["location"] == f"/explorer/memories/{ID}?done=undone"


@pytest.mark.parametrize(("relation", "has_versions"), [("CORRECTS", True), ("UPDATES", False)])
async def test_who_forgets_one_version_is_told_that_all_are_hidden(relation: str, has_versions: bool) -> None:
    """An id names a memory with its versions."""

    class Versions(Memories):
        async def history(self, _: str) -> recall_pb2.GetHistoryResponse:
            step = recall_pb2.HistoryRelation(newer_id=ID, older_id=OTHER, relation=relation, counts=True)
            return recall_pb2.GetHistoryResponse(relations=[step])

    async with client_of(Versions()) as client:
        key = await form_key(client)
        answer = await client.post(
            f"/explorer/memories/{ID}/forget", data={"form_key": key}, headers=OWN, follow_redirects=True
        )
    assert ("with its other versions" in answer.text) == has_versions
    assert "Hidden from answers" in answer.text


FOREIGN = (
    {"headers": {**OWN, "origin": "https://evil.example"}},
    {"headers": {**OWN, "origin": "null"}},
    {"headers": {"content-type": OWN["content-type"]}},
    {"data": {"form_key": "0" * 64}},
    {"data": {}},
    {"cookies": {}},
)


@pytest.mark.parametrize("changed", FOREIGN)
async def test_a_form_of_another_site_is_refused(changed: dict[str, Any]) -> None:
    """Origin, key of the form and the cookie that it belongs to must be right; then it passes."""
    helix = Memories()
    async with client_of(helix) as client:
        key = await form_key(client)
        cookies = dict(client.cookies)
        client.cookies.clear()
        sent: dict[str, Any] = {"headers": OWN, "data": {"form_key": key}, "cookies": cookies}
        for form, status in ((sent | changed, 403), (sent, 303)):
            headers = {**form["headers"], "cookie": "; ".join(f"{n}={v}" for n, v in form["cookies"].items())}
            answer = await client.post(f"/explorer/memories/{ID}/forget", data=form["data"], headers=headers)
            assert answer.status_code == status
            assert len(helix.done) == (status == 303)


async def test_without_the_guard_a_foreign_form_would_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """So the refusals above are those of the guard."""
    helix = Memories()
    monkeypatch.setattr(signing_in, "form_of", signing_in.fields_of)
    async with client_of(helix) as client:
        answer = await client.post(
            f"/explorer/memories/{ID}/forget", data={"x": "y"}, headers={"content-type": OWN["content-type"]}
        )
    assert answer.status_code == 303
    assert helix.done == [("forget", ID)]


async def test_rest_takes_no_form_and_no_cookie(tokens: dict[str, Any]) -> None:
    """What lets a browser in is for pages alone."""
    cookie = {"cookie": f"helix_token={signing_in.encoded('ana')}"}
    async with client_of(Memories(), **tokens) as client:
        assert (await client.get("/explorer/memories", headers=cookie)).status_code == 200
        assert (await client.get("/v1/memories", headers=cookie)).status_code == 401
    async with client_of(StubHelix()) as client:
        assert (await client.post("/v1/forget", data={"memories": ID}, headers=OWN)).status_code == 400


async def test_a_browser_signs_in_with_a_token_and_out_again(tokens: dict[str, Any]) -> None:
    """No script and no other site has the cookie; the token bounds the scope."""
    helix = Memories()
    async with client_of(helix, **tokens) as client:
        went = await client.get("/explorer/memories?q=tea")
        assert went.status_code == 303
        assert went.headers["location"] == "/explorer/login?next=%2Fexplorer%2Fmemories%3Fq%3Dtea"
        key = await form_key(client)

        async def sign_in(secret: str, **fields: str) -> httpx.Response:
            sent = {"form_key": key, "token": secret, **fields}
            return await client.post("/explorer/login", data=sent, headers=OWN)

        wrong = await sign_in("wrong")
        assert (wrong.status_code, wrong.headers["www-authenticate"]) == (401, "Bearer")
        assert (await sign_in("ana", user="bo")).status_code == 403
        signed = await sign_in("ana", next="/explorer/memories?q=tea")
        assert signed.headers["location"] == "/explorer/memories?q=tea"
        for cookie in signed.headers.get_list("set-cookie"):
            assert {"HttpOnly", "Path=/explorer", "SameSite=strict"} <= set(cookie.split("; "))
        assert (await client.get("/explorer/memories")).status_code == 200
        assert [helix.callers[-1][name] for name in ("tenant", "user", "token")] == ["acme", "ana", "ana"]
        key = await form_key(client)
        await client.post("/explorer/logout", data={"form_key": key}, headers=OWN)
        assert (await client.get("/explorer/memories")).status_code == 303


async def test_secure_cookies_where_there_is_tls(tokens: dict[str, Any]) -> None:
    """Never over a connection that others read."""
    async with client_of(Memories(), **tokens) as client:
        client.base_url = httpx.URL(f"https://{HOST}")
        key = await form_key(client)
        signed = await client.post(
            "/explorer/login",
            data={"form_key": key, "token": "ana"},
            headers={**OWN, "origin": f"https://{HOST}"},
        )
    assert all("Secure" in one.split("; ") for one in signed.headers.get_list("set-cookie"))


@pytest.mark.parametrize(
    ("wanted", "went"),
    [
        ("/explorer/lab?q=a", "/explorer/lab?q=a"), ("https://evil.example/explorer", "/explorer"),
        ("//evil.example/explorer", "/explorer"), ("/explorer\\@evil", "/explorer"), ("/v1/x", "/explorer"),
        ("/explorer/\r\nSet-Cookie: x", "/explorer"), ("", "/explorer"),
    ],
)  # fmt: skip
def test_a_browser_is_sent_to_own_pages_alone(wanted: str, went: str) -> None:
    """Whatever the address says."""
    assert signing_in.own_path(wanted) == went


async def test_roles_bound_what_a_viewer_sees_and_does(tokens: dict[str, Any]) -> None:
    """Counts and dead letters are about every tenant."""
    async with client_of(Memories(), **tokens) as client:

        async def status(token: str, path: str) -> int:
            headers = {"authorization": f"Bearer {token}"}
            return (await client.get(f"/explorer{path}", headers=headers)).status_code

        assert await status("ana", "/letters") == 403
        assert await status("boss", "/letters") == 200
        boss = await client.get("/explorer", headers={"authorization": "Bearer boss"})
        ana = await client.get("/explorer", headers={"authorization": "Bearer ana"})
        assert "hidden by decay" in boss.text
        assert "hidden by decay" not in ana.text
        refused = await client.post(
            f"/explorer/memories/{ID}/forget", data={}, headers={**OWN, "authorization": "Bearer reader"}
        )
        assert refused.status_code == 403


async def test_without_tokens_a_viewer_chooses_tenant_user_and_time_zone() -> None:
    """As the headers of REST; a zone that is none is refused."""
    helix = Memories()
    async with client_of(helix) as client:
        key = await form_key(client)
        chosen = {"tenant": "acme", "user": "Zoë", "principals": "staff, ops", "time_zone": "Europe/Berlin"}
        await client.post("/explorer/login", data={"form_key": key, **chosen}, headers=OWN)
        shown_page = await client.get("/explorer/memories")
    assert helix.callers[-1]["tenant"] == "acme"
    assert (helix.callers[-1]["user"], helix.callers[-1]["principals"]) == ("Zoë", ["staff", "ops"])
    assert "2026-11-02 10:00" in shown_page.text


@pytest.mark.parametrize("foreign", ["a/b=1", "flag", "a=b=c", 'q="', "=", "\xe4=1"])
async def test_a_foreign_cookie_hides_no_other(foreign: str, tokens: dict[str, Any]) -> None:
    """Other programs of the host set cookies, too, and may name them as browsers allow."""
    own = f"helix_token={signing_in.encoded('ana')}"
    async with client_of(Memories(), **tokens) as client:
        for sent in (f"{foreign}; {own}", f"{own}; {foreign}"):
            answer = await client.get("/explorer/memories", headers={"cookie": sent.encode("latin-1")})
            assert answer.status_code == 200, sent


async def test_a_form_of_another_user_is_refused() -> None:
    """Whoever chose another user in a second tab would else correct as that one."""
    helix = Memories()
    async with client_of(helix) as client:

        async def choose(**chosen: str) -> str:
            sent = {"form_key": await form_key(client), "tenant": "acme", "user": "ana", **chosen}
            assert (await client.post("/explorer/login", data=sent, headers=OWN)).status_code == 303
            return await form_key(client)

        async def forget(key: str) -> int:
            path = f"/explorer/memories/{ID}/forget"
            return (await client.post(path, data={"form_key": key}, headers=OWN)).status_code

        first = await choose()
        for other in ({"user": "bo"}, {"tenant": "beta"}, {"principals": "staff"}):
            now = await choose(**other)
            assert await forget(first) == 403
        assert helix.done == []
        assert await forget(now) == 303
        await choose()
        assert await forget(first) == 303


async def test_an_expired_token_and_a_refused_scope_can_be_left(tokens: dict[str, Any]) -> None:
    """Sign out and colours need no caller; their forms are guarded as every form is."""
    async with client_of(Memories(), **tokens) as client:
        for token, scope in (("gone", {}), ("ana", {"tenant": "beta"})):
            for name, value in (("token", token), ("scope", json.dumps(scope))):
                client.cookies.set(f"helix_{name}", signing_in.encoded(value), "127.0.0.1", "/explorer")
            refused = await client.get("/explorer/memories")
            assert refused.status_code == (403 if scope else 303)
            assert scope == {} or "sign out" in refused.text
            sent = {"form_key": await form_key(client), "theme": "dark", "next": "/explorer/lab"}
            for form in ("theme", "logout"):
                path = f"/explorer/{form}"
                for key, status in (("0", 403), (sent["form_key"], 303)):
                    answer = await client.post(path, data=sent | {"form_key": key}, headers=OWN)
                    assert answer.status_code == status
            assert "helix_token" not in client.cookies


@pytest.mark.parametrize(
    "cookie", ["helix_scope=e30", "helix_scope=W10", "helix_scope=%%%", 'helix_token="', "a=b=c;;"]
)
async def test_a_damaged_cookie_is_none(cookie: str) -> None:
    """It does not lock its browser out."""
    async with client_of(Memories()) as client:
        assert (await client.get("/explorer/memories", headers={"cookie": cookie})).status_code == 200
        assert (await client.get("/explorer/login", headers={"cookie": cookie})).status_code == 200
