use std::collections::HashMap;
use std::fmt;

use tonic::{Code, Status};
use tonic_types::StatusExt;

/// A call that failed.
#[derive(Debug, Clone)]
pub struct Error {
    pub code: Code,
    pub message: String,
    /// A name of errors.proto without `ERROR_REASON_`; empty where the engine gave none.
    pub reason: String,
    pub domain: String,
    pub metadata: HashMap<String, String>,
}

impl Error {
    pub(crate) fn new(code: Code, message: &str) -> Self {
        Status::new(code, message).into()
    }

    pub(crate) fn deadline() -> Self {
        Self::new(
            Code::DeadlineExceeded,
            "the deadline of the call has passed",
        )
    }
}

impl From<Status> for Error {
    fn from(status: Status) -> Self {
        let mut error = Self {
            code: status.code(),
            message: status.message().to_owned(),
            reason: String::new(),
            domain: String::new(),
            metadata: HashMap::new(),
        };
        if let Some(info) = status.get_details_error_info() {
            (error.reason, error.domain, error.metadata) =
                (info.reason, info.domain, info.metadata);
        }
        error
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason.as_str() {
            "" => write!(out, "{:?}: {}", self.code, self.message),
            reason => write!(out, "{reason}: {}", self.message),
        }
    }
}

impl std::error::Error for Error {}
