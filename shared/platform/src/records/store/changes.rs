//! Changes single attributes of an item, for a writer that has not read it.

use serde::Serialize;
use serde_json::{Number, Value};

use super::Item;
use super::key::key_names;
use crate::error::{Error, Result};
use crate::records::schema::DUE;

#[derive(Clone, Debug, Default)]
pub struct Changes {
    pub set: Vec<(String, Value)>,
    pub append: Vec<(String, Vec<Value>)>,
    /// Numbers, and the amounts to add.
    pub add: Vec<(String, i64)>,
    pub remove: Vec<String>,
}

impl Changes {
    pub fn set<T: Serialize>(mut self, name: &str, new: &T) -> Result<Self> {
        self.set.push((name.to_owned(), value(new)?));
        Ok(self)
    }

    /// Sets an attribute, or removes it for None.
    pub fn set_or_remove<T: Serialize>(self, name: &str, value: Option<&T>) -> Result<Self> {
        match value {
            Some(value) => self.set(name, value),
            None => Ok(self.remove(name)),
        }
    }

    /// Appends to a list; a missing list counts as empty.
    pub fn append<T: Serialize>(mut self, name: &str, values: &[T]) -> Result<Self> {
        if !values.is_empty() {
            let values: Result<Vec<Value>> = values.iter().map(value).collect();
            self.append.push((name.to_owned(), values?));
        }
        Ok(self)
    }

    /// Adds to a number; a missing one counts as 0, and the amount may be negative.
    #[must_use]
    pub fn add(mut self, name: &str, amount: i64) -> Self {
        self.add.push((name.to_owned(), amount));
        self
    }

    #[must_use]
    pub fn remove(mut self, name: &str) -> Self {
        self.remove.push(name.to_owned());
        self
    }

    /// Moves the item to this place in an index, and to this sort key in every other that shares it.
    #[must_use]
    pub fn place(mut self, index: &str, pk: String, sk: String) -> Self {
        let [pk_name, sk_name] = key_names(index);
        self.set.retain(|(name, _)| *name != sk_name);
        self.set.push((pk_name.into_owned(), Value::String(pk)));
        self.set.push((sk_name.into_owned(), Value::String(sk)));
        self
    }

    /// Removes the item from an index. It keeps the sort key that its places in others share.
    #[must_use]
    pub fn leave(self, index: &str) -> Self {
        let [pk_name, sk_name] = key_names(index);
        let left = self.remove(&pk_name);
        match index {
            DUE => left.remove(&sk_name),
            _ => left,
        }
    }

    /// Removes the item from the index of unfinished work.
    #[must_use]
    pub fn not_due(self) -> Self {
        self.leave(DUE)
    }

    pub fn apply(&self, item: &mut Item) -> Result<()> {
        for (name, value) in &self.set {
            item.set(name, value.clone());
        }
        for (name, values) in &self.append {
            let mut list = match item.remove(name) {
                None => Vec::new(),
                Some(Value::Array(list)) => list,
                Some(_) => return Err(Error::internal(format!("the attribute {name} is no list"))),
            };
            list.extend(values.iter().cloned());
            item.set(name, list);
        }
        for (name, amount) in &self.add {
            let sum = match item.get(name) {
                None => Some(Number::from(*amount)),
                Some(Value::Number(number)) => sum(number, *amount),
                Some(_) => None,
            };
            let sum =
                sum.ok_or_else(|| Error::internal(format!("nothing can be added to the attribute {name}")))?;
            item.set(name, sum);
        }
        for name in &self.remove {
            item.remove(name);
        }
        Ok(())
    }
}

fn value<T: Serialize>(value: &T) -> Result<Value> {
    serde_json::to_value(value).map_err(Error::internal)
}

/// None on overflow of 64 bits.
fn sum(number: &Number, amount: i64) -> Option<Number> {
    match number.as_i128() {
        Some(number) => {
            let sum = number.checked_add(i128::from(amount))?;
            let positive = u64::try_from(sum).ok().map(Number::from);
            positive.or_else(|| i64::try_from(sum).ok().map(Number::from))
        }
        #[expect(clippy::cast_precision_loss, reason = "a fraction is not exact either")]
        None => Number::from_f64(number.as_f64()? + amount as f64),
    }
}
