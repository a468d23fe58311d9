use crate::place::Place;
use serde_json::Value;

const EVIL: &str = "<img src=x onerror=\"alert('1')\"></script><script>alert(1)</script>";

/// The data of every plot of a page, in order.
fn plots(page: &str) -> Vec<Value> {
    let parts = page.split("<script type=\"application/json\" id=\"plot-").skip(1);
    let json = |part: &str| part.split_once('>').unwrap().1.split("</script>").next().unwrap().to_owned();
    parts.map(|part| serde_json::from_str(&json(part)).unwrap()).collect()
}

/// The page without plotly, which is full of everything.
fn ours(page: &str) -> String {
    let (before, rest) = page.split_once("<script>/**").unwrap();
    before.to_owned() + rest.split_once("</script>").unwrap().1
}

/// What the page's script draws the map from.
fn map(page: &str) -> Value {
    let (_, rest) = page.split_once("<figure class=\"drawing map\">").unwrap();
    let (_, rest) = rest.split_once("<script type=\"application/json\">").unwrap();
    serde_json::from_str(rest.split("</script>").next().unwrap()).unwrap()
}

fn check_page(place: &Place, run: &str) -> String {
    let page = place.text(&format!("{run}/report.html"));
    assert!(page.len() < 5_000_000, "{run}: {}", page.len());
    let page = ours(&page);
    for part in
        ["<h2", "Summary", "Map", "Clusters", "How the run went", "Certainty", "Repeat the run", "id=\"cluster-0\""]
    {
        assert!(page.contains(part), "{run}: no {part:?}");
    }
    assert!(!page.contains("alert(1)</script>") && !page.contains("<img"), "{run}");
    assert!(!page.contains("NaN") && !page.contains("inf "), "{run}");
    assert!(plots(&page).len() >= 3, "{run}");
    page
}

#[test]
fn a_fit_ends_with_its_report() {
    let place = Place::with_two_clusters();
    let ended = place.ok("fit two.csv --label-column class --out run");
    assert_eq!(ended.stdout.lines().last(), Some("report      run/report.html"));
    let page = check_page(&place, "run");
    for part in [
        "2 clusters found in 60 rows of two (2 columns)",
        "dirigent fit two.csv --label-column class --out run",
        "VI 0 nats",
    ] {
        assert!(page.contains(part), "no {part:?}");
    }
    let map = map(&page);
    assert_eq!((&map["axes"][0], map["x"].as_array().unwrap().len()), (&"x".into(), 60));
    assert!(page.contains("Clusters and known classes") && page.contains("100 % of the rows are in the most frequent"));
    let again = place.ok("report run").stdout;
    assert_eq!((again.trim(), ours(&place.text("run/report.html"))), ("run/report.html", page));
    let json: Value =
        serde_json::from_str(&place.ok("fit two.csv --exclude class --out run --force --json").stdout).unwrap();
    assert_eq!(json["report"], "run/report.html");
    let json = place.ok("fit two.csv --exclude class --out run --force --no-report --json").stdout;
    assert!(json.contains("\"report\":null") && !place.path("run/report.html").exists());
}

#[test]
fn the_sample_depends_on_the_seed_alone() {
    let place = Place::with_two_clusters();
    let sample = |options: &str| {
        place.ok(&format!(
            "fit two.csv --exclude class --cycles 2 --sample-rows 10 --no-report --out run --force {options}"
        ));
        place.read("run/sample.npz")
    };
    let first = sample("");
    assert_eq!(first, sample("--workers 3 --threads 1"));
    assert_ne!(first, sample("--seed 1"));
    place.ok("fit two.csv --exclude class --sample-rows 0 --out none");
    assert_eq!(map(&place.text("none/report.html"))["x"].as_array().unwrap().len(), 0);
}

#[test]
fn every_family_has_its_page() {
    let place = Place::with_two_clusters();
    let mut numbers = String::from("a,b,c\n");
    let (mut bits, mut counts) = (numbers.clone(), numbers.clone());
    for row in 0..90u32 {
        let (side, wobble) = (row % 2, row * 7 % 11);
        numbers += &format!(
            "{}.{wobble},{}.{wobble},{}\n",
            side * 20,
            20 - side * 20,
            if row % 9 == 4 { String::new() } else { wobble.to_string() }
        );
        bits += &format!("{side},{side},{}\n", u32::from(wobble > 5));
        counts += &format!("{},{},{}\n", 1 + side * 30, 31 - side * 30, wobble);
    }
    let levels: String =
        (0..90).map(|row| format!("{},{}\n", ["red", "blue"][row % 2], ["up", "down"][row % 2])).collect();
    for (name, table) in [("numbers.csv", numbers), ("bits.csv", bits), ("counts.csv", counts)] {
        place.write(name, table);
    }
    place.write("levels.csv", format!("colour,way\n{levels}"));
    for (options, part) in [
        ("two.csv --exclude class --covariance isotropic", "covariance isotropic"),
        ("two.csv --exclude class --covariance full", "covariance full"),
        ("two.csv --exclude class --covariance full --standardize", "covariance full"),
        ("numbers.csv --covariance diag", "± "),
        ("two.csv --columns x", "the height only keeps dots apart"),
        ("bits.csv --family bernoulli", "%"),
        ("counts.csv --family poisson", "poisson"),
        ("counts.csv --family multinomial", "Distinctive words"),
        ("levels.csv --family categorical", "colour = red"),
        ("numbers.csv --family mixed", "mixed"),
        ("counts.csv --family vmf --normalize", "vmf"),
        ("counts.csv --covariance diag --pca 2", "pc1"),
        ("two.csv --exclude class --point last", "Repeat the run"),
        ("two.csv --exclude class --draws 5 --point vi", "mean certainty"),
    ] {
        place.ok(&format!("fit {options} --cycles 5 --out run --force"));
        let page = check_page(&place, "run");
        assert!(page.contains(part), "{options}: no {part:?}");
    }
}

