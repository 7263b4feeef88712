//! The files named by a scenario.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::input::read_text;

/// The text of each file, read once, so that all runs and the run directory use the same text even
/// if the file changes.
pub(crate) struct Files {
    /// Directory of relative paths.
    base: PathBuf,
    texts: Mutex<BTreeMap<String, String>>,
}

impl Files {
    pub(crate) fn new(base: PathBuf) -> Files {
        Files { base, texts: Mutex::default() }
    }

    pub(crate) fn read(&self, name: &str) -> io::Result<String> {
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = texts.get(name) {
            return Ok(text.clone());
        }
        let text = read_text(&self.base.join(name))?;
        texts.insert(name.to_owned(), text.clone());
        Ok(text)
    }
}
