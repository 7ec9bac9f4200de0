//! Returns the answers of plain DuckDB as JSON, with a second implementation of the rules for values.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use duckdb::core::{LogicalTypeHandle, LogicalTypeId};
use duckdb::types::{TimeUnit, Value as DuckValue};
use duckdb::{Connection, Statement};
use jiff::{Timestamp, ToSpan as _};
use serde_json::{Map, Value, json};

pub(crate) struct Reference {
    pub(crate) columns: Value,
    pub(crate) types: Value,
    pub(crate) rows: Value,
}

/// Runs a statement without a fence and without the check.
pub(crate) fn answer(connection: &Connection, sql: &str) -> duckdb::Result<Reference> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let statement: &Statement<'_> = rows.as_ref().unwrap();
    let names = statement.column_names();
    let types: Vec<_> = (0..names.len())
        .map(|index| statement.column_logical_type(index))
        .collect();
    let type_names: Vec<_> = types.iter().map(type_name).collect();
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let values = types
            .iter()
            .enumerate()
            .map(|(index, kind)| Ok(json_of(row.get(index)?, Some(kind))));
        all.push(Value::Array(values.collect::<duckdb::Result<_>>()?));
    }
    Ok(Reference {
        columns: json!(names),
        types: json!(type_names),
        rows: Value::Array(all),
    })
}

fn type_name(kind: &LogicalTypeHandle) -> String {
    let members = || -> Vec<String> {
        (0..kind.num_children())
            .map(|at| {
                let name = kind.child_name(at).replace('"', "\"\"");
                format!("\"{name}\" {}", type_name(&kind.child(at)))
            })
            .collect()
    };
    if kind.get_alias().is_some() {
        return "JSON".to_owned();
    }
    match kind.id() {
        LogicalTypeId::Varchar => "STRING".to_owned(),
        LogicalTypeId::Decimal => format!("DECIMAL({},{})", kind.decimal_width(), kind.decimal_scale()),
        LogicalTypeId::List => type_name(&kind.child(0)) + "[]",
        LogicalTypeId::Map => format!(
            "MAP({}, {})",
            type_name(&kind.child(0)),
            type_name(&kind.child(1))
        ),
        LogicalTypeId::Struct => format!("STRUCT({})", members().join(", ")),
        LogicalTypeId::Union => format!("UNION({})", members().join(", ")),
        LogicalTypeId::SqlNull => "NULL".to_owned(),
        other => {
            let name = format!("{other:?}").to_uppercase();
            match name.starts_with("TIMESTAMP") {
                true => "TIMESTAMP".to_owned(),
                false => name,
            }
        }
    }
}

