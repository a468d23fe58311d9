//! A fitted model takes in a further batch of rows, and may forget earlier ones. No row is kept.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::time::{Instant, SystemTime};

use super::fitted::Fitted;
use super::run::{RunFolder, clusters_of};
use super::{Data, FitOptions, lower};
use crate::error::{InputError, Result};
use crate::family::log_joint;
use crate::io::DataSet;
use crate::method::default_workers;
use crate::metrics;
use crate::model::{Alpha, Model};
use crate::observer::Observer;
use crate::posterior::horizon::StoppedBecause;
use crate::posterior::predictive::Predictor;
use crate::rng::{Role, Seed, Stream};
use crate::rows::{Row, Shard, worker_rows};
use crate::run_dir::{DataRecord, FittedModel, Past, RowSample, Summary, write_file};
use crate::stats::Stats;
use crate::stream::{
    Batch, ClusterEvent, Forget, History, Lineage, NewCluster, convert_history, generated_rows, settle, sweep_batch,
};
use crate::sweep::Kernel;
use crate::tree::{Cut, Tree};

impl Fitted {
    /// Takes in a further batch of rows. Labels and certainties are then those of the batch; the model is of all batches that are not forgotten. Components
    /// may be born, merge and split; the family and its prior stay.
    ///
    /// ```
    /// use dirigent::{Data, FitOptions, Forget};
    ///
    /// let data = Data::from_cells(1, vec![0.0, 0.1, 0.2, 0.3, 9.0, 9.1, 9.2, 9.3])?;
    /// let fitted = dirigent::fit(&data, &FitOptions::default())?;
    /// let batch = Data::from_cells(1, vec![0.15, 0.25, 30.0, 30.1, 30.2, 30.3])?;
    /// let updated = fitted.update(&batch, Some(Forget::Batches(24)), &mut ())?;
    /// assert_eq!(updated.labels().len(), 6);
    /// # Ok::<(), dirigent::Error>(())
    /// ```
    pub fn update(&self, data: &Data, forget: Option<Forget>, observer: &mut dyn Observer) -> Result<Self> {
        let read = data.as_fitted(&self.model)?;
        self.update_with(read, data.truth(), forget, observer)
    }

