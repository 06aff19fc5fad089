"""Names of the bucket of NATS that keeps generations where there is no other object storage (0112).

It is a bucket of the object store of NATS: a stream with a meta message and chunks for each object.
"""

from typing import Final

BUCKET: Final = "HELIX_GENERATIONS"
STREAM: Final = f"OBJ_{BUCKET}"
METAS: Final = f"$O.{BUCKET}.M"
CHUNKS: Final = f"$O.{BUCKET}.C"
