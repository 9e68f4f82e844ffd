//! The terminal: modes, capabilities, clipboard.