    /// The same with rows that were read with the columns of the fit, and what there is to say of them.
    #[doc(hidden)]
    pub fn update_with(
        &self,
        (as_read, notes): (DataSet, Vec<String>),
        truth: Option<&[u32]>,
        forget: Option<Forget>,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let (began, time) = (Instant::now(), now());
        let rows = self.model.prepare(as_read.clone())?.all_rows();
        let options = self.options()?;
        let mut past = self.past.clone().unwrap_or_else(|| Past::of_fit(self, time));
        let model = with_missing_cells(&self.model.model, &rows);
        if model != self.model.model {
            convert_history(&mut past.history, &self.model.model, &model, &self.model.columns);
        }
        past.history.forget(forget);
        let n_threads = lower::n_threads(&options.engine);
        let n_workers = options.engine.workers.map_or(default_workers(rows.n_rows()), |workers| workers as usize);
        let n_workers = n_workers.min(rows.n_rows()).max(1);
        let part = |worker| rows.part(worker_rows(worker, n_workers, rows.n_rows()));
        let shards: Vec<Shard> = (0..n_workers).map(part).collect();
        let family = model.conjugate();
        let seed = Seed::new(options.run.seed);
        let (n_batch, learns_alpha) = (past.history.n_batches, options.model.alpha == Alpha::Auto);
        let batch = Batch {
            model: &model,
            shards: &shards,
            kernel: self.kernel,
            seed,
            interrupt: observer.interrupt(),
            learns_alpha,
        };
        let known = past.history.totals(family);
        let swept = sweep_batch(&batch, &known, past.history.next_component, self.model.alpha, n_batch)?;
        past.history.next_component = past.history.next_component.max(swept.next_component);
        past.history.push(swept.pieces);
        let mut rng = seed.stream(Role::Coordinator, u32::MAX - 1, n_batch);
        // what each former component has become, and how many rows of it
        let before: Vec<BTreeMap<u64, u64>> = past.history.batches[..past.history.batches.len() - 1]
            .iter()
            .map(|batch| batch.weighted(family).map(|(id, stats)| (id, stats.count as u64)).collect())
            .collect();
        let owners = settle(&mut past.history, &model, swept.alpha, self.kernel, &mut rng);
        let mut from: BTreeMap<u64, BTreeMap<u64, u64>> = BTreeMap::new();
        for (batch_ix, counts) in before.iter().enumerate() {
            for (former, n_rows) in counts {
                *from.entry(owners[&(batch_ix, *former)]).or_default().entry(*former).or_default() += n_rows;
            }
        }
        past.history.consolidate(forget, family);
        let (ids, components) = by_size(past.history.totals(family));
        let fitted_model = FittedModel { model, alpha: swept.alpha, components, ..self.model.clone() };
        let tree = tree_without_rows(&fitted_model, self.kernel, n_threads, seed.stream(Role::Observer, 1, n_batch));
        let (cut, too_few) = clusters_of(&tree, options.clusters());
        past.component_ids = ids;
        let clusters = clusters(&cut, &past.component_ids, &from);
        past.lineage.update(clusters, n_batch, time);
        let mut predictor =
            Predictor::new(&fitted_model.model, &fitted_model.components, swept.alpha, self.kernel, n_threads);
        let predictions = predictor.predict_all(&rows, Some(&cut));
        let component_labels: Vec<u32> =
            predictor.predict_all(&rows, None).iter().map(|prediction| prediction.label).collect();
        let labels: Vec<u32> = predictions.iter().map(|prediction| prediction.label).collect();
        let agreement = truth.map(|truth| metrics::compare(&labels, truth));
        let state = numbered(&swept.labels);
        let summary = Summary {
            k: fitted_model.components.len(),
            n_clusters: cut.n_clusters(),
            log_joint: log_joint(fitted_model.model.conjugate(), &fitted_model.components, swept.alpha, 0.0),
            log_joint_truth: None,
            vi: truth.map(|truth| metrics::compare(&state, truth).vi),
            vi_labels: agreement.as_ref().map(|agreement| agreement.vi),
            ari_labels: agreement.as_ref().map(|agreement| agreement.ari),
            nmi_labels: agreement.as_ref().map(|agreement| agreement.nmi),
            alpha: swept.alpha,
            cycles: swept.n_sweeps,
            stopped_because: StoppedBecause::Cycles,
            n_draws: None,
            seconds: began.elapsed().as_secs_f64(),
            bytes: 0,
            messages: 0,
        };
        let mut record = self.record.clone();
        let described = serde_json::to_value(DataRecord::of(&as_read, &self.model.columns.selection));
        record["data"] = described.expect("our own types become JSON");
        Ok(Self {
            component_labels: (labels != component_labels).then_some(component_labels),
            certainty: predictions.iter().map(|prediction| prediction.certainty).collect(),
            labels,
            cut,
            tree,
            model: fitted_model,
            kernel: self.kernel,
            choices: self.choices.clone(),
            summary,
            posterior: None,
            diagnostics: None,
            warnings: notes.into_iter().chain(too_few).collect(),
            trace: Vec::new(),
            draws: None,
            sample: Some(RowSample::draw(&as_read.all_rows(), RunFolder::default().sample_rows, options.run.seed)),
            record,
            path: None,
            past: Some(past),
        })
    }

    /// The number of each cluster, by its label. After updates the numbers stay with their clusters and are never used again.
    pub fn cluster_ids(&self) -> Vec<u64> {
        match &self.past {
            Some(past) => past.lineage.ids.clone(),
            None => (0..self.cut.n_clusters() as u64).collect(),
        }
    }

    /// What happened to the clusters in all updates.
    pub fn events(&self) -> &[ClusterEvent] {
        self.past.as_ref().map_or(&[], |past| &past.lineage.events)
    }

    /// The batches that were fitted, those forgotten included.
    pub fn n_batches(&self) -> u64 {
        self.past.as_ref().map_or(1, |past| past.history.n_batches)
    }

    /// The clusters that the labels are.
    pub fn clusters(&self) -> &Cut {
        &self.cut
    }

    /// Replaces the files of a run folder, all or none: what was begun is finished when the folder is next read.
    #[cfg(feature = "files")]
    pub fn save_over(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        self.save(crate::run_dir::staged(path)?)?;
        crate::run_dir::begin_update(path)?;
        crate::run_dir::finish_update(path)
    }

