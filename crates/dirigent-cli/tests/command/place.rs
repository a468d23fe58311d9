//! A folder to run the command in.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A temporary folder, the working directory of the commands that run there.
pub(crate) struct Place {
    folder: TempDir,
}

/// What a command left behind.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.read(name)).unwrap()
    }

    /// The cells of a column of a table with a header line.
    pub(crate) fn column(&self, name: &str, column: &str) -> Vec<String> {
        let table = self.text(name);
        let (header, lines) = table.split_once('\n').unwrap();
        let ix = header.split(',').position(|name| name == column).unwrap_or_else(|| panic!("{name}: no {column}"));
        lines.lines().map(|line| line.split(',').nth(ix).unwrap().to_owned()).collect()
    }

    /// The numbers of an .npy file of four-byte items, and its header.
    fn npy(&self, name: &str) -> (String, Vec<[u8; 4]>) {
        let bytes = self.read(name);
        assert_eq!(bytes[..8], *b"\x93NUMPY\x01\x00");
        let start = 10 + usize::from(bytes[8]) + 256 * usize::from(bytes[9]);
        let items = bytes[start..].chunks_exact(4).map(|item| item.try_into().unwrap()).collect();
        (String::from_utf8(bytes[10..start].to_vec()).unwrap(), items)
    }

    pub(crate) fn integers(&self, name: &str) -> Vec<i32> {
        let (header, items) = self.npy(name);
        assert!(header.contains("'<i4'") && header.contains("'fortran_order': False"), "{header}");
        items.into_iter().map(i32::from_le_bytes).collect()
    }

    pub(crate) fn singles(&self, name: &str) -> Vec<f32> {
        let (header, items) = self.npy(name);
        assert!(header.contains("'<f4'") && header.contains("'fortran_order': False"), "{header}");
        items.into_iter().map(f32::from_le_bytes).collect()
    }

    pub(crate) fn text_of_header(&self, name: &str) -> String {
        self.npy(name).0
    }

    pub(crate) fn shape(&self, name: &str) -> String {
        let header = self.npy(name).0;
        let (_, shape) = header.split_once("'shape': ").unwrap();
        shape.split_inclusive(')').next().unwrap().to_owned()
    }

    /// Runs `dirigent` with arguments separated by blanks.
    pub(crate) fn run(&self, arguments: &str) -> Ended {
        self.run_to(arguments, Stdio::piped())
    }

    pub(crate) fn run_to(&self, arguments: &str, stdout: Stdio) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dirigent"));
        command.args(arguments.split_whitespace()).current_dir(self.folder.path());
        let output = command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
        let output = output.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// The same, and it must end well.
    pub(crate) fn ok(&self, arguments: &str) -> Ended {
        let ended = self.run(arguments);
        assert_eq!(ended.code, Some(0), "dirigent {arguments}\n{}", ended.stderr);
        ended
    }

    /// The same, and it must be refused as the user's mistake with a message that has all `parts`.
    pub(crate) fn refused(&self, arguments: &str, parts: &[&str]) {
        let ended = self.run(arguments);
        assert_eq!(ended.code, Some(2), "dirigent {arguments}\n{}", ended.stderr);
        assert_eq!(ended.stdout, "", "dirigent {arguments}");
        assert!(ended.stderr.contains("error: "), "dirigent {arguments}\n{}", ended.stderr);
        assert!(!ended.stderr.contains("panicked"), "dirigent {arguments}\n{}", ended.stderr);
        for part in parts {
            assert!(ended.stderr.contains(part), "dirigent {arguments}: no {part:?} in\n{}", ended.stderr);
        }
    }

    /// Whether rows are predicted as they were fitted; the certainty of a prediction counts that a row may belong to no known cluster.
    pub(crate) fn check_predicted(&self, predicted: &str, run: &str) {
        let labels = format!("{run}/labels.csv");
        assert_eq!(self.column(predicted, "label"), self.column(&labels, "label"), "{predicted}");
        let numbers = |file: &str, column: &str| -> Vec<f64> {
            self.column(file, column).iter().map(|cell| cell.parse().unwrap()).collect()
        };
        let (predicted, of_new, fitted) =
            (numbers(predicted, "certainty"), numbers(predicted, "p_new"), numbers(&labels, "certainty"));
        for ((predicted, of_new), fitted) in predicted.iter().zip(of_new).zip(fitted) {
            assert!((predicted - fitted * (1.0 - of_new)).abs() < 1e-6, "{predicted} {fitted} {of_new}");
        }
    }

    /// Two clusters far apart, 30 rows each, in `two.csv`; their labels in `two.labels.txt`.
    pub(crate) fn with_two_clusters() -> Self {
        let place = Self::new();
        let mut rows = String::from("x,y,class\n");
        for row in 0..60u32 {
            let (side, wobble) = (row % 2, f64::from(row * 7 % 11) / 10.0);
            rows +=
                &format!("{},{},{}\n", f64::from(side) * 50.0 + wobble, wobble - 0.5, ["left", "right"][side as usize]);
        }
        place.write("two.csv", rows);
        place.write("two.labels.txt", "left\nright\n".repeat(30));
        place
    }
}