#[test]
fn names_from_the_data_are_never_markup() {
    let place = Place::new();
    let cell = EVIL.replace('"', "\"\"");
    let rows: String =
        (0..60).map(|row| format!("{}.{},\"{}\"\n", row % 2 * 9, row % 7, ["plain", &cell][row % 2])).collect();
    place.write("evil.csv", format!("\"{cell}\",\"a & 'b' <i>\"\n{rows}"));
    place.ok("fit evil.csv --out run");
    let page = check_page(&place, "run");
    assert!(page.contains("&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;"));
    place.ok("synth nyt --rows 200 --clusters 4 --out made");
    let vocabulary = place.text("made/vocab.txt");
    place.write("vocab.txt", format!("{EVIL}\n{}", vocabulary.split_once('\n').unwrap().1));
    place.ok("fit made/docword.txt.gz --vocab vocab.txt --cycles 5 --out text");
    check_page(&place, "text");
    let names = &place.json("text/model.json")["columns"]["names"];
    assert_eq!((&names[0], names.as_array().unwrap().len()), (&EVIL.into(), vocabulary.lines().count()));
    place.ok("predict text made/docword.txt.gz --out predicted.csv");
    place.check_predicted("predicted.csv", "text");
}

#[test]
fn thousands_of_clusters_make_a_page_that_can_be_used() {
    let place = Place::new();
    place.ok("synth synthetic --rows 3000 --out made");
    place.ok(
        "fit made/data.npy --covariance isotropic --prior sigma=0.0001 --alpha 1000 --cycles 1 --method cgs --out run",
    );
    let page = check_page(&place, "run");
    let k = place.json("run/run.json")["summary"]["k"].as_u64().unwrap();
    assert!(k > 1000 && page.contains("Cards of the 50 largest"), "{k}");
    // those of the clusters, and of the cuts into 1 to 50
    let (shown, others) = page.split_once("<div class=\"other-cards\" hidden>").unwrap();
    assert_eq!(shown.matches("<article").count(), 50);
    assert!(others.matches("<article").count() <= 99);
    assert!(page.contains("The last 100 of "));
}

/// What the page's script knows of cuts.
fn cuts(page: &str) -> Value {
    let (_, rest) = page.split_once("<script type=\"application/json\" id=\"cuts\">").unwrap();
    serde_json::from_str(rest.split("</script>").next().unwrap()).unwrap()
}

#[test]
fn the_page_shows_the_clusters_that_labels_are() {
    let place = Place::new();
    place.ok("synth synthetic --rows 2000 --clusters 12 --out made");
    place.ok("fit made/data.npy --clusters 4 --out run");
    let page = check_page(&place, "run");
    let k = place.json("run/run.json")["summary"]["k"].as_u64().unwrap();
    assert!(k > 4 && page.contains(&format!("4 clusters of {k} components found in 2,000 rows")), "{k}");
    assert!(page.contains(&format!("<dd class=\"value\">4</dd><dd class=\"note\">of {k} components")));
    let (shown, _) = page.split_once("<div class=\"other-cards\" hidden>").unwrap();
    assert_eq!(shown.matches("<article").count(), 4);
    let labels = place.integers("run/labels.npy");
    for (cluster, card) in shown.split("<article").skip(1).enumerate() {
        assert!(card.contains(&format!("id=\"cluster-{cluster}\"")) && card.contains("rows ("));
    }
    assert!(shown.contains(", components "));
    // rows of the sample have the labels of the run
    let map = map(&page);
    let number = |name: &str, ix: usize| map[name][ix].as_u64().unwrap();
    for ix in 0..map["row"].as_array().unwrap().len() {
        assert_eq!(number("cluster", ix), labels[number("row", ix) as usize] as u64);
    }
    // the cut of the run is among those of the slider
    let cuts = cuts(&page);
    assert_eq!((&cuts["n_clusters"], cuts["cuts"].as_array().unwrap().len() as u64), (&4.into(), k.min(50)));
    let groups: Vec<u64> = cuts["cuts"][3]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| cuts["group"][node.as_u64().unwrap() as usize].as_u64().unwrap())
        .collect();
    assert_eq!(groups, [0, 1, 2, 3]);
    assert!(page.contains("Tree over the components") && page.contains("type=\"range\""));
    // a run without a tree has the clusters of its labels alone
    std::fs::remove_file(place.path("run/tree.json")).unwrap();
    place.ok("report run");
    let page = ours(&place.text("run/report.html"));
    assert!(page.contains("4 clusters found in") && !page.contains("type=\"range\""));
}

