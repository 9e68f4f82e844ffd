//! Learning to organize: teacher, datasets, training.

pub mod dataset;
pub mod teacher;
pub mod words;
pub mod words_folder;
