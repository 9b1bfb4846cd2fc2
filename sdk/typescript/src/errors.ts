// The engine's errors as one type: the reason is a name of the registry in errors.proto.

import { Code, ConnectError } from "@connectrpc/connect";

import { errorInfo } from "./detail.js";

/** A call that failed. */
export class SandboxError extends Error {
  override readonly name = "SandboxError";

  constructor(
    readonly code: Code,
    message: string,
    /** Name in errors.proto without ERROR_REASON_; empty where the engine gave none. */
    readonly reason: string,
    readonly domain: string,
    readonly metadata: Readonly<Record<string, string>>,
    cause: unknown,
  ) {
    super(message, { cause });
  }

  static from(error: unknown): SandboxError {
    const told = ConnectError.from(error);
    const info = errorInfo(told);
    const { reason, domain, metadata } = info;
    return new SandboxError(told.code, told.rawMessage, reason, domain, metadata, error);
  }
}

/** A call's answer, its failure as a `SandboxError`. */
export async function guarded<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw SandboxError.from(error);
  }
}

/** A stream's messages, its failure as a `SandboxError`. */
export async function* guardedStream<T>(answers: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* answers;
  } catch (error) {
    throw SandboxError.from(error);
  }
}
