//! The local engine against references, against itself, and against hostile files.

mod cuda;
mod equivalence;
mod hostile;
mod memory;
mod parity;
mod planning;
mod smollm2;
mod support;
mod tokenizing;
mod variants;
