//! Plays tests/conformance/scenario.yaml and says each step that passed.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sandbox_engine::{v1, Client, Error, Process, Sandbox};
use tonic::Code;
use v1::exec_response::Message as Event;

const PATTERN_SIZE: usize = 1 << 20;
const PATTERN_SHA256: &str = "f6a34d4c79c3d12c297589206bf216b084347471a53ea5e7fe9a46bd1230f098";
const PATIENCE: Duration = Duration::from_secs(60);

/// What a check saw, or how a call failed that must not.
type Seen = Box<dyn std::error::Error>;
type Step = Result<(), Seen>;

fn check(holds: bool, seen: impl std::fmt::Debug) -> Step {
    if holds {
        return Ok(());
    }
    Err(format!("{seen:?}").into())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Step {
    let target = format!("unix:{}", std::env::var("SANDBOX_GRPC_SOCKET")?);
    let client = Client::connect(&target)?;
    let mut sandbox = None;
    let seen = play(client, &target, &mut sandbox).await;
    if let Some(left) = sandbox {
        left.close().await?;
    }
    if let Err((step, seen)) = seen {
        println!("fail {step}: {seen}");
        std::process::exit(1);
    }
    Ok(())
}

async fn play(
    client: Client,
    target: &str,
    made: &mut Option<Sandbox>,
) -> Result<(), (&'static str, Seen)> {
    let sandbox = named("create", create(&client)).await?;
    let sandbox = made.insert(sandbox);
    named("live_exec", live_exec(sandbox)).await?;
    named("binary", binary(sandbox)).await?;
    named("error", error(&client, sandbox)).await?;
    named("cancel", cancel(sandbox)).await?;
    named("fork", fork(&client, sandbox)).await?;
    named("deadline", deadline(sandbox)).await?;
    named("reconnect", reconnect(client, target, sandbox)).await
}

async fn named<T>(
    step: &'static str,
    play: impl std::future::Future<Output = Result<T, Seen>>,
) -> Result<T, (&'static str, Seen)> {
    let played = play.await.map_err(|seen| (step, seen))?;
    println!("ok {step}");
    Ok(played)
}

fn seconds(seconds: i64) -> Option<prost_types::Duration> {
    Some(prost_types::Duration { seconds, nanos: 0 })
}

fn pattern() -> Vec<u8> {
    (0..PATTERN_SIZE)
        .map(|i| ((i * 31 + (i >> 8)) % 256) as u8)
        .collect()
}

fn argv(words: &[&str]) -> v1::ExecStart {
    let argv = words.iter().map(ToString::to_string).collect();
    v1::ExecStart {
        argv,
        ..Default::default()
    }
}

async fn run(sandbox: &Sandbox, script: &str) -> Result<String, Seen> {
    let output = sandbox.run(script).await?;
    check(output.exit.code == 0, (script, &output))?;
    Ok(String::from_utf8(output.out)?)
}

async fn output_until(process: &mut Process, wanted: &str) -> Step {
    let mut out = Vec::new();
    while out.len() < wanted.len() {
        match process.next().await? {
            Some(Event::Out(piece)) => out.extend(piece.data),
            Some(Event::Started(_)) => {}
            other => check(false, other)?,
        }
    }
    check(out == wanted.as_bytes(), String::from_utf8_lossy(&out))
}

async fn create(client: &Client) -> Result<Sandbox, Seen> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let request = v1::CreateSandboxRequest {
        template: "base".into(),
        request_id: format!("rust-{}-{}", std::process::id(), now.as_nanos()),
        ttl: seconds(300),
        pool_wait: seconds(120),
        claim_ref: "conformance".into(),
        ..Default::default()
    };
    let sandbox = client.create(request.clone()).await?;
    check(sandbox.id().starts_with("sb_"), sandbox.id())?;
    check(
        sandbox.info().state() == v1::SandboxState::Running,
        sandbox.info(),
    )?;
    check(sandbox.info().template == "base", sandbox.info())?;
    let mut again = client.create(request).await?;
    again.keep();
    check(again.id() == sandbox.id(), again.id())?;
    Ok(sandbox)
}

async fn live_exec(sandbox: &Sandbox) -> Step {
    let script = "echo first; read line; echo \"got $line\"; echo problem >&2; exit 7";
    let start = v1::ExecStart {
        shell: true,
        input: true,
        ..argv(&[script])
    };
    let mut process = sandbox.exec(start).await?;
    output_until(&mut process, "first\n").await?;
    process.input().write(b"second\n").await?;
    process.input().close().await?;
    let output = process.wait().await?;
    check(
        output.out == b"got second\n" && output.err == b"problem\n",
        &output,
    )?;
    let exit = output.exit;
    check(exit.code == 7 && exit.signal == 0, &exit)?;
    check(!exit.timed_out && !exit.truncated, &exit)?;
    check(exit.out_total == 17 && exit.err_total == 8, &exit)
}

