//! Addresses of objects in stores: what stands before the path, and the path.

use std::path::Path;

/// The letters that make a pattern of a name.
pub(crate) const PATTERN: [char; 3] = ['*', '?', '['];

/// A text such as `s3://bucket/folder/part-*.csv`, in its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ObjectAddress<'a> {
    /// What says how the store is asked: `s3`.
    pub(crate) scheme: &'a str,
    /// Scheme and store, without a slash at the end: `s3://bucket`.
    pub(crate) root: &'a str,
    /// The path in the store, without a slash at its beginning.
    pub(crate) path: &'a str,
    /// What follows a `?`, of the web; it may be a secret.
    #[cfg_attr(not(feature = "object-store"), allow(dead_code))]
    pub(crate) query: Option<&'a str>,
}

impl<'a> ObjectAddress<'a> {
    /// The parts of an address; nothing for the path of a file.
    pub(crate) fn of(path: &'a Path) -> Option<Self> {
        let text = path.to_str()?;
        let (scheme, rest) = text.split_once("://")?;
        if scheme.is_empty() || !scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return None;
        }
        let end_of_root = rest.find('/').map_or(text.len(), |slash| scheme.len() + 3 + slash);
        let root = &text[..end_of_root];
        let path = text[end_of_root..].trim_start_matches('/');
        let (path, query) = match path.split_once('?') {
            Some((path, query)) if scheme.starts_with("http") => (path, Some(query)),
            _ => (path, None),
        };
        Some(Self { scheme, root, path, query })
    }

    /// Whether it stands for several objects: a folder, or a pattern.
    #[cfg(feature = "object-store")]
    pub(crate) fn is_list(&self) -> bool {
        self.path.is_empty() || self.path.ends_with('/') || self.path.contains(PATTERN)
    }

    /// The address of an object in the same store, as it may be written down: without anything secret.
    pub(crate) fn with_path(&self, path: &str) -> String {
        format!("{}/{path}", self.root)
    }
}

/// Whether a path is the address of something in a store, not of a file.
pub fn is_address(path: &Path) -> bool {
    ObjectAddress::of(path).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_scheme_a_store_and_a_path() {
        let parts =
            |text| ObjectAddress::of(Path::new(text)).map(|found| (found.scheme, found.root, found.path, found.query));
        assert_eq!(parts("s3://bucket/a/b.npy"), Some(("s3", "s3://bucket", "a/b.npy", None)));
        assert_eq!(parts("s3://bucket/a/part-?.npy"), Some(("s3", "s3://bucket", "a/part-?.npy", None)));
        assert_eq!(parts("gs://bucket"), Some(("gs", "gs://bucket", "", None)));
        assert_eq!(parts("file:///tmp/x.npy"), Some(("file", "file://", "tmp/x.npy", None)));
        assert_eq!(
            parts("https://host:1/a.csv?key=1&b=/"),
            Some(("https", "https://host:1", "a.csv", Some("key=1&b=/")))
        );
        assert_eq!([parts("a/b.csv"), parts("C:\\x.csv"), parts("://x"), parts("a b://x")], [None; 4]);
    }
}
