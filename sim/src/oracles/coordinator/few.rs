//! A set of few things, which is copied and compared all the time.

use std::fmt;

/// A set as an ascending list: copying and comparing it is one pass over it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Few<T>(Vec<T>);

impl<T: Ord> Few<T> {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(super) fn contains(&self, item: &T) -> bool {
        self.0.binary_search(item).is_ok()
    }

    pub(super) fn insert(&mut self, item: T) {
        if let Err(place) = self.0.binary_search(&item) {
            self.0.insert(place, item);
        }
    }

    /// Whether it was there.
    pub(super) fn remove(&mut self, item: &T) -> bool {
        let place = self.0.binary_search(item);
        if let Ok(place) = place {
            self.0.remove(place);
        }
        place.is_ok()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl<T: Ord> Extend<T> for Few<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        items.into_iter().for_each(|item| self.insert(item));
    }
}

impl<T: fmt::Debug> fmt::Debug for Few<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(&self.0).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_things_are_there_once_and_in_order() {
        let mut few = Few::new();
        few.extend([3, 1, 2, 1]);
        assert_eq!(format!("{few:?}"), "{1, 2, 3}");
        assert!(few.contains(&2) && few.remove(&2) && !few.remove(&2) && !few.contains(&2));
        few.clear();
        assert_eq!(few, Few::new());
    }
}
