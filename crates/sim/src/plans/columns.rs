//! Kinds of columns, and which values each column has.
//!
//! Most columns have one spelling of each class of values, so that DISTINCT and GROUP BY have one answer; two columns may spell a class differently. Of
//! columns that have several only counts are asked for.

use os::Rng;

use super::values::{Family, classes, constant, near, pick, quoted};

/// A type and the collations that a column of it may have.
pub(super) struct Kind {
    pub(super) declared: &'static str,
    pub(super) family: Family,
    /// The longest value, of texts and binaries.
    length: usize,
    /// Equal values are the same in every respect.
    pub(super) has_one_form: bool,
    pub(super) is_integer: bool,
}

const fn number(declared: &'static str, is_integer: bool) -> Kind {
    Kind { declared, family: Family::Number, length: 0, has_one_form: true, is_integer }
}

const fn sized(declared: &'static str, family: Family, length: usize) -> Kind {
    Kind { declared, family, length, has_one_form: false, is_integer: false }
}

const fn plain(declared: &'static str, family: Family, has_one_form: bool) -> Kind {
    Kind { declared, family, length: 0, has_one_form, is_integer: false }
}

/// What columns and variables are declared as.
pub(super) const KINDS: [Kind; 31] = [
    number("bit", false),
    number("tinyint", true),
    number("smallint", true),
    number("int", true),
    number("bigint", true),
    number("decimal(5,2)", false),
    number("decimal(9,0)", false),
    number("decimal(18,6)", false),
    number("money", false),
    number("smallmoney", false),
    plain("real", Family::Number, false),
    plain("float", Family::Number, false),
    sized("char(4)", Family::Text, 4),
    sized("varchar(3)", Family::Text, 3),
    sized("varchar(6)", Family::Text, 6),
    sized("nchar(3)", Family::Text, 3),
    sized("nvarchar(4)", Family::Text, 4),
    sized("nvarchar(6)", Family::Text, 6),
    sized("varchar(3)", Family::Text, 3),
    sized("binary(2)", Family::Binary, 2),
    sized("varbinary(3)", Family::Binary, 3),
    plain("date", Family::Moment, true),
    plain("datetime", Family::Moment, true),
    plain("smalldatetime", Family::Moment, true),
    plain("datetime2(0)", Family::Moment, true),
    plain("datetime2(3)", Family::Moment, true),
    plain("datetime2(7)", Family::Moment, true),
    plain("datetimeoffset(3)", Family::Moment, false),
    plain("time(0)", Family::Time, true),
    plain("time(3)", Family::Time, true),
    plain("uniqueidentifier", Family::Guid, true),
];

/// Of text columns: the database's own, and others.
const COLLATIONS: [&str; 7] = [
    "",
    "",
    "Latin1_General_CI_AS",
    "Latin1_General_CS_AS",
    "Latin1_General_CI_AI",
    "Latin1_General_BIN2",
    "SQL_Latin1_General_CP1_CS_AS",
];

/// The kinds that most columns of a world have: few, so that columns find others that they can be compared with.
pub(super) fn pool(rng: &mut Rng) -> Vec<&'static Kind> {
    use Family::{Binary, Guid, Moment, Number, Text, Time};
    let family = *pick(rng, &[Number, Number, Text, Text, Text, Moment, Time, Binary, Guid]);
    let alike: Vec<&'static Kind> = KINDS.iter().filter(|kind| kind.family == family).collect();
    let mut pool: Vec<&'static Kind> = (0..2).map(|_| *pick(rng, &alike)).collect();
    pool.extend((0..2).map(|_| pick(rng, &KINDS)));
    pool
}

/// A column of a table.
#[derive(Clone)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: &'static Kind,
    pub(super) collation: &'static str,
    pub(super) is_nullable: bool,
    /// Its values are spelled in several ways: which one stands for a group is open.
    pub(super) is_mixed: bool,
    /// A spelling of each class that its type has room for, or all of them.
    spellings: Vec<&'static str>,
    /// What it is compared with more often than with others, in filters of indexes, too.
    favourites: Vec<String>,
    /// An index begins with it.
    pub(super) is_sought: bool,
}

