//! Lists that are filtered, sorted and cut here, so that no client loads ten thousand entries to show fifty.

use prom_protocol::http::listing::PageQuery;
use prom_types::TopicPattern;

use super::limits::LIST_MOST_ENTRIES;
use super::problem::Problem;

/// What a client asked for, checked.
pub(super) struct Listing {
    filter: Option<NameFilter>,
    /// One of those that the list can be sorted by.
    pub field: &'static str,
    order: SortOrder,
    from: usize,
    limit: Option<usize>,
}

enum NameFilter {
    Contains(String),
    Matches(TopicPattern),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SortOrder {
    Ascending,
    Descending,
}

/// A part of a list.
pub(super) struct ListPage<T> {
    pub items: Vec<T>,
    /// On all pages.
    pub total: u64,
    pub next: Option<String>,
}

impl Listing {
    /// The first of the fields is the name.
    pub fn read(query: &PageQuery, fields: &[&'static str]) -> Result<Self, Problem> {
        let asked = query.sort.as_deref().unwrap_or_default();
        let (name, order) = match asked.strip_prefix('-') {
            Some(name) => (name, SortOrder::Descending),
            None => (asked, SortOrder::Ascending),
        };
        let known = if name.is_empty() { fields.first() } else { fields.iter().find(|field| **field == name) };
        let field =
            *known.ok_or_else(|| Problem::field("sort", format_args!("must be one of {}", fields.join(", "))))?;
        if query.limit.is_some_and(|limit| !(1..=LIST_MOST_ENTRIES).contains(&limit)) {
            return Err(Problem::field("limit", format_args!("must be between 1 and {LIST_MOST_ENTRIES}")));
        }
        let from = query.next.as_deref().map(str::parse).transpose();
        let from = from.map_err(|_| Problem::field("next", "is not from an earlier page"))?.unwrap_or_default();
        let filter = match &query.q {
            Some(pattern) if pattern.contains('*') => match TopicPattern::parse(pattern) {
                Ok(pattern) => Some(NameFilter::Matches(pattern)),
                Err(invalid) => return Err(Problem::field("q", invalid)),
            },
            Some(part) => Some(NameFilter::Contains(part.to_ascii_lowercase())),
            None => None,
        };
        Ok(Self { filter, field, order, from, limit: query.limit })
    }

    /// Whether a name passes the filter.
    pub fn has(&self, name: &str) -> bool {
        match &self.filter {
            None => true,
            Some(NameFilter::Contains(part)) => name.to_ascii_lowercase().contains(part),
            Some(NameFilter::Matches(pattern)) => pattern.matches(name),
        }
    }

    pub fn is_paged(&self) -> bool {
        self.limit.is_some()
    }

    /// The list comes by name.
    pub fn sort_by_name<T>(&self, items: &mut [T]) {
        if self.order == SortOrder::Descending {
            items.reverse();
        }
    }

    /// The list comes by name, and stays so where the numbers are equal.
    pub fn sort_by_number<T>(&self, items: &mut Vec<T>, number: impl Fn(&T) -> f64) {
        let mut keyed: Vec<(f64, T)> = items.drain(..).map(|item| (number(&item), item)).collect();
        keyed.sort_by(|(one, _), (other, _)| match self.order {
            SortOrder::Ascending => one.total_cmp(other),
            SortOrder::Descending => other.total_cmp(one),
        });
        items.extend(keyed.into_iter().map(|(_, item)| item));
    }

    pub fn page<T>(&self, items: Vec<T>) -> ListPage<T> {
        let all = items.len();
        let until = self.limit.map_or(all, |limit| self.from.saturating_add(limit));
        let items = items.into_iter().skip(self.from).take(until.saturating_sub(self.from)).collect();
        ListPage { items, total: all as u64, next: (until < all).then(|| until.to_string()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: [&str; 2] = ["name", "size"];

    fn listing(query: PageQuery) -> Listing {
        Listing::read(&query, &FIELDS).unwrap()
    }

    #[test]
    fn pages_together_are_the_list() {
        let mut query = PageQuery { limit: Some(4), sort: Some("-size".into()), ..PageQuery::default() };
        let mut seen = Vec::new();
        loop {
            let listing = listing(query.clone());
            let mut items: Vec<u32> = (0..10).collect();
            listing.sort_by_number(&mut items, |item| f64::from(*item));
            let page = listing.page(items);
            assert_eq!(page.total, 10);
            seen.extend(page.items);
            match page.next {
                Some(next) => query.next = Some(next),
                None => break,
            }
        }
        assert_eq!(seen, (0..10).rev().collect::<Vec<u32>>());
    }

    #[test]
    fn names_are_found_by_a_part_or_by_a_pattern() {
        let by = |q: &str| listing(PageQuery { q: Some(q.into()), ..PageQuery::default() });
        assert!(by("Placed").has("orders.placed") && !by("paid").has("orders.placed"));
        assert!(by("orders.*").has("orders.placed") && !by("orders.*").has("orders"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (query, field) in [
            (PageQuery { sort: Some("-weight".into()), ..PageQuery::default() }, "sort"),
            (PageQuery { limit: Some(0), ..PageQuery::default() }, "limit"),
            (PageQuery { limit: Some(100_000), ..PageQuery::default() }, "limit"),
            (PageQuery { next: Some("later".into()), ..PageQuery::default() }, "next"),
            (PageQuery { q: Some("a.*b".into()), ..PageQuery::default() }, "q"),
        ] {
            let Err(problem) = Listing::read(&query, &FIELDS) else { panic!("{query:?} is taken") };
            assert_eq!(problem.document().field.as_deref(), Some(field));
        }
    }
}
