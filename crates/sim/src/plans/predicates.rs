//! Conditions over columns in sight: comparisons of every pair of types, lists, ranges, patterns, NULL, subqueries, and what AND, OR and NOT make of them.

use os::Rng;

use super::columns::{Column, declared};
use super::tables::Table;
use super::values::{Family, constant, pick};

/// A column in sight, or what a query computes.
#[derive(Clone)]
pub(super) struct Reference {
    /// How it is written.
    pub(super) text: String,
    pub(super) family: Family,
    pub(super) is_integer: bool,
    pub(super) collation: &'static str,
    /// The column of a table that it is.
    pub(super) column: Option<Column>,
    /// Equal values are the same in every respect, or come from one column.
    pub(super) is_groupable: bool,
    /// A constant: it has the collation of what it is compared with.
    pub(super) is_coercible: bool,
}

impl Reference {
    /// A column of a table under an alias.
    pub(super) fn column(alias: &str, column: &Column) -> Reference {
        Reference {
            text: format!("{alias}.{}", column.name),
            family: column.kind.family,
            is_integer: column.kind.is_integer,
            collation: column.collation,
            is_groupable: super::tables::is_groupable(column),
            column: Some(column.clone()),
            is_coercible: false,
        }
    }

    /// A whole number that is computed.
    pub(super) fn integer(text: String) -> Reference {
        Reference {
            text,
            family: Family::Number,
            is_integer: true,
            collation: "",
            column: None,
            is_groupable: true,
            is_coercible: false,
        }
    }

    /// The same under the name that a derived table gives it.
    pub(super) fn named(&self, alias: &str, name: &str) -> Reference {
        Reference { text: format!("{alias}.{name}"), ..self.clone() }
    }

    /// COLLATE for a comparison with another text, where their collations differ.
    pub(super) fn collate_beside(&self, other: &Reference) -> &'static str {
        let needs_none = self.is_coercible || other.is_coercible || self.collation == other.collation;
        if needs_none { "" } else { " COLLATE Latin1_General_CI_AS" }
    }

    /// The same; at times where they do not differ, too.
    pub(super) fn collate_joined(&self, rng: &mut Rng, other: &Reference) -> &'static str {
        let is_asked = self.family == Family::Text && rng.chance(1, 4);
        if is_asked { " COLLATE Latin1_General_CI_AS" } else { self.collate_beside(other) }
    }

    fn constant(&self, rng: &mut Rng) -> String {
        match &self.column {
            Some(column) => column.constant(rng),
            None => constant(rng, self.family, None),
        }
    }

    fn is_sought(&self) -> bool {
        self.column.as_ref().is_some_and(|column| column.is_sought)
    }
}

/// One of the columns; in every second case one that an index begins with.
pub(super) fn pick_column(rng: &mut Rng, columns: &[Reference]) -> Reference {
    let sought: Vec<&Reference> = columns.iter().filter(|column| column.is_sought()).collect();
    match sought.is_empty() || rng.chance(1, 2) {
        true => pick(rng, columns).clone(),
        false => (*pick(rng, &sought)).clone(),
    }
}

/// What a query may speak of.
pub(super) struct Scope<'t> {
    pub(super) tables: &'t [Table],
    pub(super) columns: Vec<Reference>,
    /// Subqueries may still go so deep.
    pub(super) depth: u32,
}

/// The declarations of a batch, and the aliases that have been given.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) declarations: Vec<String>,
    pub(super) aliases: u32,
    /// Subqueries of changes may go so deep.
    pub(super) depth: u32,
}

impl Batch {
    pub(super) fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("q{}", self.aliases)
    }

    /// A comparison that reads no row. The variable is NULL at times.
    fn startup(&mut self, rng: &mut Rng, reference: &Reference) -> String {
        let variable = match rng.chance(1, 2) {
            true => self.variable(rng, reference),
            false => {
                let name = format!("@v{}", self.declarations.len());
                let of_type = declared(rng, reference.family);
                self.declarations.push(format!("DECLARE {name} {of_type};"));
                name
            }
        };
        format!("{variable} {} {}", pick(rng, &OPERATORS), reference.constant(rng))
    }

    /// A variable with a value of the family.
    fn variable(&mut self, rng: &mut Rng, reference: &Reference) -> String {
        let name = format!("@v{}", self.declarations.len());
        let of_type = match &reference.column {
            Some(column) if rng.chance(1, 3) => column.kind.declared,
            _ => declared(rng, reference.family),
        };
        let value = if rng.chance(1, 8) { "NULL".to_owned() } else { reference.constant(rng) };
        self.declarations.push(format!("DECLARE {name} {of_type} = TRY_CAST({value} AS {of_type});"));
        name
    }
}

