"""A chat loop that remembers: `python chat.py ana`, one line a turn, Ctrl-D ends it."""

import json
import os
import sys
import urllib.request

from helix_memory.client import Helix, HelixError, TemporaryError, Written

DEADLINE = float(os.environ.get("CHAT_DEADLINE_SECONDS", "10"))  # of a call to Helix
MODEL_URL = os.environ.get(
    "CHAT_BASE_URL", ""
)  # an OpenAI-compatible address, such as http://localhost:11434/v1


def remembered(helix: Helix, prompt: str, said: Written | None) -> str:
    """What is known about the prompt; a chat goes on where the memory does not answer."""
    try:
        found = helix.recall(prompt, after=said)
    except TemporaryError as error:
        print(f"(without memory: {error})", file=sys.stderr)
        return ""
    if found.stale:
        print("(without what was said last: it is not processed yet)", file=sys.stderr)
    return found.context


def reply_of_model(prompt: str, memories: str) -> str:
    """Ask the language model; without one, say what it would be given."""
    if not MODEL_URL:
        return (
            f"(no model; it would be given)\n{memories}" if memories else "(nothing is remembered about this)"
        )
    system = f"Answer briefly. What you remember:\n{memories}"
    messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
    body = json.dumps({"model": os.environ["CHAT_MODEL"], "messages": messages}).encode()
    headers = {
        "Content-Type": "application/json",
        "Authorization": f"Bearer {os.environ.get('CHAT_API_KEY', '')}",
    }
    request = urllib.request.Request(f"{MODEL_URL}/chat/completions", body, headers)
    with urllib.request.urlopen(request) as response:
        return json.load(response)["choices"][0]["message"]["content"]


def main() -> None:
    user = sys.argv[1] if len(sys.argv) > 1 else "ana"
    places = {
        "nats_url": os.environ.get("HELIX_NATS_URL", ""),
        "query_address": os.environ.get("HELIX_RECALL_ADDRESS", ""),
    }
    helix = Helix(tenant="chat", user=user, deadline_seconds=DEADLINE, **places)
    with helix, helix.session() as session:
        said = None  # the newest message that was written
        for line in sys.stdin:
            prompt = line.strip()
            if not prompt:
                continue
            reply = reply_of_model(prompt, remembered(helix, prompt, said))
            print(reply)
            try:
                said = session.message(prompt, role="user", speaker=user)
                if MODEL_URL:
                    session.message(reply, role="assistant")
            except HelixError as error:  # such as a prompt that is all <private>
                print(f"(not remembered: {error})", file=sys.stderr)


main()
