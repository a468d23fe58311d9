//! The words behind the columns of counts: a text file with one word a line.

use std::collections::HashMap;
use std::path::Path;

use super::source::{self, Lines};
use crate::error::{InputError, Result};

/// Reads the words of a vocabulary of `n_words`, in order, each once.
pub fn read_vocabulary(path: &Path, n_words: usize) -> Result<Vec<String>> {
    let mut lines = Lines::open(path)?;
    let mut numbers: HashMap<String, u64> = HashMap::new();
    let mut words = Vec::new();
    while let Some(line) = lines.advance()? {
        let word = String::from_utf8_lossy(line.trim_ascii()).into_owned();
        let problem = match numbers.get(&word) {
            _ if word.is_empty() => Some("the line is empty, expected a word".to_owned()),
            Some(before) => Some(format!("{} is on line {before} already", source::quoted(word.as_bytes()))),
            None if words.len() == n_words => Some(format!("found another word, but the data has {n_words} columns")),
            None => None,
        };
        if let Some(problem) = problem {
            return Err(lines
                .error(problem)
                .hint("`vocab` needs one word a line, as many as the data has columns")
                .into());
        }
        numbers.insert(word.clone(), lines.number());
        words.push(word);
    }
    if words.len() < n_words {
        let problem = format!("has {}, but the data has {n_words} columns", source::counted(words.len(), "word"));
        return Err(InputError::in_file(path, problem).hint("`vocab` needs one word for every column").into());
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, n_words: usize) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vocab.txt");
        std::fs::write(&path, text).unwrap();
        read_vocabulary(&path, n_words).map_err(|error| error.to_string())
    }

    #[test]
    fn words_come_in_order() {
        assert_eq!(read("oil\nsnow man \r\n<b>\n", 3).unwrap(), ["oil", "snow man", "<b>"]);
    }

    #[test]
    fn too_few_too_many_empty_and_repeated_words_are_refused_with_their_line() {
        assert!(read("oil\n", 2).unwrap_err().contains("has 1 word, but the data has 2 columns"));
        for (text, n_words, part) in
            [("a\nb\nc\n", 2, "line 3"), ("a\n\nb\n", 3, "empty"), ("a\nb\na\n", 3, "on line 1 already")]
        {
            let error = read(text, n_words).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
