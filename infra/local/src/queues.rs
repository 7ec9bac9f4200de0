//! Lists the queues of `template.yaml`, each with its settings; a test compares the two.
//!
//! The concurrency is that of one machine, at most the template's except for tasks. The shares are those of
//! fair queues, of which a template has no setting.

use platform::config::variables::{self, Variable};

/// A queue with the settings of its deliveries.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub name: &'static str,
    /// Maximum number of messages of one event.
    pub batch_size: usize,
    /// Receives after which a message is set aside.
    pub max_receives: u32,
    /// Maximum number of batches in the handler at once.
    pub concurrency: u32,
    /// Maximum number of messages of one group in the handler at once.
    pub group_share: usize,
}

pub const ARCHIVE: Settings = Settings {
    name: "archive",
    batch_size: 10,
    max_receives: 10,
    concurrency: 2,
    group_share: usize::MAX,
};
pub const AUDIT_RETRY: Settings = Settings {
    name: "audit-retry",
    batch_size: 10,
    max_receives: 10,
    concurrency: 1,
    group_share: usize::MAX,
};
pub const EVENTS: Settings = Settings {
    name: "events",
    batch_size: 10,
    max_receives: 10,
    concurrency: 16,
    group_share: usize::MAX,
};
/// With one concurrent import per account.
pub const IMPORTS: Settings = Settings {
    name: "imports",
    batch_size: 1,
    max_receives: 10,
    concurrency: 2,
    group_share: 1,
};
/// A batch would end with its slowest run, and here there are no further instances meanwhile.
pub const TASKS: Settings = Settings {
    name: "tasks",
    batch_size: 1,
    max_receives: 10,
    concurrency: 512,
    group_share: 64,
};

/// Every queue with a consumer, and the variable that names it.
pub const QUEUES: [(Variable, Settings); 5] = [
    (variables::ARCHIVE_QUEUE, ARCHIVE),
    (variables::AUDIT_RETRY_QUEUE, AUDIT_RETRY),
    (variables::EVENT_QUEUE, EVENTS),
    (variables::IMPORT_QUEUE, IMPORTS),
    (variables::TASK_QUEUE, TASKS),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number after `label`, behind the first of `marks`.
    fn number(template: &str, marks: &str, label: &str) -> u64 {
        let (_, rest) = template.split_once(marks).unwrap_or_else(|| panic!("{marks}"));
        let (_, rest) = rest
            .split_once(label)
            .unwrap_or_else(|| panic!("{marks} {label}"));
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap()
    }

    #[test]
    fn settings_are_those_of_the_template() {
        let template = std::fs::read_to_string("../../template.yaml").unwrap();
        for (variable, settings) in QUEUES {
            let (_, resource) = template.split_once(&format!("{variable}: !Ref ")).unwrap();
            let resource = resource.lines().next().unwrap();
            let queue = format!("\n  {resource}:\n");
            assert_eq!(
                number(&template, &queue, "maxReceiveCount: "),
                u64::from(settings.max_receives),
                "{resource}"
            );
            let source = format!("Queue: !GetAtt {resource}.Arn\n");
            let batch_size = number(&template, &source, "BatchSize: ");
            if settings.name == TASKS.name {
                assert_eq!((settings.batch_size, batch_size), (1, 10), "{resource}");
                continue;
            }
            assert_eq!(settings.batch_size as u64, batch_size, "{resource}");
            let concurrency = number(&template, &source, "MaximumConcurrency: ");
            assert!(u64::from(settings.concurrency) <= concurrency, "{resource}");
        }
    }
}
