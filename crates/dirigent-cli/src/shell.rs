//! `dirigent completions` and `dirigent man`: what a shell wants to know, from the options themselves.

use std::fs;
use std::io::Write as _;

use clap::CommandFactory as _;
use clap_mangen::Man;
use dirigent::internals::run_dir::write_file;
use dirigent::{Error, Result};

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::console::Console;

pub(crate) fn completions(args: &CompletionsArgs) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "dirigent", &mut script);
    Console::default().stream(|stdout| stdout.write_all(&script))
}

pub(crate) fn man(args: &ManArgs) -> Result<()> {
    let mut command = Cli::command();
    command.build();
    let Some(folder) = &args.out else {
        let page = page(command);
        return Console::default().stream(|stdout| stdout.write_all(&page));
    };
    fs::create_dir_all(folder).map_err(|source| Error::io("cannot create", folder, source))?;
    let subcommands: Vec<clap::Command> =
        command.get_subcommands().filter(|one| one.get_name() != "help").cloned().collect();
    for command in std::iter::once(command).chain(subcommands) {
        // a built subcommand is called by its whole name, such as dirigent-fit
        let path = folder.join(format!("{}.1", command.get_display_name().unwrap_or(command.get_name())));
        write_file(&path, |file| file.write_all(&page(command)))?;
    }
    Ok(())
}

fn page(command: clap::Command) -> Vec<u8> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page).expect("memory takes every byte");
    page
}