impl Column {
    /// One of any kind; mostly of a kind that other columns of the world have, too.
    pub(super) fn draw(rng: &mut Rng, number: usize, pool: &[&'static Kind]) -> Column {
        let kind = if rng.chance(3, 4) { *pick(rng, pool) } else { pick(rng, &KINDS) };
        Column::of_kind(rng, number, kind)
    }

    fn of_kind(rng: &mut Rng, number: usize, kind: &'static Kind) -> Column {
        let collation = match kind.family {
            Family::Text => pick(rng, &COLLATIONS),
            _ => "",
        };
        let has_room = |spelling: &&&str| match kind.family {
            Family::Text => spelling.chars().count() - 2 <= kind.length,
            Family::Binary => (spelling.len() - 2) / 2 <= kind.length,
            _ => true,
        };
        let is_mixed = kind.family == Family::Text && rng.chance(1, 2);
        let mut spellings = Vec::new();
        for class in classes(kind.family) {
            let fitting: Vec<&&str> = class.iter().filter(has_room).collect();
            // Some columns have few values.
            if !fitting.is_empty() && rng.chance(3, 4) {
                match is_mixed {
                    true => spellings.extend(fitting.into_iter().copied()),
                    false => spellings.push(**pick(rng, &fitting)),
                }
            }
        }
        if spellings.is_empty() {
            spellings.push(classes(kind.family)[0][0]);
        }
        let first: &&str = pick(rng, &spellings);
        let own = quoted(kind.family, first);
        let favourites = vec![own, constant(rng, kind.family, Some(&spellings))];
        let (name, is_nullable) = (format!("c{number}"), rng.chance(2, 3));
        Column { name, kind, collation, is_nullable, is_mixed, spellings, favourites, is_sought: false }
    }

    /// One of the same type, which may have another collation, NULL or none, and other values.
    pub(super) fn twin(&self, rng: &mut Rng, number: usize) -> Column {
        Column::of_kind(rng, number, self.kind)
    }

    /// An integer that nothing is NULL in.
    pub(super) fn integer(name: &str) -> Column {
        let spellings = vec!["0", "1", "2", "3", "10"];
        let favourites = vec!["2".to_owned(), "3".to_owned()];
        Column {
            name: name.to_owned(),
            kind: &KINDS[3],
            collation: "",
            is_nullable: false,
            is_mixed: false,
            spellings,
            favourites,
            is_sought: false,
        }
    }

    /// Its definition in CREATE TABLE.
    pub(super) fn definition(&self) -> String {
        let collate =
            if self.collation.is_empty() { String::new() } else { format!(" COLLATE {}", self.collation) };
        let null = if self.is_nullable { "NULL" } else { "NOT NULL" };
        format!("{} {}{collate} {null}", self.name, self.kind.declared)
    }

    /// A value of it.
    pub(super) fn value(&self, rng: &mut Rng) -> String {
        if self.is_nullable && rng.chance(1, 6) {
            return "NULL".to_owned();
        }
        let (prefix, declared) = (self.prefix(), self.kind.declared);
        let spelling = pick(rng, &self.spellings);
        let first = self.spellings[0];
        match self.kind.family {
            Family::Number => {
                format!("COALESCE(TRY_CAST({spelling} AS {declared}), TRY_CAST({first} AS {declared}), 0)")
            }
            _ => format!("CAST({prefix}{spelling} AS {declared})"),
        }
    }

    /// What stands before constants of its type.
    pub(super) fn prefix(&self) -> &'static str {
        if self.kind.family == Family::Text && self.kind.declared.starts_with('n') { "N" } else { "" }
    }

    /// What it is compared with: one of its values, of the same class in another spelling, a little beside a value, or anything else of its family.
    pub(super) fn constant(&self, rng: &mut Rng) -> String {
        match rng.below(12) {
            0 | 1 => self.beside(rng),
            2..=4 => self.favourite(rng),
            _ => constant(rng, self.kind.family, Some(&self.spellings)),
        }
    }

    /// A constant of its own type: nothing of a comparison is converted then.
    pub(super) fn typed(&self, rng: &mut Rng) -> String {
        let spelling = *pick(rng, &self.spellings);
        self.converted(spelling)
    }

    /// A value of its own type that is equal to one of its values under some collation.
    pub(super) fn respelled(&self, rng: &mut Rng) -> String {
        let spelling = *pick(rng, &self.spellings);
        let is_of = |class: &&&[&'static str]| class.contains(&spelling);
        let class = classes(self.kind.family).iter().find(is_of);
        let other = class.map_or(spelling, |class| *pick(rng, class));
        self.converted(other)
    }

    fn converted(&self, spelling: &str) -> String {
        let cast = if self.kind.family == Family::Number { "TRY_CAST" } else { "CAST" };
        format!("{cast}({}{spelling} AS {})", self.prefix(), self.kind.declared)
    }

    /// A little beside one of its values.
    pub(super) fn beside(&self, rng: &mut Rng) -> String {
        let spelling = *pick(rng, &self.spellings);
        near(rng, (self.kind.family, self.kind.declared, self.kind.length), spelling)
    }

    /// One of the two constants that it is compared with most.
    pub(super) fn favourite(&self, rng: &mut Rng) -> String {
        pick(rng, &self.favourites).clone()
    }

    /// How a pattern begins that fits one of its values; of texts only.
    pub(super) fn beginning(&self, rng: &mut Rng) -> String {
        let plain = pick(rng, &self.spellings).trim_matches('\'');
        plain.chars().take(1 + rng.below(2) as usize).collect()
    }
}

/// A type of a family, for a variable.
pub(super) fn declared(rng: &mut Rng, family: Family) -> &'static str {
    let own: Vec<&Kind> = KINDS.iter().filter(|kind| kind.family == family).collect();
    pick(rng, &own).declared
}
