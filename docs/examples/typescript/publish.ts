// Publishes one event over NATS and recalls it through the gateway: npm install, npx tsx publish.ts
import { randomUUID } from "node:crypto";
import { jetstream } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";

const NATS_URL = process.env.HELIX_NATS_URL ?? "nats://127.0.0.1:4222";
const GATEWAY_URL = process.env.HELIX_MCP_URL ?? "http://127.0.0.1:7464";
const tenant = "acme";
const session = "typescript-1";

const event = {
  kind: "message",
  event_id: randomUUID(),
  tenant_id: tenant,
  session_id: session,
  role: "user",
  speaker: "Mira",
  text: "Invoices are sent on the third working day.",
};

const connection = await connect({ servers: NATS_URL });
const log = jetstream(connection);
const subject = `helix.v1.events.${tenant}.${session}.${event.kind}`;
const body = JSON.stringify(event);
const msgID = `${tenant}:${event.event_id}`; // sent as the header Nats-Msg-Id
const first = await log.publish(subject, body, { msgID });
const again = await log.publish(subject, body, { msgID });
await connection.drain();
console.log(`acknowledged as ${first.seq}; repeated: ${again.seq}, duplicate ${again.duplicate}`);

// `after` waits until the event with this sequence can be recalled.
const response = await fetch(`${GATEWAY_URL}/v1/recall`, {
  method: "POST",
  headers: { "Content-Type": "application/json", "Helix-Tenant": tenant },
  body: JSON.stringify({ query: "when are invoices sent?", after: first.seq }),
});
if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
const found = (await response.json()) as { memories: { text: string }[] };
console.log(found.memories[0]?.text ?? "nothing was found");
