//! Dates and times in a culture's words and order, with the rules of .NET's `DateTime.Parse`.
//!
//! A text has a date of two or three elements (numbers of one or two digits, a year of more, the name of a month), a time, or both in
//! either order, names of weekdays, and an offset. Blanks, commas and points separate as well as the date separators do. A text that .NET reads
//! in a surprising way (`5 Dec 10:30` is 05:10 of today there) is refused.

use crate::datetime::{Moment, TICKS_PER_DAY, TICKS_PER_SECOND, civil};
use crate::functions::Culture;
use crate::{SqlType, Value};

const TICKS_PER_MINUTE: i64 = 60 * TICKS_PER_SECOND as i64;

pub(super) fn parse(text: &str, target: &SqlType, culture: &Culture, now: &Moment) -> Option<Value> {
    let mut reader = Reader::new(text, culture);
    reader.read()?;
    let is_kept = matches!(target, SqlType::DateTimeOffset(_));
    let offset = i64::from(reader.offset.unwrap_or(0));
    // A value with an offset begins with the day of its own clock, others with the server's.
    let today = if is_kept { Moment::from_ticks(now.utc_ticks() + offset * TICKS_PER_MINUTE)? } else { *now };
    let days = match &reader.date {
        Some(elements) => day_of(elements, culture, civil::from_days(today.days).year)?,
        None => today.days,
    };
    if reader.date.is_none() && reader.time.is_none() {
        return None;
    }
    let ticks = i64::from(days) * TICKS_PER_DAY as i64 + reader.time.unwrap_or(0) as i64;
    let local = Moment::from_ticks(ticks)?;
    if reader.weekday.is_some_and(|weekday| weekday != civil::weekday(local.days)) {
        return None;
    }
    if is_kept {
        return Moment { offset_minutes: i16::try_from(offset).ok()?, ..local }.to_value(target);
    }
    let utc = Moment::from_ticks(ticks - offset * TICKS_PER_MINUTE)?;
    // The last part of a day is no part of the next one.
    if let SqlType::Time(scale) = *target {
        let unit = 10u64.pow(u32::from(7 - scale.min(7)));
        let last = TICKS_PER_DAY - unit;
        return Moment::new(utc.days, utc.ticks.min(last)).to_value(target);
    }
    utc.to_value(target)
}

/// A part of a date.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Element {
    /// One or two digits: a day, a month, or a year of the century.
    Number(u32),
    Year(i32),
    Month(u32),
}

/// Two digits of a year: up to 2049.
fn full_year(number: u32) -> i32 {
    match number {
        0..=49 => 2000 + number as i32,
        50..=99 => 1900 + number as i32,
        _ => number as i32,
    }
}

/// Does one letter of a pattern come before another?
fn is_before(pattern: &str, first: char, second: char) -> bool {
    pattern.find(first) < pattern.find(second)
}

/// The day that the elements mean in a culture; `this_year` is for those without a year.
fn day_of(elements: &[Element], culture: &Culture, this_year: i32) -> Option<i32> {
    use Element::{Month, Number, Year};
    let [short, .., month_day, year_month] = &culture.patterns;
    let month_first = is_before(short, 'M', 'd');
    let of = |year: i32, month: u32, day: u32| civil::to_days(year, month, day);
    match *elements {
        [Number(first), Number(second)] if is_before(month_day, 'M', 'd') => of(this_year, first, second),
        [Number(first), Number(second)] => of(this_year, second, first),
        // A number before or after a month's name is the year if the culture writes the year on that side and the day on the other.
        [Month(month), Number(year)] if is_before(month_day, 'd', 'M') && is_before(year_month, 'M', 'y') => {
            of(full_year(year), month, 1)
        }
        [Number(year), Month(month)] if is_before(month_day, 'M', 'd') && is_before(year_month, 'y', 'M') => {
            of(full_year(year), month, 1)
        }
        [Month(month), Number(day)] | [Number(day), Month(month)] => of(this_year, month, day),
        [Year(year), Number(month)] | [Number(month), Year(year)] => of(year, month, 1),
        [Year(year), Month(month)] | [Month(month), Year(year)] => of(year, month, 1),
        [Number(first), Number(second), Number(third)] if month_first => of(full_year(third), first, second),
        [Number(first), Number(second), Number(third)] => of(full_year(third), second, first),
        [Number(first), Number(second), Year(year)] if month_first => of(year, first, second),
        [Number(first), Number(second), Year(year)] => of(year, second, first),
        [Year(year), Number(month), Number(day)] | [Number(month), Year(year), Number(day)] => {
            of(year, month, day)
        }
        [Month(month), Number(first), Number(second)]
        | [Number(first), Month(month), Number(second)]
        | [Number(first), Number(second), Month(month)] => {
            of(full_year(second), month, first).or_else(|| of(full_year(first), month, second))
        }
        [Month(month), Number(day), Year(year)]
        | [Month(month), Year(year), Number(day)]
        | [Number(day), Month(month), Year(year)]
        | [Number(day), Year(year), Month(month)]
        | [Year(year), Month(month), Number(day)]
        | [Year(year), Number(day), Month(month)] => of(year, month, day),
        _ => None,
    }
}

