//! The meta-schemas of the drafts and their vocabularies, as the JSON Schema organisation publishes them
//! (BSD-3-Clause or AFL-3.0, at the reader's choice).

/// URI without fragment, and the document's text.
const DOCUMENTS: &[(&str, &str)] = &[
    ("http://json-schema.org/draft-04/schema", include_str!("meta_schemas/draft4.json")),
    ("http://json-schema.org/draft-06/schema", include_str!("meta_schemas/draft6.json")),
    ("http://json-schema.org/draft-07/schema", include_str!("meta_schemas/draft7.json")),
    ("https://json-schema.org/draft/2019-09/schema", include_str!("meta_schemas/draft2019-09.json")),
    ("https://json-schema.org/draft/2019-09/meta/core", include_str!("meta_schemas/draft2019-09-core.json")),
    (
        "https://json-schema.org/draft/2019-09/meta/applicator",
        include_str!("meta_schemas/draft2019-09-applicator.json"),
    ),
    (
        "https://json-schema.org/draft/2019-09/meta/validation",
        include_str!("meta_schemas/draft2019-09-validation.json"),
    ),
    (
        "https://json-schema.org/draft/2019-09/meta/meta-data",
        include_str!("meta_schemas/draft2019-09-meta-data.json"),
    ),
    (
        "https://json-schema.org/draft/2019-09/meta/format",
        include_str!("meta_schemas/draft2019-09-format.json"),
    ),
    (
        "https://json-schema.org/draft/2019-09/meta/content",
        include_str!("meta_schemas/draft2019-09-content.json"),
    ),
    ("https://json-schema.org/draft/2020-12/schema", include_str!("meta_schemas/draft2020-12.json")),
    ("https://json-schema.org/draft/2020-12/meta/core", include_str!("meta_schemas/draft2020-12-core.json")),
    (
        "https://json-schema.org/draft/2020-12/meta/applicator",
        include_str!("meta_schemas/draft2020-12-applicator.json"),
    ),
    (
        "https://json-schema.org/draft/2020-12/meta/unevaluated",
        include_str!("meta_schemas/draft2020-12-unevaluated.json"),
    ),
    (
        "https://json-schema.org/draft/2020-12/meta/validation",
        include_str!("meta_schemas/draft2020-12-validation.json"),
    ),
    (
        "https://json-schema.org/draft/2020-12/meta/meta-data",
        include_str!("meta_schemas/draft2020-12-meta-data.json"),
    ),
    (
        "https://json-schema.org/draft/2020-12/meta/format-annotation",
        include_str!("meta_schemas/draft2020-12-format-annotation.json"),
    ),
    (
        "https://json-schema.org/draft/2020-12/meta/format-assertion",
        include_str!("meta_schemas/draft2020-12-format-assertion.json"),
    ),
    (
        "https://json-schema.org/draft/2020-12/meta/content",
        include_str!("meta_schemas/draft2020-12-content.json"),
    ),
];

/// The text of a built-in document.
pub(crate) fn text(uri: &str) -> Option<&'static str> {
    DOCUMENTS.iter().find(|(known, _)| *known == uri).map(|(_, text)| *text)
}
