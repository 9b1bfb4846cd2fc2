//! Runs a command in a new sandbox and shows its output as it comes.

use std::io::Write;

use sandbox_engine::{v1, Client};
use v1::exec_response::Message::{Err, Exit, Out, Started};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::connect(&format!("unix:{}", std::env::var("SANDBOX_GRPC_SOCKET")?))?;
    let sandbox = client
        .create(v1::CreateSandboxRequest {
            template: "base".into(),
            pool_wait: Some(std::time::Duration::from_secs(120).try_into()?),
            ..Default::default()
        })
        .await?;

    sandbox.write_file("/workspace/name", b"world").await?;
    let mut process = sandbox
        .exec(v1::ExecStart {
            argv: vec!["echo \"hello $(cat /workspace/name)\"".into()],
            shell: true,
            ..Default::default()
        })
        .await?;
    while let Some(event) = process.next().await? {
        match event {
            Started(_) => {}
            Out(piece) => std::io::stdout().write_all(&piece.data)?,
            Err(piece) => std::io::stderr().write_all(&piece.data)?,
            Exit(exit) => println!("exit {}", exit.code),
        }
    }
    sandbox.close().await?;
    Ok(())
}
