//! A terminal: draws transactions in the specification's mix (clause 5.2.3) without pauses between them, and counts.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::dialect::Dialect;
use crate::procedures::UNUSED_ITEM;
use crate::random::Random;
use crate::server::Session;
use crate::tables::{CUSTOMERS, DISTRICTS, last_name, skewed};

/// The results of one or more terminals.
#[derive(Default)]
pub struct Tally {
    /// Orders placed and committed.
    pub orders: u64,
    /// Transactions of all kinds that ended as specified, orders of an unused item among them.
    pub transactions: u64,
    /// Deadlocks whose victim was repeated.
    pub deadlocks: u64,
    /// Milliseconds of each order.
    pub order_ms: Vec<f64>,
    /// For each procedure the milliseconds of its calls.
    pub call_ms: BTreeMap<&'static str, Vec<f64>>,
}

impl Tally {
    /// Adds the results of another terminal.
    pub fn add(&mut self, other: Tally) {
        self.orders += other.orders;
        self.transactions += other.transactions;
        self.deadlocks += other.deadlocks;
        self.order_ms.extend(other.order_ms);
        for (procedure, calls) in other.call_ms {
            self.call_ms.entry(procedure).or_default().extend(calls);
        }
    }

    /// Each procedure with the median of its calls.
    pub fn medians_ms(&mut self) -> Vec<(&'static str, f64)> {
        let median = |calls: &mut Vec<f64>| {
            calls.sort_unstable_by(f64::total_cmp);
            calls[calls.len() / 2]
        };
        self.call_ms.iter_mut().map(|(procedure, calls)| (*procedure, median(calls))).collect()
    }

    /// The latency that a share of the orders does not exceed, in milliseconds.
    pub fn order_ms_at(&mut self, share: f64) -> f64 {
        self.order_ms.sort_unstable_by(f64::total_cmp);
        let last = self.order_ms.len().saturating_sub(1) as f64;
        self.order_ms.get((last * share) as usize).copied().unwrap_or(f64::NAN)
    }
}

/// One terminal.
pub struct Terminal {
    pub session: Session,
    pub dialect: Dialect,
    pub random: Random,
    pub warehouses: u64,
    /// Its home warehouse.
    pub warehouse: u64,
}

/// A call, and the count that it increases when it ends.
struct Call {
    procedure: &'static str,
    arguments: String,
    places_order: bool,
    fails: bool,
}

impl Terminal {
    /// Runs transactions until that time.
    pub fn run(&mut self, until: Instant) -> Result<Tally, String> {
        let mut tally = Tally::default();
        while Instant::now() < until {
            let call = self.draw();
            let began = Instant::now();
            tally.deadlocks += self.enter(&call)?;
            tally.transactions += 1;
            let milliseconds = began.elapsed().as_secs_f64() * 1e3;
            tally.call_ms.entry(call.procedure).or_default().push(milliseconds);
            if call.places_order && !call.fails {
                tally.orders += 1;
                tally.order_ms.push(milliseconds);
            }
        }
        Ok(tally)
    }

    /// Repeats the call until it is no deadlock victim; returns the number of deadlocks.
    fn enter(&mut self, call: &Call) -> Result<u64, String> {
        let text = match self.dialect {
            Dialect::TransactSql => format!("exec {} {}", call.procedure, call.arguments),
            Dialect::PostgreSql => format!("select * from {}({})", call.procedure, call.arguments),
        };
        let mut deadlocks = 0;
        loop {
            match self.session.ask(&text) {
                Ok(_) if call.fails => return Err(format!("{text}: an order of an unused item was taken")),
                Ok(_) => return Ok(deadlocks),
                Err(why) if call.fails && why.contains(UNUSED_ITEM) => return Ok(deadlocks),
                Err(why) if why.contains("deadlock") => deadlocks += 1,
                Err(why) => return Err(format!("{text}: {why}")),
            }
        }
    }

    fn draw(&mut self) -> Call {
        let warehouse = self.warehouse;
        let district = self.random.within(1, DISTRICTS);
        let call = |procedure, arguments| Call { procedure, arguments, places_order: false, fails: false };
        match self.random.within(1, 100) {
            1..=45 => {
                let customer = skewed(&mut self.random, 1_023, 1, CUSTOMERS);
                let lines = self.random.within(5, 15);
                let fails = self.random.within(1, 100) == 1;
                let all = self.warehouses;
                let arguments =
                    format!("{warehouse},{district},{customer},{lines},{all},{}", u8::from(fails));
                Call { procedure: "place_order", arguments, places_order: true, fails }
            }
            46..=88 => {
                let (home, place) = self.customer_of_payment(district);
                let who = self.customer();
                let cents = self.random.within(100, 500_000);
                let amount = crate::random::money(cents);
                call("pay", format!("{warehouse},{district},{home},{place},{who},{amount}"))
            }
            89..=92 => {
                let who = self.customer();
                call("ask_for_order", format!("{warehouse},{district},{who}"))
            }
            93..=96 => call("deliver", format!("{warehouse},{}", self.random.within(1, 10))),
            _ => call("look_at_stock", format!("{warehouse},{district},{}", self.random.within(10, 20))),
        }
    }

    /// Customers of 15 in 100 payments live in another warehouse, if there is one.
    fn customer_of_payment(&mut self, district: u64) -> (u64, u64) {
        if self.warehouses == 1 || self.random.within(1, 100) <= 85 {
            return (self.warehouse, district);
        }
        let other = (self.warehouse + self.random.within(0, self.warehouses - 2)) % self.warehouses + 1;
        (other, self.random.within(1, DISTRICTS))
    }

    /// By last name in 60 of 100, else by number: the number and the name.
    fn customer(&mut self) -> String {
        if self.random.within(1, 100) <= 60 {
            format!("0,'{}'", last_name(skewed(&mut self.random, 255, 0, 999)))
        } else {
            format!("{},''", skewed(&mut self.random, 1_023, 1, CUSTOMERS))
        }
    }
}
