//! Learning to organize: teacher, datasets, training.

pub mod dataset;
pub mod teacher;
pub mod words;
