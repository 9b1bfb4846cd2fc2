"""Write the C structs and tables of the legacy frames from `legacy.proto`.

The C library may need nothing but libc at run time, must work in a static archive inside
somebody's shared object, and decodes replies while every other call waits for the reader
thread.  So its codec is a table interpreter of our own (`sdk/c/src/pb.h`) and this writes the
tables: one struct and one table a message, in the order of the file.

    python -m tools.codegen.c_messages            write sdk/c/src/messages.{h,c}
    python -m tools.codegen.c_messages --check    fail if they are not what would be written
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorSet,
)

ROOT = Path(__file__).resolve().parents[2]
PROTO = "sandbox/v1/legacy.proto"
OUTPUT = ROOT / "sdk/c/src"

Type = FieldDescriptorProto.Type
KINDS: dict[int, tuple[str, str]] = {
    Type.TYPE_UINT32: ("PB_UINT32", "uint32_t"),
    Type.TYPE_UINT64: ("PB_UINT64", "uint64_t"),
    Type.TYPE_INT64: ("PB_INT64", "int64_t"),
    Type.TYPE_SINT32: ("PB_SINT32", "int32_t"),
    Type.TYPE_BOOL: ("PB_BOOL", "bool"),
    Type.TYPE_ENUM: ("PB_ENUM", "int32_t"),
    Type.TYPE_STRING: ("PB_STRING", "struct pb_view"),
    Type.TYPE_BYTES: ("PB_BYTES", "struct pb_view"),
    Type.TYPE_MESSAGE: ("PB_MESSAGE", ""),
}
"""Protobuf type to table kind and C type; what is absent is refused, not guessed."""

NOTICE = f"""\
/* Written by tools/codegen/c_messages.py from proto/{PROTO}; change it there. */
"""


def main() -> int:
    """Write the files, or with `--check` say which differ."""
    texts = generate(load())
    if "--check" not in sys.argv[1:]:
        for name, text in texts.items():
            (OUTPUT / name).write_text(text)
        return 0
    stale = [name for name, text in texts.items() if read(OUTPUT / name) != text]
    for name in stale:
        print(f"sdk/c/src/{name} is not what {PROTO} says: run `make codegen`", file=sys.stderr)
    return 1 if stale else 0


def read(path: Path) -> str:
    """The file's text, or nothing if it is not there."""
    return path.read_text() if path.exists() else ""


def load() -> FileDescriptorSet:
    """Compile the proto with what it imports."""
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder) / "image"
        compiler = [sys.executable, "-m", "grpc_tools.protoc", "-Iproto", "--include_imports"]
        subprocess.run([*compiler, f"--descriptor_set_out={image}", PROTO], cwd=ROOT, check=True)
        return FileDescriptorSet.FromString(image.read_bytes())


def generate(image: FileDescriptorSet) -> dict[str, str]:
    """The texts of both files by name."""
    messages = [message for file in image.file for message in file.message_type]
    enums = [enum for file in image.file for enum in file.enum_type]
    ordered = by_need(messages)
    return {"messages.h": header(ordered, enums), "messages.c": tables(ordered)}


def by_need(messages: list[DescriptorProto]) -> list[DescriptorProto]:
    """The messages with what a message holds by value before it."""
    named = {message.name: message for message in messages}
    ordered: dict[str, DescriptorProto] = {}

    def add(message: DescriptorProto) -> None:
        for field in message.field:
            if field.type == Type.TYPE_MESSAGE:
                add(named[local(field)])
        ordered.setdefault(message.name, message)

    for message in messages:
        add(message)
    return list(ordered.values())


def header(messages: list[DescriptorProto], enums: list[EnumDescriptorProto]) -> str:
    """`messages.h`."""
    blocks = [declare_enum(enum) for enum in enums]
    for message in messages:
        blocks += [declare_case(message, oneof) for oneof in range(len(message.oneof_decl))]
        blocks.append(declare_struct(message))
    body = "\n".join(blocks)
    return f'{NOTICE}#ifndef MESSAGES_H\n#define MESSAGES_H\n\n#include "pb.h"\n\n{body}\n#endif\n'


def declare_enum(enum: EnumDescriptorProto) -> str:
    """An enum of the proto under its own names."""
    values = "".join(f"    {value.name} = {value.number},\n" for value in enum.value)
    return f"enum {snake(enum.name)} {{\n{values}}};\n"


