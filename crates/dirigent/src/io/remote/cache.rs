//! One object, fetched to its place in the cache unless it lies there.

use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use futures_util::TryStreamExt;
use object_store::{GetResult, ObjectMeta};

use super::FetchedFile;
use super::store::{Object, Store};
use crate::error::{Error, InputError, Result};

/// The file of an object: from the cache where it is the same, or else from the store.
pub(super) async fn fetch(store: &Store<'_>, object: &Object, cache: &Path) -> Result<FetchedFile> {
    let Some(file_name) = object.path.filename() else {
        let error = InputError::in_file(&object.name, "names a store, expected an object in it");
        return Err(error.hint("end it in a slash for all its objects").into());
    };
    let of_object = cache.join("objects").join(hex(&object.name));
    let place = |meta: &ObjectMeta| of_object.join(version(meta)).join(file_name);
    let found = |file: PathBuf| FetchedFile { name: object.name.clone(), file };
    if let Some(meta) = &object.listed
        && is_there(&place(meta), meta)
    {
        return Ok(found(place(meta)));
    }
    let begun = store.begin(object).await?;
    let file = place(&begun.meta);
    if !is_there(&file, &begun.meta) {
        write(store, object, begun, &file).await?;
        remove_others(&of_object, &file);
    }
    Ok(found(file))
}

/// Whether the object was fetched before, in the version that the store has now.
fn is_there(file: &Path, meta: &ObjectMeta) -> bool {
    is_told_apart(meta) && fs::metadata(file).is_ok_and(|found| found.is_file() && found.len() == meta.size)
}

/// Whether the store says anything that would change with the object. What it does not know to be dated is of the year 1970.
fn is_told_apart(meta: &ObjectMeta) -> bool {
    meta.e_tag.is_some() || meta.last_modified.timestamp() > 0
}

/// What tells versions of an object apart: its tag, or else its date.
fn version(meta: &ObjectMeta) -> String {
    match &meta.e_tag {
        Some(tag) => hex(&(meta.size, tag)),
        None => hex(&(meta.size, meta.last_modified.timestamp())),
    }
}

/// 128 bits, so that no two objects have the same.
fn hex(what: &impl Hash) -> String {
    let hash = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, what).hash(&mut hasher);
        hasher.finish()
    };
    format!("{:016x}{:016x}", hash(0), hash(1))
}

async fn write(store: &Store<'_>, object: &Object, begun: GetResult, file: &Path) -> Result<()> {
    let folder = file.parent().expect("it lies in a folder of the cache");
    let unwritable = |source| Error::io("cannot write to the cache", file, source);
    fs::create_dir_all(folder).map_err(unwritable)?;
    let (mut partial, path) = create_beside(file).map_err(unwritable)?;
    let written = stream(store, object, begun, &mut partial, file).await;
    let renamed = written.and_then(|()| fs::rename(&path, file).map_err(unwritable));
    if renamed.is_err() {
        let _ = fs::remove_file(&path);
    }
    renamed
}

async fn stream(store: &Store<'_>, object: &Object, begun: GetResult, partial: &mut File, file: &Path) -> Result<()> {
    let size = begun.meta.size;
    let mut bytes = begun.into_stream();
    let mut n_bytes = 0;
    while let Some(chunk) = bytes.try_next().await.map_err(|error| store.failed(object, &error))? {
        n_bytes += chunk.len() as u64;
        partial.write_all(&chunk).map_err(|source| Error::io("cannot write to the cache", file, source))?;
    }
    if n_bytes != size {
        let source = io::Error::other(format!("{n_bytes} bytes came, {size} were promised"));
        return Err(Error::Io { doing: format!("{}: cannot be fetched", object.name.display()), source });
    }
    Ok(())
}

/// A file of its own: two fits may fetch the same object at once.
fn create_beside(file: &Path) -> io::Result<(File, PathBuf)> {
    let mut number = 0;
    loop {
        let mut name = file.as_os_str().to_owned();
        name.push(format!(".{number}.partial"));
        match OpenOptions::new().write(true).create_new(true).open(&name) {
            Ok(partial) => return Ok((partial, name.into())),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Older versions are of no use; a fit that has one mapped keeps what it has mapped.
fn remove_others(of_object: &Path, file: &Path) {
    let others = fs::read_dir(of_object).into_iter().flatten().flatten().map(|entry| entry.path());
    for other in others.filter(|folder| !file.starts_with(folder)) {
        let _ = fs::remove_dir_all(other);
    }
}
