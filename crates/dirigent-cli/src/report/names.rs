//! Names that people give to clusters: `names.csv` in the run folder.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use dirigent::internals::run_dir::write_file;
use dirigent::{InputError, Result};

/// The file in a run folder.
const FILE: &str = "names.csv";
/// Letters of a name: more would not fit into a legend.
const MOST_LETTERS: usize = 60;

/// The name of each cluster of a run, where it has one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names(Vec<Option<String>>);

impl Names {
    /// Reads the names that a run folder has.
    pub(crate) fn of_run(run: &Path, n_clusters: usize) -> Result<Self> {
        let path = run.join(FILE);
        if path.exists() { Self::read(&path, n_clusters) } else { Ok(Self::default()) }
    }

    /// Reads a file of names: a line per cluster, its number and its name.
    pub(crate) fn read(path: &Path, n_clusters: usize) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(|error| {
            let error = InputError::in_file(path, format!("cannot be read: {error}"));
            error.hint("give a CSV file with the columns cluster and name")
        })?;
        let mut names = vec![None; n_clusters];
        for (ix, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let Some((number, name)) = line.split_once(',') else {
                if line.trim().is_empty() {
                    continue;
                }
                return Err(wrong(
                    path,
                    ix,
                    format!("found «{line}», expected a cluster's number, a comma and a name"),
                ));
            };
            let name = unquoted(name.trim());
            match number.trim().trim_matches('"').parse::<usize>() {
                Ok(cluster) if cluster < n_clusters => {
                    if name.chars().count() > MOST_LETTERS {
                        let problem = format!("the name of cluster {cluster} has more than {MOST_LETTERS} letters");
                        return Err(wrong(path, ix, problem));
                    }
                    if names[cluster].is_some() {
                        return Err(wrong(path, ix, format!("cluster {cluster} has a name already")));
                    }
                    names[cluster] = (!name.is_empty()).then_some(name);
                }
                Ok(cluster) => {
                    let problem = format!("there is no cluster {cluster}: the run has {n_clusters}, numbered from 0");
                    return Err(wrong(path, ix, problem));
                }
                // the header
                Err(_) if ix == 0 => {}
                Err(_) => {
                    return Err(wrong(path, ix, format!("found «{}», expected a cluster's number", number.trim())));
                }
            }
        }
        Ok(Self(names))
    }

    /// Writes them into a run folder, for every later page.
    pub(crate) fn write(&self, run: &Path) -> Result<PathBuf> {
        let path = run.join(FILE);
        write_file(&path, |file| {
            writeln!(file, "cluster,name")?;
            let mut named = self.0.iter().enumerate().filter_map(|(cluster, name)| Some((cluster, name.as_ref()?)));
            named.try_for_each(|(cluster, name)| writeln!(file, "{cluster},{}", quoted(name)))
        })?;
        Ok(path)
    }

    /// The name of a cluster.
    pub(crate) fn get(&self, cluster: usize) -> Option<&str> {
        self.0.get(cluster)?.as_deref()
    }

    /// A cluster in a table: its number, and its name.
    pub(crate) fn short(&self, cluster: usize) -> String {
        self.get(cluster).map_or_else(|| cluster.to_string(), |name| format!("{cluster} {name}"))
    }

    /// A cluster in a heading.
    pub(crate) fn title(&self, cluster: usize) -> String {
        self.get(cluster).map_or_else(|| format!("Cluster {cluster}"), |name| format!("Cluster {cluster}: {name}"))
    }

    /// As the page's script wants them.
    pub(crate) fn list(&self) -> &[Option<String>] {
        &self.0
    }
}

fn wrong(path: &Path, line_ix: usize, problem: String) -> dirigent::Error {
    let error = InputError::in_file(path, problem).at_line(line_ix as u64 + 1);
    error.hint("write one cluster per line, such as 3,night owls").into()
}

fn unquoted(cell: &str) -> String {
    match cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')) {
        Some(inner) => inner.replace("\"\"", "\""),
        None => cell.to_owned(),
    }
}

/// A cell of a CSV file.
pub(crate) fn quoted(cell: &str) -> String {
    let is_plain = !cell.contains(['"', ',', '\n', '\r']) && cell.trim() == cell;
    if is_plain { cell.to_owned() } else { format!("\"{}\"", cell.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_kept_and_checked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("given.csv");
        let read = |text: &str| {
            fs::write(&path, text).unwrap();
            Names::read(&path, 3)
        };
        let names = read("cluster,name\n2,\"night \"\"owls\"\", <b>\"\n0, larks \n\n").unwrap();
        assert_eq!((names.get(2), names.get(1)), (Some("night \"owls\", <b>"), None));
        assert_eq!((names.title(0), names.short(1)), ("Cluster 0: larks".to_owned(), "1".to_owned()));
        names.write(folder.path()).unwrap();
        assert_eq!(Names::of_run(folder.path(), 3).unwrap().0, names.0);
        for (text, problem) in [
            ("3,a\n", "there is no cluster 3"),
            ("0,a\n0,b\n", "a name already"),
            ("0,a\nx,b\n", "found «x»"),
            ("0\n", "a comma"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}
