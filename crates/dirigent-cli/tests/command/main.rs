//! The command from outside: the real binary in folders of its own.

mod bad_input;
mod baselines;
mod cut;
mod distributed;
mod draws;
mod endings;
mod eval;
mod faults;
mod fit;
mod info_and_demo;
mod inputs;
mod place;
mod predict;
mod reference;
mod report;
mod reproduce;
mod resume;
mod run_folder;
mod shell;
mod synth;
mod transform;
mod written_by;
