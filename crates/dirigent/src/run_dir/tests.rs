use super::*;

fn hint_of<T: std::fmt::Debug>(result: Result<T>) -> String {
    match result.unwrap_err() {
        Error::Input(error) => error.hint.expect("a way out"),
        other => panic!("the user's mistake expected, got {other}"),
    }
}

#[test]
fn numbered_folders_take_the_first_free_number() {
    let folder = tempfile::tempdir().unwrap();
    let next = || RunDir::create_next(folder.path(), "iris").unwrap().path().to_path_buf();
    assert_eq!(next(), folder.path().join("iris-1"));
    assert_eq!(next(), folder.path().join("iris-2"));
    fs::remove_dir(folder.path().join("iris-1")).unwrap();
    assert_eq!(next(), folder.path().join("iris-1"));
    assert_eq!(next(), folder.path().join("iris-3"));
}

#[test]
fn folder_names_are_safe() {
    assert_eq!(folder_name("a b/c"), "a-b-c");
    assert_eq!(folder_name("../.."), "data");
    assert_eq!(folder_name(""), "data");
}

#[test]
fn a_used_folder_needs_force() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("run.json"), "{}").unwrap();
    assert!(hint_of(RunDir::create(folder.path(), false)).contains("`force`"));
    RunDir::create(folder.path(), true).unwrap();
}

#[test]
fn force_removes_our_files_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    for file in FILES.iter().chain(&["notes.txt", "draws.npy.partial"]) {
        fs::write(folder.path().join(file), "old").unwrap();
    }
    RunDir::create(folder.path(), true).unwrap();
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["notes.txt"]);
}

#[test]
fn force_spares_the_labels_of_a_folder_that_is_no_run() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("labels.npy"), "the truth").unwrap();
    assert!(hint_of(RunDir::create(folder.path(), true)).contains("`out`"));
    assert_eq!(fs::read(folder.path().join("labels.npy")).unwrap(), b"the truth");
}

#[test]
fn a_file_is_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "").unwrap();
    assert!(hint_of(RunDir::create(&path, true)).contains("`out`"));
}

#[test]
fn labels_agree_in_all_their_files() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunDir::create(&folder.path().join("run"), false).unwrap();
    run.write_labels(&[0, 2, 1], &[1.0, 0.5, 0.25]).unwrap();
    let text = fs::read_to_string(run.path().join("labels.csv")).unwrap();
    assert_eq!(text, "row,label,certainty\n0,0,1\n1,2,0.5\n2,1,0.25\n");
    let bytes = fs::read(run.path().join("labels.npy")).unwrap();
    assert_eq!(npyz::NpyFile::new(&bytes[..]).unwrap().into_vec::<i32>().unwrap(), [0, 2, 1]);
    let bytes = fs::read(run.path().join("certainty.npy")).unwrap();
    assert_eq!(npyz::NpyFile::new(&bytes[..]).unwrap().into_vec::<f32>().unwrap(), [1.0, 0.5, 0.25]);
}
