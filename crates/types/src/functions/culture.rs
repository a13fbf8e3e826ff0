//! The settings of cultures: separators, currency, names, date patterns.

/// A culture's settings. The best known are here; others are refused by name (error 9818), never formatted or read wrongly.
#[derive(Debug, PartialEq, Eq)]
pub struct Culture {
    /// Lower case, `en-us`; `iv` is the invariant culture.
    pub name: &'static str,
    /// Between whole part and fraction.
    pub decimal: &'static str,
    /// Between groups of three digits.
    pub group: &'static str,
    /// Currency with `n` in place of the number.
    pub currency: &'static str,
    /// Currency for numbers below zero.
    pub negative_currency: &'static str,
    /// Percentages with `n` in place of the number.
    pub percent: &'static str,
    /// Full names from January.
    pub months: [&'static str; 12],
    /// Full names from Monday.
    pub weekdays: [&'static str; 7],
    /// Short names from January.
    pub short_months: [&'static str; 12],
    /// Short names from Monday.
    pub short_weekdays: [&'static str; 7],
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
const ENGLISH_SHORT_MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const ENGLISH_SHORT_WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

static CULTURES: [Culture; 5] = [
    Culture {
        name: "en-us",
        decimal: ".",
        group: ",",
        currency: "$n",
        negative_currency: "($n)",
        percent: "n%",
        months: ENGLISH_MONTHS,
        weekdays: ENGLISH_WEEKDAYS,
        short_months: ENGLISH_SHORT_MONTHS,
        short_weekdays: ENGLISH_SHORT_WEEKDAYS,
        halves: ["AM", "PM"],
        patterns: ["M/d/yyyy", "dddd, MMMM d, yyyy", "h:mm tt", "h:mm:ss tt", "MMMM d", "MMMM yyyy"],
    },
    Culture {
        name: "iv",
        decimal: ".",
        group: ",",
        currency: "\u{a4}n",
        negative_currency: "(\u{a4}n)",
        percent: "n %",
        months: ENGLISH_MONTHS,
        weekdays: ENGLISH_WEEKDAYS,
        short_months: ENGLISH_SHORT_MONTHS,
        short_weekdays: ENGLISH_SHORT_WEEKDAYS,
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
        short_months: ENGLISH_SHORT_MONTHS,
        short_weekdays: ENGLISH_SHORT_WEEKDAYS,
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
        short_months: ["Jan", "Feb", "Mrz", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez"],
        short_weekdays: ["Mo", "Di", "Mi", "Do", "Fr", "Sa", "So"],
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
        short_months: [
            "janv.",
            "f\u{e9}vr.",
            "mars",
            "avr.",
            "mai",
            "juin",
            "juil.",
            "ao\u{fb}t",
            "sept.",
            "oct.",
            "nov.",
            "d\u{e9}c.",
        ],
        short_weekdays: ["lun.", "mar.", "mer.", "jeu.", "ven.", "sam.", "dim."],
        halves: ["", ""],
        patterns: ["dd/MM/yyyy", "dddd d MMMM yyyy", "HH:mm", "HH:mm:ss", "d MMMM", "MMMM yyyy"],
    },
];

impl Culture {
    /// The culture of a name such as `en-US`, `en_us` or `en` (a language alone means its first country); `None` when it is not known
    /// here.
    pub fn by_name(name: &str) -> Option<&'static Culture> {
        let name = name.replace('_', "-");
        let is_language = |culture: &Culture| {
            let (language, _) = culture.name.split_once('-').unwrap_or((culture.name, ""));
            language.eq_ignore_ascii_case(&name)
        };
        CULTURES
            .iter()
            .find(|culture| culture.name.eq_ignore_ascii_case(&name))
            .or_else(|| CULTURES.iter().find(|culture| is_language(culture)))
    }

    /// en-US, that of language us_english.
    pub fn default_culture() -> &'static Culture {
        &CULTURES[0]
    }

    /// The invariant culture.
    pub fn invariant() -> &'static Culture {
        &CULTURES[1]
    }
}
