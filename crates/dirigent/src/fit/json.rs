//! Options from JSON, with errors that name the option.

use serde::de::DeserializeOwned;

use crate::error::{InputError, Result};

pub(super) fn read<T: DeserializeOwned>(json: &str) -> Result<T> {
    let deserializer = &mut serde_json::Deserializer::from_str(json);
    serde_path_to_error::deserialize(deserializer).map_err(|error| {
        let path: Vec<String> = error.path().iter().map(ToString::to_string).collect();
        // the name of a method or an engine goes by what it is a name of
        let is_named = path.last().is_some_and(|last| last != "name");
        let option = if is_named { path.last() } else { path.iter().rev().nth(1) }.cloned().unwrap_or_default();
        let text = error.inner().to_string();
        let text = text.rsplit_once(" at line ").map_or(&*text, |(text, _)| text);
        let problem = if text.starts_with("unknown field") { text.to_owned() } else { format!("`{option}`: {text}") };
        InputError::new(problem).into()
    })
}
