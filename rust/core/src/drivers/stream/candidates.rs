//! Texts that may still come, in ascending order: which of them begin with what has come is one search, however many
//! they are.

use std::ops::RangeInclusive;

use crate::plan::{Plan, Property};

/// Some texts, by their place in ascending order.
#[derive(Clone, Copy)]
pub(super) enum Candidates<'p> {
    /// Strings of a rule, and their order.
    Set(&'p [(Box<str>, usize)], &'p [u32]),
    /// Strings of a keyword.
    Strings(&'p [Box<str>]),
    /// Names of a literal.
    Members(&'p [(Box<str>, u32)]),
    /// Names of some properties: all properties of the rule, and those that are meant in their order.
    Names(&'p Plan, &'p [Property], &'p [u32]),
    One(&'p str),
}

impl<'p> Candidates<'p> {
    fn len(self) -> usize {
        match self {
            Self::Set(_, order) | Self::Names(_, _, order) => order.len(),
            Self::Strings(texts) => texts.len(),
            Self::Members(members) => members.len(),
            Self::One(_) => 1,
        }
    }

    pub(super) fn get(self, at: usize) -> Option<&'p str> {
        match self {
            Self::Set(members, order) => order.get(at).map(|at| &*members[*at as usize].0),
            Self::Strings(texts) => texts.get(at).map(|text| &**text),
            Self::Members(members) => members.get(at).map(|(name, _)| &**name),
            Self::Names(plan, properties, order) => {
                order.get(at).map(|at| plan.name(&properties[*at as usize]))
            }
            Self::One(text) => (at == 0).then_some(text),
        }
    }

    /// The first place from `low` on whose text is not before what is sought.
    fn search(self, mut low: usize, is_before: impl Fn(&str) -> bool) -> usize {
        let mut high = self.len().max(low);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle).is_some_and(&is_before) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// The first place from `low` on whose text is not less than this.
    pub(super) fn seek(self, low: usize, text: &str) -> usize {
        self.search(low, |candidate| candidate < text)
    }

    pub(super) fn has(self, text: &str) -> bool {
        self.get(self.seek(0, text)) == Some(text)
    }

    /// The places whose texts begin with this, and go on with one of the characters if they are given.
    pub(super) fn beginning(
        self,
        begin: &str,
        next: Option<&RangeInclusive<u32>>,
    ) -> impl Iterator<Item = usize> {
        let first = match next {
            None => self.seek(0, begin),
            Some(characters) => self.search(0, |candidate| match candidate.strip_prefix(begin) {
                None => candidate < begin,
                Some(rest) => rest.chars().next().is_none_or(|next| u32::from(next) < *characters.start()),
            }),
        };
        (first..).take_while(move |at| {
            let rest = self.get(*at).and_then(|candidate| candidate.strip_prefix(begin));
            rest.is_some_and(|rest| match next {
                None => true,
                Some(characters) => {
                    rest.chars().next().is_some_and(|next| characters.contains(&u32::from(next)))
                }
            })
        })
    }

    /// Bytes of whole characters of the text with which any candidate begins.
    pub(super) fn common(self, text: &str) -> usize {
        let next = self.seek(0, text);
        let nearest = [next.checked_sub(1), Some(next)].into_iter().flatten();
        nearest.filter_map(|at| self.get(at)).map(|candidate| common(text, candidate)).max().unwrap_or(0)
    }
}

/// Bytes of whole characters that two texts begin with.
fn common(a: &str, b: &str) -> usize {
    let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    (0..=same).rev().find(|at| a.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_answers_as_looking_at_each_does() {
        let all = ["", "a", "ab", "abc", "b", "bé", "bê", "b\u{10000}", "ca", "cab"];
        let texts: Vec<Box<str>> = all.iter().map(|text| (*text).into()).collect();
        let candidates = Candidates::Strings(&texts);
        for begin in ["", "a", "ab", "abcd", "b", "bé", "bz", "c", "d", "cb"] {
            assert_eq!(candidates.has(begin), all.contains(&begin));
            let longest = all.iter().map(|text| common(begin, text)).max();
            assert_eq!(Some(candidates.common(begin)), longest);
            let plain: Vec<_> = (0..all.len()).filter(|at| all[*at].starts_with(begin)).collect();
            assert_eq!(candidates.beginning(begin, None).collect::<Vec<_>>(), plain);
            for range in [0x61..=0x62, 0xE9..=0xEA, 0xD800..=0x1_0FFF, 0..=0x1F] {
                let follows = |text: &str| {
                    let next = text.strip_prefix(begin).and_then(|rest| rest.chars().next());
                    next.is_some_and(|next| range.contains(&u32::from(next)))
                };
                let plain: Vec<_> = (0..all.len()).filter(|at| follows(all[*at])).collect();
                assert_eq!(candidates.beginning(begin, Some(&range)).collect::<Vec<_>>(), plain);
            }
        }
    }
}