def declare_case(message: DescriptorProto, oneof: int) -> str:
    """The numbers a oneof's `_case` may have."""
    values = "".join(
        f"    {snake(message.name).upper()}_{field.name.upper()} = {field.number},\n"
        for field in members(message, oneof)
    )
    return f"enum {snake(message.name)}_{message.oneof_decl[oneof].name}_case {{\n{values}}};\n"


def declare_struct(message: DescriptorProto) -> str:
    """The struct, its plain members first, and the table's declaration."""
    lines = [f"    {c_type(field)} {field.name};\n" for field in plain(message)]
    for oneof, declaration in enumerate(message.oneof_decl):
        union = "".join(
            f"        {c_type(field)} {field.name};\n" for field in members(message, oneof)
        )
        lines.append(f"    uint32_t {declaration.name}_case;\n")
        lines.append(f"    union {{\n{union}    }} {declaration.name};\n")
    if not lines:
        lines = ["    char nothing; /* C has no empty struct */\n"]
    name = snake(message.name)
    return f"struct {name} {{\n{''.join(lines)}}};\nextern const struct pb_type {name}_type;\n"


def tables(messages: list[DescriptorProto]) -> str:
    """`messages.c`."""
    body = "\n".join(define_table(message) for message in messages)
    return f'{NOTICE}#include "messages.h"\n\n{body}'


def define_table(message: DescriptorProto) -> str:
    """A message's rows by ascending number, which is the order they are encoded in."""
    name = snake(message.name)
    rows = [define_row(message, field) for field in sorted(message.field, key=number_of)]
    if not rows:
        return f"const struct pb_type {name}_type = {{NULL, 0, sizeof(struct {name})}};\n"
    return (
        f"static const struct pb_field {name}_fields[] = {{\n{''.join(rows)}}};\n"
        f"const struct pb_type {name}_type = "
        f"{{{name}_fields, {len(rows)}, sizeof(struct {name})}};\n"
    )


def define_row(message: DescriptorProto, field: FieldDescriptorProto) -> str:
    name = snake(message.name)
    kind = KINDS[field.type][0]
    inner = f"&{snake(local(field))}_type" if field.type == Type.TYPE_MESSAGE else "NULL"
    member, label, which = field.name, "PB_SINGLE", "0"
    if field.label == FieldDescriptorProto.LABEL_REPEATED:
        label = "PB_REPEATED"
    elif field.HasField("oneof_index"):
        oneof = message.oneof_decl[field.oneof_index].name
        member, label = f"{oneof}.{field.name}", "PB_ONEOF"
        which = f"offsetof(struct {name}, {oneof}_case)"
    offset = f"offsetof(struct {name}, {member})"
    return f"    {{{field.number}, {kind}, {label}, {offset}, {which}, {inner}}},\n"


def c_type(field: FieldDescriptorProto) -> str:
    """The C type of a member.  Stops at a shape that `pb.h` does not have."""
    repeated = field.label == FieldDescriptorProto.LABEL_REPEATED
    in_oneof = field.HasField("oneof_index")
    is_message = field.type == Type.TYPE_MESSAGE
    if field.type not in KINDS or field.proto3_optional:
        raise SystemExit(f"{field.name}: pb.h has no such field")
    if repeated and not (is_message or field.type == Type.TYPE_STRING):
        raise SystemExit(f"{field.name}: pb.h repeats strings and messages only")
    if is_message and not (repeated or in_oneof):
        raise SystemExit(f"{field.name}: pb.h has messages in oneofs and lists only")
    if repeated:
        return "struct pb_list"
    return f"struct {snake(local(field))}" if is_message else KINDS[field.type][1]


def plain(message: DescriptorProto) -> list[FieldDescriptorProto]:
    """The fields outside any oneof."""
    return [field for field in message.field if not field.HasField("oneof_index")]


def members(message: DescriptorProto, oneof: int) -> list[FieldDescriptorProto]:
    """The fields of one oneof."""
    return [
        field
        for field in message.field
        if field.HasField("oneof_index") and field.oneof_index == oneof
    ]


def number_of(field: FieldDescriptorProto) -> int:
    return field.number


def local(field: FieldDescriptorProto) -> str:
    """The name of a field's message without its package."""
    return field.type_name.rpartition(".")[2]


def snake(name: str) -> str:
    """`GuestExecRequest` as `guest_exec_request`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


if __name__ == "__main__":
    raise SystemExit(main())
