//! Tests that every function of the checkout is deployed, from the folder of its name.

use std::collections::BTreeSet;

use crate::translated::{functions, read};

#[test]
fn every_function_of_the_checkout_is_deployed() {
    let folders: BTreeSet<_> = std::fs::read_dir("../functions")
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let deployed: BTreeSet<_> = functions().into_iter().map(|(_, folder)| folder).collect();
    assert_eq!(folders, deployed);
    let template = read("template.yaml");
    for folder in folders {
        let code = format!("CodeUri: target/functions/{folder}\n");
        assert!(template.contains(&code), "no function has {code}");
    }
}
