//! How much memory is free: for the machine, for the group of processes that this one is in, and for this process.
//!
//! Linux tells; elsewhere nothing is known, and nothing is decided by it.

use std::fs;
use std::path::{Path, PathBuf};

/// Bytes that may still be used, if the system reports it.
pub(crate) fn free() -> Option<u64> {
    let read = |path: &str| fs::read_to_string(path).ok();
    let of_machine = read("/proc/meminfo").and_then(|text| of_machine(&text));
    let of_group = read("/proc/self/cgroup").and_then(|text| of_groups(&text, Path::new("/sys/fs/cgroup")));
    let of_process = || of_process(&read("/proc/self/limits")?, &read("/proc/self/status")?);
    [of_machine, of_group, of_process()].into_iter().flatten().min()
}

/// What could be had without anybody's loss, and what could be swapped out.
fn of_machine(meminfo: &str) -> Option<u64> {
    Some(kilobytes(meminfo, "MemAvailable:")? + kilobytes(meminfo, "SwapFree:").unwrap_or(0))
}

/// The names of the files in which a group tells what it may use, what it uses, and what of that are pages of files.
const NEW_NAMES: [&str; 4] = ["memory.max", "memory.current", "inactive_file", "active_file"];
const OLD_NAMES: [&str; 4] =
    ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file", "total_active_file"];

/// The least of what is left to the groups around this process, of either kind of groups.
fn of_groups(groups: &str, root: &Path) -> Option<u64> {
    let of_kind = |inside: Option<&str>, root: PathBuf, names| {
        let folder = root.join(inside?.trim_start_matches('/'));
        let around = folder.ancestors().take_while(|folder| folder.starts_with(&root));
        around.filter_map(|folder| of_group(folder, names)).min()
    };
    let new = groups.lines().find_map(|line| line.strip_prefix("0::"));
    let old = groups.lines().find_map(|line| line.split_once(":memory:")).map(|(_, inside)| inside);
    let found = [of_kind(new, root.into(), NEW_NAMES), of_kind(old, root.join("memory"), OLD_NAMES)];
    found.into_iter().flatten().min()
}

fn of_group(folder: &Path, [most, used, inactive, active]: [&str; 4]) -> Option<u64> {
    let number = |name: &str| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
    let (most, used) = (number(most)?, number(used)?);
    // they are counted, but given back when they are needed
    let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let of_files: u64 = [inactive, active].iter().filter_map(|name| field(&stat, name)).sum();
    Some(most.saturating_sub(used.saturating_sub(of_files)))
}

/// What is left of the addresses that the process may use.
fn of_process(limits: &str, status: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let most: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(most.saturating_sub(kilobytes(status, "VmSize:")?))
}

fn field(text: &str, name: &str) -> Option<u64> {
    let words = text.lines().map(str::split_whitespace);
    words.into_iter().find_map(|mut words| (words.next()? == name).then(|| words.next()?.parse().ok())?)
}

fn kilobytes(text: &str, name: &str) -> Option<u64> {
    Some(field(text, name)? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tightest_limit_counts() {
        let meminfo = "MemTotal:  100 kB\nMemFree: 1 kB\nMemAvailable:   40 kB\nSwapFree: 2 kB\n";
        assert_eq!(of_machine(meminfo), Some(42 * 1024));
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax address space         10240   unlimited   bytes\n";
        assert_eq!(of_process(limits, "VmPeak: 9 kB\nVmSize:\t    4 kB\n"), Some(6 * 1024));
        assert_eq!(of_process("Max address space   unlimited unlimited bytes\n", "VmSize: 4 kB\n"), None);
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        assert_eq!(of_groups("0::/a/b\n", root.path()), None, "no limit is told");
        fs::write(inner.join("memory.max"), "max\n").unwrap();
        fs::write(root.path().join("a/memory.max"), "1000\n").unwrap();
        fs::write(root.path().join("a/memory.current"), "700\n").unwrap();
        fs::write(root.path().join("a/memory.stat"), "anon 400\ninactive_file 200\nactive_file 100\n").unwrap();
        assert_eq!(of_groups("0::/a/b\n", root.path()), Some(600), "pages of files can be given back");
        let old = root.path().join("memory/c");
        fs::create_dir_all(&old).unwrap();
        fs::write(old.join("memory.limit_in_bytes"), "500\n").unwrap();
        fs::write(old.join("memory.usage_in_bytes"), "100\n").unwrap();
        assert_eq!(of_groups("4:memory:/c\n0::/a/b\n", root.path()), Some(400));
    }
}
