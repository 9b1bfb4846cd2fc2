"""`python -m tests.sdk_c.fuzz_seeds`: write the fuzzer's first inputs from the wire vectors."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from sandbox.v1 import legacy_pb2 as pb

from tests.sdk_c.frame_daemon import encode

VECTORS = Path(__file__).parents[1] / "vectors/legacy_frames.json"
CORPUS = Path(__file__).parent / "c/corpus"
LONGEST = 2048


def main() -> None:
    """One file a reply, whole and in pieces, each answering the request that is open."""
    CORPUS.mkdir(exist_ok=True)
    for row in json.loads(VECTORS.read_text())["server"]:
        message = pb.ServerMessage.FromString(bytes.fromhex(row["frame"])[4:])
        wanted = message.WhichOneof("response")
        kind = 1 if wanted in {None, "error"} else message.DESCRIPTOR.fields_by_name[wanted].number
        for request_id, cut in ((1, 0), (1, 1), (0, 3)):
            message.request_id = request_id
            plan = bytes([1 + 17 * (kind - 1), cut, 1])
            seed = plan + encode(message)
            if len(seed) <= LONGEST:
                (CORPUS / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)


if __name__ == "__main__":
    main()
