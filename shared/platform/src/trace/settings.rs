//! Reads the variables of OpenTelemetry that this service knows.

use std::time::Duration;

use url::Url;

use super::sampler::Sampler;
use crate::config::variables::{self, Variable};
use crate::config::{AwsEnvironment, ConfigError, Environment};
use crate::outbound::{HeaderMap, HeaderName, HeaderValue, is_refused_header};

const DEFAULT_TIMEOUT_MS: u64 = 10_000;

/// Destination of spans and log records, and which of them go there.
#[derive(Debug)]
pub(super) struct Settings {
    /// URL of the spans; None where they are not exported.
    pub traces: Option<String>,
    /// URL of the log records; None where they are not exported.
    pub logs: Option<String>,
    pub headers: HeaderMap,
    pub timeout: Duration,
    pub sampler: Sampler,
    pub resource: Vec<(String, String)>,
}

impl Settings {
    /// Returns None where `OTEL_EXPORTER_OTLP_ENDPOINT` is missing or `OTEL_SDK_DISABLED` is true.
    pub(super) fn from_environment(
        environment: &Environment,
        machine: &AwsEnvironment,
    ) -> Result<Option<Self>, ConfigError> {
        let Some(endpoint) = environment.optional(variables::OTEL_ENDPOINT) else {
            return Ok(None);
        };
        if environment
            .optional(variables::OTEL_SDK_DISABLED)
            .is_some_and(|value| value.eq_ignore_ascii_case("true"))
        {
            return Ok(None);
        }
        let endpoint = endpoint_of(endpoint)?;
        let protocol = environment
            .optional(variables::OTEL_PROTOCOL)
            .unwrap_or("http/protobuf");
        if protocol != "http/protobuf" {
            return Err(refused(
                variables::OTEL_PROTOCOL,
                protocol,
                "Set it to http/protobuf, or leave it out.",
            ));
        }
        let below = |variable: Variable, signal: &str| match environment.optional(variable) {
            None | Some("otlp") => Ok(Some(format!("{endpoint}/v1/{signal}"))),
            Some("none") => Ok(None),
            Some(other) => Err(refused(variable, other, "Set it to otlp or none.")),
        };
        Ok(Some(Self {
            traces: below(variables::OTEL_TRACES_EXPORTER, "traces")?,
            logs: below(variables::OTEL_LOGS_EXPORTER, "logs")?,
            headers: headers_of(environment)?,
            timeout: timeout_of(environment)?,
            sampler: sampler_of(environment)?,
            resource: resource_of(environment, machine)?,
        }))
    }
}

fn refused(variable: Variable, value: &str, advice: &str) -> ConfigError {
    ConfigError::new(format!("The variable {variable} is '{value}'. {advice}"))
}

/// Returns the URL without a slash at its end.
fn endpoint_of(text: &str) -> Result<String, ConfigError> {
    let url = Url::parse(text).ok().filter(|url| {
        let is_plain = url.query().is_none() && url.fragment().is_none();
        let names_user = !url.username().is_empty() || url.password().is_some();
        matches!(url.scheme(), "http" | "https") && url.has_host() && is_plain && !names_user
    });
    match url {
        Some(url) => Ok(url.as_str().trim_end_matches('/').to_owned()),
        // Its value is not quoted: it may contain a password.
        None => Err(ConfigError::new(
            "The variable OTEL_EXPORTER_OTLP_ENDPOINT is not a URL without user, query and fragment. Set it to the address of a \
             collector, such as http://127.0.0.1:4318, and secrets to OTEL_EXPORTER_OTLP_HEADERS.",
        )),
    }
}

fn timeout_of(environment: &Environment) -> Result<Duration, ConfigError> {
    let Some(text) = environment.optional(variables::OTEL_TIMEOUT) else {
        return Ok(Duration::from_millis(DEFAULT_TIMEOUT_MS));
    };
    match text.parse() {
        Ok(millis @ 1..=600_000) => Ok(Duration::from_millis(millis)),
        _ => Err(refused(
            variables::OTEL_TIMEOUT,
            text,
            "Set it to a number of milliseconds from 1 to 600000.",
        )),
    }
}

