//! The nine tables of TPC-C and their first rows, by its specification's rules for sizes, ranges and words (clauses 1.3 and 4.3).

use crate::random::{Random, money};
use crate::server::{Content, EachRow, TableDefinition};

/// Items, and rows of stock in each warehouse.
pub const ITEMS: u64 = 100_000;
/// Districts of a warehouse.
pub const DISTRICTS: u64 = 10;
/// Customers of a district, each with one order at first.
pub const CUSTOMERS: u64 = 3_000;
/// The first undelivered order of a district.
const FIRST_NEW_ORDER: u64 = 2_101;
/// The syllables of last names (clause 4.3.2.3).
const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
const STATES: [&str; 8] = ["CA", "NY", "TX", "WA", "FL", "IL", "MA", "OR"];
const ADDED: &str = "'2026-01-01'";

const TABLES: [TableDefinition; 9] = [
    TableDefinition {
        name: "warehouse",
        columns: "w_id int not null primary key, w_name varchar(10) not null, w_street varchar(20) not null, \
            w_city varchar(20) not null, w_state char(2) not null, w_zip char(9) not null, \
            w_tax decimal(4,4) not null, w_ytd decimal(12,2) not null",
    },
    TableDefinition {
        name: "district",
        columns: "d_w_id int not null, d_id int not null, d_name varchar(10) not null, \
            d_street varchar(20) not null, d_city varchar(20) not null, d_state char(2) not null, \
            d_zip char(9) not null, d_tax decimal(4,4) not null, d_ytd decimal(12,2) not null, \
            d_next_o_id int not null, primary key (d_w_id, d_id)",
    },
    TableDefinition {
        name: "customer",
        columns: "c_w_id int not null, c_d_id int not null, c_id int not null, c_first varchar(16) not null, \
            c_middle char(2) not null, c_last varchar(16) not null, c_street varchar(20) not null, \
            c_city varchar(20) not null, c_state char(2) not null, c_zip char(9) not null, \
            c_phone char(16) not null, c_since «datetime2(3)|timestamp(3)» not null, c_credit char(2) not null, \
            c_credit_lim decimal(12,2) not null, c_discount decimal(4,4) not null, \
            c_balance decimal(12,2) not null, c_ytd_payment decimal(12,2) not null, \
            c_payment_cnt int not null, c_delivery_cnt int not null, c_data varchar(500) not null, \
            primary key (c_w_id, c_d_id, c_id)",
    },
    TableDefinition {
        name: "history",
        columns: "h_c_id int not null, h_c_d_id int not null, h_c_w_id int not null, h_d_id int not null, \
            h_w_id int not null, h_date «datetime2(3)|timestamp(3)» not null, h_amount decimal(6,2) not null, \
            h_data varchar(24) not null",
    },
    TableDefinition {
        name: "orders",
        columns: "o_w_id int not null, o_d_id int not null, o_id int not null, o_c_id int not null, \
            o_entry_d «datetime2(3)|timestamp(3)» not null, o_carrier_id int null, o_ol_cnt int not null, \
            o_all_local int not null, primary key (o_w_id, o_d_id, o_id)",
    },
    TableDefinition {
        name: "new_order",
        columns: "no_w_id int not null, no_d_id int not null, no_o_id int not null, \
            primary key (no_w_id, no_d_id, no_o_id)",
    },
    TableDefinition {
        name: "order_line",
        columns: "ol_w_id int not null, ol_d_id int not null, ol_o_id int not null, ol_number int not null, \
            ol_i_id int not null, ol_supply_w_id int not null, ol_delivery_d «datetime2(3)|timestamp(3)» null, \
            ol_quantity int not null, ol_amount decimal(6,2) not null, ol_dist_info char(24) not null, \
            primary key (ol_w_id, ol_d_id, ol_o_id, ol_number)",
    },
    TableDefinition {
        name: "item",
        columns: "i_id int not null primary key, i_im_id int not null, i_name varchar(24) not null, \
            i_price decimal(5,2) not null, i_data varchar(50) not null",
    },
    TableDefinition {
        name: "stock",
        columns: "s_w_id int not null, s_i_id int not null, s_quantity int not null, \
            s_dist_01 char(24) not null, s_dist_02 char(24) not null, s_dist_03 char(24) not null, \
            s_dist_04 char(24) not null, s_dist_05 char(24) not null, s_dist_06 char(24) not null, \
            s_dist_07 char(24) not null, s_dist_08 char(24) not null, s_dist_09 char(24) not null, \
            s_dist_10 char(24) not null, s_ytd int not null, s_order_cnt int not null, \
            s_remote_cnt int not null, s_data varchar(50) not null, primary key (s_w_id, s_i_id)",
    },
];