fn json_of(value: DuckValue, kind: Option<&LogicalTypeHandle>) -> Value {
    let child = |at: usize| kind.map(|kind| kind.child(at));
    match value {
        DuckValue::Null => Value::Null,
        DuckValue::Boolean(value) => value.into(),
        DuckValue::TinyInt(value) => value.into(),
        DuckValue::SmallInt(value) => value.into(),
        DuckValue::Int(value) => value.into(),
        DuckValue::BigInt(value) => integer(value.into()),
        DuckValue::HugeInt(value) => integer(value),
        DuckValue::UTinyInt(value) => value.into(),
        DuckValue::USmallInt(value) => value.into(),
        DuckValue::UInt(value) => value.into(),
        DuckValue::UBigInt(value) => integer(value.into()),
        DuckValue::UHugeInt(value) => value.to_string().into(),
        // The shortest digits of the FLOAT, not those of the DOUBLE with the same value.
        DuckValue::Float(value) => value.to_string().parse::<f64>().unwrap().into(),
        DuckValue::Double(value) => value.into(),
        DuckValue::Decimal(value) => value.to_string().into(),
        DuckValue::Timestamp(TimeUnit::Nanosecond, value) if value.rem_euclid(1_000) > 0 => {
            let moment = Timestamp::from_nanosecond(value.into()).unwrap();
            moment.strftime("%Y-%m-%dT%H:%M:%S%.9fZ").to_string().into()
        }
        DuckValue::Timestamp(unit, value) => timestamp(micros(unit, value)),
        DuckValue::Date32(i32::MAX | -2_147_483_647) => Value::Null,
        DuckValue::Date32(days) => {
            let day = jiff::civil::date(1970, 1, 1) + days.days();
            let sign = if day.year() < 0 { "-" } else { "" };
            let year = day.year().unsigned_abs();
            format!("{sign}{year:04}-{:02}-{:02}", day.month(), day.day()).into()
        }
        DuckValue::Time64(unit, value) => {
            let moment = Timestamp::from_microsecond(micros(unit, value)).unwrap();
            fraction(&moment.strftime("%H:%M:%S%.6f").to_string()).into()
        }
        DuckValue::Interval { months, days, nanos } => interval(months, days, nanos).into(),
        DuckValue::Text(text) => match kind.is_some_and(|kind| kind.get_alias().is_some()) {
            true => serde_json::from_str(&text).unwrap(),
            false => text.into(),
        },
        DuckValue::Enum(text) => text.into(),
        DuckValue::Blob(bytes) | DuckValue::Geometry(bytes) => BASE64.encode(bytes).into(),
        DuckValue::List(values) | DuckValue::Array(values) => {
            let values = values.into_iter();
            values.map(|value| json_of(value, child(0).as_ref())).collect()
        }
        DuckValue::Struct(members) => {
            let members = members.iter().enumerate();
            let members =
                members.map(|(at, (name, value))| (name.clone(), json_of(value.clone(), child(at).as_ref())));
            members.collect::<Map<_, _>>().into()
        }
        DuckValue::Map(entries) => entries
            .iter()
            .map(|(key, value)| {
                let key = json_of(key.clone(), child(0).as_ref());
                json!({ "key": key, "value": json_of(value.clone(), child(1).as_ref()) })
            })
            .collect(),
        // The driver does not report which member the value has; the type is known only if there is a single
        // member.
        DuckValue::Union(value) => {
            let only = kind.filter(|kind| kind.num_children() == 1);
            json_of(*value, only.map(|kind| kind.child(0)).as_ref())
        }
        other => panic!("the driver has a new kind of value: {other:?}"),
    }
}

fn integer(value: i128) -> Value {
    match i64::try_from(value) {
        Ok(exact) if exact.unsigned_abs() <= 1 << 53 => exact.into(),
        _ => value.to_string().into(),
    }
}

fn micros(unit: TimeUnit, value: i64) -> i64 {
    match unit {
        TimeUnit::Second => value * 1_000_000,
        TimeUnit::Millisecond => value * 1_000,
        TimeUnit::Microsecond => value,
        TimeUnit::Nanosecond => value.div_euclid(1_000),
    }
}

fn timestamp(micros: i64) -> Value {
    match Timestamp::from_microsecond(micros) {
        Ok(moment) => {
            let text = moment.strftime("%Y-%m-%dT%H:%M:%S%.6f").to_string();
            (fraction(&text) + "Z").into()
        }
        Err(_) => Value::Null,
    }
}

/// Shortens six decimals to three if the last three are zeros.
fn fraction(text: &str) -> String {
    text.strip_suffix("000").unwrap_or(text).to_owned()
}

fn interval(months: i32, days: i32, nanos: i64) -> String {
    let micros = nanos / 1_000;
    let sign = if micros < 0 { "-" } else { "" };
    let (seconds, rest) = (
        micros.unsigned_abs() / 1_000_000,
        micros.unsigned_abs() % 1_000_000,
    );
    let decimals = match rest {
        0 => String::new(),
        rest => format!(".{rest:06}").trim_end_matches('0').to_owned(),
    };
    format!("P{months}M{days}DT{sign}{seconds}{decimals}S")
}
