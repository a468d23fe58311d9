//! The settings that are given as lists of `key=value`: what they are called, what they mean and
//! where they belong. The command, Python and the documentation show this table.

use serde::Serialize;
use serde_json::Value;

use super::FitOptions;
use super::setting_values::{ValueKind, nearest};
use crate::error::{InputError, Result};

/// A list of settings, named as the command's option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingList {
    /// `prior`: parameters of the priors.
    Prior,
    /// `method_option`: details of the method.
    Method,
    /// `engine_option`: details of the engine.
    Engine,
}

/// A setting and its value, as JSON has it.
pub type GivenSetting = (&'static Setting, Value);

/// One setting.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Setting {
    /// The list it is a key of.
    pub list: SettingList,
    /// Its key, the same in Rust, JSON, Python and the command.
    pub key: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// What holds without it.
    pub default: &'static str,
    /// The families and covariances, methods or engines that have it.
    pub used_by: &'static [&'static str],
    /// What can be given.
    pub values: ValueKind,
}

const CONSOLIDATING: &[&str] = &["dirigent", "prog", "pooled", "hung", "async"];
const ALL_METHODS: &[&str] = &["dirigent", "prog", "pooled", "hung", "async", "cgs", "slicemr", "av", "subc"];
const SIMULATED: &[&str] = &["simulated"];
const RAY: &[&str] = &["ray"];

/// All settings, in the order in which they are shown.
pub const SETTINGS: [Setting; 31] = [
    prior(
        "sigma",
        ValueKind::Number,
        "standard deviation of rows about their cluster's mean",
        "learned",
        &["isotropic"],
    ),
    prior("sigma0", ValueKind::Number, "standard deviation of the cluster means", "learned", &["isotropic"]),
    prior(
        "m0",
        ValueKind::Numbers,
        "centre of the cluster means, one value or one per column",
        "the mean of each column",
        &["isotropic", "diag", "full"],
    ),
    prior(
        "kappa0",
        ValueKind::Number,
        "rows that the prior mean is worth; vmf: how closely cluster directions lie together",
        "at most 0.1, by the number of columns; vmf: from the data",
        &["diag", "full", "mixed", "vmf"],
    ),
    prior(
        "nu0",
        ValueKind::Number,
        "degrees of freedom of the inverse Wishart",
        "at least columns + 2, learned",
        &["full"],
    ),
    prior(
        "psi0",
        ValueKind::Number,
        "diagonal of the inverse Wishart's scale matrix",
        "a share of each column's variance, learned",
        &["full"],
    ),
    prior(
        "a0",
        ValueKind::Number,
        "diag: shape of a precision's Gamma prior; bernoulli: Beta(a0, b0); poisson: Gamma(a0, b0)",
        "diag: learned; bernoulli, poisson: as much as one row",
        &["diag", "bernoulli", "poisson"],
    ),
    prior(
        "b0",
        ValueKind::Number,
        "the other parameter of that prior, a rate or a count",
        "diag: learned; bernoulli, poisson: as much as one row",
        &["diag", "bernoulli", "poisson"],
    ),
    prior(
        "gamma",
        ValueKind::NumberOrLearn,
        "prior count of each word or level; multinomial: `learn` takes it from samples",
        "multinomial: from prior_documents; else 0.5",
        &["multinomial", "categorical", "mixed"],
    ),
    prior(
        "prior_documents",
        ValueKind::Number,
        "documents that the prior weighs; more give fewer clusters",
        "half the square root of the documents, more if words repeat",
        &["multinomial"],
    ),
    prior("tau", ValueKind::Number, "concentration of a cluster's rows about their direction", "learned", &["vmf"]),
    method(
        "consolidation",
        ValueKind::Choice(&["progressive", "pooled", "hungarian"]),
        "how new components of different workers are matched",
        "that of the method",
        CONSOLIDATING,
    ),
    method(
        "schedule",
        ValueKind::Choice(&["sync", "async"]),
        "whether workers wait for one another",
        "async for async, else sync",
        CONSOLIDATING,
    ),
    method(
        "splits",
        ValueKind::Switch,
        "whether components are split and merged",
        "on for dirigent, else off",
        CONSOLIDATING,
    ),
    method(
        "joins",
        ValueKind::Choice(&["by_id", "births"]),
        "how rows join a component that is new to their worker",
        "births for hung, else by_id",
        CONSOLIDATING,
    ),
    method(
        "first_alpha",
        ValueKind::Choice(&["full", "shared"]),
        "alpha of the first cycle: full, or divided by the number of workers",
        "shared for hung, else full",
        CONSOLIDATING,
    ),
    method("sweeps_per_cycle", ValueKind::Count, "sweeps between two exchanges", "1", CONSOLIDATING),
    method(
        "draws_from",
        ValueKind::Choice(&["exact", "fast"]),
        "draws of an exact slice sampler, or states of the method itself",
        "exact for dirigent, else fast",
        CONSOLIDATING,
    ),
    method(
        "split_merge",
        ValueKind::Count,
        "splits and merges that an exact sampler tries per cycle",
        "1 for draws of dirigent, 0 for slicemr",
        &["slicemr", "dirigent", "prog", "pooled", "hung", "async"],
    ),
    method(
        "av_merges",
        ValueKind::Switch,
        "whether a worker merges its own clusters, which makes av inexact",
        "off",
        &["av"],
    ),
    method(
        "kernel",
        ValueKind::Choice(&["auto", "portable", "avx2", "avx512", "neon"]),
        "processor instructions to use; labels may differ between them",
        "auto",
        ALL_METHODS,
    ),
    engine("latency", ValueKind::Seconds, "time that a message travels", "0.2ms", SIMULATED),
    engine("bandwidth", ValueKind::Bandwidth, "speed of each node's link", "10Gbit/s", SIMULATED),
    engine("straggler", ValueKind::WorkerFactors, "worker that takes several times as long: 3:5", "none", SIMULATED),
    engine(
        "crash",
        ValueKind::WorkerCycles,
        "worker that dies after a cycle, and returns two cycles later: 7@10",
        "none",
        SIMULATED,
    ),
    engine(
        "garbage",
        ValueKind::WorkerCycles,
        "worker that sends noise after a cycle, and returns two cycles later: 2@4",
        "none",
        SIMULATED,
    ),
    engine("cores", ValueKind::Count, "workers that can compute at once", "all", SIMULATED),
    engine("row_cost", ValueKind::Seconds, "time per swept row, so that runs replay exactly", "measured", SIMULATED),
    engine("address", ValueKind::Text, "address of the cluster", "a cluster on this machine", RAY),
    engine("rejoin_timeout", ValueKind::Seconds, "time until another host takes over a lost worker's rows", "60", RAY),
    engine("checkpoint_dir", ValueKind::Text, "shared folder for the labels of the workers", "none", RAY),
];

