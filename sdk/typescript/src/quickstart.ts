import { connect } from "./index.js"; // from the package: "@sandbox-engine/sdk"

const client = connect(`unix:${process.env.SANDBOX_GRPC_SOCKET}`);
const sandbox = await client.create({ template: "base", poolWait: { seconds: 120n } });
try {
  await sandbox.writeFile("/workspace/name", Buffer.from("world"));
  const command = sandbox.exec({ argv: ['echo "hello $(cat /workspace/name)"'], shell: true });
  for await (const { kind, data } of command) {
    (kind === "out" ? process.stdout : process.stderr).write(data);
  }
  console.log("exit", (await command.exit).code);
} finally {
  await sandbox.close();
  client.close();
}
