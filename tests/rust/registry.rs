//! A keyword or format is one file and one row: no file without a row, no row without a file, no name twice.
#![expect(clippy::unwrap_used, reason = "a file that cannot be read fails the test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src").join(name)
}

/// The modules that have a file in a folder, without its `mod.rs`.
fn files(name: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder(name)).unwrap().map(|entry| entry.unwrap().path());
    let stems = entries.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    stems.filter(|stem| stem != "mod").collect()
}

/// The lines of a registry that are rows: those that call into a module (`module::function`).
fn rows(name: &str) -> Vec<String> {
    let registry = fs::read_to_string(folder(name).join("mod.rs")).unwrap();
    let lines = registry.lines().map(str::trim);
    lines
        .filter(|line| line.contains('"') && line.contains("::") && !line.starts_with("//"))
        .map(str::to_owned)
        .collect()
}

/// The first quoted text of a row: the name in a schema.
fn quoted(row: &str) -> &str {
    row.split('"').nth(1).unwrap()
}

#[test]
fn every_keyword_file_has_a_row() {
    let rows = rows("keywords").join("\n");
    for file in files("keywords") {
        assert!(rows.contains(&format!(" {file}::")), "keywords/{file}.rs has no row in keywords/mod.rs");
    }
}

#[test]
fn every_format_file_has_a_row_or_a_user() {
    let registry = fs::read_to_string(folder("formats").join("mod.rs")).unwrap();
    for file in files("formats") {
        let named = registry.contains(&format!(" {file}::"));
        // A file may hold what the others share.
        let used = files("formats").iter().any(|other| {
            let text = fs::read_to_string(folder("formats").join(format!("{other}.rs"))).unwrap_or_default();
            other != &file && text.contains(&format!("{file}::"))
        });
        let public = registry.contains(&format!("pub mod {file};"));
        assert!(named || used || public, "formats/{file}.rs has no row in formats/mod.rs and nobody uses it");
    }
}

#[test]
fn no_name_stands_twice() {
    for registry in ["keywords", "formats"] {
        let rows = rows(registry);
        assert!(rows.len() > 10, "{registry}: the rows are found");
        let mut names = BTreeSet::new();
        for row in &rows {
            assert!(names.insert(quoted(row)), "{registry}: {} stands twice", quoted(row));
        }
    }
}
