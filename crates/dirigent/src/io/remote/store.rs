//! A store behind an address: which objects are asked for, and what it says when it fails.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::TryStreamExt;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::local::LocalFileSystem;
use object_store::{ClientConfigKey, ObjectMeta, ObjectStore, ObjectStoreExt, RetryConfig};

use crate::error::{Error, InputError, Result};
use crate::io::address::{ObjectAddress, PATTERN};
use crate::io::format;

/// A large object takes as long as it takes, if something comes now and then.
const CLIENT: [(ClientConfigKey, &str); 3] = [
    (ClientConfigKey::Timeout, "30days"),
    (ClientConfigKey::ReadTimeout, "60s"),
    (ClientConfigKey::ConnectTimeout, "10s"),
];

/// What to say where a store does not know who asks.
const CREDENTIALS: &str = "credentials are taken from the environment (AWS_ACCESS_KEY_ID …, GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_ACCOUNT_NAME …); for what is public, AWS_SKIP_SIGNATURE=true";

/// A store, and what is asked of it.
pub(super) struct Store<'a> {
    asked: &'a Path,
    address: ObjectAddress<'a>,
    store: Box<dyn ObjectStore>,
}

/// An object that is wanted.
pub(super) struct Object {
    pub(super) path: object_store::path::Path,
    /// What a list says of it.
    pub(super) listed: Option<ObjectMeta>,
    /// Its address, as it may be written down.
    pub(super) name: PathBuf,
}

/// Opens the store of an address, with credentials from the environment.
pub(super) fn open<'a>(asked: &'a Path, address: ObjectAddress<'a>) -> Result<Store<'a>> {
    // who has chosen another provider before keeps it
    let _ = rustls::crypto::ring::default_provider().install_default();
    let url = address.root.to_owned() + "/";
    let store: Result<Box<dyn ObjectStore>, object_store::Error> = match address.scheme {
        "s3" | "s3a" => {
            let builder = AmazonS3Builder::from_env().with_url(url).with_retry(retry());
            let told =
                |builder: AmazonS3Builder, (key, value)| builder.with_config(AmazonS3ConfigKey::Client(key), value);
            CLIENT.into_iter().fold(builder, told).build().map(|store| Box::new(store) as _)
        }
        "gs" => {
            let builder = GoogleCloudStorageBuilder::from_env().with_url(url).with_retry(retry());
            let told = |builder: GoogleCloudStorageBuilder, (key, value)| {
                builder.with_config(GoogleConfigKey::Client(key), value)
            };
            CLIENT.into_iter().fold(builder, told).build().map(|store| Box::new(store) as _)
        }
        "az" | "azure" | "adl" | "abfs" | "abfss" => {
            let builder = MicrosoftAzureBuilder::from_env().with_url(url).with_retry(retry());
            let told =
                |builder: MicrosoftAzureBuilder, (key, value)| builder.with_config(AzureConfigKey::Client(key), value);
            CLIENT.into_iter().fold(builder, told).build().map(|store| Box::new(store) as _)
        }
        "http" | "https" => {
            let query = address.query.map(|query| format!("?{query}")).unwrap_or_default();
            let builder = HttpBuilder::new().with_url(url + &query).with_retry(retry());
            let builder = builder.with_config(ClientConfigKey::AllowHttp, "true");
            let told = |builder: HttpBuilder, (key, value)| builder.with_config(key, value);
            CLIENT.into_iter().fold(builder, told).build().map(|store| Box::new(store) as _)
        }
        "file" => Ok(Box::new(LocalFileSystem::new())),
        other => {
            let problem =
                format!("found a {other}:// address, expected s3://, gs://, az://, http://, https:// or file://");
            return Err(InputError::in_file(asked, problem).hint("download it first").into());
        }
    };
    let store = store.map_err(|error| told(asked, address, &error, "cannot be asked"))?;
    Ok(Store { asked, address, store })
}

fn retry() -> RetryConfig {
    RetryConfig { max_retries: 4, retry_timeout: Duration::from_secs(60), ..RetryConfig::default() }
}

