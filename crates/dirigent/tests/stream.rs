//! Batches that come one after another, and models that were fitted apart.

use dirigent::internals::rng::{Role, Seed, Stream};
use dirigent::{Clusters, Data, EventKind, FitOptions, Fitted, Forget};

/// Rows of unit width about a centre each.
fn rows(centres: &[[f64; 2]], n_rows: usize, rng: &mut Stream) -> (Vec<f64>, Vec<u32>) {
    let labels: Vec<u32> = (0..n_rows).map(|_| rng.below(centres.len()) as u32).collect();
    let cells = labels.iter().flat_map(|&label| centres[label as usize]).map(|x| x + rng.normal()).collect();
    (cells, labels)
}

fn data((cells, labels): (Vec<f64>, Vec<u32>)) -> Data {
    Data::from_cells(2, cells).unwrap().with_truth(labels).unwrap()
}

fn options() -> FitOptions {
    let mut options = FitOptions::default();
    options.run.clusters = Some(Clusters::Components);
    options
}

fn stream_of(seed: u64) -> Stream {
    Seed::new(seed).stream(Role::Observer, 0, 0)
}

const CENTRES: [[f64; 2]; 4] = [[0.0, 0.0], [12.0, 0.0], [0.0, 12.0], [12.0, 12.0]];

fn fitted(seed: u64) -> Fitted {
    dirigent::fit(&data(rows(&CENTRES, 800, &mut stream_of(seed))), &options()).unwrap()
}

#[test]
fn clusters_keep_their_ids_through_updates() {
    let mut fit = fitted(1);
    assert_eq!((fit.n_clusters(), fit.events().len(), fit.n_batches()), (4, 0, 1));
    let mut rng = stream_of(2);
    for batch in 1..6 {
        fit = fit.update(&data(rows(&CENTRES, 200, &mut rng)), None, &mut ()).unwrap();
        assert_eq!((fit.n_clusters(), fit.n_batches(), fit.labels().len()), (4, batch + 1, 200));
        assert!(fit.summary().ari_labels.unwrap() > 0.99);
        let mut ids = fit.cluster_ids();
        ids.sort_unstable();
        assert_eq!(ids, [0, 1, 2, 3]);
    }
    assert_eq!(fit.components().iter().map(|stats| stats.count).sum::<i64>(), 1800);
    assert!(fit.events().iter().all(|event| event.batch == 0 && event.kind == EventKind::Born));
}

#[test]
fn clusters_that_appear_and_vanish_are_born_and_gone() {
    let (mut fit, mut rng) = (fitted(1), stream_of(3));
    let with_new = [CENTRES[0], CENTRES[1], CENTRES[2], [40.0, 40.0]];
    for _ in 0..4 {
        fit = fit.update(&data(rows(&with_new, 400, &mut rng)), Some(Forget::Batches(3)), &mut ()).unwrap();
        assert!(fit.summary().ari_labels.unwrap() > 0.99);
    }
    assert_eq!(fit.n_clusters(), 4);
    let later: Vec<(u64, EventKind)> =
        fit.events().iter().filter(|event| event.batch > 0).map(|event| (event.batch, event.kind)).collect();
    assert_eq!(later, [(1, EventKind::Born), (3, EventKind::Gone)]);
    assert_eq!(fit.components().iter().map(|stats| stats.count).sum::<i64>(), 1200);
}

#[test]
fn a_half_life_takes_weight_from_what_is_old() {
    let (mut fit, mut rng) = (fitted(1), stream_of(4));
    for _ in 0..3 {
        let forget = Some(Forget::HalfLife(1.0));
        fit = fit.update(&data(rows(&CENTRES[..2], 400, &mut rng)), forget, &mut ()).unwrap();
    }
    // 800/8 + 400/4 + 400/2 + 400
    let n_rows: i64 = fit.components().iter().map(|stats| stats.count).sum();
    assert!((n_rows - 800).abs() <= 8, "{n_rows}");
    assert_eq!(fit.n_clusters(), 4);
}

#[test]
fn an_updated_run_is_loaded_as_it_was_saved() {
    let (folder, mut rng) = (tempfile::tempdir().unwrap(), stream_of(5));
    let batches: Vec<Data> = (0..3).map(|_| data(rows(&CENTRES, 200, &mut rng))).collect();
    let (mut in_memory, mut saved) = (fitted(1), fitted(1));
    for (ix, batch) in batches.iter().enumerate() {
        in_memory = in_memory.update(batch, Some(Forget::Batches(2)), &mut ()).unwrap();
        let path = folder.path().join(ix.to_string());
        saved.save(&path).unwrap();
        saved = Fitted::load(&path).unwrap().update(batch, Some(Forget::Batches(2)), &mut ()).unwrap();
    }
    assert_eq!(saved.labels(), in_memory.labels());
    assert_eq!(saved.components(), in_memory.components());
    assert_eq!(saved.cluster_ids(), in_memory.cluster_ids());
    assert_eq!(saved.events().len(), in_memory.events().len());
}

#[test]
fn models_of_parts_become_the_model_of_all_rows() {
    let mut all = options();
    (all.model.sigma, all.model.sigma0) = (Some(1.0), Some(10.0));
    let mut rng = stream_of(6);
    let parts: Vec<(Vec<f64>, Vec<u32>)> = (0..4).map(|_| rows(&CENTRES, 500, &mut rng)).collect();
    let models: Vec<Fitted> = parts.iter().map(|part| dirigent::fit(&data(part.clone()), &all).unwrap()).collect();
    let merged = Fitted::merge(&models).unwrap();
    assert_eq!(merged.n_components(), 4);
    let together = parts.into_iter().reduce(|mut all, part| {
        all.0.extend(part.0);
        all.1.extend(part.1);
        all
    });
    let together = data(together.unwrap());
    let joint = dirigent::fit(&together, &all).unwrap();
    assert_eq!(joint.predict(&together).unwrap().len(), 2000);
    let agreement = dirigent::internals::metrics::compare(&merged.predict(&together).unwrap(), joint.labels());
    assert!(agreement.ari > 0.999, "{agreement:?}");
    // a merged model is a model: it can be updated
    let updated = merged.update(&data(rows(&CENTRES, 100, &mut rng)), None, &mut ()).unwrap();
    assert_eq!((updated.n_clusters(), updated.labels().len()), (4, 100));
}

#[test]
fn models_of_other_columns_are_not_merged() {
    let wide = Data::from_cells(3, (0..300).map(f64::from).collect()).unwrap();
    let wide = dirigent::fit(&wide, &FitOptions::default()).unwrap();
    let error = Fitted::merge(&[fitted(1), wide]).unwrap_err();
    assert!(error.to_string().starts_with("model 2"), "{error}");
    assert!(error.hint().is_some());
}
