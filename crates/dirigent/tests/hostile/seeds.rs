//! Sound inputs, to be mutated.

use std::fs;
use std::path::{Path, PathBuf};

use dirigent::internals::checkpoint::folder::{Checkpoint, Files};
use dirigent::internals::checkpoint::{ChainState, NodesState, Stage};
use dirigent::internals::consolidate::{ComponentId, PieceName};
use dirigent::internals::halves::{Half, Halves, Part};
use dirigent::internals::method::av::Av;
use dirigent::internals::method::av::message::{AvPush, AvReply, AvSwept, ClusterRows, Parcel};
use dirigent::internals::method::consolidated::Consolidated;
use dirigent::internals::method::consolidated::message::{
    ComponentSnapshot, MovedPiece, Push, Reply, Snapshot, SweepOverlap,
};
use dirigent::internals::method::slice::Slice;
use dirigent::internals::method::slice::message::{
    SliceContribution, SliceDraw, SliceHead, SlicePush, SliceReply, SliceWord,
};
use dirigent::internals::method::slice::move_message::{
    Anchor, MoveTask, Odds, SliceMove, SliceSettlement, SliceSides,
};
use dirigent::internals::method::subc::Subc;
use dirigent::internals::method::subc::message::{DrawnHalves, SubcDraw, SubcPush, SubcReply};
use dirigent::internals::posterior::horizon::{Cycles, Horizon};
use dirigent::internals::protocol::codec::{Message, encode};
use dirigent::internals::protocol::message::{Hello, Joining, Plan, ShownLabels, Stamp};
use dirigent::internals::protocol::{FinalComponents, Method, Node as _, RowList};
use dirigent::internals::rows::{Shard, Table};
use dirigent::internals::survey::Survey;
use dirigent::internals::sweep::slice::DrawnComponents;
use dirigent::{Joins, Kernel, Model, ModelOptions, Row, Stats, Sums};

use super::{BORDER, frames, nodes};

/// The folder with all of the code.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().find(|folder| folder.join("crates/dirigent/tests/data").is_dir());
    root.expect("the tests are where the code is").to_owned()
}

/// Small files of `tests/data` by the ends of their names.
pub fn files(endings: &[&str]) -> Vec<Vec<u8>> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(root().join("crates/dirigent/tests/data")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let is_one = |path: &&PathBuf| endings.iter().any(|ending| path.to_string_lossy().ends_with(ending));
    paths.iter().filter(is_one).map(|path| fs::read(path).unwrap()).filter(|bytes| bytes.len() < 20_000).collect()
}

fn joined(parts: &[&[u8]]) -> Vec<u8> {
    parts.join(BORDER)
}

fn array(header: &str, numbers: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend(numbers);
    bytes
}

fn doubles(shape: &str, numbers: &[f64]) -> Vec<u8> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    array(&format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n"), &bytes)
}

fn integers(shape: &str, numbers: &[i64]) -> Vec<u8> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    array(&format!("{{'descr': '<i8', 'fortran_order': False, 'shape': {shape}, }}\n"), &bytes)
}

/// Whole files, and arrays of a dense and of a sparse one.
pub fn npz() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = files(&["npz"]).into_iter().map(|file| [&[1], file.as_slice()].concat()).collect();
    let format = array("{'descr': '|S3', 'fortran_order': False, 'shape': (), }\n", b"csr");
    let (shape, indices, indptr) =
        (integers("(2,)", &[2, 3]), integers("(3,)", &[0, 2, 1]), integers("(3,)", &[0, 2, 3]));
    let sparse: [&[u8]; 10] = [
        b"format",
        &format,
        b"shape",
        &shape,
        b"indices",
        &indices,
        b"indptr",
        &indptr,
        b"data",
        &doubles("(3,)", &[1.0, 2.0, 3.0]),
    ];
    seeds.push([&[0], joined(&sparse).as_slice()].concat());
    seeds.push([&[0], joined(&[b"rows", &doubles("(2, 2)", &[0.5, 1.0, -1.0, 2.5])]).as_slice()].concat());
    seeds
}