#[test]
fn a_slider_costs_little() {
    let place = Place::new();
    place.ok("synth synthetic --rows 2000 --clusters 50 --out made");
    place.ok("fit made/data.npy --draws 3 --out run");
    let with = place.text("run/report.html").len();
    assert!(check_page(&place, "run").contains("The support of a merge"));
    std::fs::remove_file(place.path("run/tree.json")).unwrap();
    place.ok("report run");
    let without = place.text("run/report.html").len();
    assert!(with < without + 300_000, "{with} and {without}");
}

#[test]
fn runs_are_compared_on_one_page() {
    let place = Place::with_two_clusters();
    place.ok("fit two.csv --label-column class --draws 5 --chains 2 --out one");
    let page = check_page(&place, "one");
    for part in ["Draws and chains", "Posterior of K", "R-hat", "How each chain ended", "chain 2"] {
        assert!(page.contains(part), "no {part:?}");
    }
    place.ok("fit two.csv --label-column class --workers 3 --out two");
    assert!(check_page(&place, "two").contains("3 workers sent and received"));
    place.ok("report one two --out both.html");
    let page = ours(&place.text("both.html"));
    assert!(page.contains("one, chain 1") && page.contains("2 runs of two, side by side"));
    place.refused("report one two", &["--out"]);
    place.refused("report one two --out one", &["is a folder"]);
    place.refused("report nowhere", &["nowhere", "run.json"]);
    place.refused("report .", &["run.json", "dirigent fit"]);
}

#[test]
fn a_run_that_was_killed_has_a_page_of_what_there_is() {
    let place = Place::with_two_clusters();
    place.ok("fit two.csv --exclude class --out run --no-report");
    let mut record = place.json("run/run.json");
    (record["status"], record["summary"]) = ("running".into(), Value::Null);
    place.write("run/run.json", record.to_string());
    place.ok("report run");
    let page = ours(&place.text("run/report.html"));
    assert!(page.contains("A running fit of 60 rows") && page.contains("Log-joint") && !page.contains(">Map<"));
    // what a file claims is not believed
    record["status"] = "finished".into();
    place.write("run/run.json", record.to_string());
    place.write("run/sample.npz", "damaged");
    place.refused("report run", &["sample.npz"]);
}

#[test]
fn clusters_can_be_named_and_their_profiles_written() {
    let place = Place::with_two_clusters();
    place.ok("fit two.csv --exclude class --out run");
    place.write("names.csv", format!("cluster,name\n1,\"{}\"\n", "<b>far</b>, away"));
    place.ok("report run --names names.csv --profiles profiles.csv");
    let page = check_page(&place, "run");
    assert!(page.contains("Cluster 1: &lt;b&gt;far&lt;/b&gt;, away") && !page.contains("<b>far"));
    let profiles = place.text("profiles.csv");
    assert!(profiles.starts_with("cluster,name,size,share,certainty,x,y\n0,,30,0.5"), "{profiles}");
    // later pages have the names too
    place.ok("report run");
    assert!(place.text("run/report.html").contains("Cluster 1: &lt;b&gt;far"));
    place.write("names.csv", "7,nothing\n");
    place.refused("report run --names names.csv", &["names.csv", "line 1", "no cluster 7"]);
}

#[test]
fn the_page_shows_labels_that_are_no_groups_of_components() {
    let place = Place::new();
    place.ok("synth synthetic --rows 1500 --clusters 20 --out made");
    place.ok("fit made/data.npy --draws 10 --point vi --out run");
    let page = check_page(&place, "run");
    let (map, labels) = (map(&page), place.integers("run/labels.npy"));
    assert!(page.contains("The labels are those of --point vi"));
    for (row, cluster) in map["row"].as_array().unwrap().iter().zip(map["cluster"].as_array().unwrap()) {
        assert_eq!(cluster.as_u64().unwrap(), labels[row.as_u64().unwrap() as usize] as u64);
    }
}

#[test]
fn a_vocabulary_must_fit_its_counts() {
    let place = Place::with_two_clusters();
    place.write("words.txt", "a\nb\n");
    place.refused("fit two.csv --exclude class --vocab words.txt", &["--vocab", "not word counts"]);
    place.write("docword.txt", "2\n3\n3\n1 1 2\n1 2 1\n2 3 4\n");
    place.refused("fit docword.txt --vocab words.txt", &["words.txt", "2 words", "3 columns"]);
    place.refused("fit docword.txt --vocab none.txt", &["none.txt"]);
}
