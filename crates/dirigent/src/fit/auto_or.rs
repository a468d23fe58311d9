//! An option that is `"auto"` or a value, as `None` and `Some`.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) fn serialize<T: Serialize, S: Serializer>(value: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => value.serialize(serializer),
        None => serializer.serialize_str("auto"),
    }
}

pub(crate) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given<T> {
        Value(T),
        Text(String),
        Nothing(()),
    }
    match Given::deserialize(deserializer) {
        Ok(Given::Value(value)) => Ok(Some(value)),
        Ok(Given::Nothing(())) => Ok(None),
        Ok(Given::Text(text)) if text == "auto" => Ok(None),
        _ => Err(D::Error::custom("expected auto or a number")),
    }
}