async fn binary(sandbox: &Sandbox) -> Step {
    let data = pattern();
    let process = sandbox
        .exec(v1::ExecStart {
            input: true,
            ..argv(&["cat"])
        })
        .await?;
    let (input, sent) = (process.input(), data.clone());
    let writer = tokio::spawn(async move {
        input.write(&sent).await?;
        input.close().await
    });
    let output = process.wait().await?;
    writer.await??;
    check(
        output.exit.code == 0 && output.out == data,
        output.out.len(),
    )?;
    sandbox.write_file("/workspace/in/pattern", &data).await?;
    let said = run(sandbox, "sha256sum </workspace/in/pattern").await?;
    check(said.starts_with(PATTERN_SHA256), &said)?;
    check(
        sandbox.read_file("/workspace/in/pattern").await? == data,
        "read back",
    )
}

/// The failure of a call that must fail.
fn failure<T>(answer: Result<T, Error>) -> Result<Error, Seen> {
    answer
        .err()
        .ok_or_else(|| "a call that must fail did not".into())
}

async fn error(client: &Client, sandbox: &Sandbox) -> Step {
    let missing = failure(sandbox.read_file("/workspace/missing").await)?;
    check(missing.reason == "PATH_NOT_FOUND", &missing)?;
    check(missing.domain == "sandbox-engine", &missing)?;
    let request = v1::CreateSandboxRequest {
        template: "no-such-template".into(),
        ..Default::default()
    };
    let unknown = failure(client.create(request).await)?;
    check(unknown.reason == "TEMPLATE_NOT_FOUND", &unknown)?;
    check(
        unknown
            .metadata
            .get("name")
            .is_some_and(|name| name == "no-such-template"),
        &unknown,
    )
}

/// Waits until no process of the sandbox has this command line.
async fn gone(sandbox: &Sandbox, first: char, rest: &str) -> Step {
    let count = format!(
        "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c '[{first}]{rest}' || true"
    );
    let began = Instant::now();
    let mut said = String::new();
    while began.elapsed() < PATIENCE {
        said = run(sandbox, &count).await?;
        if said == "0\n" {
            return Ok(());
        }
    }
    check(false, said)
}

async fn cancel(sandbox: &Sandbox) -> Step {
    let start = v1::ExecStart {
        shell: true,
        ..argv(&["echo up; exec sleep 4321"])
    };
    let mut process = sandbox.exec(start).await?;
    output_until(&mut process, "up\n").await?;
    let input = process.input();
    drop(process);
    check(
        failure(input.close().await)?.code == Code::Aborted,
        "its input was taken",
    )?;
    gone(sandbox, 's', "leep 4321").await
}

async fn fork(client: &Client, sandbox: &Sandbox) -> Step {
    run(
        sandbox,
        "echo parent >/workspace/who; echo 1 >/dev/shm/memory",
    )
    .await?;
    let request = v1::ForkSandboxRequest {
        count: 1,
        ttl: seconds(300),
        ..Default::default()
    };
    let mut children = sandbox.fork(request).await?;
    check(children.len() == 1, children.len())?;
    let child = children.remove(0);
    check(
        child.id() != sandbox.id() && child.info().parent_id == sandbox.id(),
        child.info(),
    )?;
    run(&child, "echo child >/workspace/who").await?;
    run(sandbox, "echo 2 >/dev/shm/memory").await?;
    let mut seen = String::new();
    for file in ["/workspace/who", "/dev/shm/memory"] {
        for one in [sandbox, &child] {
            seen += &run(one, &format!("cat {file}")).await?;
        }
    }
    check(seen == "parent\nchild\n2\n1\n", &seen)?;
    let id = child.id().to_owned();
    child.close().await?;
    let error = failure(client.get(&id).await)?;
    check(error.reason == "SANDBOX_NOT_FOUND", error)
}

async fn deadline(sandbox: &Sandbox) -> Step {
    let sleep = argv(&["sleep", "4322"]);
    let ended = match sandbox
        .exec_within(sleep.clone(), Duration::from_secs(2))
        .await
    {
        Ok(process) => process.wait().await,
        Err(error) => Err(error),
    };
    let error = failure(ended)?;
    check(error.code == Code::DeadlineExceeded, error)?;
    gone(sandbox, 's', "leep 4322").await?;
    let start = v1::ExecStart {
        timeout: seconds(1),
        ..sleep
    };
    let output = sandbox.exec(start).await?.wait().await?;
    check(output.exit.timed_out, output)
}

async fn reconnect(old: Client, target: &str, sandbox: &mut Sandbox) -> Step {
    run(sandbox, "echo kept >/workspace/kept").await?;
    let client = Client::connect(target)?;
    let id = sandbox.id().to_owned();
    // The last two that held the old connection.
    sandbox.keep();
    *sandbox = client.sandbox(&id);
    drop(old);
    check(
        client.get(&id).await?.state() == v1::SandboxState::Running,
        "it runs no more",
    )?;
    check(
        sandbox.read_file("/workspace/kept").await? == b"kept\n",
        "not kept",
    )?;
    client.sandbox(&id).close().await?;
    client.sandbox(&id).close().await?;
    Ok(())
}
