//! Learning to organize: how the small model is trained.
//!
//! Training has a forward and backward pass of its own over plain f32 memory: the engine's forward carries no
//! gradients, and an autograd tape over small tensors spends most of its time on copies. Shapes, weight names
//! and checkpoints are the engine's, and a test holds the two to the same logits. Everything here runs on the
//! CPU; nothing here knows of screens or files of sessions.
//!
//! ```text
//! sft: examples ─┬─ network ─ ops
//! rl: units ─────┤
//!                ├─ optimizer (Muon, AdamW)
//!                └─ training (folder, log), checkpoint (Hugging Face folder, resume state), curves
//! ```

pub mod checkpoint;
pub mod curves;
pub mod dataset;
pub mod dataset_file;
pub mod dataset_text;
pub mod harvest;
pub mod network;
pub mod ops;
pub mod optimizer;
pub mod rl;
pub mod sft;
pub mod small;
pub mod teacher;
pub mod training;
pub mod words;
pub mod words_folder;
