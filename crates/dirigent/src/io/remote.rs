//! Objects of a store, fetched to files that the readers know how to read.
//!
//! A file lies in the cache under the address of its object and what the store says of its version, so that it is fetched once, and a changed object anew. It appears
//! there when it is whole.

#[cfg(feature = "object-store")]
mod cache;
#[cfg(feature = "object-store")]
mod store;
#[cfg(all(test, feature = "object-store"))]
mod tests;

use std::path::PathBuf;

use super::address::ObjectAddress;
use super::storage::Storage;
use crate::error::{Error, InputError, Result};

/// A file of a data set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FetchedFile {
    /// What it is called: its path, or the address of the object that it was.
    pub(crate) name: PathBuf,
    /// Where it is read from.
    pub(crate) file: PathBuf,
}

impl FetchedFile {
    /// A file that is read where it is.
    pub(crate) fn here(path: PathBuf) -> Self {
        Self { name: path.clone(), file: path }
    }

    /// A mistake in the file, told of what the user has named.
    pub(crate) fn rename(&self, error: Error) -> Error {
        let Error::Input(mut error) = error else { return error };
        if self.name != self.file {
            let (name, file) = (self.name.display().to_string(), self.file.display().to_string());
            if error.file.as_ref() == Some(&self.file) {
                error.file = Some(self.name.clone());
            }
            error.problem = error.problem.replace(&file, &name);
            error.hint = error.hint.map(|hint| hint.replace(&file, &name));
        }
        Error::Input(error)
    }
}

/// The objects that an address stands for, as files: one, those of a folder (it ends in a slash), or those that a pattern fits, in order of their names.
#[cfg(feature = "object-store")]
pub(crate) fn fetch(address: ObjectAddress<'_>, storage: &Storage) -> Result<Vec<FetchedFile>> {
    use futures_util::{StreamExt, TryStreamExt};

    let asked = &PathBuf::from(address.with_path(address.path));
    let Some(folder) = storage.cache_folder() else {
        let error = InputError::in_file(asked, "there is no folder to fetch it to: the system names no place for it");
        return Err(error.hint("name a folder with `cache_dir`").into());
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| Error::io("fetching", asked, source))?;
    runtime.block_on(async {
        let store = store::open(asked, address)?;
        let objects = store.objects().await?;
        let fetched = objects.iter().map(|object| cache::fetch(&store, object, &folder));
        futures_util::stream::iter(fetched).buffered(AT_ONCE).try_collect().await
    })
}

/// Objects that are fetched at the same time.
#[cfg(feature = "object-store")]
const AT_ONCE: usize = 8;

/// Says how to get what this build does not have.
#[cfg(not(feature = "object-store"))]
pub(crate) fn fetch(address: ObjectAddress<'_>, _: &Storage) -> Result<Vec<FetchedFile>> {
    let asked = address.with_path(address.path);
    let problem = format!("found a {}:// address, and this build of dirigent reads files only", address.scheme);
    let hint = "build it with `--features object-store`, download the data first, or mount the store as a folder";
    Err(InputError::in_file(asked, problem).hint(hint).into())
}
