//! The values of unfinished arrays. The first ones need no allocation: most arrays of tool arguments are short.

/// How many values are kept in place.
const IN_PLACE: usize = 8;

/// A stack of values.
#[derive(Debug)]
pub(crate) struct Stack<V> {
    first: [Option<V>; IN_PLACE],
    len: usize,
    rest: Vec<V>,
}

impl<V> Stack<V> {
    /// An empty stack.
    #[inline]
    pub(crate) fn new() -> Self {
        Self { first: [const { None }; IN_PLACE], len: 0, rest: Vec::new() }
    }

    /// How many values there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len + self.rest.len()
    }

    /// Adds a value on top.
    #[inline]
    pub(crate) fn push(&mut self, value: V) {
        match self.first.get_mut(self.len) {
            Some(slot) => {
                *slot = Some(value);
                self.len += 1;
            }
            None => self.rest.push(value),
        }
    }

    /// Takes the values from a height on, in order.
    #[inline]
    pub(crate) fn drain(&mut self, start: usize) -> Drain<'_, V> {
        let left = self.len() - start;
        let (from, to) = (start.min(self.len), self.len);
        self.len = from;
        Drain {
            first: self.first[from..to].iter_mut(),
            rest: self.rest.drain(start.saturating_sub(IN_PLACE)..),
            left,
        }
    }
}

/// The values taken from a [`Stack`].
pub(crate) struct Drain<'s, V> {
    first: std::slice::IterMut<'s, Option<V>>,
    rest: std::vec::Drain<'s, V>,
    left: usize,
}

impl<V> Iterator for Drain<'_, V> {
    type Item = V;

    #[inline]
    fn next(&mut self) -> Option<V> {
        let next = match self.first.next() {
            Some(slot) => slot.take(),
            None => self.rest.next(),
        };
        self.left -= usize::from(next.is_some());
        next
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<V> ExactSizeIterator for Drain<'_, V> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drains_in_order_across_the_border() {
        let mut stack = Stack::new();
        (0..40).for_each(|value| stack.push(value));
        assert_eq!(stack.drain(30).collect::<Vec<_>>(), (30..40).collect::<Vec<_>>());
        assert_eq!(stack.drain(10).collect::<Vec<_>>(), (10..30).collect::<Vec<_>>());
        stack.push(99);
        assert_eq!((stack.len(), stack.drain(0).len()), (11, 11));
    }
}
