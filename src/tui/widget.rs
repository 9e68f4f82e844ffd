//! Widgets that know data, not the model.

pub mod timeline;
