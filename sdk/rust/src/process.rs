use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{timeout_at, Instant};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Request, Status, Streaming};

use crate::v1::exec_request::Message as Up;
use crate::v1::exec_response::Message as Down;
use crate::{v1, Client, Error, PIECE};

/// Messages of input that wait for the connection; then a writer waits.
const WAITING: usize = 4;

/// What a command came to, with all it wrote.
#[derive(Debug, Clone, Default)]
pub struct Output {
    pub out: Vec<u8>,
    pub err: Vec<u8>,
    pub exit: v1::ExecExit,
}

/// A command that runs.  Dropping it ends the call, which kills the command.
#[derive(Debug)]
pub struct Process {
    events: Streaming<v1::ExecResponse>,
    requests: mpsc::Sender<v1::ExecRequest>,
    deadline: Option<Instant>,
}

impl Process {
    pub(crate) async fn start(
        client: &Client,
        start: v1::ExecStart,
        limit: Option<Duration>,
    ) -> Result<Self, Error> {
        let (requests, waiting) = mpsc::channel(WAITING);
        let mut request = Request::new(ReceiverStream::new(waiting));
        if let Some(limit) = limit {
            request.set_timeout(limit);
        }
        let deadline = limit.map(|limit| Instant::now() + limit);
        send(&requests, Up::Start(start)).await?;
        let mut guests = client.guests();
        let events = within(deadline, guests.exec(request)).await?.into_inner();
        Ok(Self {
            events,
            requests,
            deadline,
        })
    }

    /// What comes next: started, output of either kind, the exit; `None` behind it.
    pub async fn next(&mut self) -> Result<Option<Down>, Error> {
        let event = within(self.deadline, self.events.message()).await?;
        Ok(event.and_then(|event| event.message))
    }

    /// What writes its input, from any task; it does not keep the command alive.
    pub fn input(&self) -> Input {
        Input {
            requests: self.requests.downgrade(),
        }
    }

    /// Waits for the end and collects both outputs.
    pub async fn wait(mut self) -> Result<Output, Error> {
        let mut output = Output::default();
        while let Some(event) = self.next().await? {
            match event {
                Down::Started(_) => {}
                Down::Out(piece) => output.out.extend(piece.data),
                Down::Err(piece) => output.err.extend(piece.data),
                Down::Exit(exit) => {
                    output.exit = exit;
                    return Ok(output);
                }
            }
        }
        Err(Error::new(Code::Aborted, "the command's exit was not told"))
    }
}

/// The input of a command.
#[derive(Debug, Clone)]
pub struct Input {
    requests: mpsc::WeakSender<v1::ExecRequest>,
}

impl Input {
    /// Sends bytes, in pieces; waits while the command does not read.
    pub async fn write(&self, data: &[u8]) -> Result<(), Error> {
        for piece in data.chunks(PIECE) {
            self.send(Up::Input(v1::ExecInput {
                data: piece.to_vec(),
            }))
            .await?;
        }
        Ok(())
    }

    /// Ends the input; output goes on.
    pub async fn close(&self) -> Result<(), Error> {
        self.send(Up::CloseInput(v1::ExecCloseInput {})).await
    }

    async fn send(&self, message: Up) -> Result<(), Error> {
        match self.requests.upgrade() {
            Some(requests) => send(&requests, message).await,
            None => Err(ended()),
        }
    }
}

async fn send(requests: &mpsc::Sender<v1::ExecRequest>, message: Up) -> Result<(), Error> {
    let request = v1::ExecRequest {
        message: Some(message),
    };
    requests.send(request).await.map_err(|_| ended())
}

fn ended() -> Error {
    Error::new(Code::Aborted, "the call has ended; Process::next says why")
}

/// A call, until its deadline.  The engine knows the deadline too, and whoever notices first
/// ends the call: both look the same from here.
async fn within<T>(
    deadline: Option<Instant>,
    call: impl std::future::Future<Output = Result<T, Status>>,
) -> Result<T, Error> {
    let Some(at) = deadline else {
        return Ok(call.await?);
    };
    match timeout_at(at, call).await {
        Ok(Err(status)) if status.code() == Code::Cancelled && Instant::now() >= at => {
            Err(Error::deadline())
        }
        Ok(answer) => Ok(answer?),
        Err(_) => Err(Error::deadline()),
    }
}