impl Store<'_> {
    /// What is asked for, in order of the names.
    pub(super) async fn objects(&self) -> Result<Vec<Object>> {
        if !self.address.is_list() {
            let path = self.path(self.address.path)?;
            return Ok(vec![Object { path, listed: None, name: self.address.with_path(self.address.path).into() }]);
        }
        let mut listed = self.list().await?;
        listed.sort_by(|a, b| Path::new(a.location.as_ref()).cmp(Path::new(b.location.as_ref())));
        if listed.is_empty() {
            let error = InputError::in_file(self.asked, "no object of a known format is there");
            return Err(error.hint("check the address; a folder ends in a slash").into());
        }
        let object = |meta: ObjectMeta| {
            let name = self.address.with_path(meta.location.as_ref()).into();
            Object { path: meta.location.clone(), listed: Some(meta), name }
        };
        Ok(listed.into_iter().map(object).collect())
    }

    /// The objects of a folder whose names tell a format, or those that a pattern fits.
    async fn list(&self) -> Result<Vec<ObjectMeta>> {
        let path = self.address.path;
        let folder = &path[..path.find(PATTERN).unwrap_or(path.len())];
        let folder = &folder[..folder.rfind('/').map_or(0, |slash| slash + 1)];
        let prefix = self.path(folder)?;
        let unlisted = |error| told(self.asked, self.address, &error, "cannot be listed");
        if !path.contains(PATTERN) {
            let found = self.store.list_with_delimiter(Some(&prefix)).await.map_err(unlisted)?;
            let is_data = |meta: &ObjectMeta| format::is_data_file(Path::new(meta.location.as_ref()));
            return Ok(found.objects.into_iter().filter(is_data).collect());
        }
        let pattern = glob::Pattern::new(path).map_err(|error| {
            let error = InputError::in_file(self.asked, format!("is no pattern: {error}"));
            error.hint("use *, ? and [abc], or name the objects one by one")
        })?;
        let options = glob::MatchOptions {
            require_literal_leading_dot: true,
            require_literal_separator: true,
            ..glob::MatchOptions::default()
        };
        let fits = |meta: &ObjectMeta| pattern.matches_with(meta.location.as_ref(), options);
        let found: Vec<ObjectMeta> = self.store.list(Some(&prefix)).try_collect().await.map_err(unlisted)?;
        Ok(found.into_iter().filter(fits).collect())
    }

    fn path(&self, text: &str) -> Result<object_store::path::Path, InputError> {
        object_store::path::Path::from_url_path(text).map_err(|error| {
            let error = InputError::in_file(self.asked, format!("is no address of an object: {error}"));
            error.hint("it looks like s3://bucket/folder/data.npy")
        })
    }

    /// Begins to fetch an object.
    pub(super) async fn begin(&self, object: &Object) -> Result<object_store::GetResult> {
        self.store.get(&object.path).await.map_err(|error| self.failed(object, &error))
    }

    /// What to say when fetching failed.
    pub(super) fn failed(&self, object: &Object, error: &object_store::Error) -> Error {
        told(&object.name, self.address, error, "cannot be fetched")
    }
}

/// What is wrong with the address is the user's to mend; all else is the world's.
fn told(asked: &Path, address: ObjectAddress<'_>, error: &object_store::Error, problem: &str) -> Error {
    use object_store::Error::{NotFound, PermissionDenied, Unauthenticated};
    // a signed address is a key
    let cause = match address.query {
        Some(query) => error.to_string().replace(query, "…"),
        None => error.to_string(),
    };
    // without credentials, the machine itself is asked for some
    let has_asked_machine = ["169.254.169.254", "metadata.google.internal"].iter().any(|host| cause.contains(host));
    let hint = match error {
        NotFound { .. } => "there is no such object: check the address; a folder ends in a slash",
        PermissionDenied { .. } | Unauthenticated { .. } => CREDENTIALS,
        _ if has_asked_machine => CREDENTIALS,
        _ => return Error::Io { doing: format!("{}: {problem}", asked.display()), source: io::Error::other(cause) },
    };
    InputError::in_file(asked, format!("{problem}: {cause}")).hint(hint).into()
}
