//! The tables of TPC-H, from a generator of our own that follows its specification's rules for sizes, ranges and words.

use types::Date;

use crate::random::{Random, money};
use crate::schema::{INDEXES, TABLES};
use crate::server::{Content, EachRow, TableDefinition};

const REGIONS: [&str; 5] = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"];
const NATIONS: [(&str, u64); 25] = [
    ("ALGERIA", 0),
    ("ARGENTINA", 1),
    ("BRAZIL", 1),
    ("CANADA", 1),
    ("EGYPT", 4),
    ("ETHIOPIA", 0),
    ("FRANCE", 3),
    ("GERMANY", 3),
    ("INDIA", 2),
    ("INDONESIA", 2),
    ("IRAN", 4),
    ("IRAQ", 4),
    ("JAPAN", 2),
    ("JORDAN", 4),
    ("KENYA", 0),
    ("MOROCCO", 0),
    ("MOZAMBIQUE", 0),
    ("PERU", 1),
    ("CHINA", 2),
    ("ROMANIA", 3),
    ("SAUDI ARABIA", 4),
    ("VIETNAM", 2),
    ("RUSSIA", 3),
    ("UNITED KINGDOM", 3),
    ("UNITED STATES", 1),
];
const SEGMENTS: [&str; 5] = ["AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD"];
const PRIORITIES: [&str; 5] = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"];
const INSTRUCTIONS: [&str; 4] = ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"];
const MODES: [&str; 7] = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"];
const TYPES: [[&str; 6]; 3] = [
    ["STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"],
    ["ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED", "PLATED"],
    ["TIN", "NICKEL", "BRASS", "STEEL", "COPPER", "STEEL"],
];
const SIZES: [&str; 5] = ["SM", "LG", "MED", "JUMBO", "WRAP"];
const VESSELS: [&str; 8] = ["CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"];
const COLORS: [&str; 24] = [
    "almond",
    "antique",
    "aquamarine",
    "azure",
    "beige",
    "bisque",
    "black",
    "blush",
    "brown",
    "chocolate",
    "coral",
    "cream",
    "cyan",
    "dark",
    "forest",
    "green",
    "honeydew",
    "ivory",
    "khaki",
    "lemon",
    "linen",
    "misty",
    "navy",
    "peach",
];
const WORDS: [&str; 20] = [
    "express",
    "special",
    "requests",
    "pending",
    "deposits",
    "accounts",
    "packages",
    "ironic",
    "final",
    "bold",
    "furiously",
    "quickly",
    "carefully",
    "slyly",
    "regular",
    "even",
    "silent",
    "theodolites",
    "pinto",
    "beans",
];

/// Sizes by scale factor, as the specification has them for a factor of one.
#[derive(Clone, Copy)]
pub struct Sizes {
    suppliers: u64,
    customers: u64,
    parts: u64,
    orders: u64,
}

impl Sizes {
    /// The sizes for a scale factor, never so small that a table is empty.
    pub fn of(factor: f64) -> Sizes {
        let of_one = |count: f64| ((count * factor) as u64).max(8);
        Sizes {
            suppliers: of_one(10_000.0),
            customers: of_one(150_000.0),
            parts: of_one(200_000.0),
            orders: of_one(1_500_000.0),
        }
    }
}

/// The words in the rows of TPC-H.
trait Words {
    fn text(&mut self, words: u64) -> String;
    fn phone(&mut self, nation: u64) -> String;
    fn balance(&mut self) -> String;
}

impl Words for Random {
    fn text(&mut self, words: u64) -> String {
        (0..words).map(|_| self.pick(&WORDS)).collect::<Vec<_>>().join(" ")
    }

    fn phone(&mut self, nation: u64) -> String {
        let part = |random: &mut Random, high| random.within(100, high);
        let (a, b, c) = (part(self, 999), part(self, 999), self.within(1000, 9999));
        format!("{}-{a}-{b}-{c}", nation + 10)
    }

    fn balance(&mut self) -> String {
        let cents = self.within(0, 1_099_998) as i64 - 99_999;
        let sign = if cents < 0 { "-" } else { "" };
        format!("{sign}{}", money(cents.unsigned_abs()))
    }
}

fn price_cents(part: u64) -> u64 {
    90_000 + (part / 10) % 20_001 + 100 * (part % 1_000)
}

/// One of the four suppliers of a part.
fn supplier_of(part: u64, place: u64, suppliers: u64) -> u64 {
    (part + place * (suppliers / 4 + (part - 1) / suppliers)) % suppliers + 1
}

fn date(days: i32) -> String {
    let day = Date { days }.civil();
    format!("'{:04}-{:02}-{:02}'", day.year, day.month, day.day)
}

fn day(year: i32, month: u32, day: u32) -> i32 {
    Date::from_civil(year, month, day).expect("a day of the calendar").days
}

impl Content for Sizes {
    fn tables(&self) -> &'static [TableDefinition] {
        &TABLES
    }

    fn indexes(&self) -> &'static [&'static str] {
        &INDEXES
    }

    /// Orders and their lines are generated from the same random sequence, each once for its own table.
    fn generate(&self, table: &str, each: EachRow<'_>) -> Result<(), String> {
        generate(table, *self, each)
    }
}

