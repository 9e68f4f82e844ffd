//! The local engine: checkpoints from disk, decoded on this machine's CPU or GPU.
//!
//! Weights come from Hugging Face folders or GGUF files of the families Llama 2 and 3, Mistral, SmolLM2,
//! Qwen 2.5 and Qwen 3. Many sequences share one set of weights and one arena of cache pages and advance in
//! lock-step, each step one ragged forward pass. Files are not trusted: whatever they claim is checked
//! before it is used.
//!
//! ```text
//! open ─ checkpoint ─ gguf / safetensors ─ config, weights ─ model ─ host (kernels, attention) | device (projection, arena: portable, cuda)
//!            └─ tokenizer_json / tokenizer_gguf ─ tokenizer, chat_template   │
//! engine ─ planner ─ sequence, pages ────────────────────────────────────────┘
//! ```

pub mod arena;
pub mod attention;
pub mod chat_template;
pub mod checkpoint;
pub mod choice;
pub mod config;
pub mod cuda;
pub mod device;
pub mod engine;
pub mod gguf;
pub mod host;
pub mod inspect;
pub mod kernels;
pub mod load;
mod memory;
pub mod metadata;
pub mod model;
mod open;
mod operations;
pub mod pages;
pub mod planner;
pub mod portable;
pub mod projection;
mod room;
pub mod rope;
pub mod safetensors;
pub mod sentencepiece;
pub mod sequence;
pub mod text;
pub mod threads;
pub mod tokenizer;
pub mod tokenizer_gguf;
pub mod tokenizer_json;
pub mod weights;

pub use choice::{AttentionPath, DeviceChoice, Found, find, name as device_name};
pub use inspect::{ModelSummary, discover, discover_in, hub_folder, inspect_model};
pub use open::{Options, folder_text, open};
pub use text::Text;
pub use threads::settle_threads;