/// A condition of so many comparisons or fewer.
pub(super) fn condition(rng: &mut Rng, scope: &Scope<'_>, batch: &mut Batch, terms: u64) -> String {
    if terms <= 1 {
        let term = term(rng, scope, batch);
        return if rng.chance(1, 8) { format!("NOT ({term})") } else { term };
    }
    let left = 1 + rng.below(terms - 1);
    let one = condition(rng, scope, batch, left);
    let other = condition(rng, scope, batch, terms - left);
    match rng.below(10) {
        0..=5 => format!("{one} AND {other}"),
        6 | 7 => format!("({one} OR {other})"),
        8 => format!("NOT ({one} OR {other})"),
        _ => format!("({one}) AND ({other})"),
    }
}

pub(super) const OPERATORS: [&str; 8] = ["=", "=", "=", "<", "<=", ">", ">=", "<>"];

fn term(rng: &mut Rng, scope: &Scope<'_>, batch: &mut Batch) -> String {
    if scope.depth > 0 && rng.chance(1, 5) {
        return of_subquery(rng, scope, batch);
    }
    let own = pick_column(rng, &scope.columns);
    let text = &own.text;
    match rng.below(28) {
        20 => batch.startup(rng, &own),
        21 => twice(rng, &own, batch),
        22 | 23 => either(rng, scope, batch),
        24 => in_common(rng, scope, batch),
        25 => telling(rng, &scope.columns),
        26 | 27 => bounds(rng, &own),
        0..=6 => comparison(rng, &own, batch),
        7 | 8 => match partner(rng, scope, &own) {
            Some(other) => compared(rng, &own, &other),
            None => comparison(rng, &own, batch),
        },
        9 | 10 => format!("{text} BETWEEN {} AND {}", own.constant(rng), own.constant(rng)),
        11 | 12 => listed(rng, &own),
        13 => format!("{text} IS {}NULL", if rng.chance(1, 2) { "NOT " } else { "" }),
        14 if own.family == Family::Text => like(rng, &own),
        15 => format!("ISNULL({text}, {text}) = {text}"),
        _ => computed(rng, &own, batch),
    }
}

/// IN and NOT IN; a value may stand there twice, and NULL.
fn listed(rng: &mut Rng, own: &Reference) -> String {
    let count = if rng.chance(1, 3) { 12 } else { 1 + rng.below(4) };
    let mut list: Vec<String> = (0..count).map(|_| own.constant(rng)).collect();
    if rng.chance(1, 4) {
        list.push(list[0].clone());
    }
    if rng.chance(1, 8) {
        list.push("NULL".to_owned());
    }
    format!("{} {}IN ({})", own.text, if rng.chance(1, 3) { "NOT " } else { "" }, list.join(", "))
}

/// LIKE: patterns of any kind, and such as begin like a value of the column.
pub(super) fn like(rng: &mut Rng, own: &Reference) -> String {
    const PATTERNS: [&str; 18] = [
        "'a%'",
        "'%b'",
        "'_b%'",
        "'a'",
        "'[ab]%'",
        "'%'",
        "N'á%'",
        "'ab %'",
        "''",
        "'a%b'",
        "'a[b-c]%'",
        "'a[^b]%'",
        "'a-%'",
        "'a '",
        "'aa%%'",
        "'a!%' ESCAPE '!'",
        "'!a%' ESCAPE '!'",
        "'1[0]'",
    ];
    let pattern = match &own.column {
        Some(column) if rng.chance(2, 3) => {
            let (beginning, rest) =
                (column.beginning(rng), pick(rng, &["%", "%", "_", "%b", "", " ", "[a-c]%", "b%c"]));
            let is_ascii = beginning.is_ascii() && rng.chance(1, 4);
            let national = if is_ascii { "" } else { column.prefix() };
            format!("{national}'{beginning}{rest}'")
        }
        _ => (*pick(rng, &PATTERNS)).to_owned(),
    };
    format!("{} {}LIKE {pattern}", own.text, if rng.chance(1, 6) { "NOT " } else { "" })
}

/// Two or three bounds of one column by values of its own type, which may contradict each other.
pub(super) fn bounds(rng: &mut Rng, own: &Reference) -> String {
    let value = |rng: &mut Rng| match &own.column {
        Some(column) if rng.chance(3, 4) => column.typed(rng),
        _ => own.constant(rng),
    };
    let bound = |_| format!("{} {} {}", own.text, pick(rng, &OPERATORS), value(rng));
    let all: Vec<String> = (0..2 + u64::from(own.is_integer)).map(bound).collect();
    all.join(" AND ")
}