    pub(super) fn options(&self) -> Result<FitOptions> {
        let options = self.record["options"].clone();
        let unreadable = |error: serde_json::Error| InputError::new(format!("the options of the fit: {error}"));
        Ok(serde_json::from_value(options).map_err(unreadable)?)
    }

    /// Writes `clusters.csv`: the number of each cluster by its label.
    #[cfg(feature = "files")]
    pub(super) fn write_clusters(&self, folder: &Path) -> Result<()> {
        write_file(&folder.join("clusters.csv"), |file| {
            writeln!(file, "label,cluster,rows,components")?;
            for ((label, id), size) in (0u32..).zip(self.cluster_ids()).zip(self.cut.sizes()) {
                writeln!(file, "{label},{id},{size},{}", self.cut.members(label).len())?;
            }
            Ok(())
        })
    }
}

impl Past {
    /// A fit as the first batch.
    pub(super) fn of_fit(fitted: &Fitted, time: f64) -> Self {
        let components = &fitted.model.components;
        let component_ids: Vec<u64> = (0..components.len() as u64).collect();
        let clusters = clusters(&fitted.cut, &component_ids, &BTreeMap::new());
        Self {
            history: History::begin(&component_ids, components),
            lineage: Lineage::begin(clusters, time),
            component_ids,
        }
    }
}

/// Seconds since 1970.
#[expect(clippy::disallowed_methods, reason = "events say when they happened, and nothing else depends on it")]
pub(super) fn now() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

/// Components by falling size, and their numbers.
pub(super) fn by_size(totals: BTreeMap<u64, Stats>) -> (Vec<u64>, Vec<Stats>) {
    let mut totals: Vec<(u64, Stats)> = totals.into_iter().collect();
    totals.sort_by_key(|(id, stats)| (std::cmp::Reverse(stats.count), *id));
    totals.into_iter().unzip()
}

/// The tree of components whose rows are gone: their overlap is that of rows that they would make.
pub(super) fn tree_without_rows(fitted: &FittedModel, kernel: Kernel, n_threads: usize, mut rng: Stream) -> Tree {
    let rows = Shard::of_table(generated_rows(&fitted.model, &fitted.components, &mut rng));
    Tree::build(&fitted.model, &fitted.components, &[rows], kernel, n_threads)
}

/// Numbers from 0 in the place of numbers of components.
fn numbered(components: &[u64]) -> Vec<u32> {
    let mut numbers: BTreeMap<u64, u32> = BTreeMap::new();
    components
        .iter()
        .map(|component| {
            let next = numbers.len() as u32;
            *numbers.entry(*component).or_insert(next)
        })
        .collect()
}

/// The clusters of a cut, for their lineage. `from` has the rows of each component by former component.
pub(super) fn clusters(cut: &Cut, ids: &[u64], from: &BTreeMap<u64, BTreeMap<u64, u64>>) -> Vec<NewCluster> {
    let cluster = |(label, n_rows): (u32, &u64)| {
        let members: Vec<u64> = cut.members(label).into_iter().map(|component| ids[component as usize]).collect();
        let mut sum: BTreeMap<u64, u64> = BTreeMap::new();
        for (former, n_rows) in members.iter().filter_map(|id| from.get(id)).flatten() {
            *sum.entry(*former).or_default() += n_rows;
        }
        NewCluster { members, from: sum, n_rows: *n_rows }
    };
    (0u32..).zip(cut.sizes()).map(cluster).collect()
}

/// The model, with room for missing cells in the columns in which these rows have some.
fn with_missing_cells(model: &Model, rows: &Shard) -> Model {
    let Model::Columns(family) = model else { return model.clone() };
    let mut family = family.clone();
    for row in rows.rows() {
        let is_missing = |ix: usize| match row {
            Row::F32(cells) => cells[ix].is_nan(),
            Row::F64(cells) => cells[ix].is_nan(),
            Row::Counts(_) => false,
        };
        for (ix, column) in family.columns.iter_mut().enumerate() {
            column.has_missing = column.has_missing || is_missing(ix);
        }
    }
    Model::Columns(family)
}
