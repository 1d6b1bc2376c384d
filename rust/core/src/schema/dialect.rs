//! Dialects: which keywords exist, by draft and by vocabulary (2020-12 Core 8.1).

/// The drafts, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Draft {
    /// Draft 4
    D4,
    /// Draft 6
    D6,
    /// Draft 7
    D7,
    /// Draft 2019-09
    D2019,
    /// Draft 2020-12
    D2020,
    /// The first stable version
    V1,
}

/// The vocabularies that a keyword may belong to, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Vocabulary {
    /// `$id`, `$ref`, ...: always there.
    Core = 1,
    /// Keywords that apply subschemas.
    Applicator = 2,
    /// `unevaluatedItems`, `unevaluatedProperties`
    Unevaluated = 4,
    /// Assertions.
    Validation = 8,
    /// `title`, `default`, ...
    MetaData = 16,
    /// `format`
    Format = 32,
    /// `contentEncoding`, `contentMediaType`, `contentSchema`
    Content = 64,
}

/// A draft and the vocabularies in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// The draft whose rules hold.
    pub draft: Draft,
    /// Bits of [`Vocabulary`].
    pub vocabularies: u8,
    /// A vocabulary of the meta-schema asks for `format` to be asserted.
    pub format_assertion: bool,
}

/// Draft, name that users give, URI of its meta-schema.
const DRAFTS: [(Draft, &str, &str); 6] = [
    (Draft::D4, "draft4", "http://json-schema.org/draft-04/schema"),
    (Draft::D6, "draft6", "http://json-schema.org/draft-06/schema"),
    (Draft::D7, "draft7", "http://json-schema.org/draft-07/schema"),
    (Draft::D2019, "draft2019-09", "https://json-schema.org/draft/2019-09/schema"),
    (Draft::D2020, "draft2020-12", "https://json-schema.org/draft/2020-12/schema"),
    (Draft::V1, "v1", "https://json-schema.org/v1"),
];

/// Last segment of a vocabulary's URI, and what it brings.
const VOCABULARIES: [(&str, u8); 9] = [
    ("core", Vocabulary::Core as u8),
    ("applicator", Vocabulary::Applicator as u8),
    ("unevaluated", Vocabulary::Unevaluated as u8),
    ("validation", Vocabulary::Validation as u8),
    ("meta-data", Vocabulary::MetaData as u8),
    ("format", Vocabulary::Format as u8),
    ("format-annotation", Vocabulary::Format as u8),
    ("format-assertion", Vocabulary::Format as u8),
    ("content", Vocabulary::Content as u8),
];

impl Dialect {
    /// The dialect of a draft with all its vocabularies.
    pub const fn of(draft: Draft) -> Self {
        Self { draft, vocabularies: 127, format_assertion: false }
    }

    /// The dialect with this name or meta-schema URI (with or without an empty fragment). The drafts differ in `http` and
    /// `https`, schemas do not care, and nothing is fetched: either is taken.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.strip_suffix('#').unwrap_or(name);
        let place = after_scheme(name);
        DRAFTS
            .iter()
            .find(|(_, short, uri)| *short == name || (place.is_some() && place == after_scheme(uri)))
            .map(|(draft, _, _)| Self::of(*draft))
    }

    /// The names that [`Self::named`] knows, for messages.
    pub fn names() -> impl Iterator<Item = &'static str> {
        DRAFTS.iter().map(|(_, name, _)| *name)
    }

    /// The URI of the draft's meta-schema.
    pub fn uri(self) -> &'static str {
        DRAFTS[self.draft as usize].2
    }

    /// Starts a dialect with no vocabulary but the core, for a meta-schema that lists its own.
    #[must_use]
    pub fn bare(self) -> Self {
        Self { vocabularies: Vocabulary::Core as u8, ..self }
    }

    /// Adds a vocabulary by its URI. False where it is unknown.
    pub fn add_vocabulary(&mut self, uri: &str) -> bool {
        let Some((base, name)) = uri.rsplit_once('/') else { return false };
        let known = VOCABULARIES.iter().find(|(word, _)| *word == name);
        match known {
            Some((_, bits)) if base.starts_with("https://json-schema.org/") => {
                self.vocabularies |= bits;
                // 2019-09 kept the unevaluated keywords in its applicator vocabulary.
                if self.draft <= Draft::D2019 && name == "applicator" {
                    self.vocabularies |= Vocabulary::Unevaluated as u8;
                }
                self.format_assertion |= name == "format-assertion";
                true
            }
            _ => false,
        }
    }

    /// Is the keyword's vocabulary in force?
    pub fn has(self, vocabulary: Vocabulary) -> bool {
        self.vocabularies & vocabulary as u8 != 0
    }

    /// Do keywords beside `$ref` count (2019-09 Core 8.2.4.1)?
    pub fn ref_has_siblings(self) -> bool {
        self.draft >= Draft::D2019
    }

    /// The keyword that names a schema resource.
    pub fn id_keyword(self) -> &'static str {
        if self.draft == Draft::D4 { "id" } else { "$id" }
    }
}

/// What follows `http:` or `https:`.
fn after_scheme(uri: &str) -> Option<&str> {
    uri.strip_prefix("http:").or_else(|| uri.strip_prefix("https:"))
}
