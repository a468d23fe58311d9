use crate::place::Place;

#[test]
fn shells_are_told_the_options() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = place.ok(&format!("completions {shell}")).stdout;
        assert!(script.contains("explain-prior") && script.contains("report"), "{shell}");
    }
    place.refused("completions dos", &["dos", "bash"]);
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let place = Place::new();
    assert!(place.ok("man").stdout.contains(".TH dirigent 1"));
    place.ok("man --out pages");
    let help = place.ok("--help").stdout;
    for command in ["fit", "predict", "cut", "eval", "draws", "synth", "report", "info", "demo", "completions", "man"] {
        assert!(help.contains(&format!("\n  {command} ")), "{command}");
        assert!(place.text(&format!("pages/dirigent-{command}.1")).contains("Example"), "{command}");
    }
    assert!(help.contains("Exit code 0") && help.contains("Examples:"));
}

#[test]
fn watching_needs_an_address_and_a_voice() {
    let place = Place::with_two_clusters();
    place.refused("fit two.csv --watch=nowhere", &["--watch", "nowhere", "127.0.0.1"]);
    place.refused("fit two.csv --watch --quiet", &["--quiet"]);
    assert!(!place.path("runs").exists(), "what is refused leaves no run folder");
    // nobody looks: the run does not wait
    let ended = place.ok("fit two.csv --exclude class --watch --out run");
    let url = ended.stderr.lines().find_map(|line| line.strip_prefix("watch: http:")).unwrap();
    let (address, token) = url.trim_matches('/').split_once('/').unwrap();
    assert!(address.starts_with("127.0.0.1:") && token.len() == 32, "{url}");
    assert!(std::net::TcpStream::connect(address).is_err(), "the page ends with the run");
}
