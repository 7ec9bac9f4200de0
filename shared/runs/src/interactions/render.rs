//! Renders the messages of an interaction with data.

use models::{Content, Message};
use platform::{Error, Result};
use prompts::Templates;
use serde_json::Value;

use super::resolved::{MessageTemplate, Resolved, Role};

/// Rendered messages, ready for a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// Texts of the roles system and safety, in their order; None where there is none.
    pub system: Option<String>,
    /// Messages of the other roles, without blank ones.
    pub messages: Vec<Message>,
}

impl Rendered {
    /// Appends the data as JSON in a user message where the last message is not the user's: a model answers a
    /// user.
    #[must_use]
    pub fn ending_with(mut self, data: &Value) -> Self {
        if !matches!(self.messages.last(), Some(Message::User { .. })) {
            self.messages.push(Message::user(data.to_string()));
        }
        self
    }
}

pub(super) fn render(templates: &Templates, resolved: &Resolved, data: &Value) -> Result<Rendered> {
    let mut system: Vec<String> = Vec::new();
    let mut messages = Vec::new();
    for (index, message) in resolved.messages.iter().enumerate() {
        let text = templates
            .render(message.content_type, &message.content, data)
            .map_err(|fault| Error::invalid(refusal(resolved, message, index, &fault)))?;
        if text.trim().is_empty() {
            continue;
        }
        match message.role {
            Role::System => system.push(text),
            Role::User => messages.push(Message::user(text)),
            Role::Assistant => messages.push(Message::Assistant {
                content: vec![Content::of_text(text)],
            }),
        }
    }
    Ok(Rendered {
        system: (!system.is_empty()).then(|| system.join("\n\n")),
        messages,
    })
}

fn refusal(
    resolved: &Resolved,
    message: &MessageTemplate,
    index: usize,
    fault: &prompts::RenderError,
) -> String {
    let which = match &message.prompt {
        Some((id, version)) => format!("version {version} of the prompt template '{id}'"),
        None => format!("message {} of the interaction", index + 1),
    };
    let at = fault
        .place
        .map(|place| format!(" at {place}"))
        .unwrap_or_default();
    format!(
        "The interaction '{}' cannot be rendered: {which} fails{at}: {}. Change the template, or the data that it is given.",
        resolved.id, fault.reason
    )
}

#[cfg(test)]
mod tests {
    use prompts::records::prompts::ContentType;
    use serde_json::json;

    use super::super::system;
    use super::*;

    fn interaction(messages: &[(&str, ContentType, &str)]) -> Resolved {
        let message = |(role, content_type, content): &(&str, ContentType, &str)| MessageTemplate {
            role: Role::named(role),
            content_type: *content_type,
            content: (*content).to_owned(),
            prompt: Some(("p-1".to_owned(), 4)),
        };
        Resolved {
            id: "int-1".to_owned(),
            is_system: false,
            messages: messages.iter().map(message).collect(),
            ..system::find(system::GENERAL).unwrap()
        }
    }

    fn rendered(messages: &[(&str, ContentType, &str)], data: &Value) -> Result<Rendered> {
        render(&Templates::new(1_000_000), &interaction(messages), data)
    }

    #[test]
    fn each_template_is_rendered_in_its_own_language_and_its_order() {
        use ContentType::{Handlebars, Jst, Text};
        let data = json!({ "name": "Ada", "items": [1, 2] });
        let asked = rendered(
            &[
                ("System", Handlebars, "Help {{name}}."),
                ("user", Jst, "I am ${name}."),
                ("assistant", Text, "Hello {{name}} ${name}"),
                ("safety", Text, "Tell no secret."),
                ("context", Handlebars, "{{#each items}}{{this}};{{/each}}"),
                ("user", Handlebars, " {{missing}} "),
            ],
            &data,
        )
        .unwrap();
        assert_eq!(asked.system.as_deref(), Some("Help Ada.\n\nTell no secret."));
        assert_eq!(
            asked.messages,
            [
                Message::user("I am Ada."),
                Message::Assistant {
                    content: vec![Content::of_text("Hello {{name}} ${name}")]
                },
                Message::user("1;2;"),
            ]
        );
    }

    #[test]
    fn a_conversation_without_the_user_ends_with_the_data() {
        let data = json!({ "task": "Sum up." });
        let silent = rendered(&[("system", ContentType::Text, "Work.")], &data).unwrap();
        let asked = silent.ending_with(&data);
        assert_eq!(asked.messages, [Message::user(r#"{"task":"Sum up."}"#)]);
        assert_eq!(asked.clone().ending_with(&json!({})), asked);
    }

    #[test]
    fn a_template_that_fails_is_named_and_the_data_is_not_quoted() {
        let data = json!({ "secret": "hunter2" });
        let refusal = rendered(&[("user", ContentType::Jst, "\n${secret} ${name}")], &data).unwrap_err();
        assert!(!refusal.is_transient());
        let message = refusal.message();
        for part in [
            "'int-1'",
            "version 4 of the prompt template 'p-1'",
            "line 2",
            "name",
        ] {
            assert!(message.contains(part), "{message}");
        }
        assert!(!message.contains("hunter2"), "{message}");
    }

    #[test]
    fn the_built_in_ones_render() {
        let templates = Templates::new(1_000_000);
        let data = json!({ "instruction": "It is <urgent> & \"new\"." });
        for reference in [system::CLASSIFIER, system::GENERAL] {
            let resolved = system::find(reference).unwrap();
            let asked = render(&templates, &resolved, &data).unwrap();
            let system = asked.system.unwrap();
            assert_eq!(
                system.contains("It is <urgent> & \"new\"."),
                reference == system::CLASSIFIER
            );
            assert!(asked.messages.is_empty());
        }
        let refusal = system::find("sys:nothing").unwrap_err();
        assert!(refusal.message().contains("sys:classifier, sys:general"));
    }
}
