//! The files of a run folder replaced by others, all or none.
//!
//! The new files are written to a folder inside the run folder. Its renaming decides: before it, the run is as it was, and after it, the files are moved into place
//! whenever the run is next read.

use std::fs;
use std::path::{Path, PathBuf};

use super::FILES;
use crate::error::{Error, Result};

/// Where new files are written, and what the folder is called once they are whole.
const STAGED: &str = "update.partial";
const WHOLE: &str = "update";
/// Files that an update keeps: what was reported of the first fit, and what belongs to people.
const KEPT: [&str; 3] = ["trace.csv", "names.csv", "estimator.json"];
/// What a first fit needed to be resumed.
const CHECKPOINT: &str = "checkpoint";

/// An empty folder for the new files.
pub(crate) fn staged(run: &Path) -> Result<PathBuf> {
    let staged = run.join(STAGED);
    if staged.exists() {
        fs::remove_dir_all(&staged).map_err(|error| Error::io("cannot empty", &staged, error))?;
    }
    Ok(staged)
}

/// All new files are written: from here on they are those of the run.
pub(crate) fn begin_update(run: &Path) -> Result<()> {
    fs::rename(run.join(STAGED), run.join(WHOLE)).map_err(|error| Error::io("cannot update", run, error))
}

/// Moves new files into place, if there are any.
pub(crate) fn finish_update(run: &Path) -> Result<()> {
    let whole = run.join(WHOLE);
    if !whole.exists() {
        return Ok(());
    }
    let failed = |error| Error::io("cannot update", run, error);
    let is_kept = |name: &str| KEPT.contains(&name) && run.join(name).exists();
    // files that the update does not have are of before; once its first file is moved they are gone
    if whole.join(FILES[0]).exists() {
        let old = FILES.iter().filter(|name| !is_kept(name) && !whole.join(name).exists());
        for path in old.map(|name| run.join(name)).filter(|path| path.exists()) {
            fs::remove_file(path).map_err(failed)?;
        }
        let checkpoint = run.join(CHECKPOINT);
        if checkpoint.exists() {
            fs::remove_dir_all(checkpoint).map_err(failed)?;
        }
    }
    for name in FILES.iter().filter(|name| whole.join(name).exists() && !is_kept(name)) {
        fs::rename(whole.join(name), run.join(name)).map_err(failed)?;
    }
    fs::remove_dir_all(&whole).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn files_are_replaced_wherever_it_was_interrupted() {
        for n_moved in 0..3 {
            let folder = tempfile::tempdir().unwrap();
            let run = folder.path();
            for (name, text) in [("run.json", "old"), ("draws.npy", "old"), ("trace.csv", "old"), ("mine.txt", "mine")]
            {
                fs::write(run.join(name), text).unwrap();
            }
            let staged = staged(run).unwrap();
            fs::create_dir(&staged).unwrap();
            for name in ["run.json", "model.json", "trace.csv"] {
                fs::write(staged.join(name), "new").unwrap();
            }
            finish_update(run).unwrap();
            assert_eq!(fs::read_to_string(run.join("run.json")).unwrap(), "old", "nothing has begun");
            begin_update(run).unwrap();
            for name in ["run.json", "model.json"].into_iter().take(n_moved) {
                let _ = fs::remove_file(run.join("draws.npy"));
                fs::rename(run.join(WHOLE).join(name), run.join(name)).unwrap();
            }
            finish_update(run).unwrap();
            finish_update(run).unwrap();
            assert_eq!(names(run), ["mine.txt", "model.json", "run.json", "trace.csv"]);
            let text = |name: &str| fs::read_to_string(run.join(name)).unwrap();
            assert_eq!([text("run.json"), text("model.json"), text("trace.csv")], ["new", "new", "old"]);
        }
    }
}
