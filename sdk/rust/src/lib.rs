//! A thin layer over the generated client of sandbox-engine: connect, create, run with live
//! output, files, fork, close.  Everything else is on [`Client::sandboxes`] and
//! [`Client::guests`], or one `v1::..._client::...Client::new(client.service())` away.
//!
//! Dropping is cancelling: a dropped future ends its call, a dropped [`Process`] kills its
//! command, and a dropped [`Sandbox`] that [`Client::create`] or [`Sandbox::fork`] made is
//! destroyed by a task of the runtime it is dropped in.

mod client;
mod error;
mod process;
mod sandbox;

/// The generated messages and clients.
#[allow(clippy::all, missing_docs, rustdoc::all)]
#[rustfmt::skip]
#[path = "gen/sandbox.v1.rs"]
pub mod v1;

pub use client::{Client, Service};
pub use error::Error;
pub use process::{Input, Output, Process};
pub use sandbox::Sandbox;

/// The most bytes that one message of a file or of input carries.
pub const PIECE: usize = 64 << 10;
