//! Tests adapters of [`RecordStore`](platform::records::store::RecordStore), one topic per file.

mod add;
mod conditions;
mod counts;
mod due;
mod expiry;
mod index_pages;
mod items;
mod keys;
mod limits;
mod listed;
mod pages;
mod scans;
mod transaction_limits;
mod transactions;
mod updates;
mod values;

pub use add::add;
pub use conditions::conditions;
pub use counts::counts;
pub use due::due;
pub use expiry::expiry;
pub use index_pages::index_pages;
pub use items::items;
pub use keys::keys;
pub use limits::limits;
pub use listed::listed;
pub use pages::pages;
pub use scans::scans;
pub use transaction_limits::transaction_limits;
pub use transactions::transactions;
pub use updates::updates;
pub use values::values;

use crate::Subject;

/// Checks every topic, one after the other.
pub async fn records(subject: &Subject) {
    add(subject).await;
    conditions(subject).await;
    counts(subject).await;
    due(subject).await;
    expiry(subject).await;
    index_pages(subject).await;
    items(subject).await;
    keys(subject).await;
    limits(subject).await;
    listed(subject).await;
    pages(subject).await;
    scans(subject).await;
    transaction_limits(subject).await;
    transactions(subject).await;
    updates(subject).await;
    values(subject).await;
}

/// Defines a test for each topic. `$world` is an async function that returns a [`Subject`] and a value that
/// must outlive it.
#[macro_export]
macro_rules! records_suite {
    ($world:path) => {
        $crate::records_suite! {
            $world: add, conditions, counts, due, expiry, index_pages, items, keys, limits, listed, pages, scans,
            transaction_limits, transactions, updates, values
        }
    };
    ($world:path: $($topic:ident),+) => {
        $(
            #[tokio::test]
            async fn $topic() {
                let (subject, _world) = $world().await;
                $crate::records::$topic(&subject).await;
            }
        )+
    };
}
