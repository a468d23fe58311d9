//! `dirigent synth`: data sets whose truth is known.

use std::fs;
use std::path::Path;

use dirigent::internals::io::synthetic::{FILES, MixtureLaw, Sizes, TextLaw};
use dirigent::internals::run_dir::{claim_folder, write_json};
use dirigent::{InputError, Result};
use serde::Serialize;

use crate::args::{SetArg, SizesArg, SynthArgs};
use crate::console::{Console, Talk, grouped};

pub(crate) fn run(args: &SynthArgs) -> Result<()> {
    let law = law(args)?;
    law.check()?;
    let console = Console { talk: if args.quiet { Talk::Quiet } else { Talk::Normal } };
    claim_folder(&args.out, &FILES, args.force)?;
    write_json(&args.out.join(FILES[0]), &SynthRecord { version: env!("CARGO_PKG_VERSION"), law: &law })?;
    console.say(law.describe());
    law.write(&args.out)?;
    console.say(format_args!("written: {}", law.files().map(|file| shown(&args.out, file)).join(" ")));
    console.say(format_args!("fit it with: {}", law.suggestion(&args.out)));
    Ok(())
}

/// Makes the set, unless the folder has it already: the same law, and the file that is written last.
pub(crate) fn ensure(args: &SynthArgs) -> Result<()> {
    let record = serde_json::to_value(SynthRecord { version: env!("CARGO_PKG_VERSION"), law: &law(args)? });
    let stored = fs::read(args.out.join(FILES[0])).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let is_there = stored == record.ok() && args.out.join("labels.npy").exists();
    if is_there { Ok(()) } else { run(args) }
}

/// `synth.json`.
#[derive(Serialize)]
struct SynthRecord<'a> {
    version: &'static str,
    #[serde(flatten)]
    law: &'a Law,
}

/// The law of one of the three sets.
#[derive(Debug, Serialize)]
#[serde(tag = "set", rename_all = "lowercase")]
enum Law {
    Synthetic(MixtureLaw),
    Imagenet(MixtureLaw),
    Nyt(TextLaw),
}

fn law(args: &SynthArgs) -> Result<Law> {
    match args.set {
        SetArg::Synthetic => Ok(Law::Synthetic(mixture(args, MixtureLaw::synthetic())?)),
        SetArg::Imagenet => Ok(Law::Imagenet(mixture(args, MixtureLaw::imagenet())?)),
        SetArg::Nyt => text(args, TextLaw::nyt()).map(Law::Nyt),
    }
}

fn mixture(args: &SynthArgs, law: MixtureLaw) -> Result<MixtureLaw> {
    Ok(MixtureLaw {
        n_rows: number(args.rows, law.n_rows)?,
        n_clusters: number(args.clusters, law.n_clusters)?,
        centre_sd: args.centre_sd.unwrap_or(law.centre_sd),
        noise_sd: args.noise_sd.unwrap_or(law.noise_sd),
        sizes: sizes(args.sizes, law.sizes),
        seed: args.seed,
        ..law
    })
}

fn text(args: &SynthArgs, law: TextLaw) -> Result<TextLaw> {
    if let Some(noise_sd) = args.noise_sd {
        let problem = format!("--noise-sd {noise_sd} has no meaning for nyt, whose words are drawn from their topic");
        return Err(InputError::new(problem).hint("leave --noise-sd out; --centre-sd is how far topics differ").into());
    }
    Ok(TextLaw {
        n_rows: number(args.rows, law.n_rows)?,
        n_clusters: number(args.clusters, law.n_clusters)?,
        tilt_sd: args.centre_sd.unwrap_or(law.tilt_sd),
        sizes: sizes(args.sizes, law.sizes),
        seed: args.seed,
        ..law
    })
}

fn number(asked: Option<u64>, default: usize) -> Result<usize> {
    let too_large = |_| InputError::new("--rows or --clusters is more than this machine can count").into();
    asked.map_or(Ok(default), |asked| usize::try_from(asked).map_err(too_large))
}

fn sizes(asked: Option<SizesArg>, default: Sizes) -> Sizes {
    match asked {
        None => default,
        Some(SizesArg::Equal) => Sizes::Equal,
        Some(SizesArg::Zipf) => Sizes::Zipf,
        Some(SizesArg::Paper) => Sizes::Paper,
    }
}

impl Law {
    fn check(&self) -> Result<()> {
        match self {
            Self::Synthetic(law) | Self::Imagenet(law) => law.check(),
            Self::Nyt(law) => law.check(),
        }
    }

    fn write(&self, folder: &Path) -> Result<()> {
        match self {
            Self::Synthetic(law) | Self::Imagenet(law) => law.write(folder),
            Self::Nyt(law) => law.write(folder),
        }
    }

    fn files(&self) -> [&'static str; 4] {
        match self {
            Self::Synthetic(_) | Self::Imagenet(_) => ["data.npy", "centres.npy", "labels.npy", "synth.json"],
            Self::Nyt(_) => ["docword.txt.gz", "vocab.txt", "labels.npy", "synth.json"],
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Synthetic(law) | Self::Imagenet(law) => {
                let (rows, columns) = (grouped(law.n_rows as u64), law.n_columns);
                format!("making {rows} rows with {columns} columns in {} clusters", law.n_clusters)
            }
            Self::Nyt(law) => {
                let (documents, words) = (grouped(law.n_rows as u64), law.n_columns);
                format!("making {documents} documents over {words} words in {} topics", law.n_clusters)
            }
        }
    }

    /// The paper's priors for its Gaussian sets, the true scales for others. For documents the rule of `fit`: from γ = 1, the
    /// paper's for real articles, a chain over these does not find its way out of one cluster.
    fn suggestion(&self, folder: &Path) -> String {
        let (data, truth) = (shown(folder, self.files()[0]), shown(folder, "labels.npy"));
        let model = match self {
            Self::Imagenet(law) if *law == (MixtureLaw { seed: law.seed, ..MixtureLaw::imagenet() }) => {
                "--prior sigma=8,sigma0=8 --alpha 1".to_owned()
            }
            Self::Synthetic(law) | Self::Imagenet(law) if law.noise_sd > 0.0 && law.centre_sd > 0.0 => {
                format!("--prior sigma={},sigma0={} --alpha 1", law.noise_sd, law.centre_sd)
            }
            Self::Synthetic(_) | Self::Imagenet(_) => "--alpha 1".to_owned(),
            Self::Nyt(_) => "--family multinomial".to_owned(),
        };
        format!("dirigent fit {data} --truth {truth} {model}")
    }
}

/// A path that can be pasted into a shell.
fn shown(folder: &Path, file: &str) -> String {
    let path = folder.join(file).display().to_string();
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+,:=@%".contains(letter);
    if path.chars().all(plain) { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_the_shell() {
        assert_eq!(shown(Path::new("a/b"), "c.npy"), "a/b/c.npy");
        assert_eq!(shown(Path::new("it's here"), "c"), r"'it'\''s here/c'");
    }
}
