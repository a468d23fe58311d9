//! What the page's script needs to show any cut of the tree: `assets/page.js` reads it.

use serde_json::{Value, json};

use super::cards::nearest;
use super::colours::colour;
use super::features::Features;
use super::groups::Groups;
use super::names::Names;
use super::one::OPEN_CARDS;
use super::page::Slider;
use super::sample::Sample;

/// Clusters whose branches in the tree have a colour of their own.
const MOST_COLOURS: usize = 300;

/// The slider; nothing where there is nothing to cut. `marks` tell in a line what sets each group apart.
pub(crate) fn slider(
    groups: &Groups,
    features: &Features,
    marks: &[String],
    names: &Names,
    sample: Option<&Sample>,
) -> Option<Slider> {
    let most = groups.most_clusters();
    let data = || data(groups, features, marks, names, sample);
    (most > 1).then(|| Slider { n_clusters: groups.n_clusters(), most, data: data() })
}

fn data(groups: &Groups, features: &Features, marks: &[String], names: &Names, sample: Option<&Sample>) -> Value {
    let (nodes, most) = (&groups.nodes, groups.most_clusters());
    let n_colours = groups.n_clusters().min(MOST_COLOURS).max(most);
    let mut data = json!({
        "n_clusters": groups.n_clusters(), "n_rows": groups.n_rows(), "open_cards": OPEN_CARDS,
        "colours": (0..n_colours).map(colour).collect::<Vec<_>>(),
        // of each node
        "parent": nodes.iter().map(|node| node.parent).collect::<Vec<_>>(),
        "first": nodes.iter().map(|node| node.cuts[0]).collect::<Vec<_>>(),
        "last": nodes.iter().map(|node| node.cuts[1]).collect::<Vec<_>>(),
        "rows": nodes.iter().map(|node| groups.rows(node.group)).collect::<Vec<_>>(),
        "cluster": nodes.iter().map(|node| node.cluster).collect::<Vec<_>>(),
        "group": nodes.iter().map(|node| node.group).collect::<Vec<_>>(),
        // of each cut the nodes by the numbers of the clusters, and of each of these the numbers of its nearest ones
        "cuts": (1..=most).map(|k| groups.cut_into(k)).collect::<Vec<_>>(),
        "nearest": nearest_of_cuts(groups, features),
    });
    let mark = |place: usize| (place.to_string(), Value::from(marks[nodes[place].group].as_str()));
    data["marks"] = Value::Object(groups.cut_nodes().into_iter().map(mark).collect());
    data["names"] = json!(names.list());
    if let Some(sample) = sample {
        let certainty = |mean: Option<f64>| mean.map(|mean| (10.0 * mean).round() / 10.0);
        data["certainty"] = sample.certainty_of_nodes(groups).into_iter().map(certainty).collect();
    }
    data
}

fn nearest_of_cuts(groups: &Groups, features: &Features) -> Vec<Vec<Vec<usize>>> {
    let points = features.points();
    let of_cut = |n_clusters: usize| {
        let among: Vec<usize> =
            groups.cut_into(n_clusters).into_iter().map(|place| groups.nodes[place].group).collect();
        let number = |group: usize| among.iter().position(|&other| other == group).expect("it is one of them");
        among.iter().map(|&group| nearest(&points, &among, group).into_iter().map(number).collect()).collect()
    };
    (1..=groups.most_clusters()).map(of_cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::groups::tests::{groups_of, run_of_heaps};
    use dirigent::Clusters;

    #[test]
    fn the_script_gets_every_cut_with_its_nearest_clusters() {
        let groups = groups_of(&run_of_heaps(7, Clusters::Number(3)));
        let marks = vec![String::new(); groups.fitted.components.len()];
        let slider = slider(&groups, &Features::of(&groups), &marks, &Names::default(), None).unwrap();
        assert_eq!((slider.n_clusters, slider.most), (3, groups.n_components()));
        let list = |name: &str| slider.data[name].as_array().unwrap().clone();
        for (cut, nearest) in list("cuts").iter().zip(list("nearest")) {
            let k = cut.as_array().unwrap().len();
            let rows: u64 = cut
                .as_array()
                .unwrap()
                .iter()
                .map(|place| list("rows")[place.as_u64().unwrap() as usize].as_u64().unwrap())
                .sum();
            assert_eq!(rows, groups.n_rows());
            for (number, nearest) in nearest.as_array().unwrap().iter().enumerate() {
                let others: Vec<usize> =
                    nearest.as_array().unwrap().iter().map(|other| other.as_u64().unwrap() as usize).collect();
                assert!(others.len() == 3.min(k - 1) && others.iter().all(|&other| other < k && other != number));
            }
        }
        assert_eq!(list("cuts").len(), groups.most_clusters());
        // heaps on a line: the middle one of three is nearest to both others
        let middle = list("nearest")[2]
            .as_array()
            .unwrap()
            .iter()
            .map(|nearest| nearest[0].as_u64().unwrap())
            .collect::<Vec<_>>();
        assert!((0..3).any(|cluster| middle.iter().filter(|&&first| first == cluster).count() == 2), "{middle:?}");
    }
}
