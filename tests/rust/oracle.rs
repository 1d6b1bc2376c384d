//! The drivers against each other and against the `jsonschema` crate, over generated schemas and instances.
//!
//! `TOOLHEAD_CASES` sets how many schemas are tried (default 1000); each meets several instances.

#[path = "shared/host.rs"]
mod host;
#[path = "shared/schemas.rs"]
mod schemas;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value as Json;

use schemas::{Dialect, dialects, document, instances};

fn cases() -> ProptestConfig {
    let cases = std::env::var("TOOLHEAD_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(1000);
    ProptestConfig { cases, max_shrink_iters: 20_000, failure_persistence: None, ..ProptestConfig::default() }
}

fn peer(schema: &Json, dialect: Dialect, formats: bool) -> jsonschema::Validator {
    let draft = match dialect {
        Dialect::Draft4 => jsonschema::Draft::Draft4,
        Dialect::Draft6 => jsonschema::Draft::Draft6,
        Dialect::Draft7 => jsonschema::Draft::Draft7,
        Dialect::Draft2019 => jsonschema::Draft::Draft201909,
        Dialect::Draft2020 => jsonschema::Draft::Draft202012,
    };
    jsonschema::options()
        .with_draft(draft)
        .should_validate_formats(formats)
        .build(schema)
        .unwrap_or_else(|error| panic!("the peer refuses a schema that is well formed: {error}: {schema}"))
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn drivers_agree_with_each_other_and_with_the_peer(
        (dialect, schema) in dialects().prop_flat_map(|dialect| (Just(dialect), document(dialect))),
        formats in any::<bool>(),
        instances in vec(instances(), 6),
    ) {
        // 2019-09 Core 9.3.1.3: unevaluatedItems looks at items and additionalItems, not at contains as the peer does.
        let text = schema.to_string();
        prop_assume!(
            dialect != Dialect::Draft2019 || !(text.contains("\"unevaluatedItems\"") && text.contains("\"contains\""))
        );
        // The public API asserts every format in every draft; the peer knows some only from later drafts on.
        let later = ["uuid", "duration"].iter().any(|format| text.contains(&format!("\"{format}\"")));
        let formats = formats && dialect != Dialect::Draft4 && !(later && dialect < Dialect::Draft2019);
        let own = host::value(&schema);
        match host::plan(&own, dialect.name(), formats) {
            Err(error) => {
                let circle = error.message.contains("circle") || error.message.contains("back to itself");
                prop_assert!(circle, "{error:?} in {schema}");
            }
            Ok(plan) => {
                let peer = peer(&schema, dialect, formats);
                for instance in &instances {
                    let verdict = host::verdict(&plan, &host::value(instance), &instance.to_string());
                    prop_assert_eq!(verdict, peer.is_valid(instance), "{:?} {} on {}", dialect, schema, instance);
                }
            }
        }
    }
}
