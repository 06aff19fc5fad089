"""Publishes one event with nats-py alone, as a program in any language does, and recalls it over HTTP."""

import asyncio
import json
import os
import urllib.request
import uuid

import nats

NATS_URL = os.environ.get("HELIX_NATS_URL", "nats://127.0.0.1:4222")
GATEWAY_URL = os.environ.get("HELIX_MCP_URL", "http://127.0.0.1:7464")
TENANT, SESSION = "acme", "python-1"


def recall(query: str, after: int) -> dict:
    """What answers the query; waits until the event with the sequence `after` can be recalled."""
    body = json.dumps({"query": query, "after": after}).encode()
    headers = {"Content-Type": "application/json", "Helix-Tenant": TENANT}
    with urllib.request.urlopen(
        urllib.request.Request(f"{GATEWAY_URL}/v1/recall", body, headers)
    ) as response:
        return json.load(response)


async def main() -> None:
    event = {
        "kind": "message",
        "event_id": str(uuid.uuid4()),
        "tenant_id": TENANT,
        "session_id": SESSION,
        "role": "user",
        "speaker": "Mira",
        "text": "The staging cluster runs in Frankfurt.",
    }
    subject = f"helix.v1.events.{TENANT}.{SESSION}.{event['kind']}"
    message_id = f"{TENANT}:{event['event_id']}"
    connection = await nats.connect(NATS_URL)
    try:
        log = connection.jetstream()
        body = json.dumps(event).encode()
        first = await log.publish(subject, body, headers={"Nats-Msg-Id": message_id})
        again = await log.publish(subject, body, headers={"Nats-Msg-Id": message_id})
    finally:
        await connection.close()
    print(f"acknowledged as {first.seq}; repeated: {again.seq}, duplicate {again.duplicate}")
    found = await asyncio.to_thread(recall, "where does staging run?", first.seq)
    print(found["memories"][0]["text"])


asyncio.run(main())
