use std::time::Duration;

use tokio::runtime::Handle;

use crate::v1::write_file_request::Message as Piece;
use crate::{v1, Client, Error, Output, Process, PIECE};

/// One sandbox.  Where [`Client::create`] or [`Sandbox::fork`] made it, dropping it destroys it
/// in the background, as far as the runtime still runs; [`Sandbox::close`] waits for that.
#[derive(Debug)]
pub struct Sandbox {
    client: Client,
    id: String,
    info: v1::Sandbox,
    owned: bool,
}

impl Sandbox {
    pub(crate) fn made(client: Client, info: v1::Sandbox) -> Self {
        Self {
            client,
            id: info.id.clone(),
            info,
            owned: true,
        }
    }

    pub(crate) fn existing(client: Client, id: &str) -> Self {
        Self {
            client,
            id: id.to_owned(),
            info: v1::Sandbox::default(),
            owned: false,
        }
    }

    /// Its name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What the engine said when it was made; empty in a handle from [`Client::sandbox`].
    pub fn info(&self) -> &v1::Sandbox {
        &self.info
    }

    /// Leaves it to its lease: dropping the handle does not destroy it any more.
    pub fn keep(&mut self) {
        self.owned = false;
    }

    /// Starts a command; `start.input` says whether it gets input.
    pub async fn exec(&self, start: v1::ExecStart) -> Result<Process, Error> {
        Process::start(&self.client, self.start(start), None).await
    }

    /// The same with a deadline for the call, from now.
    pub async fn exec_within(
        &self,
        start: v1::ExecStart,
        limit: Duration,
    ) -> Result<Process, Error> {
        Process::start(&self.client, self.start(start), Some(limit)).await
    }

    fn start(&self, start: v1::ExecStart) -> v1::ExecStart {
        v1::ExecStart {
            sandbox_id: self.id.clone(),
            ..start
        }
    }

    /// Runs a shell script to its end and collects both outputs.
    pub async fn run(&self, script: &str) -> Result<Output, Error> {
        let argv = vec![script.to_owned()];
        self.exec(v1::ExecStart {
            argv,
            shell: true,
            ..Default::default()
        })
        .await?
        .wait()
        .await
    }

    /// Reads a whole file.
    pub async fn read_file(&self, path: &str) -> Result<Vec<u8>, Error> {
        let request = v1::ReadFileRequest {
            sandbox_id: self.id.clone(),
            path: path.to_owned(),
            ..Default::default()
        };
        let mut pieces = self.client.guests().read_file(request).await?.into_inner();
        let mut data = Vec::new();
        while let Some(piece) = pieces.message().await? {
            if let Some(v1::read_file_response::Message::Data(bytes)) = piece.message {
                data.extend(bytes);
            }
        }
        Ok(data)
    }

    /// Writes a whole file and makes its parents.
    pub async fn write_file(&self, path: &str, data: &[u8]) -> Result<(), Error> {
        let start = v1::WriteFileStart {
            sandbox_id: self.id.clone(),
            path: path.to_owned(),
            parents: true,
            ..Default::default()
        };
        let data = data.to_vec();
        let count = data.len().div_ceil(PIECE);
        let pieces = (0..count).map(move |at| {
            let end = data.len().min((at + 1) * PIECE);
            Piece::Data(data[at * PIECE..end].to_vec())
        });
        let messages = std::iter::once(Piece::Start(start))
            .chain(pieces)
            .chain(std::iter::once(Piece::Done(v1::WriteFileDone {})))
            .map(|message| v1::WriteFileRequest {
                message: Some(message),
            });
        self.client
            .guests()
            .write_file(tokio_stream::iter(messages))
            .await?;
        Ok(())
    }

    /// Children that begin as copies of this sandbox, memory included.
    pub async fn fork(&self, request: v1::ForkSandboxRequest) -> Result<Vec<Sandbox>, Error> {
        let count = request.count.max(1);
        let request = v1::ForkSandboxRequest {
            sandbox_id: self.id.clone(),
            count,
            ..request
        };
        let made = self
            .client
            .sandboxes()
            .fork_sandbox(request)
            .await?
            .into_inner();
        let children = made.children.into_iter().filter_map(|child| child.sandbox);
        Ok(children
            .map(|info| Sandbox::made(self.client.clone(), info))
            .collect())
    }

    /// Destroys it; one that is gone already is no error.
    pub async fn close(mut self) -> Result<(), Error> {
        destroy(&self.client, &self.id).await?;
        self.owned = false;
        Ok(())
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if !self.owned {
            return;
        }
        if let Ok(runtime) = Handle::try_current() {
            let (client, id) = (self.client.clone(), std::mem::take(&mut self.id));
            // A failure is told to nobody: the sandbox's lease ends it then.
            runtime.spawn(async move { destroy(&client, &id).await.ok() });
        }
    }
}

async fn destroy(client: &Client, id: &str) -> Result<(), Error> {
    let request = v1::DestroySandboxRequest {
        sandbox_id: id.to_owned(),
        allow_missing: true,
    };
    client.sandboxes().destroy_sandbox(request).await?;
    Ok(())
}