const fn setting(
    list: SettingList,
    key: &'static str,
    values: ValueKind,
    meaning: &'static str,
    default: &'static str,
    used_by: &'static [&'static str],
) -> Setting {
    Setting { list, key, meaning, default, used_by, values }
}

const fn prior(
    key: &'static str,
    values: ValueKind,
    meaning: &'static str,
    default: &'static str,
    used_by: &'static [&'static str],
) -> Setting {
    setting(SettingList::Prior, key, values, meaning, default, used_by)
}

const fn method(
    key: &'static str,
    values: ValueKind,
    meaning: &'static str,
    default: &'static str,
    used_by: &'static [&'static str],
) -> Setting {
    setting(SettingList::Method, key, values, meaning, default, used_by)
}

const fn engine(
    key: &'static str,
    values: ValueKind,
    meaning: &'static str,
    default: &'static str,
    used_by: &'static [&'static str],
) -> Setting {
    setting(SettingList::Engine, key, values, meaning, default, used_by)
}

impl SettingList {
    /// The name of the list, as the command's option has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prior => "prior",
            Self::Method => "method_option",
            Self::Engine => "engine_option",
        }
    }

    /// The word by which `dirigent help` shows it.
    pub fn topic(self) -> &'static str {
        match self {
            Self::Prior => "prior",
            Self::Method => "method",
            Self::Engine => "engine",
        }
    }

    /// The group of [`FitOptions`](super::FitOptions) that its keys are fields of.
    pub fn group(self) -> &'static str {
        match self {
            Self::Prior => "model",
            Self::Method => "method",
            Self::Engine => "engine",
        }
    }

    /// Its settings.
    pub fn settings(self) -> impl Iterator<Item = &'static Setting> {
        SETTINGS.iter().filter(move |setting| setting.list == self)
    }

    /// Reads `key=value,key=value`, each value as JSON has it. A word without a key is another
    /// value of the key before.
    pub fn read(self, lists: &[String]) -> Result<Vec<GivenSetting>> {
        let mut given: Vec<(&'static Setting, Vec<&str>)> = Vec::new();
        for list in lists {
            let mut is_first = true;
            for word in list.split(',') {
                match (word.split_once('='), given.last_mut()) {
                    (Some((key, value)), _) => {
                        let setting = self.find(key.trim())?;
                        match given.iter_mut().find(|(other, _)| *other == setting) {
                            Some((_, values)) if setting.values.repeats() => values.push(value.trim()),
                            Some(_) => return Err(InputError::new(format!("`{key}` is given twice")).into()),
                            None => given.push((setting, vec![value.trim()])),
                        }
                    }
                    (None, Some((setting, values))) if !is_first && setting.values.takes_many() => {
                        values.push(word.trim())
                    }
                    _ => return Err(self.not_a_setting(word)),
                }
                is_first = false;
            }
        }
        given.into_iter().map(|(setting, values)| Ok((setting, setting.value(&values)?))).collect()
    }

    fn find(self, key: &str) -> Result<&'static Setting> {
        self.settings().find(|setting| setting.key == key).ok_or_else(|| self.unknown_key(key))
    }

    /// What is said of a key that there is not, with the key that was probably meant.
    pub fn unknown_key(self, key: &str) -> crate::Error {
        let elsewhere = SETTINGS.iter().find(|setting| setting.key == key);
        let keys: Vec<&str> = self.settings().map(|setting| setting.key).collect();
        let hint = match (elsewhere, nearest(key, &keys)) {
            (Some(setting), _) => format!("it is a key of `{}`", setting.list.name()),
            (None, Some(near)) => format!("did you mean {near}? The keys are {}", keys.join(", ")),
            (None, None) => format!("the keys are {}", keys.join(", ")),
        };
        InputError::new(format!("`{}` has no key {key:?}", self.name())).hint(hint).into()
    }

    fn not_a_setting(self, word: &str) -> crate::Error {
        let example = self.settings().next().expect("every list has a setting");
        let hint = format!("for example {}={}", example.key, example.values.example());
        InputError::new(format!("`{}` expects key=value, got {word:?}", self.name())).hint(hint).into()
    }
}