/// Two comparisons of one column, which may contradict each other.
fn twice(rng: &mut Rng, own: &Reference, batch: &mut Batch) -> String {
    format!("{} AND {}", comparison(rng, own, batch), comparison(rng, own, batch))
}

/// Comparisons of two columns of which one must be TRUE.
fn either(rng: &mut Rng, scope: &Scope<'_>, batch: &mut Batch) -> String {
    let (one, other) = (pick_column(rng, &scope.columns), pick_column(rng, &scope.columns));
    format!("({} OR {})", comparison(rng, &one, batch), comparison(rng, &other, batch))
}

/// An OR whose branches have a comparison in common.
fn in_common(rng: &mut Rng, scope: &Scope<'_>, batch: &mut Batch) -> String {
    let shared = pick_column(rng, &scope.columns);
    let shared = comparison(rng, &shared, batch);
    let mut branch = || {
        let own = pick_column(rng, &scope.columns);
        comparison(rng, &own, batch)
    };
    let (one, other) = (branch(), branch());
    format!("({shared} AND {one} OR {shared} AND {other})")
}

/// A condition that tells values apart which are equal under a collation, or in other respects.
pub(super) fn telling(rng: &mut Rng, columns: &[Reference]) -> String {
    let own = pick(rng, columns);
    let (text, operator) = (&own.text, pick(rng, &OPERATORS));
    match (own.family, rng.below(6)) {
        (Family::Text, 0) => format!("{text} COLLATE Latin1_General_BIN {operator} {}", own.constant(rng)),
        (Family::Text, 1) => format!("CAST({text} AS varbinary(20)) {operator} 0x61"),
        (Family::Text, 2) => format!("{text} COLLATE Latin1_General_BIN {operator} UPPER({text})"),
        (Family::Text, 3) => format!("DATALENGTH({text}) {operator} LEN({text})"),
        (Family::Text | Family::Binary, _) => format!("DATALENGTH({text}) {operator} {}", 1 + rng.below(4)),
        _ => format!("CAST({text} AS varchar(40)) {operator} '2'"),
    }
}

pub(super) fn comparison(rng: &mut Rng, own: &Reference, batch: &mut Batch) -> String {
    let value = if rng.chance(1, 5) { batch.variable(rng, own) } else { own.constant(rng) };
    let operator = pick(rng, &OPERATORS);
    if own.family == Family::Text && rng.chance(1, 8) {
        let collate = pick(rng, &["Latin1_General_CI_AI", "Latin1_General_CS_AS", "Latin1_General_BIN2"]);
        return format!("{} COLLATE {collate} {operator} {value}", own.text);
    }
    match rng.chance(1, 6) {
        true => format!("{value} {operator} {}", own.text),
        false => format!("{} {operator} {value}", own.text),
    }
}

/// Another column that it can be compared with.
pub(super) fn partner(rng: &mut Rng, scope: &Scope<'_>, own: &Reference) -> Option<Reference> {
    let fits = |other: &&Reference| other.family == own.family && other.text != own.text;
    let found: Vec<&Reference> = scope.columns.iter().filter(fits).collect();
    let alike: Vec<&Reference> = found.iter().copied().filter(|other| is_alike(own, other)).collect();
    if !alike.is_empty() && rng.chance(1, 2) {
        return Some((*pick(rng, &alike)).clone());
    }
    (!found.is_empty()).then(|| (*pick(rng, &found)).clone())
}

/// Have both the type and the collation of one another, and is there an index for the second?
fn is_alike(one: &Reference, other: &Reference) -> bool {
    let declared = |reference: &Reference| reference.column.as_ref().map(|column| column.kind.declared);
    other.is_sought() && declared(one) == declared(other) && one.collation == other.collation
}

/// Two columns of one family, compared under one collation.
pub(super) fn compared(rng: &mut Rng, one: &Reference, other: &Reference) -> String {
    let collate = one.collate_beside(other);
    if rng.chance(1, 8) {
        let not = if rng.chance(1, 2) { "NOT " } else { "" };
        return format!("{}{collate} IS {not}DISTINCT FROM {}", one.text, other.text);
    }
    format!("{}{collate} {} {}", one.text, pick(rng, &OPERATORS), other.text)
}

