//! Tests secrets of a project: a value that is set while another caller binds the secret is not lost.

use std::sync::Arc;

use async_trait::async_trait;
use conformance::Tables;
use conformance::faults::Faulty;
use conformance::model::Model;
use platform::config::Secret;
use platform::records::Table;
use platform::sealing::{Place, Sealer};
use platform::{ErrorKind, Result, UtcTime};
use runs::records::process_secrets::{Binding, ProcessSecrets};

use crate::tenant;

struct Plain;

#[async_trait]
impl Sealer for Plain {
    async fn seal(&self, _: Place<'_>, secret: &Secret) -> Result<String> {
        Ok(secret.expose().to_owned())
    }

    async fn open(&self, _: Place<'_>, sealed: &str) -> Result<Secret> {
        Ok(Secret::new(sealed))
    }
}

#[tokio::test(start_paused = true)]
async fn value_set_while_a_secret_is_bound_stays() {
    let mut refused = 0;
    // The store yields to the other caller at each call, so the value is set at each moment of the binding.
    for delay in 0..6 {
        let tables = Tables::named();
        let (store, _faults) = Faulty::new(Model::new(&tables), &tables, 1);
        let secrets = ProcessSecrets::new(Table::new(Arc::new(store), &tables.records));
        let (tenant, now) = (tenant(), UtcTime::EPOCH);
        let set = async |value: &str| {
            let value = Secret::new(value);
            let set = secrets.set(&Plain, &tenant, ("key", &value), binding("a.example"), now);
            set.await.unwrap();
        };
        set("\"first\"").await;
        let set_later = async {
            for _ in 0..delay {
                tokio::task::yield_now().await;
            }
            set("\"second\"").await;
        };
        let bind = secrets.bind(&tenant, "key", binding("b.example"), now);
        let ((), bound) = futures::join!(set_later, bind);
        if let Err(error) = bound {
            assert_eq!(error.kind(), ErrorKind::Conflict);
            refused += 1;
        }
        let secret = secrets.find(&tenant, "key").await.unwrap().unwrap();
        assert_eq!(secret.sealed, "\"second\"", "set after {delay} turns");
    }
    assert!(refused > 0, "the value was set at no moment within the binding");
}

fn binding(host: &str) -> Binding {
    Binding {
        processes: vec!["shop/order".to_owned()],
        hosts: vec![host.to_owned()],
        ..Binding::default()
    }
}
