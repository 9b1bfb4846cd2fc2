"""`protoc-gen-grpc_python`: grpc_tools ships the generator inside its protoc only.

Reads a `CodeGeneratorRequest`, hands its descriptors to grpc_tools, and answers with what
that wrote.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from google.protobuf.compiler import plugin_pb2
from google.protobuf.descriptor_pb2 import FileDescriptorSet


def generate(request: plugin_pb2.CodeGeneratorRequest) -> plugin_pb2.CodeGeneratorResponse:
    """Run grpc_tools' generator over the request's files."""
    response = plugin_pb2.CodeGeneratorResponse(
        supported_features=plugin_pb2.CodeGeneratorResponse.FEATURE_PROTO3_OPTIONAL
    )
    services = {file.name for file in request.proto_file if file.service}
    wanted = [name for name in request.file_to_generate if name in services]
    if not wanted:
        return response
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        out.mkdir()
        descriptors = Path(folder) / "descriptors.binpb"
        descriptors.write_bytes(FileDescriptorSet(file=request.proto_file).SerializeToString())
        outputs = [f"--descriptor_set_in={descriptors}", f"--grpc_python_out={out}"]
        command = [sys.executable, "-m", "grpc_tools.protoc", *outputs, *wanted]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            response.error = done.stderr
        for path in sorted(out.rglob("*.py")):
            response.file.add(name=path.relative_to(out).as_posix(), content=path.read_text())
    return response


def main() -> None:
    """Speak the plugin protocol on standard input and output."""
    request = plugin_pb2.CodeGeneratorRequest.FromString(sys.stdin.buffer.read())
    sys.stdout.buffer.write(generate(request).SerializeToString())


if __name__ == "__main__":
    main()
