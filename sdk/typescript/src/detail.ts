// google.rpc.ErrorInfo out of a call's error details, without a package of Google's protos.

import type { ConnectError } from "@connectrpc/connect";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

/** What ErrorInfo holds. */
export interface ErrorInfo {
  reason: string;
  domain: string;
  metadata: Record<string, string>;
}

/** The error's ErrorInfo; empty where it has none. */
export function errorInfo(error: ConnectError): ErrorInfo {
  for (const detail of error.details) {
    if ("type" in detail && detail.type === "google.rpc.ErrorInfo") return decode(detail.value);
  }
  return { reason: "", domain: "", metadata: {} };
}

function decode(bytes: Uint8Array): ErrorInfo {
  const info: ErrorInfo = { reason: "", domain: "", metadata: {} };
  for (const [number, reader] of fields(bytes)) {
    if (number === 1) info.reason = reader.string();
    else if (number === 2) info.domain = reader.string();
    else if (number === 3) {
      const { key, value } = entry(reader.bytes());
      info.metadata[key] = value;
    } else reader.skip(WireType.LengthDelimited);
  }
  return info;
}

function entry(bytes: Uint8Array): { key: string; value: string } {
  const pair = { key: "", value: "" };
  for (const [number, reader] of fields(bytes)) {
    if (number === 1) pair.key = reader.string();
    else pair.value = reader.string();
  }
  return pair;
}

/** The length-delimited fields; others, which ErrorInfo has none of, are passed over. */
function* fields(bytes: Uint8Array): Generator<[number, BinaryReader]> {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (type === WireType.LengthDelimited) yield [number, reader];
    else reader.skip(type);
  }
}
