//! What options change about how rows are read.

use crate::identity::{digest, hexadecimal, Digest, ABSENT};
use crate::json::{Cursor, No, Result};
use crate::meta::Meta;
use crate::numbers::{number, read_number, round_score, LARGEST_SCORE};

/// What the names of groups that nothing but their prompt identifies begin with.
const BY_PROMPT: &str = "prompt:";
/// The name under which pairs have a task that their group does not name.
const TASK: &str = "source_task";
/// Stands for the prompt among the values that name a group; JSON cannot hold it.
const PROMPT: char = '\0';

#[derive(Debug, Clone, Default)]
pub struct Reading {
    pub group_by: GroupBy,
    /// The paths of scores and their weights; else the score is where the format has it.
    pub scores: Vec<(String, f64)>,
    /// What texts count as where they are scores.
    pub grades: Vec<(String, f64)>,
    /// Whether text may be a number.
    pub cast_score: bool,
    pub lower_is_better: bool,
    pub drop_reasoning: bool,
    /// Whether only the model's last text is its answer.
    pub only_last_text: bool,
    /// The paths of fields that pairs take over.
    pub keep: Vec<String>,
    /// Whether pairs take more of a row than is read here.
    pub keeps_more: bool,
}

/// Which answers to a prompt compete.
#[derive(Debug, Clone, Default)]
pub enum GroupBy {
    /// Those of one task, where the format names it.
    #[default]
    Task,
    /// All.
    Prompt,
    /// Those whose rows agree in some fields.
    Fields(Vec<Field>),
}

#[derive(Debug, Clone)]
pub enum Field {
    Prompt,
    /// The value at a path.
    Value(String),
    /// The number at a path, divided by the length of a run.
    Run(String, i64),
}

/// The name of a group, and the task of its candidates if that is not in it.
pub struct Named {
    pub group: String,
    pub task: Option<String>,
}

impl Named {
    pub fn task_digest(&self) -> Digest {
        self.task.as_ref().map_or(ABSENT, |task| digest(&[b"task\0", task.as_bytes()]))
    }
}

impl Reading {
    /// The values of a row that name its group, as JSON.
    pub fn values(&self, line: &str) -> Result<String> {
        let mut values = String::new();
        let GroupBy::Fields(fields) = &self.group_by else { return Ok(values) };
        for field in fields {
            values.push(if values.is_empty() { '[' } else { ',' });
            match field {
                Field::Prompt => values.push(PROMPT),
                Field::Value(path) => {
                    let mut value = at(line, path)?;
                    if value.peek() == b'n' {
                        return Err(No::Odd);
                    }
                    value.canonical(&mut values)?;
                }
                Field::Run(path, length) => {
                    let (text, integer) = number(&mut at(line, path)?)?;
                    let value: i64 = text.parse().map_err(|_| No::Odd)?;
                    if !integer {
                        return Err(No::Odd);
                    }
                    values.push_str(&value.div_euclid(*length).to_string());
                }
            }
        }
        values.push(']');
        Ok(values)
    }

    /// The name of the group of a row with these values and this prompt. What the format gives as a name
    /// is a task, unless it only names a prompt.
    pub fn name(&self, values: &str, prompt: &Digest, given: Option<String>) -> Named {
        let by_prompt = || format!("{BY_PROMPT}{}", hexadecimal(prompt));
        let task = |given: Option<String>| given.filter(|name| !name.starts_with(BY_PROMPT));
        match &self.group_by {
            GroupBy::Task => Named { group: given.unwrap_or_else(by_prompt), task: None },
            GroupBy::Prompt => Named { group: by_prompt(), task: task(given) },
            GroupBy::Fields(_) => {
                let group = values.replace(PROMPT, &format!("\"{}\"", by_prompt()));
                Named { group, task: task(given) }
            }
        }
    }

    /// Whether answers with different references compete without anyone having said so.
    pub fn references_matter(&self) -> bool {
        matches!(self.group_by, GroupBy::Task)
    }

    /// What pairs say of a row: the task that its group does not name, and fields that they take over.
    pub fn write_meta(&self, task: Option<&str>, line: &str, meta: &mut Meta) -> Result<()> {
        if let Some(task) = task {
            meta.say(TASK, task);
        }
        for path in &self.keep {
            if let Some(mut value) = find(line, path)? {
                let mut written = String::new();
                value.rewrite(&mut written)?;
                meta.add(path, written);
            }
        }
        Ok(())
    }

    /// The score of a row; `own` is that of its format.
    pub fn score(&self, line: &str, own: Option<f64>) -> Result<f64> {
        if self.scores.is_empty() {
            return own.map(|score| self.signed(score)).ok_or(No::Odd);
        }
        let mut sum = 0.0;
        for (path, weight) in &self.scores {
            sum += weight * self.number(at(line, path)?)?;
        }
        if sum.abs() <= LARGEST_SCORE {
            Ok(self.signed(round_score(sum)))
        } else {
            Err(No::Odd)
        }
    }

    /// The number that a score counts as.
    fn number(&self, mut score: Cursor) -> Result<f64> {
        if score.peek() == b'"' {
            let text = score.string()?.text();
            let grade = self.grades.iter().find(|(known, _)| *known == text);
            return match grade {
                Some((_, number)) => Ok(*number),
                None if self.cast_score && self.grades.is_empty() => number_in(&text),
                None => Err(No::Odd),
            };
        }
        if !self.grades.is_empty() {
            return Err(No::Odd); // they may be meant for numbers
        }
        read_number(&mut score)
    }

    /// A score by which better answers have more.
    pub fn signed(&self, score: f64) -> f64 {
        if self.lower_is_better {
            0.0 - score
        } else {
            score
        }
    }
}

