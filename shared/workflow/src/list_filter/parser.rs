//! Parses the tokens of a filter into an expression.

use super::error::FilterError;
use super::expression::{Comparison, Expression, Field, Kind, Test};
use super::lexer::{Lexer, Token, TokenKind};
use super::literal::{self, STATUSES, Value};

/// Maximum length of a filter, in bytes.
pub const MAX_BYTES: usize = 4_096;
/// Maximum nesting of parentheses and `NOT`.
pub const MAX_DEPTH: usize = 100;
/// Maximum number of values in all lists of a filter together.
pub const MAX_VALUES: usize = 500;

const KEYWORDS: [&str; 8] = ["AND", "OR", "NOT", "IN", "BETWEEN", "STARTS_WITH", "IS", "NULL"];

/// Returns None for an empty text.
pub(super) fn parse(text: &str) -> Result<Option<Expression>, FilterError> {
    if text.len() > MAX_BYTES {
        let fitting = text
            .char_indices()
            .take_while(|(start, char)| start + char.len_utf8() <= MAX_BYTES);
        return Err(FilterError::new(
            fitting.count() + 1,
            format!("the filter is longer than {MAX_BYTES} bytes: shorten it to that"),
        ));
    }
    let mut lexer = Lexer::new(text);
    let token = lexer.next()?;
    if matches!(token.kind, TokenKind::End) {
        return Ok(None);
    }
    let mut parser = Parser {
        lexer,
        token,
        depth: 0,
        values: 0,
    };
    let root = parser.disjunction()?;
    if matches!(parser.token.kind, TokenKind::End) {
        Ok(Some(root))
    } else {
        Err(parser.unexpected("expected AND, OR or the end of the filter"))
    }
}

struct Parser<'t> {
    lexer: Lexer<'t>,
    /// The next token, not yet consumed.
    token: Token<'t>,
    /// Nesting of parentheses and `NOT` around the token.
    depth: usize,
    /// Number of list values so far.
    values: usize,
}

