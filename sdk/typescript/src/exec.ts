// A running command: an async iterable of its output that also takes input.

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type Client as Rpc } from "@connectrpc/connect";

import { SandboxError, guardedStream } from "./errors.js";
import {
  ExecRequestSchema,
  type ExecExit,
  type ExecRequest,
  type ExecStartSchema,
  type GuestService,
} from "./gen/sandbox/v1/guest_pb.js";
import type { CallOptions } from "./index.js";

/** The most bytes that one message of input carries. */
const PIECE = 64 << 10;

/** What a command wrote, and where. */
export interface Output {
  kind: "out" | "err";
  data: Uint8Array;
}

/**
 * Iterate once, to the end; then `exit` has how the command ended.  Leaving the loop early, or
 * aborting the signal given to `exec`, ends the call and kills the command.
 */
export class Process implements AsyncIterable<Output> {
  /** How it ended; rejected where the call failed. */
  readonly exit: Promise<ExecExit>;
  private readonly requests = new Requests();
  private readonly ending = new AbortController();
  private settle!: (exit: ExecExit) => void;
  private fail!: (error: unknown) => void;

  constructor(
    private readonly guests: Rpc<typeof GuestService>,
    start: MessageInitShape<typeof ExecStartSchema>,
    private readonly options: CallOptions,
  ) {
    this.exit = new Promise((settle, fail) => {
      this.settle = settle;
      this.fail = fail;
    });
    this.exit.catch(() => undefined); // whoever iterates is told too
    this.requests.put({ case: "start", value: start });
  }

  /** Send input; what is not taken yet waits in memory. */
  write(data: Uint8Array | string): void {
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    for (let at = 0; at < bytes.length; at += PIECE) {
      this.requests.put({ case: "input", value: { data: bytes.subarray(at, at + PIECE) } });
    }
  }

  /** End the input; output goes on. */
  closeInput(): void {
    this.requests.put({ case: "closeInput", value: {} });
  }

  /** End the call: a command that still runs is killed. */
  kill(): void {
    this.ending.abort();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Output> {
    const { signal, timeoutMs } = this.options;
    const end = () => this.ending.abort();
    signal?.addEventListener("abort", end, { once: true });
    if (signal?.aborted) end();
    const options = { signal: this.ending.signal, timeoutMs };
    try {
      for await (const { message } of guardedStream(this.guests.exec(this.requests, options))) {
        if (message.case === "out" || message.case === "err") {
          yield { kind: message.case, data: message.value.data };
        } else if (message.case === "exit") {
          this.settle(message.value);
          this.requests.end();
        }
      }
    } catch (error) {
      this.fail(error);
      throw error;
    } finally {
      signal?.removeEventListener("abort", end);
      this.requests.end();
      this.ending.abort();
      const left = new ConnectError("the output was left before its end", Code.Canceled);
      this.fail(SandboxError.from(left)); // nothing, where it is settled
    }
  }
}

/** The call's sending half: a queue that is read as the connection takes it. */
class Requests implements AsyncIterable<ExecRequest> {
  private readonly waiting: ExecRequest[] = [];
  private ended = false;
  private wake: () => void = () => undefined;

  put(message: MessageInitShape<typeof ExecRequestSchema>["message"]): void {
    this.waiting.push(create(ExecRequestSchema, { message }));
    this.wake();
  }

  end(): void {
    this.ended = true;
    this.wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ExecRequest> {
    for (;;) {
      const next = this.waiting.shift();
      if (next !== undefined) yield next;
      else if (this.ended) return;
      else await new Promise<void>((wake) => (this.wake = wake));
    }
  }
}