fn generate(table: &str, sizes: Sizes, each: EachRow<'_>) -> Result<(), String> {
    let mut random = Random(table.bytes().fold(7, |sum, byte| sum * 31 + u64::from(byte)));
    match table {
        "region" => {
            for (key, name) in REGIONS.iter().enumerate() {
                each(format!("{key},'{name}','{}'", random.text(8)))?;
            }
        }
        "nation" => {
            for (key, (name, region)) in NATIONS.iter().enumerate() {
                each(format!("{key},'{name}',{region},'{}'", random.text(8)))?;
            }
        }
        "supplier" => suppliers(&mut random, sizes, each)?,
        "customer" => customers(&mut random, sizes, each)?,
        "part" => parts(&mut random, sizes, each)?,
        "partsupp" => {
            for part in 1..=sizes.parts {
                for place in 0..4 {
                    let supplier = supplier_of(part, place, sizes.suppliers);
                    let (quantity, cost) = (random.within(1, 9999), money(random.within(100, 100_000)));
                    each(format!("{part},{supplier},{quantity},{cost},'{}'", random.text(12)))?;
                }
            }
        }
        "orders" | "lineitem" => {
            let mut random = Random(4711);
            for number in 1..=sizes.orders {
                order(&mut random, number, sizes, table == "lineitem", each)?;
            }
        }
        other => return Err(format!("no table {other}")),
    }
    Ok(())
}

fn suppliers(random: &mut Random, sizes: Sizes, each: EachRow<'_>) -> Result<(), String> {
    for key in 1..=sizes.suppliers {
        let nation = random.within(0, 24);
        let complaint = if key % 1_000 == 7 { " Customer sly Complaints" } else { "" };
        each(format!(
            "{key},'Supplier#{key:09}','{}',{nation},'{}',{},'{}{complaint}'",
            random.text(3),
            random.phone(nation),
            random.balance(),
            random.text(5),
        ))?;
    }
    Ok(())
}

fn customers(random: &mut Random, sizes: Sizes, each: EachRow<'_>) -> Result<(), String> {
    for key in 1..=sizes.customers {
        let nation = random.within(0, 24);
        each(format!(
            "{key},'Customer#{key:09}','{}',{nation},'{}',{},'{}','{}'",
            random.text(3),
            random.phone(nation),
            random.balance(),
            random.pick(&SEGMENTS),
            random.text(8),
        ))?;
    }
    Ok(())
}

fn parts(random: &mut Random, sizes: Sizes, each: EachRow<'_>) -> Result<(), String> {
    for key in 1..=sizes.parts {
        let name: Vec<&str> = (0..5).map(|_| random.pick(&COLORS)).collect();
        let maker = random.within(1, 5);
        let brand = maker * 10 + random.within(1, 5);
        let kind: Vec<&str> = TYPES.iter().map(|words| random.pick(&words[..])).collect();
        each(format!(
            "{key},'{}','Manufacturer#{maker}','Brand#{brand}','{}',{},'{} {}',{},'{}'",
            name.join(" "),
            kind.join(" "),
            random.within(1, 50),
            random.pick(&SIZES),
            random.pick(&VESSELS),
            money(price_cents(key)),
            random.text(2),
        ))?;
    }
    Ok(())
}

/// An order with its lines; returns the order's row, or those of its lines.
fn order(
    random: &mut Random,
    number: u64,
    sizes: Sizes,
    wants_lines: bool,
    each: EachRow<'_>,
) -> Result<(), String> {
    // Sparse keys, and a third of the customers never order: both as specified.
    let key = (number - 1) / 8 * 32 + (number - 1) % 8 + 1;
    let customer = match random.within(1, sizes.customers) {
        chosen if chosen % 3 == 0 => chosen - 1,
        chosen => chosen,
    };
    let ordered = day(1992, 1, 1) + random.within(0, 2_405) as i32;
    let today = day(1995, 6, 17);
    let (mut total_cents, mut finished) = (0, 0);
    let lines = random.within(1, 7);
    for line in 1..=lines {
        let part = random.within(1, sizes.parts);
        let supplier = supplier_of(part, random.within(0, 3), sizes.suppliers);
        let (quantity, discount, tax) = (random.within(1, 50), random.within(0, 10), random.within(0, 8));
        let cents = quantity * price_cents(part);
        let shipped = ordered + random.within(1, 121) as i32;
        let committed = ordered + random.within(30, 90) as i32;
        let received = shipped + random.within(1, 30) as i32;
        let returned = if received <= today { random.pick(&["R", "A"]) } else { "N" };
        let status = if shipped > today { "O" } else { "F" };
        finished += u64::from(status == "F");
        total_cents += cents * (100 + tax) / 100 * (100 - discount) / 100;
        let row = format!(
            "{key},{part},{supplier},{line},{quantity},{},{},{},'{returned}','{status}',{},{},{},'{}','{}','{}'",
            money(cents),
            money(discount),
            money(tax),
            date(shipped),
            date(committed),
            date(received),
            random.pick(&INSTRUCTIONS),
            random.pick(&MODES),
            random.text(3),
        );
        if wants_lines {
            each(row)?;
        }
    }
    let status = match finished {
        0 => "O",
        all if all == lines => "F",
        _ => "P",
    };
    let row = format!(
        "{key},{customer},'{status}',{},{},'{}','Clerk#{:09}',0,'{}'",
        money(total_cents),
        date(ordered),
        random.pick(&PRIORITIES),
        random.within(1, 1_000),
        random.text(6),
    );
    if wants_lines { Ok(()) } else { each(row) }
}
