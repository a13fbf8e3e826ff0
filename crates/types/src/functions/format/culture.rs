//! What differs from culture to culture: separators, currency, names, date patterns.

/// A culture's settings. The best known are here; others are refused by name (error 9818), never formatted wrongly.
#[derive(Debug, PartialEq, Eq)]
pub struct Culture {
    /// Lower case, `en-us`.
    pub name: &'static str,
    /// Between whole part and fraction.
    pub decimal: &'static str,
    /// Between groups of three digits.
    pub group: &'static str,
    /// Currency with `n` where the number stands.
    pub currency: &'static str,
    /// The same for numbers below zero.
    pub negative_currency: &'static str,
    /// Percentages with `n` where the number stands.
    pub percent: &'static str,
    /// Full names from January.
    pub months: [&'static str; 12],
    /// Full names from Monday.
    pub weekdays: [&'static str; 7],
    /// How many letters short names of weekdays have.
    pub short_weekday: usize,
    /// AM and PM.
    pub halves: [&'static str; 2],
    /// Standard patterns d, D, t, T, m, y.
    pub patterns: [&'static str; 6],
}

const ENGLISH_MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const ENGLISH_WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

static CULTURES: [Culture; 5] = [
    Culture {
        name: "en-us",
        decimal: ".",
        group: ",",
        currency: "$n",
        negative_currency: "-$n",
        percent: "n%",
        months: ENGLISH_MONTHS,
        weekdays: ENGLISH_WEEKDAYS,
        short_weekday: 3,
        halves: ["AM", "PM"],
        patterns: ["M/d/yyyy", "dddd, MMMM d, yyyy", "h:mm tt", "h:mm:ss tt", "MMMM d", "MMMM yyyy"],
    },
    Culture {
        name: "",
        decimal: ".",
        group: ",",
        currency: "\u{a4}n",
        negative_currency: "(\u{a4}n)",
        percent: "n %",
        months: ENGLISH_MONTHS,
        weekdays: ENGLISH_WEEKDAYS,
        short_weekday: 3,
        halves: ["AM", "PM"],
        patterns: ["MM/dd/yyyy", "dddd, dd MMMM yyyy", "HH:mm", "HH:mm:ss", "MMMM dd", "yyyy MMMM"],
    },
    Culture {
        name: "en-gb",
        decimal: ".",
        group: ",",
        currency: "\u{a3}n",
        negative_currency: "-\u{a3}n",
        percent: "n%",
        months: ENGLISH_MONTHS,
        weekdays: ENGLISH_WEEKDAYS,
        short_weekday: 3,
        halves: ["AM", "PM"],
        patterns: ["dd/MM/yyyy", "dd MMMM yyyy", "HH:mm", "HH:mm:ss", "d MMMM", "MMMM yyyy"],
    },
    Culture {
        name: "de-de",
        decimal: ",",
        group: ".",
        currency: "n \u{20ac}",
        negative_currency: "-n \u{20ac}",
        percent: "n %",
        months: [
            "Januar",
            "Februar",
            "M\u{e4}rz",
            "April",
            "Mai",
            "Juni",
            "Juli",
            "August",
            "September",
            "Oktober",
            "November",
            "Dezember",
        ],
        weekdays: ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"],
        short_weekday: 2,
        halves: ["", ""],
        patterns: ["dd.MM.yyyy", "dddd, d. MMMM yyyy", "HH:mm", "HH:mm:ss", "d. MMMM", "MMMM yyyy"],
    },
    Culture {
        name: "fr-fr",
        decimal: ",",
        group: "\u{a0}",
        currency: "n \u{20ac}",
        negative_currency: "-n \u{20ac}",
        percent: "n %",
        months: [
            "janvier",
            "f\u{e9}vrier",
            "mars",
            "avril",
            "mai",
            "juin",
            "juillet",
            "ao\u{fb}t",
            "septembre",
            "octobre",
            "novembre",
            "d\u{e9}cembre",
        ],
        weekdays: ["lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"],
        short_weekday: 3,
        halves: ["", ""],
        patterns: ["dd/MM/yyyy", "dddd d MMMM yyyy", "HH:mm", "HH:mm:ss", "d MMMM", "MMMM yyyy"],
    },
];

impl Culture {
    /// The culture of a name such as `en-US`; `None` when it is not known here.
    pub fn by_name(name: &str) -> Option<&'static Culture> {
        CULTURES.iter().find(|culture| culture.name.eq_ignore_ascii_case(name))
    }

    /// en-US, that of language us_english.
    pub fn default_culture() -> &'static Culture {
        &CULTURES[0]
    }
}