impl FitOptions {
    /// The same with these settings.
    #[doc(hidden)]
    pub fn with(self, settings: &[GivenSetting]) -> Result<Self> {
        let mut options = serde_json::to_value(self).expect("our own types become JSON");
        for (setting, value) in settings {
            options[setting.list.group()][setting.key] = value.clone();
        }
        Self::from_json(&options.to_string())
    }
}

impl Setting {
    /// The setting of a key, in any list.
    pub fn of(key: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.key == key)
    }

    /// What has it, in words: "prog, hung or async".
    pub fn users(&self) -> String {
        listed(self.used_by)
    }

    fn value(&self, words: &[&str]) -> Result<Value> {
        self.values.read(words).ok_or_else(|| {
            let problem = format!("`{}` must be {}, got {:?}", self.key, self.values.expected(), words.join(","));
            InputError::new(problem).hint(format!("for example {}={}", self.key, self.values.example())).into()
        })
    }
}

/// "a, b or c".
pub(crate) fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [all @ .., last] => format!("{} or {last}", all.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(list: SettingList, text: &str) -> Result<Vec<(&'static str, Value)>> {
        Ok(list.read(&[text.to_owned()])?.into_iter().map(|(setting, value)| (setting.key, value)).collect())
    }

    #[test]
    fn every_setting_is_a_field_of_the_options_and_every_field_a_setting() {
        let options = serde_json::to_value(FitOptions::default()).unwrap();
        let of_command = ["family", "covariance", "alpha", "column_families", "name", "workers", "threads"];
        for list in [SettingList::Prior, SettingList::Method, SettingList::Engine] {
            let fields: Vec<&String> = options[list.group()].as_object().unwrap().keys().collect();
            for setting in list.settings() {
                assert!(fields.iter().any(|field| **field == setting.key), "{} is no field", setting.key);
            }
            for field in fields.iter().filter(|field| !of_command.contains(&field.as_str())) {
                assert!(list.settings().any(|setting| setting.key == **field), "{field} is no setting");
            }
        }
    }

    #[test]
    fn every_example_is_accepted_by_the_options() {
        for setting in &SETTINGS {
            let text = format!("{}={}", setting.key, setting.values.example());
            let (key, value) = read(setting.list, &text).unwrap().remove(0);
            let json = serde_json::json!({ setting.list.group(): { key: value } });
            assert!(FitOptions::from_json(&json.to_string()).is_ok(), "{text} became {json}");
        }
    }

    #[test]
    fn lists_of_settings_are_read() {
        let given = read(SettingList::Prior, "sigma=1, m0=0,2.5,gamma=learn").unwrap();
        assert_eq!(
            serde_json::json!(given),
            serde_json::json!([["sigma", 1.0], ["m0", [0.0, 2.5]], ["gamma", "learn"]])
        );
        let given = read(SettingList::Engine, "straggler=3:5,4:2,crash=7@10,crash=8@11,latency=1ms").unwrap();
        let expected =
            serde_json::json!([["straggler", [[3, 5.0], [4, 2.0]]], ["crash", [[7, 10], [8, 11]]], ["latency", 0.001]]);
        assert_eq!(serde_json::json!(given), expected);
    }

    #[test]
    fn wrong_settings_are_explained() {
        let problem = |list, text| {
            let error = read(list, text).unwrap_err();
            format!("{error}; {}", error.hint().unwrap_or_default())
        };
        assert!(
            problem(SettingList::Prior, "sgima=1").starts_with("`prior` has no key \"sgima\"; did you mean sigma?")
        );
        assert_eq!(
            problem(SettingList::Prior, "cores=1"),
            "`prior` has no key \"cores\"; it is a key of `engine_option`"
        );
        assert_eq!(
            problem(SettingList::Prior, "sigma"),
            "`prior` expects key=value, got \"sigma\"; for example sigma=0.5"
        );
        assert_eq!(
            problem(SettingList::Prior, "sigma=1,2"),
            "`prior` expects key=value, got \"2\"; for example sigma=0.5"
        );
        assert!(problem(SettingList::Prior, "sigma=1,sigma=2").starts_with("`sigma` is given twice"));
        assert!(problem(SettingList::Method, "splits=maybe").starts_with("`splits` must be on or off, got \"maybe\""));
    }
}