/// A number that is written as text.
fn number_in(text: &str) -> Result<f64> {
    let word = text.to_ascii_lowercase();
    let mut cursor = Cursor::new(&word);
    let number = read_number(&mut cursor)?;
    cursor.end().map_err(|_| No::Odd)?; // Python may know it
    Ok(number)
}

/// The value at a dotted path. Where there is none, Python reads the row.
fn at<'a>(line: &'a str, path: &str) -> Result<Cursor<'a>> {
    find(line, path)?.ok_or(No::Odd)
}

/// The value at a dotted path, if there is one. Where several could be meant, Python reads the row.
fn find<'a>(line: &'a str, path: &str) -> Result<Option<Cursor<'a>>> {
    let (mut cursor, mut rest) = (Cursor::new(line), path);
    loop {
        let (step, more) = rest.split_once('.').map_or((rest, None), |(one, two)| (one, Some(two)));
        let (mut whole, mut first) = (None, None);
        if cursor.peek() == b'{' {
            cursor.object(|cursor, key| {
                let found = match key.raw {
                    _ if key.escaped => return Err(No::Odd),
                    name if name == rest => &mut whole,
                    name if name == step => &mut first,
                    _ => return cursor.skip(),
                };
                if found.replace(*cursor).is_some() {
                    return Err(No::Odd);
                }
                cursor.skip()
            })?;
        } else if cursor.peek() == b'[' && step.bytes().all(|byte| byte.is_ascii_digit()) {
            let wanted: usize = step.parse().map_err(|_| No::Odd)?;
            let mut place = 0;
            cursor.list(|cursor| {
                if place == wanted {
                    first = Some(*cursor);
                }
                place += 1;
                cursor.skip()
            })?;
            whole = first.filter(|_| more.is_none());
        }
        let (Some(value), Some(more), None) = (first, more, whole) else { return Ok(whole) };
        (cursor, rest) = (value, more);
    }
}

#[cfg(test)]
mod tests {
    use super::{at, Field, GroupBy, Reading};
    use crate::identity::ABSENT;

    #[test]
    fn paths_lead_where_those_of_python_lead() {
        let line = r#"{"a":{"b.c":1,"b":{"c":2}},"d":[[3,4]],"e":"\u0041"," ":5,"a.x":6}"#;
        let found = |path| at(line, path).map(|mut value| value.raw().unwrap_or_default());
        for (path, expected) in
            [("a.b.c", "1"), ("d.0.1", "4"), ("d.00.0", "3"), (" ", "5"), ("a.x", "6")]
        {
            assert_eq!(found(path), Ok(expected), "{path}");
        }
        for path in ["a.c", "d.1", "d.+0.0", "d.0.", "e.0", "", "a.", "d[]", "b"] {
            assert!(found(path).is_err(), "{path}");
        }
        assert!(at(r#"{"a":1,"a":2}"#, "a").is_err());
        assert!(at(r#"{"\u0061":1,"b":2}"#, "b").is_err());
    }

    #[test]
    fn groups_are_named_by_the_values_of_their_rows() {
        let fields = vec![
            Field::Value("id".to_owned()),
            Field::Prompt,
            Field::Run("n".to_owned(), 4),
            Field::Value("o".to_owned()),
        ];
        let reading = Reading { group_by: GroupBy::Fields(fields), ..Reading::default() };
        let values = reading.values(r#"{"o":{"z":1.0,"a":[]},"n":-1,"id":"\u0041"}"#);
        let name = |values: &str| reading.name(values, &ABSENT, None).group;
        let expected = format!(r#"["A","prompt:{}",-1,{{"a":[],"z":1.0}}]"#, "0".repeat(32));
        assert_eq!(values.map(|values| name(&values)), Ok(expected));
        for odd in [r#"{"id":null,"n":1,"o":1}"#, r#"{"id":1,"n":1.0,"o":1}"#, r#"{"id":1}"#] {
            assert!(reading.values(odd).is_err(), "{odd}");
        }
    }

    #[test]
    fn scores_are_added_by_their_weights() {
        let paths = |paths: &[(&str, f64)]| Reading {
            scores: paths.iter().map(|(path, weight)| ((*path).to_owned(), *weight)).collect(),
            lower_is_better: paths.len() > 1,
            ..Reading::default()
        };
        let line = r#"{"a":0.1,"b":{"c":true},"d":8e307}"#;
        assert_eq!(paths(&[("b.c", 1.0)]).score(line, None), Ok(1.0));
        assert_eq!(paths(&[("a", 3.0), ("b.c", 0.5)]).score(line, Some(7.0)), Ok(-0.8));
        assert!(paths(&[("d", 2.0)]).score(line, None).is_err());
        assert_eq!(paths(&[]).score(line, Some(7.0)), Ok(7.0));
        let line = r#"{"a":"C","b":{"c":"0.70"},"d":"TRUE","e":" 1","f":"1_0","g":1}"#;
        let cast = |path| Reading { cast_score: true, ..paths(&[(path, 1.0)]) };
        let found = ["b.c", "d", "a", "e", "f"].map(|path| cast(path).score(line, None).ok());
        assert_eq!(found, [Some(0.7), Some(1.0), None, Some(1.0), None]);
        let grades = vec![("C".to_owned(), 0.5)];
        let graded = |path| Reading { grades: grades.clone(), ..cast(path) };
        let found = ["a", "b.c", "g"].map(|path| graded(path).score(line, None).ok());
        assert_eq!(found, [Some(0.5), None, None]);
        assert!(paths(&[]).score(line, None).is_err());
    }
}
