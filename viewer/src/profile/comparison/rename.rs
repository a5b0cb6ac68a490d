//! Rules by which functions of two builds that have different names are one.

use regex::Regex;

/// Functions that changed their names: what matches is called so in both profiles.
#[derive(Clone, Debug)]
pub struct Rename {
    pattern: Regex,
    name: String,
}

impl Rename {
    /// The rule `OLD=NEW`: OLD is a regular expression for the whole name, NEW may name its groups
    /// as `$1`.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the rule.
    pub fn parse(rule: &str) -> Result<Self, String> {
        let (old, new) = split_rule(rule).ok_or("a rule is OLD=NEW, as in 'parse_(.*)=read_$1'")?;
        let pattern = Regex::new(&format!("^(?:{old})$")).map_err(|error| {
            let text = error.to_string();
            let cause = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
            format!("`{old}` is no regular expression: {cause}")
        })?;
        Ok(Self { pattern, name: new.to_owned() })
    }

    pub(super) fn apply(&self, name: &str) -> Option<String> {
        self.pattern
            .is_match(name)
            .then(|| self.pattern.replace(name, self.name.as_str()).into_owned())
    }
}

/// At the first `=` that is no part of `operator==` and the like: between two other characters.
fn split_rule(rule: &str) -> Option<(&str, &str)> {
    let bytes = rule.as_bytes();
    let is_operator = |byte: Option<&u8>| byte.is_some_and(|byte| b"=<>!+-*/%&|^".contains(byte));
    let place = (1..bytes.len().saturating_sub(1)).find(|&at| {
        bytes[at] == b'='
            && !is_operator(bytes.get(at - 1))
            && bytes.get(at + 1).is_none_or(|&next| next != b'=')
    })?;
    Some((&rule[..place], &rule[place + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_split_where_people_mean_it() {
        for (rule, expected) in [
            ("a=b", Some(("a", "b"))),
            ("operator===my_equal", None),
            ("operator\\(\\)=call", Some(("operator\\(\\)", "call"))),
            ("=b", None),
            ("a", None),
        ] {
            assert_eq!(split_rule(rule), expected, "{rule}");
        }
        assert_eq!(
            Rename::parse("a(=b").unwrap_err(),
            "`a(` is no regular expression: unclosed group"
        );
    }
}