/// The meaning of a name.
#[derive(Clone, Copy, PartialEq)]
enum Name {
    /// From 1.
    Month(u32),
    /// From Monday, 0.
    Weekday(u32),
}

/// The meaning of a lower-case word in a culture.
fn named(culture: &Culture, word: &str) -> Option<Name> {
    let is_it = |name: &&str| name.chars().flat_map(char::to_lowercase).eq(word.chars());
    let place = |names: &[&str]| names.iter().position(is_it);
    let month = place(&culture.months).or_else(|| place(&culture.short_months));
    let weekday = || place(&culture.weekdays).or_else(|| place(&culture.short_weekdays));
    month.map(|at| Name::Month(at as u32 + 1)).or_else(|| weekday().map(|at| Name::Weekday(at as u32)))
}

/// A text being read.
struct Reader<'a> {
    text: Vec<char>,
    at: usize,
    culture: &'a Culture,
    date: Option<Vec<Element>>,
    /// Ticks since midnight.
    time: Option<u64>,
    /// Minutes east of Greenwich.
    offset: Option<i16>,
    /// From Monday.
    weekday: Option<u32>,
}

impl<'a> Reader<'a> {
    fn new(text: &str, culture: &'a Culture) -> Reader<'a> {
        let text = text.chars().collect();
        Reader { text, at: 0, culture, date: None, time: None, offset: None, weekday: None }
    }

    fn read(&mut self) -> Option<()> {
        loop {
            self.skip_ignored();
            let Some(next) = self.peek() else { return Some(()) };
            if next == '+' || next == '-' {
                self.zone()?;
            } else if next.is_ascii_digit() {
                if self.is_time() { self.time()? } else { self.date()? }
            } else if next.is_alphabetic() {
                match self.name() {
                    Some((Name::Month(_), _)) => self.date()?,
                    Some((Name::Weekday(_), _)) => self.take_weekday()?,
                    None if matches!(&self.peek_word()[..], "z" | "gmt") => self.zone()?,
                    None => return None,
                }
            } else {
                return None;
            }
        }
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    /// Commas and points count as blanks.
    fn skip_ignored(&mut self) {
        while self.peek().is_some_and(|c| c.is_whitespace() || c == ',' || c == '.') {
            self.at += 1;
        }
    }

    /// The word here, in small letters.
    fn peek_word(&self) -> String {
        let letters = self.text[self.at..].iter().take_while(|c| c.is_alphabetic());
        letters.flat_map(|c| c.to_lowercase()).collect()
    }

    fn take_word(&mut self) {
        while self.peek().is_some_and(char::is_alphabetic) {
            self.at += 1;
        }
    }

    /// The name here, with the letters it has: of the culture, or else an English one. A short name with a point is another word than one
    /// without (French `mar.` is a Tuesday, `mar` is March as in English).
    fn name(&self) -> Option<(Name, usize)> {
        let word = self.peek_word();
        let length = self.text[self.at..].iter().take_while(|c| c.is_alphabetic()).count();
        let is_dotted = self.text.get(self.at + length) == Some(&'.');
        let dotted = is_dotted.then(|| (format!("{word}."), length + 1));
        let cultures = [self.culture, Culture::invariant()];
        dotted.into_iter().chain([(word, length)]).find_map(|(word, length)| {
            let name = cultures.iter().find_map(|culture| named(culture, &word))?;
            Some((name, length))
        })
    }

    /// A weekday's name, once.
    fn take_weekday(&mut self) -> Option<()> {
        let (Name::Weekday(weekday), length) = self.name()? else { return None };
        self.at += length;
        self.weekday.replace(weekday).is_none().then_some(())
    }

    /// Digits, up to eight: how many, and their number.
    fn digits(&mut self) -> Option<(usize, u32)> {
        let length = self.text[self.at..].iter().take_while(|c| c.is_ascii_digit()).count();
        if !(1..=8).contains(&length) {
            return None;
        }
        let digits = &self.text[self.at..self.at + length];
        let number = digits.iter().fold(0, |number, digit| number * 10 + digit.to_digit(10).unwrap_or(0));
        self.at += length;
        Some((length, number))
    }

    /// AM (false) or PM (true) after blanks.
    fn half(&mut self) -> Option<bool> {
        let before = self.at;
        self.skip_blanks();
        let word = self.peek_word();
        let [am, pm] = self.culture.halves.map(str::to_lowercase);
        let is_pm = match &word[..] {
            "" => None,
            "am" => Some(false),
            "pm" => Some(true),
            other if other == am => Some(false),
            other if other == pm => Some(true),
            _ => None,
        };
        match is_pm {
            Some(_) => self.take_word(),
            None => self.at = before,
        }
        is_pm
    }

    /// A colon among blanks.
    fn colon(&mut self) -> bool {
        let before = self.at;
        self.skip_blanks();
        let found = self.peek() == Some(':');
        self.at = if found { self.at + 1 } else { before };
        if found {
            self.skip_blanks();
        }
        found
    }

    /// Is the number here an hour: does a colon follow it, or AM or PM?
    fn is_time(&mut self) -> bool {
        let before = self.at;
        let found =
            self.digits().is_some_and(|(length, _)| length < 3) && (self.colon() || self.half().is_some());
        self.at = before;
        found
    }

    /// `h:mm[:ss[.f]]`, `h tt`, each with AM or PM.
    fn time(&mut self) -> Option<()> {
        let (_, hour) = self.digits()?;
        let (mut minute, mut second, mut fraction) = (0, 0, 0);
        if self.colon() {
            minute = self.part()?;
            if self.colon() {
                second = self.part()?;
                fraction = self.fraction();
            }
        }
        let hour = match self.half() {
            None => hour,
            Some(false) if hour > 12 => return None,
            Some(false) => hour % 12,
            Some(true) if hour < 12 => hour + 12,
            Some(true) => hour,
        };
        self.set_time(hour, minute, second, fraction)
    }

    /// Minutes or seconds.
    fn part(&mut self) -> Option<u32> {
        self.digits().filter(|(length, _)| *length < 3).map(|(_, number)| number)
    }

    /// `.123`, in ticks, rounded.
    fn fraction(&mut self) -> u64 {
        let is_digit = |place: usize| self.text.get(place).is_some_and(char::is_ascii_digit);
        if self.peek() != Some('.') || !is_digit(self.at + 1) {
            return 0;
        }
        self.at += 1;
        let length = self.text[self.at..].iter().take_while(|c| c.is_ascii_digit()).count();
        let digit = |place: usize| {
            let digit = self.text.get(self.at + place).filter(|_| place < length);
            u64::from(digit.and_then(|digit| digit.to_digit(10)).unwrap_or(0))
        };
        let ticks = (0..7).fold(0, |ticks, place| ticks * 10 + digit(place));
        let rounded = ticks + u64::from(digit(7) >= 5);
        self.at += length;
        rounded
    }

    /// Ticks of the fraction may be a whole second.
    fn set_time(&mut self, hour: u32, minute: u32, second: u32, fraction: u64) -> Option<()> {
        if self.time.is_some() || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        self.time = Some(u64::from(hour * 3600 + minute * 60 + second) * TICKS_PER_SECOND + fraction);
        Some(())
    }

    /// `Z`, `GMT`, `+hh:mm`, `+hhmm`, `+h`, behind a date of three elements or a time.
    fn zone(&mut self) -> Option<()> {
        if self.offset.is_some() || (self.date.is_none() && self.time.is_none()) {
            return None;
        }
        let sign = match self.peek()? {
            '+' => 1,
            '-' => -1,
            _ => {
                self.take_word();
                self.offset = Some(0);
                return Some(());
            }
        };
        self.at += 1;
        let minutes = match self.digits()? {
            (1 | 2, hours) => {
                let minutes = if self.peek() == Some(':') {
                    self.at += 1;
                    self.part()?
                } else {
                    0
                };
                (minutes < 60).then_some(hours * 60 + minutes)?
            }
            (3 | 4, both) => (both % 100 < 60).then_some(both / 100 * 60 + both % 100)?,
            _ => return None,
        };
        if minutes > 14 * 60 {
            return None;
        }
        self.offset = Some(sign * minutes as i16);
        Some(())
    }

    /// Two or three elements. Two must be all that is left; three may be followed by `T` and a time (ISO 8601).
    fn date(&mut self) -> Option<()> {
        if self.date.is_some() {
            return None;
        }
        let mut elements = vec![self.element()?];
        while elements.len() < 3 {
            let separated = self.date_separator();
            self.skip_ignored();
            while matches!(self.name(), Some((Name::Weekday(_), _))) {
                self.take_weekday()?;
                self.skip_ignored();
            }
            match self.peek() {
                Some(_) => elements.push(self.element()?),
                None if separated || elements.len() < 2 => return None,
                None => break,
            }
        }
        let is_iso = matches!(elements[..], [Element::Year(_), Element::Number(_), Element::Number(_)]);
        self.date = Some(elements);
        let before = self.at;
        self.skip_blanks();
        match self.peek() {
            Some('t' | 'T') if is_iso && self.peek_word() == "t" => self.iso_time(),
            Some('-' | '+') => Some(()),
            Some(_) => {
                self.at = before;
                (!self.date_separator()).then_some(())
            }
            None => Some(()),
        }
    }

    /// A number or the name of a month; no hour.
    fn element(&mut self) -> Option<Element> {
        if self.peek()?.is_alphabetic() {
            let (Name::Month(month), length) = self.name()? else { return None };
            self.at += length;
            return Some(Element::Month(month));
        }
        if self.is_time() {
            return None;
        }
        Some(match self.digits()? {
            (1 | 2, number) => Element::Number(number),
            (_, year) => Element::Year(year as i32),
        })
    }

    /// `/`, `-` or the culture's own, after blanks.
    fn date_separator(&mut self) -> bool {
        let own = self.culture.patterns[0].chars().find(|c| !c.is_ascii_alphabetic());
        let before = self.at;
        self.skip_blanks();
        let found = self.peek().is_some_and(|c| c == '/' || c == '-' || Some(c) == own);
        self.at = if found { self.at + 1 } else { before };
        found
    }

    /// `Thh:mm[:ss[.f]]` and an offset, and nothing more.
    fn iso_time(&mut self) -> Option<()> {
        self.take_word();
        self.skip_blanks();
        let two = |reader: &mut Reader<'_>| reader.digits().filter(|(length, _)| *length == 2);
        let (_, hour) = two(self)?;
        let (mut second, mut fraction) = (0, 0);
        if !self.colon() {
            return None;
        }
        let (_, minute) = two(self)?;
        if self.colon() {
            (_, second) = two(self)?;
            fraction = self.fraction();
        }
        self.set_time(hour, minute, second, fraction)?;
        self.skip_blanks();
        if matches!(self.peek(), Some('+' | '-')) || self.peek_word() == "z" {
            self.zone()?;
            self.skip_blanks();
        }
        self.peek().is_none().then_some(())
    }
}
