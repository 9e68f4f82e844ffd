//! Learning to organize: how the small model is trained.
//!
//! Training has a forward and backward pass of its own over plain f32 memory: the engine's forward carries no
//! gradients, and an autograd tape over small tensors spends most of its time on copies. Shapes, weight names
//! and checkpoints are the engine's, and a test holds the two to the same logits. Everything here runs on the
//! CPU; nothing here knows of screens or sessions.
//!
//! ```text
//! sft ─ batches ─ network ─ ops
//!  ├─ optimizer (Muon, AdamW)
//!  └─ checkpoint (Hugging Face folder, resume state), curves
//! ```

pub mod checkpoint;
pub mod curves;
pub mod dataset;
pub mod dataset_file;
pub mod network;
pub mod ops;
pub mod optimizer;
pub mod sft;
pub mod small;
pub mod teacher;
pub mod words;
pub mod words_folder;
