//! The thread on which everything asynchronous of one server runs.

use super::error::RemoteError;
use std::future::Future;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// A thread that runs tasks until it is dropped; then they are dropped too, and their connections closed.
#[derive(Debug)]
pub(super) struct Runtime {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Runtime {
    /// # Errors
    /// The system gives no thread or no event queue.
    pub fn start(url: &str) -> Result<Self, RemoteError> {
        let failed = |e: std::io::Error| RemoteError::Unreachable {
            url: url.to_owned(),
            why: e.to_string(),
        };
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("server".into())
            .spawn(move || {
                // Told to stop, or nobody is left to tell: the same.
                let _ = runtime.block_on(stopped);
            })
            .map_err(failed)?;
        Ok(Self {
            handle,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Starts a task.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.handle.spawn(task);
    }

    /// Runs a task and waits for what it comes to; `None` where it broke down.
    pub fn wait_for<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (sender, answer) = sync_channel(1);
        self.handle.spawn(async move {
            // Whoever waits holds the other end.
            let _ = sender.send(task.await);
        });
        answer.recv().ok()
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic of a task was its own; nothing is left to be done about it.
            let _ = thread.join();
        }
    }
}
