//! The `dirigent` command.
fn main() -> std::process::ExitCode {
    dirigent_cli::run(std::env::args_os(), &dirigent::internals::fit::NoEngines).into()
}
