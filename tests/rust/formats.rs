//! Every format against the official JSON Schema test suite, of every draft, with the format asserted.
//!
//! The suite is read from `corpora/test-suite` in the folder that `TOOLHEAD_SHARED` names, `../shared` beside the
//! repository otherwise; without it the tests say so and pass.

mod shared;

use serde_json::Value;
use toolhead_core::formats::{self, content};
use toolhead_core::schema::dialect::{Dialect, Draft};

const DRAFTS: [&str; 6] = ["draft4", "draft6", "draft7", "draft2019-09", "draft2020-12", "v1"];

#[test]
fn suite_of_every_draft() {
    let Some(suite) = shared::folder("corpora/test-suite/tests") else { return };
    let mut checked = 0;
    let mut wrong = Vec::new();
    for draft in DRAFTS {
        let dialect = Dialect::named(draft).expect("a draft's name");
        let folder = if draft == "v1" { "format" } else { "optional/format" };
        for (file, groups) in shared::json_files(&suite.join(draft).join(folder)) {
            for (schema, test) in shared::cases(&groups) {
                let (Some(name), Some(text)) = (schema["format"].as_str(), test["data"].as_str()) else {
                    continue;
                };
                let is_valid =
                    formats::lookup(name, dialect.draft).is_none_or(|format| format.is_valid(text));
                checked += 1;
                if test["valid"] != is_valid {
                    wrong.push(format!("{draft}/{file}: {text:?} ({})", test["description"]));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {checked}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(checked > 2_000, "only {checked} cases found");
}

#[test]
fn public_reports() {
    let Some(file) = shared::folder("cases/public-reports.jsonl") else { return };
    let mut checked = 0;
    for case in shared::json_lines(&file) {
        let (Some(name), Some(text)) = (case["schema"]["format"].as_str(), case["instance"].as_str()) else {
            continue;
        };
        let format = formats::lookup(name, Draft::D2020).unwrap_or_else(|| panic!("{name} is not a format"));
        assert_eq!(case["valid"], format.is_valid(text), "{}", case["id"]);
        checked += 1;
    }
    assert!(checked > 10, "only {checked} cases found");
}

#[test]
fn content_of_draft_7() {
    let Some(suite) = shared::folder("corpora/test-suite/tests") else { return };
    let file = suite.join("draft7/optional/content.json");
    for (schema, test) in shared::cases(&shared::json(&file)) {
        let Some(text) = test["data"].as_str() else { continue };
        let is_valid = content::is_valid(
            text,
            schema["contentEncoding"].as_str(),
            schema["contentMediaType"].as_str(),
            |text| serde_json::from_slice::<Value>(text).is_ok(),
        );
        assert_eq!(test["valid"], is_valid, "{text:?} in {schema}");
    }
}

/// A verdict for every string: prefixes, doubled and spliced texts of all formats through all formats.
#[test]
fn no_text_makes_a_format_panic() {
    let seeds = [
        "2024-02-29T23:59:60.5+01:00",
        "P1Y2M3DT4H5M6S",
        "\"a b\\\"\"@[IPv6:::ffff:1.2.3.4]",
        "실례.xn--9t4b11yi5a。테스트",
        "http://u:p@[v1.a]:80/%41/é?q#f",
        "{+a.b*,c:12}%41{",
        "0#/~0~1~",
        "(?<n>\\k<n>[\\w-]{2,}?)\\u{1F600}\\p{L}",
        "2eb8aa08-aa98-11ea-b4aa-73b441d16380",
    ];
    let names = [
        "date",
        "date-time",
        "duration",
        "email",
        "hostname",
        "idn-email",
        "idn-hostname",
        "ipv4",
        "ipv6",
        "iri",
        "iri-reference",
        "json-pointer",
        "regex",
        "relative-json-pointer",
        "time",
        "uri",
        "uri-reference",
        "uri-template",
        "uuid",
    ];
    for name in names {
        let format = formats::lookup(name, Draft::D2020).unwrap_or_else(|| panic!("{name} is not a format"));
        assert_eq!(format.name(), name);
        for left in seeds {
            for (at, _) in left.char_indices() {
                for right in seeds {
                    for text in [&left[..at], &left[at..], &format!("{}{right}", &left[..at])] {
                        // The same verdict twice: formats keep nothing between calls.
                        assert_eq!(format.is_valid(text), format.is_valid(text), "{name}: {text:?}");
                    }
                }
            }
        }
    }
}
