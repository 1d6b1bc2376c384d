//! Patterns against the official suite, public reports, a table of verdicts of ECMA-262, and each other: the three
//! machines must agree on what they share.

mod shared;

use serde_json::Value;
use toolhead_core::schema::pattern::{Pattern, StepLimitExceeded, check_syntax};

const STEP_LIMIT: usize = 1_000_000;

fn is_match(pattern: &str, text: &str) -> bool {
    let compiled =
        Pattern::compile(pattern, STEP_LIMIT).unwrap_or_else(|error| panic!("{pattern:?}: {error}"));
    compiled.is_match(text).unwrap_or_else(|error| panic!("{pattern:?} on {text:?}: {error}"))
}

/// What `pattern`, `patternProperties` and `additionalProperties: false` say of a value, the other keywords left out.
fn verdict(schema: &Value, instance: &Value) -> Option<bool> {
    if let (Some(pattern), Some(text)) = (schema["pattern"].as_str(), instance.as_str()) {
        return Some(is_match(pattern, text));
    }
    let (Some(patterns), Some(object)) = (schema["patternProperties"].as_object(), instance.as_object())
    else {
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
        let files = [
            "pattern.json",
            "patternProperties.json",
            "optional/ecmascript-regex.json",
            "optional/non-bmp-regex.json",
        ];
        for file in files {
            for (schema, test) in shared::cases(&shared::json(&suite.join(draft).join(file))) {
                for pattern in
                    schema["patternProperties"].as_object().into_iter().flat_map(|object| object.keys())
                {
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

#[test]
fn verdicts_of_ecma_262() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/patterns.json");
    let vectors = shared::json(&file);
    let texts = |texts: &Value| -> Vec<String> { serde_json::from_value(texts.clone()).unwrap() };
    let mut wrong = Vec::new();
    for case in ["accepted", "annex_b"].iter().flat_map(|kind| vectors[kind].as_array().unwrap()) {
        let pattern = case[0].as_str().unwrap();
        let compiled = match Pattern::compile(pattern, STEP_LIMIT) {
            Ok(compiled) => compiled,
            Err(error) => {
                wrong.push(format!("{pattern:?} is refused: {error}"));
                continue;
            }
        };
        for (expected, texts) in [(true, texts(&case[1])), (false, texts(&case[2]))] {
            for text in texts {
                let verdict = compiled.is_match(&text);
                if verdict != Ok(expected) {
                    wrong.push(format!("{pattern:?} on {text:?}: {verdict:?}"));
                }
            }
        }
    }
    for pattern in texts(&vectors["refused"]) {
        if Pattern::compile(&pattern, STEP_LIMIT).is_ok() || check_syntax(&pattern).is_ok() {
            wrong.push(format!("{pattern:?} is accepted"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn modifiers_of_es2025() {
    assert!(is_match("^(?i:straße|\\x4b)\\w$", "STRAßEa"));
    assert!(is_match("^(?i:[^k])$", "x"));
    assert!(!is_match("^(?i:[^k])$", "\u{212A}"));
    assert!(!is_match("^(?i:a)b$", "AB"));
    assert!(is_match("^(?s:.)(?-s:.)$", "\nx"));
    assert!(!is_match("^(?s:.)(?-s:.)$", "\n\n"));
    assert!(is_match("(?m:^b$)", "a\u{2028}b\rc"));
    assert!(!is_match("(?m:^b)$", "b\na"));
    for refused in ["(?-:a)", "(?ii:a)", "(?i-i:a)", "(?x:a)", "(?i-m-s:a)", "(a)(?i:\\1)"] {
        assert!(check_syntax(refused).is_err(), "{refused}");
    }
}

#[test]
fn errors_say_what_and_where() {
    let error = |pattern: &str| check_syntax(pattern).unwrap_err().to_string();
    assert_eq!(error("ab\\Z"), "an escape that ECMA-262 does not know at offset 2");
    assert_eq!(error("é(a"), "an unclosed '(' at offset 2");
    assert_eq!(error("x[a"), "an unclosed '[' at offset 1");
    assert_eq!(error("a)b"), "an unmatched ')' at offset 1");
    assert_eq!(error("(?P<n>x)"), "an unknown kind of group at offset 2");
    assert_eq!(Pattern::compile("(a?b){999999}", 1).unwrap_err().offset, None);
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
                for pattern in
                    object.get("patternProperties").and_then(Value::as_object).into_iter().flatten()
                {
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
                assert_eq!(
                    Pattern::compile(pattern, STEP_LIMIT).err(),
                    None,
                    "{pattern:?} of {}",
                    file.display()
                );
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
    for pattern in
        ["(a{1000}){1000}", "(\\p{L}{1000}){1000}", "((((a{100}){100}){100}){100}){100}", "(a?b){4294967295}"]
    {
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
    assert_eq!(
        Pattern::compile("(?:a?b?){9000}c", STEP_LIMIT).unwrap().is_match(&long),
        Err(StepLimitExceeded)
    );
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