/// A model of each kind of statistics.
pub fn models() -> Vec<Vec<u8>> {
    let json = |model: &str, n_columns: usize| {
        format!(
            r#"{{"format": 1, "readme": [], "software": "", "model": {model}, "alpha": 0.5, "n_rows": 5, "n_components": 2, "columns": {{"n_columns": {n_columns}, "names": null, "selection": {{"columns": null, "exclude": [], "label_column": null}}}}}}"#
        )
    };
    let counts = integers("(2,)", &[3, 2]);
    let gaussian = json(
        r#"{"family": "gaussian_fixed", "noise_sd": 1.0, "mean_sd": 2.0, "prior_mean": [0.0, 0.0], "offset": [0.0, 0.0]}"#,
        2,
    );
    let constants = doubles("(2,)", &[0.0, 0.0]);
    let sums = doubles("(2, 2)", &[1.0, 2.0, 3.0, 4.0]);
    let text = json(r#"{"family": "multinomial", "smoothing": 0.5, "n_words": 3}"#, 3);
    let (indptr, indices, data) =
        (integers("(3,)", &[0, 2, 3]), integers("(3,)", &[0, 2, 1]), integers("(3,)", &[4, 1, 2]));
    vec![
        joined(&[
            gaussian.as_bytes(),
            b"counts",
            &counts,
            b"sums",
            &sums,
            b"prior_mean",
            &constants,
            b"offset",
            &constants,
        ]),
        joined(&[
            text.as_bytes(),
            b"counts",
            &counts,
            b"indptr",
            &indptr,
            b"indices",
            &indices,
            b"data",
            &data,
            b"shape",
            &integers("(2,)", &[2, 3]),
        ]),
    ]
}

/// A checkpoint of a chain, and one of nodes in the middle of a run.
pub fn checkpoints() -> Vec<Vec<u8>> {
    let horizon = Horizon::new(Cycles::Auto { max: 9 }, 2);
    let chain = ChainState { labels: vec![0, 1, 0, 7], alpha: 0.5, cycle: 4, horizon, seconds: 1.5 };
    let bench = nodes::in_the_middle();
    let workers: Vec<Vec<u8>> = bench.workers.iter().flatten().map(|worker| worker.checkpoint()).collect();
    let of_nodes = NodesState { coordinator: bench.coordinator.checkpoint(), ..NodesState::default() };
    let run = |stage: Stage| {
        let checkpoint = Checkpoint { saved: stage.into(), files: Files::default() };
        postcard::to_stdvec(&(&checkpoint.saved, &checkpoint.files)).unwrap()
    };
    let run_of_nodes = run(Stage::Nodes(of_nodes));
    let parts: Vec<&[u8]> = [run_of_nodes.as_slice()].into_iter().chain(workers.iter().map(Vec::as_slice)).collect();
    let manifest = br#"{"format": 1, "version": "0.1.0", "chain": 1, "cycle": 4, "parts": [{"file": "00000001-0.part", "bytes": 9, "crc32": 7}]}"#;
    vec![
        [&[0], run(Stage::Chain(chain)).as_slice()].concat(),
        [&[0], joined(&parts).as_slice()].concat(),
        [&[1], joined(&[manifest, b"123456789"]).as_slice()].concat(),
    ]
}

const STAMP: Stamp = Stamp { shard: 3, incarnation: 1, sequence: 9 };

fn id(number: u64) -> ComponentId {
    ComponentId { epoch: 1, number }
}

fn dense(count: i64, sums: [f64; 2]) -> Stats {
    Stats { count, sums: Sums::Dense(sums.into()) }
}

fn sparse(count: i64, entries: &[(u32, i64)]) -> Stats {
    Stats { count, sums: Sums::Counts(entries.to_vec()) }
}

const JOINING: Option<Joining> = Some(Joining { sum_log_base: -1.5, cycle: 3, alpha: 0.7 });

fn bytes_of<M: Method>(messages: Vec<Message<M>>) -> Vec<Vec<u8>> {
    messages.iter().map(|message| frames::to_bytes(&encode(STAMP, message))).collect()
}

/// What the nodes of most methods say.
pub fn frames() -> Vec<Vec<u8>> {
    let survey = Survey::of(&Shard::of_table(Table::from_f64(2, vec![0.1, 1.0 / 3.0, 1e-300, 4.0])));
    let model = Model::resolve(&ModelOptions::default(), &survey).unwrap();
    let kernel = Kernel::Portable;
    let plan = Plan {
        model,
        kernel,
        seed: 3,
        chain: 1,
        sweeps_per_cycle: 1,
        joins: Joins::Births,
        alpha_shares: 2,
        is_in_step: true,
        shows_labels: true,
        counts_overlaps: true,
        n_rows: 2,
    };
    let labels = ShownLabels { cycle: 1, components: vec![id(1)], labels: vec![0, 0], assignments: None, places: None };
    let halved = Part::Halved { generation: 3, halves: [dense(2, [0.5, 1.0]), dense(1, [0.0, 0.1])] };
    let push = Push {
        base_version: 4,
        joining: JOINING,
        contributions: vec![(id(1), Part::Whole(dense(3, [0.5, -1e300]))), (id(4), halved)],
        births: vec![(7, dense(1, [2.0, 1.0 / 3.0]))],
        moved: 2,
        overlap: SweepOverlap { pairs: vec![(0, 1, -2.25)], halves: vec![(1, -1.0)], log_certainty: -7.5 },
    };
    let counts = Push {
        contributions: vec![(id(2), Part::Whole(sparse(2, &[(0, 4), (1, 1)])))],
        births: vec![],
        joining: None,
        ..push.clone()
    };
    let known = Halves::Known { generation: 2, stats: [dense(1, [0.25, 1.0]), dense(2, [0.75, 1.0])] };
    let components = vec![
        (id(1), Some(ComponentSnapshot { total: dense(3, [1.0, 2.0]), halves: known })),
        (id(4), None),
        (id(6), Some(ComponentSnapshot { total: dense(1, [0.0, 2.0]), halves: Halves::Fresh { generation: 9 } })),
    ];
    let moved = MovedPiece { name: PieceName::Birth(7), half: Half::Left, owner: id(1), in_half: Some(Half::Right) };
    let reply = Reply { cycle: 2, alpha: 1.5, owners: vec![moved], is_last: false };
    bytes_of::<Consolidated>(vec![
        Message::Hello(Hello { n_rows: survey.n_rows, n_columns: survey.n_columns as u64, is_counts: false, kernel }),
        Message::Plan(plan),
        Message::ShownLabels(labels),
        Message::Push(push),
        Message::Push(counts),
        Message::Reply(reply, Some(Snapshot { version: 8, step: None, components })),
        Message::Rejoin,
    ])
}

/// What the nodes of the slice sampler say.
pub fn slice_frames() -> Vec<Vec<u8>> {
    let contribution = |stats| SliceContribution { id: id(1), stats, smallest_uniform: 0.25 };
    let push =
        |stats| SlicePush { round: 4, joining: JOINING, moved: Some(3), contributions: vec![contribution(stats)] };
    let components = DrawnComponents { weights: vec![0.6, 0.3], parameters: vec![0.1, -1e300, 2.0, 1e-300] };
    let draw = SliceDraw { round: 5, cycle: 4, alpha: 0.3, ids: vec![id(1), id(7)], components };
    let last = FinalComponents { cycle: 9, components: vec![(id(7), dense(1, [0.0, 2.0]))] };
    let anchor = |index| Anchor { shard: 1, component: id(1), index };
    let task = MoveTask::Divide(Odds { log_prior_odds: 0.5, parameters: vec![0.1, 0.2, -1.0, 3.0] });
    let step = SliceMove { step: 9, components: vec![id(1)], anchors: Some([anchor(0), anchor(2)]), task };
    let settlement = SliceSettlement::Split { component: id(1), right: id(8) };
    let sides = SliceSides { step: 9, sides: [dense(1, [0.0, 2.0]), dense(2, [1.0, 2.0])], log_probability: -3.5 };
    bytes_of::<Slice>(vec![
        Message::Push(SliceWord::Push(push(dense(3, [0.5, 1.0])))),
        Message::Push(SliceWord::Push(push(sparse(2, &[(0, 4), (1, 4)])))),
        Message::Reply(SliceHead::Again { round: 6 }, None),
        Message::Reply(SliceHead::All, Some(SliceReply::Draw(draw))),
        Message::Reply(SliceHead::All, Some(SliceReply::Last(last))),
        Message::Reply(SliceHead::All, Some(SliceReply::Move(step))),
        Message::Reply(SliceHead::All, Some(SliceReply::Settle(settlement))),
        Message::Push(SliceWord::Sides(sides)),
    ])
}

/// What the nodes of SubC say.
pub fn subc_frames() -> Vec<Vec<u8>> {
    let push = |halves| SubcPush { joining: JOINING, moved: Some(3), contributions: vec![(id(1), halves)] };
    let halves = DrawnHalves { log_weights: [-0.5, -1.0], parameters: [vec![0.1, 0.2], vec![-1e300, 1e-300]] };
    let draw = SubcDraw {
        round: 5,
        cycle: 4,
        alpha: 0.3,
        places: vec![(id(4), [id(1), id(7)])],
        ids: vec![id(1), id(7)],
        components: DrawnComponents { weights: vec![0.6, 0.3], parameters: vec![0.1, -1e300, 2.0, 1e-300] },
        halves: vec![None, Some(halves)],
    };
    let last = FinalComponents { cycle: 9, components: vec![(id(7), dense(1, [0.0, 2.0]))] };
    bytes_of::<Subc>(vec![
        Message::Push(push([dense(3, [0.5, -1e300]), dense(0, [0.0, 0.0])])),
        Message::Push(push([sparse(2, &[(0, 4), (1, 1)]), sparse(1, &[(1, 1)])])),
        Message::Reply((), Some(SubcReply::Draw(draw))),
        Message::Reply((), Some(SubcReply::Last { places: vec![(id(4), [id(7), id(7)])], last })),
    ])
}

/// What the nodes of AV say, rows included.
pub fn av_frames() -> Vec<Vec<u8>> {
    let parcel = |rows| Parcel::seal(&ClusterRows { sizes: vec![(id(1), 2), (id(4), 1)], gaps: vec![3, 4, 1], rows });
    let numbers = parcel(RowList::of([Row::F32(&[1.5, 2.0]), Row::F32(&[0.0, 1.0]), Row::F32(&[4.0, 1.0])]));
    let counts = parcel(RowList::Counts { lengths: vec![1, 0, 2], gaps: vec![1, 0, 0], counts: vec![3, 1, 2] });
    let swept = AvSwept {
        moved: 3,
        births: 2,
        merges: 1,
        n_rows: 7,
        k: 2,
        log_density: -1e300,
        parcels: vec![(2, numbers.clone()), (4, counts.clone())],
    };
    let labels = ShownLabels {
        cycle: 1,
        components: vec![id(1)],
        labels: vec![0, 0],
        assignments: None,
        places: Some(vec![7, 1 << 40]),
    };
    bytes_of::<Av>(vec![
        Message::Push(AvPush::Join { sum_log_base: -1.5, parcels: vec![(2, counts)] }),
        Message::Push(AvPush::Swept(swept)),
        Message::Push(AvPush::Totals(vec![(id(1), dense(2, [0.5, 1.0]))])),
        Message::Reply(AvReply::Sweep { cycle: 4, alpha: 0.3, parcels: vec![numbers.clone()] }, None),
        Message::Reply(AvReply::Sum { parcels: vec![numbers] }, None),
        Message::Reply(
            AvReply::Last,
            Some(FinalComponents { cycle: 9, components: vec![(id(7), dense(1, [0.0, 2.0]))] }),
        ),
        Message::ShownLabels(labels),
    ])
}

/// Runs of every method in which one frame is changed: which method, which frame, what becomes of its sender, and the changes.
pub fn nodes() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for method in 0..nodes::N_METHODS {
        for at in [0, 4, 7, 9, 12, 14, 20] {
            seeds.push(vec![method, at, at % 2, 30, 0, 1, 40, 0, 0x80]);
        }
    }
    seeds
}
