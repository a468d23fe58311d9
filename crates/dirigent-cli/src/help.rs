//! `dirigent help`: help of commands, and the tables of settings.

use dirigent::Result;
use dirigent::internals::fit::{Setting, SettingList};

use crate::args::{Cli, HelpArgs};
use crate::console::Console;

const LISTS: [SettingList; 3] = [SettingList::Prior, SettingList::Method, SettingList::Engine];

/// Prints the help; returns the exit code.
pub(crate) fn run(args: &HelpArgs) -> Result<u8> {
    let topic = args.topic.as_deref();
    if let Some(list) = LISTS.into_iter().find(|list| Some(list.topic()) == topic) {
        return Console::default().print(describe(list)).map(|()| 0);
    }
    let words = ["dirigent"].into_iter().chain(topic).chain(["--help"]);
    let shown = Cli::program().try_get_matches_from(words).expect_err("--help ends the parsing");
    let _ = shown.print();
    Ok(u8::try_from(shown.exit_code()).unwrap_or(2))
}

/// The settings of a list, for people.
fn describe(list: SettingList) -> String {
    let (option, used_by) = match list {
        SettingList::Prior => ("--prior", "for covariance or family"),
        SettingList::Method => ("--method-option", "for method"),
        SettingList::Engine => ("--engine-option", "for engine"),
    };
    let mut lines = vec![format!("Keys of {option} KEY=VALUE,…, which may be repeated.")];
    for setting in list.settings() {
        let Setting { key, meaning, default, values, .. } = setting;
        lines.push(String::new());
        lines.push(format!("{key} ({})", values.expected()));
        lines.push(format!("    {meaning}"));
        lines.push(format!("    {used_by}: {}", setting.used_by.join(", ")));
        lines.push(format!("    default: {default}"));
    }
    lines.push(String::new());
    lines.push(format!("Example: {}", example(list)));
    lines.push(format!("In Python: {}", python_example(list)));
    lines.join("\n")
}

fn example(list: SettingList) -> &'static str {
    match list {
        SettingList::Prior => "dirigent fit points.npy --prior sigma=1,sigma0=10",
        SettingList::Method => "dirigent fit points.npy --method-option splits=off,sweeps_per_cycle=2",
        SettingList::Engine => "dirigent fit points.npy --engine simulated --engine-option latency=1ms,straggler=3:5",
    }
}

fn python_example(list: SettingList) -> &'static str {
    match list {
        SettingList::Prior => "DirichletProcessMixture(prior={\"sigma\": 1, \"sigma0\": 10})",
        SettingList::Method => "DirichletProcessMixture(method_options={\"splits\": False, \"sweeps_per_cycle\": 2})",
        SettingList::Engine => {
            "DirichletProcessMixture(engine=\"simulated\", engine_options={\"latency\": \"1ms\", \"straggler\": {3: 5}})"
        }
    }
}

/// How a setting is typed: `--prior sigma`.
pub(crate) fn typed(key: &str) -> Option<String> {
    let setting = Setting::of(key)?;
    Some(format!("--{} {key}", setting.list.name().replace('_', "-")))
}
