// Plays tests/conformance/scenario.yaml and says each step that passed.

import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";

import { Code } from "@connectrpc/connect";

import { SandboxState } from "./gen/sandbox/v1/sandboxes_pb.js";
import { SandboxError, connect, type Process, type Sandbox } from "./index.js";

const TARGET = `unix:${process.env.SANDBOX_GRPC_SOCKET}`;
const PATTERN_SHA256 = "f6a34d4c79c3d12c297589206bf216b084347471a53ea5e7fe9a46bd1230f098";
const PATIENCE_MS = 60_000;

let client = connect(TARGET);
let box: Sandbox | undefined;

function sandbox(): Sandbox {
  assert(box !== undefined);
  return box;
}

async function said(on: Sandbox, script: string): Promise<string> {
  const { out, err, exit } = await on.run(script);
  assert.equal(exit.code, 0, `${script}: ${err}`);
  return out.toString();
}

async function failure(call: Promise<unknown>): Promise<SandboxError> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert(error instanceof SandboxError, `no SandboxError: ${String(error)}`);
  return error;
}

async function drain(command: Process): Promise<void> {
  for await (const _ of command);
}

async function gone(first: string, rest: string): Promise<void> {
  const lines = `cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '`;
  const count = `${lines} | grep -c '[${first}]${rest}' || true`;
  let seen = "";
  for (const began = Date.now(); Date.now() - began < PATIENCE_MS; ) {
    seen = await said(sandbox(), count);
    if (seen === "0\n") return;
  }
  assert.fail(`still there: ${seen}`);
}

const steps = {
  async create() {
    const request = {
      template: "base",
      requestId: randomUUID(),
      ttl: { seconds: 300n },
      poolWait: { seconds: 120n },
      claimRef: "conformance",
    };
    box = await client.create(request);
    assert.match(box.id, /^sb_/);
    assert.equal(box.info?.state, SandboxState.RUNNING);
    assert.equal(box.info.template, "base");
    assert.equal((await client.create(request)).id, box.id);
  },

  async live_exec() {
    const script = 'echo first; read line; echo "got $line"; echo problem >&2; exit 7';
    const command = sandbox().exec({ argv: [script], shell: true, input: true });
    const seen = { out: "", err: "" };
    let answered = false;
    for await (const { kind, data } of command) {
      seen[kind] += Buffer.from(data).toString();
      if (!answered && seen.out.length >= "first\n".length) {
        assert.equal(seen.out, "first\n");
        command.write("second\n");
        command.closeInput();
        answered = true;
      }
    }
    assert.deepEqual(seen, { out: "first\ngot second\n", err: "problem\n" });
    const exit = await command.exit;
    assert.deepEqual([exit.code, exit.signal, exit.timedOut, exit.truncated], [7, 0, false, false]);
    assert.deepEqual([exit.outTotal, exit.errTotal], [17n, 8n]);
  },

  async binary() {
    const pattern = Buffer.from(Uint8Array.from({ length: 1 << 20 }, (_, i) => i * 31 + (i >> 8)));
    assert.equal(createHash("sha256").update(pattern).digest("hex"), PATTERN_SHA256);
    const cat = sandbox().exec({ argv: ["cat"], input: true });
    cat.write(pattern);
    cat.closeInput();
    const pieces: Uint8Array[] = [];
    for await (const { data } of cat) pieces.push(data);
    assert.equal((await cat.exit).code, 0);
    assert(Buffer.concat(pieces).equals(pattern), "cat gave something else");
    await sandbox().writeFile("/workspace/in/pattern", pattern);
    assert.match(await said(sandbox(), "sha256sum </workspace/in/pattern"), RegExp(PATTERN_SHA256));
    const read = await sandbox().readFile("/workspace/in/pattern");
    assert(read.equals(pattern), "the file is something else");
  },

  async error() {
    const missing = await failure(sandbox().readFile("/workspace/missing"));
    assert.deepEqual([missing.reason, missing.domain], ["PATH_NOT_FOUND", "sandbox-engine"]);
    const unknown = await failure(client.create({ template: "no-such-template" }));
    assert.equal(unknown.reason, "TEMPLATE_NOT_FOUND");
    assert.equal(unknown.metadata.name, "no-such-template");
  },

  async cancel() {
    const stop = new AbortController();
    const start = { argv: ["echo up; exec sleep 4321"], shell: true };
    const command = sandbox().exec(start, { signal: stop.signal });
    const ended = await failure(
      (async () => {
        for await (const { data } of command) {
          assert.equal(Buffer.from(data).toString(), "up\n");
          stop.abort();
        }
      })(),
    );
    assert.equal(ended.code, Code.Canceled);
    assert.equal((await failure(command.exit)).code, Code.Canceled);
    await gone("s", "leep 4321");
  },

  async fork() {
    await said(sandbox(), "echo parent >/workspace/who; echo 1 >/dev/shm/memory");
    const [child, ...more] = await sandbox().fork({ count: 1, ttl: { seconds: 300n } });
    assert(child !== undefined && more.length === 0);
    try {
      assert.notEqual(child.id, sandbox().id);
      assert.equal(child.info?.parentId, sandbox().id);
      await said(child, "echo child >/workspace/who");
      await said(sandbox(), "echo 2 >/dev/shm/memory");
      assert.equal(await said(sandbox(), "cat /workspace/who"), "parent\n");
      assert.equal(await said(child, "cat /workspace/who"), "child\n");
      assert.equal(await said(sandbox(), "cat /dev/shm/memory"), "2\n");
      assert.equal(await said(child, "cat /dev/shm/memory"), "1\n");
    } finally {
      await child.close();
    }
    assert.equal((await failure(client.get(child.id))).reason, "SANDBOX_NOT_FOUND");
  },

  async deadline() {
    const argv = ["sleep", "4322"];
    const late = await failure(drain(sandbox().exec({ argv }, { timeoutMs: 2000 })));
    assert.equal(late.code, Code.DeadlineExceeded);
    await gone("s", "leep 4322");
    const limited = sandbox().exec({ argv, timeout: { seconds: 1n } });
    await drain(limited);
    assert.equal((await limited.exit).timedOut, true);
  },

  async reconnect() {
    await said(sandbox(), "echo kept >/workspace/kept");
    client.close();
    client = connect(TARGET);
    box = client.sandbox(sandbox().id);
    assert.equal((await client.get(box.id)).state, SandboxState.RUNNING);
    assert.equal((await box.readFile("/workspace/kept")).toString(), "kept\n");
    await box.close();
    await box.close();
  },
};

for (const [step, play] of Object.entries(steps)) {
  try {
    await play();
  } catch (seen) {
    console.log(`fail ${step}: ${String(seen)}`);
    await box?.close().catch(() => undefined);
    process.exit(1);
  }
  console.log(`ok ${step}`);
}
client.close();
