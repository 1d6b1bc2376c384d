//! Repairs of text that models get wrong (public API, section 5): each named, asked for, decided at once without
//! looking ahead, and reported. None completes a text that was cut off.

/// One repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// One Markdown code fence around the text, with a word behind the opening one.
    Fences,
    /// Strings and keys in single quotes; `\'` is an escape in them.
    SingleQuotes,
    /// `True`, `False` and `None`.
    PythonLiterals,
    /// Control characters inside strings, kept as they are.
    ControlCharacters,
    /// A comma before a closing bracket.
    TrailingCommas,
    /// Keys without quotes: letters, digits, `_` and `$`, not beginning with a digit.
    UnquotedKeys,
    /// Escapes that JSON does not know, kept with their backslash.
    UnknownEscapes,
    /// A string of JSON text where the schema leaves no string, only the object or array that the text is.
    DoubleEncoding,
}

impl Repair {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Fences,
        Self::SingleQuotes,
        Self::PythonLiterals,
        Self::ControlCharacters,
        Self::TrailingCommas,
        Self::UnquotedKeys,
        Self::UnknownEscapes,
        Self::DoubleEncoding,
    ];

    /// The name users ask for it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fences => "fences",
            Self::SingleQuotes => "single-quotes",
            Self::PythonLiterals => "python-literals",
            Self::ControlCharacters => "control-characters",
            Self::TrailingCommas => "trailing-commas",
            Self::UnquotedKeys => "unquoted-keys",
            Self::UnknownEscapes => "unknown-escapes",
            Self::DoubleEncoding => "double-encoding",
        }
    }
}

/// What was repaired: where first, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// Which repair.
    pub repair: Repair,
    /// UTF-8 bytes before the first place.
    pub first: usize,
    /// Number of places.
    pub count: usize,
}

/// The repairs asked for and those made.
#[derive(Clone, Debug, Default)]
pub struct Repairs {
    asked: [bool; Repair::ALL.len()],
    made: Vec<Repaired>,
}

impl Repairs {
    /// Asks for a repair.
    pub fn ask(&mut self, repair: Repair) {
        self.asked[repair as usize] = true;
    }

    /// Those made, by their first place.
    pub fn made(&self) -> &[Repaired] {
        &self.made
    }

    /// Whether it was asked for.
    #[inline]
    pub fn asks(&self, repair: Repair) -> bool {
        self.asked[repair as usize]
    }

    /// Makes a repair if it was asked for.
    pub(super) fn make(&mut self, repair: Repair, at: usize) -> bool {
        if !self.asks(repair) {
            return false;
        }
        if let Some(made) = self.made.iter_mut().find(|made| made.repair == repair) {
            made.count += 1;
        } else {
            let place = self.made.partition_point(|made| made.first <= at);
            self.made.insert(place, Repaired { repair, first: at, count: 1 });
        }
        true
    }
}
