use proptest::prelude::*;

use super::*;
use crate::checkpoint::{ChainState, FoundState, NodesState};
use crate::method::cgs::Outcome;
use crate::posterior::horizon::{Cycles, Horizon, StoppedBecause};
use crate::stats::{Stats, Sums};
use crate::trace::CycleInfo;

fn chain(cycle: u64) -> Checkpoint {
    let horizon = Horizon::new(Cycles::Auto { max: 9 }, 2);
    let state = ChainState { labels: vec![0, 1, 0, 7], alpha: 0.5, cycle, horizon, seconds: 1.5 };
    let files = Files { trace_bytes: 10 * cycle, n_draws: 3, best: None, seconds: 2.5 };
    Checkpoint { saved: Stage::Chain(state).into(), files }
}

fn nodes() -> Checkpoint {
    let outcome = Outcome {
        state: vec![0, 1],
        labels: vec![1, 0],
        certainty: vec![0.5, 1.0],
        k: 2,
        components: vec![Stats { count: 3, sums: Sums::Dense([0.25, -1.0].into()) }],
        log_joint: -4.5,
        alpha: 2.0,
        cycles: 6,
        stopped_because: StoppedBecause::Stationary,
    };
    let stage = Stage::Nodes(NodesState {
        coordinator: vec![1, 2, 3],
        workers: vec![vec![4; 100], Vec::new(), vec![5, 6]],
        pending: Some(CycleInfo { cycle: 11, log_joint: f64::NEG_INFINITY, ..CycleInfo::default() }),
        ..NodesState::default()
    });
    let found = Some(FoundState { outcome, totals: Default::default() });
    Checkpoint { saved: RunState { stage, found, ..RunState::default() }, files: Files::default() }
}

fn names(folder: &Folder) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_is_put_away_comes_back_and_the_last_two_are_kept() {
    let run = tempfile::tempdir().unwrap();
    let mut folder = Folder::of_run(run.path()).unwrap();
    assert!(!folder.has_any() && folder.read().unwrap().checkpoint.is_none());
    for cycle in 1..5 {
        folder.write(chain(cycle)).unwrap();
    }
    assert_eq!(names(&folder), ["00000003-run.part", "00000003.json", "00000004-run.part", "00000004.json"]);
    folder.write(nodes()).unwrap();
    let again = Folder::of_run(run.path()).unwrap();
    assert_eq!((again.next, again.newest()), (6, Some((1, 17))));
    let found = again.read().unwrap();
    assert_eq!((found.checkpoint, found.passed_over), (Some(nodes()), Vec::new()));
}

#[test]
fn a_checkpoint_that_cannot_be_written_leaves_nothing_behind() {
    let run = tempfile::tempdir().unwrap();
    let mut folder = Folder::of_run(run.path()).unwrap();
    folder.write(chain(1)).unwrap();
    let in_the_way = folder.path().join("00000002-worker-1.part");
    fs::create_dir(&in_the_way).unwrap();
    assert!(folder.write(nodes()).is_err());
    fs::remove_dir(in_the_way).unwrap();
    assert_eq!(names(&folder), ["00000001-run.part", "00000001.json"]);
    folder.write(nodes()).unwrap();
    assert_eq!(folder.read().unwrap().checkpoint, Some(nodes()));
}

#[test]
fn a_damaged_checkpoint_is_passed_over_for_the_one_before() {
    let run = tempfile::tempdir().unwrap();
    let mut folder = Folder::of_run(run.path()).unwrap();
    folder.write(chain(1)).unwrap();
    folder.write(nodes()).unwrap();
    type Damage = fn(&Path);
    let damaged: [(&str, Damage, &str); 5] = [
        ("00000002-worker-0.part", |path| fs::write(path, [4; 99]).unwrap(), "has 99 bytes, expected 100"),
        ("00000002-worker-0.part", |path| fs::write(path, [7; 100]).unwrap(), "checksum"),
        ("00000002-worker-2.part", |path| fs::remove_file(path).unwrap(), "cannot read"),
        ("00000002.json", |path| fs::write(path, b"{\"format\": 1").unwrap(), "is no manifest"),
        ("00000002.json", |path| fs::write(path, b"").unwrap(), "is no manifest"),
    ];
    for (name, damage, said) in damaged {
        let path = folder.path().join(name);
        let whole = fs::read(&path).unwrap();
        damage(&path);
        let found = folder.read().unwrap();
        assert_eq!(found.checkpoint, Some(chain(1)), "{name}");
        assert!(found.passed_over.len() == 1 && found.passed_over[0].contains(said), "{:?}", found.passed_over);
        fs::write(&path, whole).unwrap();
    }
    assert_eq!(folder.read().unwrap().checkpoint, Some(nodes()));
}

#[test]
fn a_manifest_that_leads_elsewhere_is_passed_over_and_one_of_another_format_is_rejected() {
    let run = tempfile::tempdir().unwrap();
    let mut folder = Folder::of_run(run.path()).unwrap();
    folder.write(chain(1)).unwrap();
    let manifest = folder.manifest(1);
    let text = fs::read_to_string(&manifest).unwrap();
    for (old, new, said) in [
        ("00000001-run.part", "../../elsewhere", "not in the folder"),
        ("00000001-run.part", "/etc/hostname", "not in the folder"),
    ] {
        fs::write(&manifest, text.replace(old, new)).unwrap();
        let found = folder.read().unwrap();
        assert!(found.checkpoint.is_none() && found.passed_over[0].contains(said), "{:?}", found.passed_over);
    }
    fs::write(&manifest, text.replace("\"format\": 1", "\"format\": 2")).unwrap();
    let error = folder.read().unwrap_err().to_string();
    assert!(error.contains("found format 2 of the checkpoint, expected 1"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Bytes that were changed although their checksum fits, as by somebody who means harm: an
    /// error or another state, never a panic, and no memory by a length that nothing stands behind.
    #[test]
    fn no_bytes_make_the_decoder_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let whole = nodes();
        let mut bytes = postcard::to_stdvec(&(&whole.saved, &whole.files)).unwrap();
        for (ix, byte) in changes {
            let ix = ix.index(bytes.len());
            bytes[ix] = byte;
        }
        if is_cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let _ = decode::<(RunState, Files)>(Path::new("part"), &bytes);
    }
}
