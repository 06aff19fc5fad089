"""Whether there is a bucket to upload to; without one nothing of it is imported."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from helix_consolidation.settings import ConsolidationSettings
    from helix_consolidation.uploading.upload_thread import UploadThread


async def open_uploads(settings: ConsolidationSettings) -> UploadThread | None:
    """The uploads of this writer, not started yet; None without a bucket.

    Raises: as `UploadThread`.
    """
    if not settings.bucket:
        return None
    from helix_consolidation.uploading.upload_thread import UploadThread  # noqa: PLC0415  see above

    return await asyncio.to_thread(UploadThread, settings)
