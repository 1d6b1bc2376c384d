//! Patterns against the official suite, public reports, a table of verdicts of ECMA-262, and each other: the three
//! machines must agree on what they share.

mod shared;

use serde_json::Value;
use toolhead_core::schema::pattern::{Pattern, StepLimitExceeded, check_syntax};

const STEP_LIMIT: usize = 1_000_000;

fn is_match(pattern: &str, text: &str) -> bool {
    let compiled = Pattern::compile(pattern, STEP_LIMIT).unwrap_or_else(|error| panic!("{pattern:?}: {error}"));
    compiled.is_match(text).unwrap_or_else(|error| panic!("{pattern:?} on {text:?}: {error}"))
}

/// What `pattern`, `patternProperties` and `additionalProperties: false` say of a value, the other keywords left out.
fn verdict(schema: &Value, instance: &Value) -> Option<bool> {
    if let (Some(pattern), Some(text)) = (schema["pattern"].as_str(), instance.as_str()) {
        return Some(is_match(pattern, text));
    }
    let (Some(patterns), Some(object)) = (schema["patternProperties"].as_object(), instance.as_object()) else {
        return None;
    };
    if schema["additionalProperties"] != false || patterns.values().any(|schema| *schema != true) {
        return None;
    }
    Some(object.keys().all(|key| patterns.keys().any(|pattern| is_match(pattern, key))))
}

#[test]
fn suite_of_every_draft() {
    let Some(suite) = shared::folder("corpora/test-suite/tests") else { return };
    let mut checked = 0;
    for draft in ["draft4", "draft6", "draft7", "draft2019-09", "draft2020-12", "v1"] {
        let files = ["pattern.json", "patternProperties.json", "optional/ecmascript-regex.json", "optional/non-bmp-regex.json"];
        for file in files {
            for (schema, test) in shared::cases(&shared::json(&suite.join(draft).join(file))) {
                for pattern in schema["patternProperties"].as_object().into_iter().flat_map(|object| object.keys()) {
                    assert_eq!(check_syntax(pattern), Ok(()), "{draft}/{file}: {pattern}");
                }
                if let Some(verdict) = verdict(schema, &test["data"]) {
                    assert_eq!(test["valid"], verdict, "{draft}/{file}: {} on {}", schema, test["data"]);
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 400, "only {checked} cases found");
}

#[test]
fn public_reports() {
    let Some(file) = shared::folder("cases/public-reports.jsonl") else { return };
    let mut checked = 0;
    for case in shared::json_lines(&file) {
        let Some(pattern) = case["schema"]["pattern"].as_str() else { continue };
        checked += 1;
        if case["kind"] == "compile_error" {
            assert!(Pattern::compile(pattern, STEP_LIMIT).is_err(), "{}", case["id"]);
        } else if let Some(verdict) = verdict(&case["schema"], &case["instance"]) {
            assert_eq!(case["valid"], verdict, "{}", case["id"]);
        }
    }
    assert!(checked > 8, "only {checked} cases found");
}

/// Every pattern in the schemas of the corpora compiles.
#[test]
fn published_schemas() {
    fn visit(schema: &Value, found: &mut dyn FnMut(&str)) {
        match schema {
            Value::Object(object) => {
                if let Some(pattern) = object.get("pattern").and_then(Value::as_str) {
                    found(pattern);
                }
                for pattern in object.get("patternProperties").and_then(Value::as_object).into_iter().flatten() {
                    found(pattern.0);
                }
                object.values().for_each(|value| visit(value, found));
            }
            Value::Array(items) => items.iter().for_each(|item| visit(item, found)),
            _ => {}
        }
    }
    let Some(corpora) = shared::folder("corpora/blaze-e2e") else { return };
    let mut checked = 0;
    for entry in std::fs::read_dir(corpora).unwrap() {
        let file = entry.unwrap().path().join("schema.json");
        if file.exists() {
            visit(&shared::json(&file), &mut |pattern| {
                checked += 1;
                assert_eq!(Pattern::compile(pattern, STEP_LIMIT).err(), None, "{pattern:?} of {}", file.display());
            });
        }
    }
    assert!(checked > 100, "only {checked} patterns found");
}

#[test]
fn hostile_patterns_are_answered_at_once() {
    let start = std::time::Instant::now();
    let text = format!("{}!", "a".repeat(40));
    assert!(!is_match("^(a+)+$", &text));
    assert!(!is_match("^(a|aa|a?)*$", &text));
    for pattern in ["(a{1000}){1000}", "(\\p{L}{1000}){1000}", "((((a{100}){100}){100}){100}){100}", "(a?b){4294967295}"] {
        assert!(Pattern::compile(pattern, STEP_LIMIT).is_err(), "{pattern}");
    }
    let deep = format!("{}a{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(Pattern::compile(&deep, STEP_LIMIT).is_err());
    for pattern in ["^(a+)+(?=b)$", "^(?=(a+)+b)", "(a*)*\\1b", "(?:){4294967295}(?=a)b", "(?<=(a+)+b)c"] {
        let compiled = Pattern::compile(pattern, STEP_LIMIT).unwrap();
        assert!(matches!(compiled.is_match(&text), Ok(false) | Err(StepLimitExceeded)), "{pattern}");
    }
    let long = "a".repeat(200_000);
    assert_eq!(Pattern::compile("(?=.*b)c", STEP_LIMIT).unwrap().is_match(&long), Err(StepLimitExceeded));
    assert_eq!(Pattern::compile("(?:a?b?){9000}c", STEP_LIMIT).unwrap().is_match(&long), Err(StepLimitExceeded));
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
}

#[test]
fn a_pattern_is_shared_between_threads() {
    let pattern = Pattern::compile("^(?:a|bc)+(?=d)", STEP_LIMIT).unwrap();
    let linear = Pattern::compile("(?:a|bc)+d", STEP_LIMIT).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                assert_eq!(pattern.is_match("abcad"), Ok(true));
                assert_eq!(linear.is_match("xbcd"), Ok(true));
            });
        }
    });
}
