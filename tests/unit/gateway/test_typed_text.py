"""What a person typed into a form of the explorer is published once, and never lost."""

import asyncio
import re
from typing import Any

import pytest

from helix_gateway.explorer import signing_in
from helix_memory.client import MemoryPage
from helix_shared.errors import TemporaryError
from tests.unit.gateway.explorers import ID, OWN, Memories, form_key
from tests.unit.gateway.gateways import client_of


async def test_a_correction_that_is_sent_twice_makes_one_version() -> None:
    """By a second click, or again from the page of its failure; another text makes another one."""
    helix = Memories()
    path = f"/explorer/memories/{ID}"
    async with client_of(helix) as client:
        for page, texts in (
            (await client.get(path), ("one", "one", "two")),
            (await client.get(path), ("one",)),
        ):
            form = dict(re.findall(r'name="(form_key|attempt)" value="(\w+)"', page.text))
            for text in texts:
                await client.post(f"{path}/correct", data={**form, "text": text}, headers=OWN)
        first, second, other, later = helix.event_ids
    assert first == second
    assert len({first, other, later}) == 3


async def test_a_refused_correction_keeps_what_was_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It can be sent again from that page, whose other links lead to a page that exists."""

    async def refuses(*_: Any, **__: Any) -> None:
        raise TemporaryError("NATS does not answer", delay_seconds=7)

    monkeypatch.setattr(Memories, "correct", refuses)
    path = f"/explorer/memories/{ID}"
    async with client_of(Memories()) as client:
        sent = {"form_key": await form_key(client), "text": "a <b> c"}
        answer = await client.post(f"{path}/correct", data=sent, headers=OWN)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "7")
    assert "a &lt;b&gt; c</textarea>" in answer.text
    assert f'action="{path}/correct"' in answer.text
    assert f'name="next" value="{path}"' in answer.text


async def test_a_correction_of_an_expired_token_is_sent_after_the_next_sign_in(
    tokens: dict[str, Any],
) -> None:
    """The text goes through the page that asks for a token, also one that is wrong at first."""
    helix, path = Memories(), f"/explorer/memories/{ID}/correct"
    async with client_of(helix, **tokens) as client:
        client.cookies.set("helix_token", signing_in.encoded("gone"), "127.0.0.1", "/explorer")
        sent = {"form_key": await form_key(client), "text": "a <b>\n c", "attempt": "7"}
        asked = await client.post(path, data=sent, headers=OWN)
        assert asked.status_code == 401
        for token, status in (("wrong", 401), ("ana", 200)):
            form = dict(re.findall(r'name="(form_key|attempt|address|next)" value="([^"]+)"', asked.text))
            assert (form["address"], "a &lt;b&gt;\n c</textarea>" in asked.text) == (path, True)
            sign_in = {**form, "text": sent["text"], "token": token}
            asked = await client.post("/explorer/login", data=sign_in, headers=OWN)
            assert asked.status_code == status
        form = dict(re.findall(r'name="(form_key|attempt)" value="([^"]+)"', asked.text))
        assert f'action="{path}"' in asked.text
        done = await client.post(path, data={**form, "text": sent["text"]}, headers=OWN)
    assert (done.status_code, helix.done) == (303, [("correct", ID, "a <b>\n c")])


@pytest.mark.parametrize(
    ("headers", "in_flight", "status", "is_kept"),
    [
        (OWN, 32, 403, True),
        (OWN, 1, 429, True),
        ({**OWN, "origin": "https://evil.example"}, 32, 403, False),
        ({"content-type": OWN["content-type"]}, 32, 403, False),
    ],
)
async def test_a_refused_form_keeps_what_was_typed_unless_another_site_sent_it(
    headers: dict[str, str], in_flight: int, status: int, *, is_kept: bool
) -> None:
    """A wrong key of the form, or no place; a text of another site would seem to be the viewer's own."""
    going, end = asyncio.Event(), asyncio.Event()

    class Slow(Memories):
        async def list(self, **options: Any) -> MemoryPage:
            going.set()
            await end.wait()
            return await super().list(**options)

    async with client_of(Slow(), in_flight=in_flight) as client, asyncio.TaskGroup() as others:
        others.create_task(client.get("/explorer/memories"))
        await going.wait()
        sent = {"form_key": "0" * 64, "text": "what was typed"}
        refused = await client.post(f"/explorer/memories/{ID}/correct", data=sent, headers=headers)
        end.set()
    assert (refused.status_code, "what was typed</textarea>" in refused.text) == (status, is_kept)
