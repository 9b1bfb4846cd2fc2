// A thin layer over the generated client of sandbox-engine: connect, create, run with live
// output, files, fork, close.  Everything else is on `Client.sandboxes` and `Client.guests`,
// or one `createClient(Service, client.transport)` away.

import { connect as dial } from "node:net";

import type { MessageInitShape } from "@bufbuild/protobuf";
import { createClient, type Client as Rpc, type Interceptor, type Transport } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";

import { guarded, guardedStream } from "./errors.js";
import { Process } from "./exec.js";
import { GuestService, type ExecExit, type ExecStartSchema } from "./gen/sandbox/v1/guest_pb.js";
import {
  SandboxService,
  type CreateSandboxRequestSchema,
  type ForkSandboxRequestSchema,
  type Sandbox as SandboxInfo,
} from "./gen/sandbox/v1/sandboxes_pb.js";

export { SandboxError } from "./errors.js";
export { Process, type Output } from "./exec.js";
export type { ExecExit, SandboxInfo };

/** The most bytes that one message of a file carries. */
const PIECE = 64 << 10;

/** How a call ends early: an aborted signal kills what the call runs. */
export interface CallOptions {
  signal?: AbortSignal;
  /** The call's deadline, from now. */
  timeoutMs?: number;
}

export interface ConnectOptions {
  /** Sent as a bearer token with every call. */
  token?: string;
}

/**
 * A client of the engine at `unix:/path/of/grpc.sock`, `http://host:port` or
 * `https://host:port`.  The first call dials.
 */
export function connect(target: string, options: ConnectOptions = {}): Client {
  const path = target.startsWith("unix:") ? target.slice("unix:".length) : undefined;
  const baseUrl = path === undefined ? target : "http://localhost";
  const nodeOptions = path === undefined ? {} : { createConnection: () => dial(path) };
  const sessionManager = new Http2SessionManager(baseUrl, {}, nodeOptions);
  const interceptors = options.token === undefined ? [] : [bearer(options.token)];
  const transport = createGrpcTransport({ baseUrl, sessionManager, interceptors });
  return new Client(transport, () => sessionManager.abort());
}

function bearer(token: string): Interceptor {
  return (next) => (request) => {
    request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };
}

/** One connection; `close()` ends it and every call on it, but no sandbox. */
export class Client {
  readonly sandboxes: Rpc<typeof SandboxService>;
  readonly guests: Rpc<typeof GuestService>;

  constructor(
    readonly transport: Transport,
    private readonly end: () => void,
  ) {
    this.sandboxes = createClient(SandboxService, transport);
    this.guests = createClient(GuestService, transport);
  }

  async create(
    request: MessageInitShape<typeof CreateSandboxRequestSchema>,
    options?: CallOptions,
  ): Promise<Sandbox> {
    const made = await guarded(this.sandboxes.createSandbox(request, options));
    return new Sandbox(this, made.sandbox!.id, made.sandbox);
  }

  /** What the engine says of a sandbox. */
  async get(sandboxId: string, options?: CallOptions): Promise<SandboxInfo> {
    return (await guarded(this.sandboxes.getSandbox({ sandboxId }, options))).sandbox!;
  }

  /** A handle of a sandbox that exists; it costs no call. */
  sandbox(id: string): Sandbox {
    return new Sandbox(this, id);
  }

  close(): void {
    this.end();
  }
}

/** A handle of one sandbox; `await using` destroys it. */
export class Sandbox implements AsyncDisposable {
  constructor(
    private readonly client: Client,
    readonly id: string,
    readonly info?: SandboxInfo,
  ) {}

  /** Start a command; the process is an async iterable of its output. */
  exec(
    start: Exclude<MessageInitShape<typeof ExecStartSchema>, { $typeName: string }>,
    options: CallOptions = {},
  ): Process {
    return new Process(this.client.guests, { ...start, sandboxId: this.id }, options);
  }

  /** Run a shell script to its end and collect both outputs. */
  async run(
    script: string,
    options?: CallOptions,
  ): Promise<{ out: Buffer; err: Buffer; exit: ExecExit }> {
    const process = this.exec({ argv: [script], shell: true }, options);
    const pieces = { out: [] as Uint8Array[], err: [] as Uint8Array[] };
    for await (const { kind, data } of process) pieces[kind].push(data);
    const exit = await process.exit;
    return { out: Buffer.concat(pieces.out), err: Buffer.concat(pieces.err), exit };
  }

  async readFile(path: string, options?: CallOptions): Promise<Buffer> {
    const pieces: Uint8Array[] = [];
    const answer = this.client.guests.readFile({ sandboxId: this.id, path }, options);
    for await (const { message } of guardedStream(answer)) {
      if (message.case === "data") pieces.push(message.value);
    }
    return Buffer.concat(pieces);
  }

  /** Write a whole file and make its parents. */
  async writeFile(path: string, data: Uint8Array, options?: CallOptions): Promise<void> {
    const start = { sandboxId: this.id, path, parents: true };
    async function* pieces() {
      yield { message: { case: "start" as const, value: start } };
      for (let at = 0; at < data.length; at += PIECE) {
        yield { message: { case: "data" as const, value: data.subarray(at, at + PIECE) } };
      }
      yield { message: { case: "done" as const, value: {} } };
    }
    await guarded(this.client.guests.writeFile(pieces(), options));
  }

  /** Children that begin as copies of this sandbox, memory included. */
  async fork(
    request: Exclude<MessageInitShape<typeof ForkSandboxRequestSchema>, { $typeName: string }> = {},
    options?: CallOptions,
  ): Promise<Sandbox[]> {
    const whole = { count: 1, ...request, sandboxId: this.id };
    const made = await guarded(this.client.sandboxes.forkSandbox(whole, options));
    return made.children.map((one) => new Sandbox(this.client, one.sandbox!.id, one.sandbox));
  }

  /** Destroy it; one that is gone already is no error. */
  async close(): Promise<void> {
    const request = { sandboxId: this.id, allowMissing: true };
    await guarded(this.client.sandboxes.destroySandbox(request));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