fn headers_of(environment: &Environment) -> Result<HeaderMap, ConfigError> {
    // The value is not quoted: it is a secret.
    let wrong = || {
        ConfigError::new(
            "The variable OTEL_EXPORTER_OTLP_HEADERS is not a list of headers. Set it to name=value, comma-joined, with values that \
             are encoded as in a URL, such as authorization=Bearer%20abc.",
        )
    };
    let mut headers = HeaderMap::new();
    for (name, value) in pairs(environment, variables::OTEL_HEADERS).ok_or_else(wrong)? {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        if is_refused_header(name.as_str()) || name == "content-type" {
            return Err(wrong());
        }
        let mut value = HeaderValue::try_from(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        headers.append(name, value);
    }
    headers.insert("content-type", HeaderValue::from_static("application/x-protobuf"));
    Ok(headers)
}

fn sampler_of(environment: &Environment) -> Result<Sampler, ConfigError> {
    let name = environment
        .optional(variables::OTEL_SAMPLER)
        .unwrap_or("parentbased_always_on");
    let argument = || match environment.optional(variables::OTEL_SAMPLER_ARG) {
        None => Ok(1.0),
        Some(text) => match text.parse() {
            Ok(ratio) if (0.0..=1.0).contains(&ratio) => Ok(ratio),
            _ => Err(refused(
                variables::OTEL_SAMPLER_ARG,
                text,
                "Set it to the share of traces that are recorded, from 0 to 1.",
            )),
        },
    };
    let sampler = |follows_parent, ratio| Sampler {
        follows_parent,
        ratio,
    };
    match name {
        "always_on" => Ok(sampler(false, 1.0)),
        "always_off" => Ok(sampler(false, 0.0)),
        "traceidratio" => Ok(sampler(false, argument()?)),
        "parentbased_always_on" => Ok(sampler(true, 1.0)),
        "parentbased_always_off" => Ok(sampler(true, 0.0)),
        "parentbased_traceidratio" => Ok(sampler(true, argument()?)),
        other => Err(refused(
            variables::OTEL_SAMPLER,
            other,
            "Set it to always_on, always_off or traceidratio, with or without parentbased_ before it.",
        )),
    }
}

fn resource_of(
    environment: &Environment,
    machine: &AwsEnvironment,
) -> Result<Vec<(String, String)>, ConfigError> {
    let attributes = pairs(environment, variables::OTEL_RESOURCE).ok_or_else(|| {
        ConfigError::new(
            "The variable OTEL_RESOURCE_ATTRIBUTES is not a list of attributes. Set it to name=value, comma-joined, with values that \
             are encoded as in a URL, such as deployment.environment.name=production.",
        )
    })?;
    let name = environment.optional(variables::OTEL_SERVICE_NAME);
    let named = |key: &str| attributes.iter().any(|(name, _)| name == key);
    let mut resource = Vec::new();
    if let Some(name) = name.or((!named("service.name")).then_some("millrace")) {
        resource.push(("service.name".to_owned(), name.to_owned()));
    }
    if let Some(function) = &machine.function_name {
        resource.push(("faas.name".to_owned(), function.clone()));
    }
    if !named("service.version") {
        resource.push(("service.version".to_owned(), crate::VERSION.to_owned()));
    }
    resource.push(("telemetry.sdk.language".to_owned(), "rust".to_owned()));
    resource.push(("telemetry.sdk.name".to_owned(), "millrace".to_owned()));
    resource.push(("telemetry.sdk.version".to_owned(), crate::VERSION.to_owned()));
    let is_set = |key: &str| resource.iter().any(|(set, _)| set == key);
    let rest: Vec<_> = attributes
        .iter()
        .filter(|(key, _)| !is_set(key))
        .cloned()
        .collect();
    resource.extend(rest);
    Ok(resource)
}

/// Parses `name=value,…`; None for a text of another form.
fn pairs(environment: &Environment, variable: Variable) -> Option<Vec<(String, String)>> {
    let text = environment.optional(variable).unwrap_or_default();
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let name = name.trim();
        (!name.is_empty()).then_some(())?;
        Some((name.to_owned(), decoded(value.trim())?))
    });
    pairs.collect()
}

