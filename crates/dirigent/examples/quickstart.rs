//! Fits a table, cuts the tree, predicts, saves: `cargo run --release --example quickstart -- points.csv`.

use dirigent::{Data, FitOptions, Fitted};

fn main() -> dirigent::Result<()> {
    let data = match std::env::args().nth(1) {
        Some(path) => Data::read(path)?,
        None => three_clusters()?,
    };
    let fitted = dirigent::fit(&data, &FitOptions::default())?;
    let (n_clusters, n_components) = (fitted.layer().n_clusters(), fitted.n_components());
    show(&format!("{n_clusters} clusters of {n_components} components"));

    let coarse = fitted.cut(2.min(n_components))?;
    show(&format!("rows of each cluster at a coarser cut: {:?}", coarse.sizes()));

    let folder = std::env::temp_dir().join(format!("dirigent-quickstart-{}", std::process::id()));
    fitted.save(&folder)?;
    let again = Fitted::load(&folder)?;
    assert_eq!(again.predict(&data)?, fitted.predict(&data)?);
    std::fs::remove_dir_all(&folder).expect("the folder was just written");
    Ok(())
}

/// 300 points about three centres, on a fixed pattern.
fn three_clusters() -> dirigent::Result<Data> {
    let centres = [[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]];
    let point = |ix: u32| {
        let [x, y] = centres[ix as usize % 3];
        [x + f64::from(ix % 13) / 13.0, y + f64::from(ix % 17) / 17.0]
    };
    Data::from_cells(2, (0..300).flat_map(point).collect())
}

#[expect(clippy::print_stdout, reason = "an example shows what it found")]
fn show(text: &str) {
    println!("{text}");
}
