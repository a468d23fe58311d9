//! `dirigent eval`: how far two labellings agree.

use dirigent::internals::io::labels::read_labels;
use dirigent::internals::metrics;
use dirigent::{InputError, Result};

use crate::args::EvalArgs;
use crate::console::Console;

pub(crate) fn run(args: &EvalArgs) -> Result<()> {
    let (a, b) = (read_labels(&args.a)?.labels, read_labels(&args.b)?.labels);
    if a.len() != b.len() {
        let problem = format!("has {} labels, but {} has {}", b.len(), args.a.display(), a.len());
        let hint = "both must label the same rows in the same order";
        return Err(InputError::in_file(&args.b, problem).hint(hint).into());
    }
    Console::default().print_json(&metrics::compare(&a, &b))
}