/// Decodes `%20` and its like; None for a text that is not UTF-8 then.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let mut byte = [0];
            hex::decode_to_slice(after.get(..2)?, &mut byte).ok()?;
            bytes.extend(byte);
            rest = after.get(2..)?;
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Result<Option<Settings>, String> {
        let variables = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let environment = Environment::from_variables(variables).unwrap();
        Settings::from_environment(&environment, &AwsEnvironment::default())
            .map_err(|error| error.to_string())
    }

    const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318/base/");

    #[test]
    fn export_is_off_without_an_endpoint() {
        assert!(settings(&[]).unwrap().is_none());
        assert!(
            settings(&[("OTEL_EXPORTER_OTLP_ENDPOINT", ""), ("OTEL_TRACES_SAMPLER", "x")])
                .unwrap()
                .is_none()
        );
        assert!(
            settings(&[ENDPOINT, ("OTEL_SDK_DISABLED", "TRUE")])
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn standard_variables_are_read() {
        let settings = settings(&[
            ENDPOINT,
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                "authorization=Bearer%20abc, x-team = a%2Cb",
            ),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
            ("OTEL_SERVICE_NAME", "orders"),
            (
                "OTEL_RESOURCE_ATTRIBUTES",
                "deployment.environment.name=dev,service.name=no",
            ),
            ("OTEL_TRACES_SAMPLER", "traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", "0.25"),
            ("OTEL_LOGS_EXPORTER", "none"),
        ]);
        let settings = settings.unwrap().unwrap();
        assert_eq!(
            settings.traces.as_deref(),
            Some("http://127.0.0.1:4318/base/v1/traces")
        );
        assert_eq!(settings.logs, None);
        assert_eq!(settings.headers["authorization"], "Bearer abc");
        assert_eq!(settings.headers["x-team"], "a,b");
        assert_eq!(settings.timeout, Duration::from_millis(250));
        assert_eq!(
            settings.sampler,
            Sampler {
                follows_parent: false,
                ratio: 0.25
            }
        );
        let value = |key: &str| {
            settings
                .resource
                .iter()
                .filter(|(set, _)| set == key)
                .collect::<Vec<_>>()
        };
        assert_eq!(value("service.name").len(), 1);
        assert_eq!(value("service.name")[0].1, "orders");
        assert_eq!(value("deployment.environment.name")[0].1, "dev");
    }

    #[test]
    fn wrong_value_is_refused_with_advice_and_without_secrets() {
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "127.0.0.1:4318"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://127.0.0.1"),
            (
                "OTEL_EXPORTER_OTLP_ENDPOINT",
                "https://user:hunter2@collector.example",
            ),
            (
                "OTEL_EXPORTER_OTLP_ENDPOINT",
                "https://collector.example/?key=hunter2",
            ),
            ("OTEL_EXPORTER_OTLP_HEADERS", "hunter2"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=%zzhunter2"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a b=hunter2"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=%0Ahunter2"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "host=hunter2"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "0"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_RESOURCE_ATTRIBUTES", "dev"),
            ("OTEL_TRACES_SAMPLER", "jaeger_remote"),
            ("OTEL_TRACES_EXPORTER", "zipkin"),
            ("OTEL_LOGS_EXPORTER", "console"),
        ] {
            let refusal = settings(&[ENDPOINT, (name, value)]).unwrap_err();
            assert!(
                refusal.contains(name) && refusal.contains("Set it to"),
                "{refusal}"
            );
            assert!(!refusal.contains("hunter2"), "{refusal}");
        }
        for ratio in ["-0.1", "1.1", "nan", "half"] {
            let refusal = settings(&[
                ENDPOINT,
                ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
                ("OTEL_TRACES_SAMPLER_ARG", ratio),
            ]);
            assert!(refusal.unwrap_err().contains("from 0 to 1"), "{ratio}");
        }
    }
}
