//! Learning to organize: teacher, datasets, training.

pub mod dataset;
pub mod dataset_file;
pub mod teacher;
pub mod words;
pub mod words_folder;