/// A comparison of what is computed of a column.
fn computed(rng: &mut Rng, own: &Reference, batch: &mut Batch) -> String {
    let (text, operator) = (&own.text, pick(rng, &OPERATORS));
    match own.family {
        Family::Text => match rng.below(6) {
            0 => format!("DATALENGTH({text}) {operator} {}", rng.below(6)),
            1 => format!("LEN({text}) {operator} {}", rng.below(5)),
            2 => format!("UPPER({text}) {operator} {}", own.constant(rng)),
            3 => format!("{text} COLLATE Latin1_General_BIN {operator} {}", own.constant(rng)),
            4 => format!("{text} + 'b' {operator} {}", own.constant(rng)),
            _ => format!("CAST({text} AS varchar(2)) {operator} {}", own.constant(rng)),
        },
        Family::Number => match rng.below(9) {
            8 => format!("CASE WHEN {text} <> 0 THEN 10 / {text} ELSE 0 END {operator} {}", rng.below(6)),
            7 => format!(
                "CAST({text} AS int) {} 3 {operator} {}",
                pick(rng, &["%", "&", "|", "^"]),
                rng.below(4)
            ),
            0 => format!("{text} + 1 {operator} {}", own.constant(rng)),
            1 => format!("-{text} {operator} {}", own.constant(rng)),
            2 => format!("CASE WHEN {} THEN 1 ELSE 0 END = 1", comparison(rng, own, batch)),
            3 => format!("COALESCE({text}, 1) {operator} {}", own.constant(rng)),
            // It fails where the column is zero.
            4 => format!("10 / {text} {operator} 2"),
            5 => format!("CAST({text} AS int) {operator} {}", own.constant(rng)),
            _ => format!("{text} * 2 {operator} {text} + {}", rng.below(4)),
        },
        Family::Moment => match rng.below(3) {
            0 => format!("CAST({text} AS date) {operator} {}", own.constant(rng)),
            1 => format!("YEAR({text}) {operator} 2020"),
            _ => format!("CAST({text} AS datetime2(0)) {operator} {}", own.constant(rng)),
        },
        Family::Binary | Family::Time | Family::Guid => comparison(rng, own, batch),
    }
}

/// EXISTS, IN, ANY, ALL and scalar subqueries, tied to the row or not.
fn of_subquery(rng: &mut Rng, scope: &Scope<'_>, batch: &mut Batch) -> String {
    let (table, alias) = (pick(rng, scope.tables), batch.alias());
    let own: Vec<Reference> = table.columns.iter().map(|column| Reference::column(&alias, column)).collect();
    let outer = pick_column(rng, &scope.columns);
    let here = Scope { tables: scope.tables, columns: own.clone(), depth: scope.depth - 1 };
    let mut conditions = Vec::new();
    let inner = partner(rng, &here, &outer);
    let form = rng.below(8);
    // What stands in IN ties the row already.
    if let Some(inner) = inner.as_ref().filter(|_| if form < 4 { rng.chance(1, 6) } else { rng.chance(2, 3) })
    {
        let collate = inner.collate_beside(&outer);
        let operator = if rng.chance(4, 5) { "=" } else { *pick(rng, &OPERATORS) };
        conditions.push(format!("{}{collate} {operator} {}", inner.text, outer.text));
    }
    if form >= 4 && rng.chance(1, 3) {
        let (one, other) = (pick(rng, &own).clone(), pick_column(rng, &scope.columns));
        let both = Scope { tables: scope.tables, columns: vec![other], depth: 0 };
        if let Some(other) = partner(rng, &both, &one) {
            conditions.push(compared(rng, &one, &other));
        }
    }
    if conditions.is_empty() || rng.chance(1, 2) {
        let terms = 1 + rng.below(2);
        let filter = if form < 4 && rng.chance(1, 2) {
            "1 = 1".to_owned()
        } else {
            condition(rng, &here, batch, terms)
        };
        conditions.push(filter);
    }
    let from = format!("FROM {} AS {alias} WHERE {}", table.name, conditions.join(" AND "));
    let not = if rng.chance(1, 2) { "NOT " } else { "" };
    match (form, inner) {
        (0..=2, Some(inner)) => {
            let collate = inner.collate_beside(&outer);
            format!("{}{collate} {not}IN (SELECT {} {from})", outer.text, inner.text)
        }
        (3, Some(inner)) => {
            let collate = inner.collate_beside(&outer);
            let quantifier = pick(rng, &["ANY", "ALL"]);
            format!(
                "{}{collate} {} {quantifier} (SELECT {} {from})",
                outer.text,
                pick(rng, &OPERATORS),
                inner.text
            )
        }
        (4, _) => format!("(SELECT COUNT(*) {from}) {} {}", pick(rng, &OPERATORS), rng.below(4)),
        (5, _) => {
            let aggregate = pick(rng, &["MAX", "MIN", "SUM", "AVG"]);
            format!("(SELECT {aggregate}({alias}.v) {from}) {} {}", pick(rng, &OPERATORS), rng.below(5))
        }
        _ => format!("{not}EXISTS (SELECT {} {from})", pick(rng, &["1", "*", "1/0"])),
    }
}
