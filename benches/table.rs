//! The table of results: medians, ratios, the load of the machine.

use crate::work::{Sample, Scale, Work};

/// All samples so far.
pub struct Table {
    engines: Vec<&'static str>,
    works: Vec<Work>,
    /// By work, then engine, then round.
    samples: Vec<Vec<Vec<Sample>>>,
    busy: Vec<f64>,
}

impl Table {
    /// An empty table.
    pub fn new(engines: Vec<&'static str>, works: Vec<Work>) -> Table {
        let samples = vec![vec![Vec::new(); engines.len()]; works.len()];
        Table { engines, works, samples, busy: Vec::new() }
    }

    /// One more measurement, and the share of processor time that was in use just before it.
    pub fn note(&mut self, row: usize, column: usize, round: usize, sample: Sample, busy: f64) {
        assert_eq!(self.samples[row][column].len(), round, "each round measures once");
        self.samples[row][column].push(sample);
        self.busy.push(busy);
    }

    /// Prints it as Markdown.
    pub fn print(&self, scale: &Scale) {
        let ours = self.engines.iter().position(|name| *name == "Hardpan").expect("Hardpan takes part");
        let peers: Vec<usize> = (0..self.engines.len()).filter(|column| *column != ours).collect();
        println!();
        let head = peers.iter().map(|peer| format!("{} | ", self.engines[*peer])).collect::<String>();
        let ratios: Vec<usize> =
            peers.iter().copied().filter(|peer| self.engines[*peer] != "raw device").collect();
        let ratio_head =
            ratios.iter().map(|peer| format!(" of {} |", self.engines[*peer])).collect::<String>();
        println!("| work | {head}Hardpan | of raw device |{ratio_head}");
        println!("|---|{}---|---|{}", "---|".repeat(peers.len()), "---|".repeat(ratios.len()));
        let raw = self.works.iter().position(|work| *work == Work::RawDevice);
        for (row, work) in self.works.iter().enumerate() {
            let cells: String = peers.iter().map(|peer| format!(" {} |", self.cell(row, *peer))).collect();
            let against_device = match (work, raw) {
                (Work::Durable, Some(raw)) => ratio(&self.samples[row][ours], &self.samples[raw][0]),
                _ => "".into(),
            };
            let against: String = ratios
                .iter()
                .map(|peer| format!(" {} |", ratio(&self.samples[row][ours], &self.samples[row][*peer])))
                .collect();
            println!(
                "| {} |{cells} {} | {against_device} |{against}",
                work.name(scale),
                self.cell(row, ours)
            );
        }
        let worst = self.busy.iter().copied().fold(0.0, f64::max);
        println!();
        println!(
            "Medians of {} rounds; ratios above 1: Hardpan is better. Others used {:.0} % of the processors before a \
             measurement (median), at most {:.0} %.",
            self.samples.iter().flatten().map(Vec::len).max().unwrap_or(0),
            median(self.busy.clone()) * 100.0,
            worst * 100.0
        );
    }

    fn cell(&self, row: usize, column: usize) -> String {
        let samples = &self.samples[row][column];
        let Some(first) = samples.first() else { return String::new() };
        let of = |part: &dyn Fn(&Sample) -> Option<f64>| {
            let values: Vec<f64> = samples.iter().filter_map(part).collect();
            (!values.is_empty()).then(|| median(values))
        };
        show(&Sample {
            value: of(&|sample| Some(sample.value)).unwrap_or(first.value),
            is_seconds: first.is_seconds,
            latency_ms: of(&|sample| sample.latency_ms.map(|l| l.0))
                .zip(of(&|sample| sample.latency_ms.map(|l| l.1))),
            memory_mb: of(&|sample| sample.memory_mb),
        })
    }
}

/// A sample as text.
pub fn show(sample: &Sample) -> String {
    let mut text = match sample.is_seconds {
        true => format!("{:.3} s", sample.value),
        false => format!("{:.0}/s", sample.value),
    };
    if let Some((p50, p99)) = sample.latency_ms {
        text.push_str(&format!(" (p50 {p50:.2} ms, p99 {p99:.2} ms)"));
    }
    if let Some(memory_mb) = sample.memory_mb {
        text.push_str(&format!(" ({memory_mb:.0} MB)"));
    }
    text
}

/// The median of the ratios, round by round, above 1 when Hardpan is better.
fn ratio(ours: &[Sample], theirs: &[Sample]) -> String {
    let each = ours
        .iter()
        .zip(theirs)
        .map(|(a, b)| if a.is_seconds { b.value / a.value } else { a.value / b.value });
    let ratios: Vec<f64> = each.collect();
    if ratios.is_empty() { String::new() } else { format!("{:.2}", median(ratios)) }
}

/// The median.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[count / 2],
        count => (values[count / 2 - 1] + values[count / 2]) / 2.0,
    }
}
