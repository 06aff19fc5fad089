"""One wrong byte in a file of NATS: with a single replica the server drops everything behind it."""

from pathlib import Path

from helix_memory import subjects


def damage(nats: Path, word: bytes) -> None:
    """Change a byte of the event with a word, below the folder of a server that does not run."""
    for block in nats.glob(f"**/{subjects.EVENTS_STREAM}/msgs/*.blk"):
        content = bytearray(block.read_bytes())
        if (at := content.find(word)) >= 0:
            content[at] ^= 1
            block.write_bytes(content)
    # the server compares the blocks only where it has no index of them
    for index in nats.glob("**/msgs/index.db"):
        index.unlink()
