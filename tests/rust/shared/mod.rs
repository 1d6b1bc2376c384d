//! Reads the data that several tests share: the official suite and the cases from public reports.
#![allow(dead_code, reason = "each test binary uses its part")]
#![expect(clippy::unwrap_used, reason = "a fault in the data fails the test")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A file or folder of the shared data, or `None`, loudly, where it is not on this machine.
pub(crate) fn folder(path: &str) -> Option<PathBuf> {
    let root = std::env::var_os("TOOLHEAD_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let found = root.join(path);
    if !found.exists() {
        say(&format!("SKIPPED: {} is not there; set TOOLHEAD_SHARED", found.display()));
        return None;
    }
    Some(found)
}

#[expect(clippy::print_stderr, reason = "a test that did not run must be seen")]
fn say(message: &str) {
    eprintln!("{message}");
}

/// The JSON document in a file.
pub(crate) fn json(file: &Path) -> Value {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The JSON documents of a folder, by file name.
pub(crate) fn json_files(folder: &Path) -> Vec<(String, Value)> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    files.iter().map(|file| (file.file_name().unwrap().to_string_lossy().into_owned(), json(file))).collect()
}

/// The JSON documents of a file, one a line.
pub(crate) fn json_lines(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The tests of a file of the suite, each with its schema.
pub(crate) fn cases(groups: &Value) -> Vec<(&Value, &Value)> {
    let groups = groups.as_array().unwrap();
    groups
        .iter()
        .flat_map(|group| group["tests"].as_array().unwrap().iter().map(move |test| (&group["schema"], test)))
        .collect()
}