/// The two indexes besides primary keys: a customer's last order, and customers by name.
const INDEXES: [&str; 2] = [
    "create index customer_name on customer (c_w_id, c_d_id, c_last, c_first)",
    "create index orders_customer on orders (o_w_id, o_d_id, o_c_id, o_id)",
];

/// A number of warehouses.
#[derive(Clone, Copy)]
pub struct Warehouses(pub u64);

/// The last name that belongs to a number below 1,000.
pub fn last_name(number: u64) -> String {
    [number / 100, number / 10 % 10, number % 10].map(|digit| SYLLABLES[digit as usize]).concat()
}

/// A non-uniform random number (clause 2.1.6), with a constant of this program.
pub fn skewed(random: &mut Random, bits: u64, low: u64, high: u64) -> u64 {
    let (a, b) = (random.within(0, bits), random.within(low, high));
    ((a | b) + bits / 3) % (high - low + 1) + low
}

fn letters(random: &mut Random, least: u64, most: u64) -> String {
    let count = random.within(least, most);
    (0..count).map(|_| (b'a' + random.within(0, 25) as u8) as char).collect()
}

/// Name, street, city, state and zip code.
fn address(random: &mut Random) -> String {
    format!(
        "'{}','{}','{}','{:04}11111'",
        letters(random, 10, 20),
        letters(random, 10, 20),
        random.pick(&STATES),
        random.within(0, 9_999)
    )
}

fn tax(random: &mut Random, most: u64) -> String {
    format!("0.{:04}", random.within(0, most))
}

/// A tenth of all such texts contains the word "original" (clause 4.3.3.1).
fn data(random: &mut Random) -> String {
    let text = letters(random, 26, 40);
    if random.within(1, 10) == 1 { format!("{text}ORIGINAL") } else { text }
}

impl Content for Warehouses {
    fn tables(&self) -> &'static [TableDefinition] {
        &TABLES
    }

    fn indexes(&self) -> &'static [&'static str] {
        &INDEXES
    }

    fn generate(&self, table: &str, each: EachRow<'_>) -> Result<(), String> {
        let mut random = Random(table.bytes().fold(11, |sum, byte| sum * 31 + u64::from(byte)));
        if table == "item" {
            return items(&mut random, each);
        }
        for warehouse in 1..=self.0 {
            match table {
                "warehouse" => {
                    let (name, place) = (letters(&mut random, 6, 10), address(&mut random));
                    let ytd = money(3_000_000 * DISTRICTS);
                    each(format!("{warehouse},'{name}',{place},{},{ytd}", tax(&mut random, 2_000)))?;
                }
                "stock" => stock(&mut random, warehouse, each)?,
                _ => {
                    for district in 1..=DISTRICTS {
                        in_district(table, &mut random, warehouse, district, each)?;
                    }
                }
            }
        }
        Ok(())
    }
}

fn items(random: &mut Random, each: EachRow<'_>) -> Result<(), String> {
    for item in 1..=ITEMS {
        let (image, name) = (random.within(1, 10_000), letters(random, 14, 24));
        let price = money(random.within(100, 10_000));
        each(format!("{item},{image},'{name}',{price},'{}'", data(random)))?;
    }
    Ok(())
}