impl Parser<'_> {
    fn disjunction(&mut self) -> Result<Expression, FilterError> {
        self.chain("OR", Self::conjunction, Expression::Any)
    }

    fn conjunction(&mut self) -> Result<Expression, FilterError> {
        self.chain("AND", Self::operand, Expression::All)
    }

    fn chain(
        &mut self,
        keyword: &str,
        part: fn(&mut Self) -> Result<Expression, FilterError>,
        join: fn(Vec<Expression>) -> Expression,
    ) -> Result<Expression, FilterError> {
        let first = part(self)?;
        if !self.is_at(keyword) {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.take(keyword)? {
            parts.push(part(self)?);
        }
        Ok(join(parts))
    }

    fn operand(&mut self) -> Result<Expression, FilterError> {
        let is_open = matches!(self.token.kind, TokenKind::Open);
        if !is_open && !self.is_at("NOT") {
            return self.condition();
        }
        let column = self.token.column;
        if self.depth == MAX_DEPTH {
            return Err(FilterError::new(
                column,
                format!("more than {MAX_DEPTH} levels of parentheses and NOT: nest them less"),
            ));
        }
        self.depth += 1;
        self.advance()?;
        let inner = if is_open {
            let inner = self.disjunction()?;
            if !matches!(self.token.kind, TokenKind::Close) {
                let message = format!("expected AND, OR or ')' to close the '(' in column {column}");
                return Err(self.unexpected(message));
            }
            self.advance()?;
            inner
        } else {
            Expression::Not(Box::new(self.operand()?))
        };
        self.depth -= 1;
        Ok(inner)
    }

    fn condition(&mut self) -> Result<Expression, FilterError> {
        let field = self.field()?;
        let test = self.test(field)?;
        Ok(Expression::Condition(field, test))
    }

    fn field(&mut self) -> Result<Field, FilterError> {
        let name = match self.token.kind {
            TokenKind::Word(word) if !is_keyword(word) => word,
            TokenKind::Name(name) => name,
            TokenKind::Text(_) => {
                let message = "expected a field: write its name without quotes or in back-ticks";
                return Err(self.unexpected(message));
            }
            _ => return Err(self.unexpected("expected a condition, like WorkflowId = 'order-1'")),
        };
        let Some(field) = Field::named(name) else {
            let names = Field::names(|_| true);
            return Err(self.unexpected(format!("unknown field '{name}': the fields are {names}")));
        };
        self.advance()?;
        Ok(field)
    }

    fn test(&mut self, field: Field) -> Result<Test, FilterError> {
        let column = self.token.column;
        if let TokenKind::Compare(comparison) = self.token.kind {
            if !matches!(comparison, Comparison::Equal | Comparison::NotEqual) {
                check_order(field, column)?;
            }
            self.advance()?;
            let value = self.value(field, comparison.symbol())?;
            return Ok(Test::Compare(comparison, value));
        }
        if self.take("IS")? {
            let negated = self.take("NOT")?;
            if !self.take("NULL")? {
                let message = if negated {
                    "expected NULL after IS NOT"
                } else {
                    "expected NULL or NOT NULL after IS"
                };
                return Err(self.unexpected(message));
            }
            return Ok(Test::IsNull { negated });
        }
        let negated = self.take("NOT")?;
        if self.take("IN")? {
            let values = self.list(field)?;
            return Ok(Test::In { negated, values });
        }
        if self.take("BETWEEN")? {
            check_order(field, column)?;
            let low = self.value(field, "BETWEEN")?;
            if !self.take("AND")? {
                return Err(self.unexpected("expected AND and a second value after BETWEEN and a value"));
            }
            let high = self.value(field, "AND")?;
            return Ok(Test::Between { negated, low, high });
        }
        if self.take("STARTS_WITH")? {
            check_order(field, column)?;
            if field.kind() == Kind::Text
                && let Value::Text(prefix) = self.value(field, "STARTS_WITH")?
            {
                return Ok(Test::StartsWith { negated, prefix });
            }
            let names = Field::names(|field| field.kind() == Kind::Text);
            let message = format!("STARTS_WITH is only for the text fields {names}");
            return Err(FilterError::new(column, message));
        }
        if negated {
            return Err(self.unexpected("expected IN, BETWEEN or STARTS_WITH after NOT"));
        }
        Err(self.unexpected(format!(
            "expected an operator after {}: =, !=, <, <=, >, >=, [NOT] IN, [NOT] BETWEEN, [NOT] STARTS_WITH \
             or IS [NOT] NULL",
            field.name()
        )))
    }

    fn list(&mut self, field: Field) -> Result<Vec<Value>, FilterError> {
        if !matches!(self.token.kind, TokenKind::Open) {
            return Err(self.unexpected("expected '(' and a list of values after IN"));
        }
        let mut values = Vec::new();
        let mut previous = "(";
        loop {
            self.advance()?;
            if self.values == MAX_VALUES {
                let message = format!("more than {MAX_VALUES} values in lists: ask for fewer");
                return Err(self.wrong(message));
            }
            self.values += 1;
            values.push(self.value(field, previous)?);
            match self.token.kind {
                TokenKind::Comma => previous = ",",
                TokenKind::Close => {
                    self.advance()?;
                    return Ok(values);
                }
                _ => return Err(self.unexpected("expected ',' or ')' after a value of a list")),
            }
        }
    }

    /// Parses a value for the field. `previous` is the token before it.
    fn value(&mut self, field: Field, previous: &str) -> Result<Value, FilterError> {
        let (value, problem) = match (&self.token.kind, field.kind()) {
            (TokenKind::Word(word), _) if word.eq_ignore_ascii_case("NULL") => {
                return Err(self.wrong("nothing compares with NULL: use IS NULL or IS NOT NULL"));
            }
            (TokenKind::Text(text), Kind::Text) => (Some(Value::Text(text.clone())), String::new()),
            (TokenKind::Text(text), Kind::Status) => (
                literal::status(text).map(Value::Status),
                format!("unknown status '{text}'"),
            ),
            (TokenKind::Text(text), Kind::Time) => (
                literal::time(text).map(Value::Time),
                format!("'{text}' is not a time"),
            ),
            (TokenKind::Text(text), Kind::Duration) => (
                literal::duration(text).map(Value::Duration),
                format!("'{text}' is not a duration"),
            ),
            (TokenKind::Number(number), Kind::Duration) => (
                literal::seconds(number).map(Value::Duration),
                format!("{number} is not a number of seconds"),
            ),
            (TokenKind::Word(word), kind) if !is_keyword(word) => (None, mismatch(field, kind)),
            (TokenKind::Number(_), kind) => (None, mismatch(field, kind)),
            _ => return Err(self.wrong(format!("expected a value after '{previous}'"))),
        };
        let Some(value) = value else {
            return Err(self.wrong(format!("{problem}: {}", advice(field.kind()))));
        };
        self.advance()?;
        Ok(value)
    }

    /// Returns an error at the current token.
    fn wrong(&self, message: impl Into<String>) -> FilterError {
        FilterError::new(self.token.column, message)
    }

    /// Returns an error at the current token, where `message` names the expected one. For ORDER BY and GROUP
    /// BY, which SQL has after a condition, the error says that they are not supported.
    fn unexpected(&self, message: impl Into<String>) -> FilterError {
        for clause in ["ORDER", "GROUP"] {
            if self.is_at(clause) {
                return self.wrong(format!(
                    "{clause} BY is not supported, remove it: runs are always listed newest first"
                ));
            }
        }
        self.wrong(message)
    }

    fn is_at(&self, keyword: &str) -> bool {
        matches!(self.token.kind, TokenKind::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    /// Consumes the current token if it is the keyword.
    fn take(&mut self, keyword: &str) -> Result<bool, FilterError> {
        let is_keyword = self.is_at(keyword);
        if is_keyword {
            self.advance()?;
        }
        Ok(is_keyword)
    }

    fn advance(&mut self) -> Result<(), FilterError> {
        self.token = self.lexer.next()?;
        Ok(())
    }
}

fn is_keyword(word: &str) -> bool {
    KEYWORDS.iter().any(|keyword| keyword.eq_ignore_ascii_case(word))
}

fn check_order(field: Field, column: usize) -> Result<(), FilterError> {
    if field.kind() != Kind::Status {
        return Ok(());
    }
    let message = format!(
        "{} takes only =, !=, IN, NOT IN, IS NULL and IS NOT NULL",
        field.name()
    );
    Err(FilterError::new(column, message))
}

fn mismatch(field: Field, kind: Kind) -> String {
    let noun = match kind {
        Kind::Text => "text",
        Kind::Status => "status",
        Kind::Time => "time",
        Kind::Duration => "duration",
    };
    format!("{} is a {noun}", field.name())
}

/// Explains how to write values of the kind.
fn advice(kind: Kind) -> String {
    match kind {
        Kind::Text => "write it in quotes, like 'order-1'".to_owned(),
        Kind::Status => format!("write one of {} in quotes", STATUSES.join(", ")),
        Kind::Time => {
            "write it in quotes, like '2026-01-31T08:00:00Z', or as a date, like '2026-01-31'".to_owned()
        }
        Kind::Duration => {
            "write a number of seconds, like 90 or 1.5, or a text, like '1h30m' or '500ms'".to_owned()
        }
    }
}
