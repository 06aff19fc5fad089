// A chat loop that remembers: npx tsx chat.ts ana, one line a turn, Ctrl-D ends it. It needs Node, and no package of ours.
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline/promises";

const GATEWAY_URL = process.env.HELIX_MCP_URL ?? "http://127.0.0.1:7464";
const MODEL_URL = process.env.CHAT_BASE_URL; // an OpenAI-compatible address, such as http://localhost:11434/v1
const user = process.argv[2] ?? "ana";
const session = `chat-${randomUUID()}`;

interface Recalled { context: string; stale: boolean }
interface Written { sequence: number }

async function helix<T>(path: string, body: object): Promise<T> {
  const response = await fetch(`${GATEWAY_URL}/v1${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "Helix-Tenant": "chat", "Helix-User": user },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

// What is known about the prompt; a chat goes on where the memory does not answer.
async function remembered(prompt: string, after: number | undefined): Promise<string> {
  try {
    const found = await helix<Recalled>("/recall", { query: prompt, after });
    if (found.stale) console.error("(without what was said last: it is not processed yet)");
    return found.context;
  } catch (error) {
    console.error(`(without memory: ${error})`);
    return "";
  }
}

async function replyOfModel(prompt: string, memories: string): Promise<string> {
  if (!MODEL_URL) return memories ? `(no model; it would be given)\n${memories}` : "(nothing is remembered about this)";
  const response = await fetch(`${MODEL_URL}/chat/completions`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${process.env.CHAT_API_KEY ?? ""}` },
    body: JSON.stringify({
      model: process.env.CHAT_MODEL,
      messages: [
        { role: "system", content: `Answer briefly. What you remember:\n${memories}` },
        { role: "user", content: prompt },
      ],
    }),
  });
  if (!response.ok) throw new Error(`model: ${response.status} ${await response.text()}`);
  const reply = (await response.json()) as { choices: { message: { content: string } }[] };
  return reply.choices[0]?.message.content ?? "";
}

let after: number | undefined; // the newest message that was written
for await (const line of createInterface({ input: process.stdin })) {
  const prompt = line.trim();
  if (!prompt) continue;
  const reply = await replyOfModel(prompt, await remembered(prompt, after));
  console.log(reply);
  try {
    const said = await helix<Written>("/message", { text: prompt, role: "user", speaker: user, session });
    after = said.sequence;
    if (MODEL_URL) await helix<Written>("/message", { text: reply, role: "assistant", session });
  } catch (error) { // such as a prompt that is all <private>
    console.error(`(not remembered: ${error})`);
  }
}
