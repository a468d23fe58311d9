//! Colours of clusters and of lines, that differ on light and on dark paper.

/// The first ones, chosen by eye; all have about the same lightness.
const FIRST: [&str; 12] = [
    "#3b82c4", "#e07b39", "#3f9c5a", "#c9476b", "#8a6fd1", "#a3762f", "#2aa3a3", "#d65fb0", "#7f9c2f", "#5b74e0",
    "#d1584a", "#4c8f86",
];

/// The colour of a cluster or a line, by its number.
pub(crate) fn colour(ix: usize) -> String {
    match FIRST.get(ix) {
        Some(first) => (*first).to_owned(),
        // hues a golden angle apart never come near one another for long
        None => {
            hue((ix - FIRST.len()) as f64 * 137.507_764 % 360.0, [0.62, 0.45, 0.55][ix % 3], [0.52, 0.6, 0.44][ix % 3])
        }
    }
}

/// A colour of hue (degrees), saturation and lightness.
fn hue(degrees: f64, saturation: f64, lightness: f64) -> String {
    let reach = saturation * lightness.min(1.0 - lightness);
    let part = |shift: f64| {
        let k = (shift + degrees / 30.0) % 12.0;
        let level = lightness - reach * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0);
        (255.0 * level).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", part(0.0), part(8.0), part(4.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_thousand_colours_are_a_thousand() {
        assert_eq!(hue(0.0, 1.0, 0.5), "#ff0000");
        assert_eq!(hue(240.0, 1.0, 0.5), "#0000ff");
        let colours: HashSet<String> = (0..1000).map(colour).collect();
        assert!(colours.len() > 950 && colours.iter().all(|colour| colour.len() == 7), "{}", colours.len());
    }
}
