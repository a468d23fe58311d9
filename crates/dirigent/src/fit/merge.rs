//! Models that were fitted apart become one, without their rows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::fitted::Fitted;
use super::lower;
use super::run::clusters_of;
use super::update::{by_size, clusters, now, tree_without_rows};
use crate::error::Result;
use crate::family::log_joint;
use crate::model::Choice;
use crate::rng::{Role, Seed};
use crate::run_dir::{FittedModel, Past, Summary};
use crate::stream::{Common, History, Lineage, common_model, join};

impl Fitted {
    /// Merges models that were fitted to parts of the data, which need not be at hand. Columns and words are matched by name. The prior is that of the model with
    /// the most rows: statistics hold no prior. The merged fit has no rows, so it has no labels; it predicts, can be cut and updated.
    ///
    /// ```
    /// use dirigent::{Data, FitOptions, Fitted};
    ///
    /// let fit = |shift: f64| {
    ///     let cell = |ix: u32| shift + f64::from(ix % 7) / 10.0 + 40.0 * f64::from(ix % 2);
    ///     dirigent::fit(&Data::from_cells(1, (0..60).map(cell).collect())?, &FitOptions::default())
    /// };
    /// let (here, there) = (fit(0.0)?, fit(0.05)?);
    /// let both = Fitted::merge(&[here, there])?;
    /// assert_eq!((both.n_components(), both.labels().len()), (2, 0));
    /// # Ok::<(), dirigent::Error>(())
    /// ```
    pub fn merge(models: &[Self]) -> Result<Self> {
        let (began, time) = (Instant::now(), now());
        let names: Vec<PathBuf> = models.iter().enumerate().map(|(ix, fitted)| fitted.name(ix)).collect();
        let named: Vec<(&Path, &FittedModel)> =
            names.iter().zip(models).map(|(name, fitted)| (name.as_path(), &fitted.model)).collect();
        let Common { base_ix, model: mut merged, components: parts } = common_model(&named)?;
        let base = &models[base_ix];
        let options = base.options()?;
        let mut rng = Seed::new(options.run.seed).stream(Role::Coordinator, u32::MAX - 2, 0);
        let n_rows = |fitted: &Self| fitted.model.n_rows() as f64;
        let all_rows: f64 = models.iter().map(n_rows).sum();
        merged.alpha = models.iter().map(|fitted| fitted.model.alpha * n_rows(fitted)).sum::<f64>() / all_rows;
        let totals = join(&merged.model, &parts, merged.alpha, base.kernel, &mut rng);
        let (ids, components) = by_size(totals);
        merged.components = components;
        let tree_rng = Seed::new(options.run.seed).stream(Role::Observer, 2, 0);
        let tree = tree_without_rows(&merged, base.kernel, lower::n_threads(&options.engine), tree_rng);
        let (cut, too_few) = clusters_of(&tree, options.clusters());
        let history = History::begin(&ids, &merged.components);
        let lineage = Lineage::begin(clusters(&cut, &ids, &BTreeMap::new()), time);
        let choice = Choice::new(
            "models",
            &models.len().to_string(),
            &format!("merged from {} models; the prior is that of {}", models.len(), base.name(base_ix).display()),
        );
        let mut record = base.record.clone();
        record["data"]["n_rows"] = merged.n_rows().into();
        record["choices"] = serde_json::to_value([&choice]).expect("our own types become JSON");
        let summary = Summary {
            k: merged.components.len(),
            n_clusters: cut.n_clusters(),
            log_joint: log_joint(merged.model.conjugate(), &merged.components, merged.alpha, 0.0),
            log_joint_truth: None,
            vi: None,
            vi_labels: None,
            ari_labels: None,
            nmi_labels: None,
            alpha: merged.alpha,
            cycles: 0,
            n_draws: None,
            seconds: began.elapsed().as_secs_f64(),
            bytes: 0,
            messages: 0,
            ..base.summary.clone()
        };
        Ok(Self {
            labels: Vec::new(),
            certainty: Vec::new(),
            component_labels: None,
            cut,
            tree,
            kernel: base.kernel,
            choices: vec![choice],
            summary,
            posterior: None,
            diagnostics: None,
            warnings: too_few.into_iter().collect(),
            trace: Vec::new(),
            draws: None,
            sample: None,
            record,
            path: None,
            past: Some(Past { history, component_ids: ids, lineage }),
            model: merged,
        })
    }

    /// What a model is called in messages.
    fn name(&self, ix: usize) -> PathBuf {
        self.path.clone().unwrap_or_else(|| format!("model {}", ix + 1).into())
    }
}