fn stock(random: &mut Random, warehouse: u64, each: EachRow<'_>) -> Result<(), String> {
    for item in 1..=ITEMS {
        let quantity = random.within(10, 100);
        let places: String = (0..DISTRICTS).map(|_| format!("'{}',", letters(random, 24, 24))).collect();
        each(format!("{warehouse},{item},{quantity},{places}0,0,0,'{}'", data(random)))?;
    }
    Ok(())
}

fn in_district(
    table: &str,
    random: &mut Random,
    warehouse: u64,
    district: u64,
    each: EachRow<'_>,
) -> Result<(), String> {
    let place = format!("{warehouse},{district}");
    match table {
        "district" => {
            let (name, address) = (letters(random, 6, 10), address(random));
            let (tax, ytd) = (tax(random, 2_000), money(3_000_000));
            each(format!("{place},'{name}',{address},{tax},{ytd},{}", CUSTOMERS + 1))?;
        }
        "customer" => (1..=CUSTOMERS).try_for_each(|id| each(customer(random, &place, id)))?,
        "history" => {
            for id in 1..=CUSTOMERS {
                let text = letters(random, 12, 24);
                each(format!("{id},{district},{warehouse},{district},{warehouse},{ADDED},10.00,'{text}'"))?;
            }
        }
        "new_order" => (FIRST_NEW_ORDER..=CUSTOMERS).try_for_each(|id| each(format!("{place},{id}")))?,
        // Generated from one random sequence, each once for its own table.
        "orders" | "order_line" => {
            let mut random = Random(warehouse * 1_000 + district);
            let customers = shuffled(&mut random);
            for (at, customer) in customers.into_iter().enumerate() {
                order(&mut random, &place, at as u64 + 1, customer, table == "order_line", each)?;
            }
        }
        other => return Err(format!("no table {other}")),
    }
    Ok(())
}

fn customer(random: &mut Random, place: &str, id: u64) -> String {
    let name = last_name(if id <= 1_000 { id - 1 } else { skewed(random, 255, 0, 999) });
    let credit = if random.within(1, 10) == 1 { "BC" } else { "GC" };
    format!(
        "{place},{id},'{}','OE','{name}',{},'{:016}',{ADDED},'{credit}',50000.00,{},-10.00,10.00,1,0,'{}'",
        letters(random, 8, 16),
        address(random),
        random.within(0, 9_999_999_999),
        tax(random, 5_000),
        letters(random, 300, 500),
    )
}

fn shuffled(random: &mut Random) -> Vec<u64> {
    let mut all: Vec<u64> = (1..=CUSTOMERS).collect();
    for at in (1..all.len()).rev() {
        all.swap(at, random.within(0, at as u64) as usize);
    }
    all
}

fn order(
    random: &mut Random,
    place: &str,
    id: u64,
    customer: u64,
    wants_lines: bool,
    each: EachRow<'_>,
) -> Result<(), String> {
    let (lines, carrier) = (random.within(5, 15), random.within(1, 10));
    let is_delivered = id < FIRST_NEW_ORDER;
    if !wants_lines {
        let carrier = if is_delivered { carrier.to_string() } else { "null".into() };
        each(format!("{place},{id},{customer},{ADDED},{carrier},{lines},1"))?;
    }
    for line in 1..=lines {
        let (item, cents, text) =
            (random.within(1, ITEMS), random.within(1, 999_999), letters(random, 24, 24));
        if wants_lines {
            let (at, amount) = if is_delivered { (ADDED, 0) } else { ("null", cents) };
            let warehouse = place.split(',').next().unwrap_or(place);
            each(format!("{place},{id},{line},{item},{warehouse},{at},5,{},'{text}'", money(amount)))?;
        }
    }
    Ok(())
}
