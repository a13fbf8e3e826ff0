//! The layer rule: `layers.toml` against the dependencies of each crate in `cargo metadata`.

use super::Finding;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

type Arrows = BTreeMap<String, BTreeSet<String>>;

/// Every dependency between the project's crates that does not go to a lower layer, and every crate without a layer.
///
/// # Errors
/// When `layers.toml` or the metadata cannot be read.
pub fn check() -> Result<Vec<Finding>, String> {
    let layers = read_layers()?;
    let arrows = read_arrows()?;
    Ok(judge(&layers, &arrows))
}

/// Prints the shortest dependency path from one crate to another.
///
/// # Errors
/// When there is no such path.
pub fn explain(from: &str, to: &str) -> Result<(), String> {
    let arrows = read_arrows()?;
    let path = shortest_path(&arrows, from, to).ok_or(format!("{from} does not use {to}"))?;
    println!("{}", path.join(" -> "));
    Ok(())
}

fn judge(layers: &BTreeMap<String, usize>, arrows: &Arrows) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (from, targets) in arrows {
        let Some(upper) = layers.get(from) else {
            findings.push(Finding::new(from.as_str(), "has no layer in layers.toml"));
            continue;
        };
        for to in targets {
            if layers.get(to).is_some_and(|lower| lower >= upper) {
                findings
                    .push(Finding::new(from.as_str(), format!("uses {to}, which is not in a lower layer")));
            }
        }
    }
    findings
}

fn shortest_path(arrows: &Arrows, from: &str, to: &str) -> Option<Vec<String>> {
    let mut queue = VecDeque::from([vec![from.to_string()]]);
    let mut seen = BTreeSet::from([from.to_string()]);
    while let Some(path) = queue.pop_front() {
        let last = path.last()?;
        if last == to {
            return Some(path);
        }
        for next in arrows.get(last).into_iter().flatten() {
            if seen.insert(next.clone()) {
                let mut longer = path.clone();
                longer.push(next.clone());
                queue.push_back(longer);
            }
        }
    }
    None
}

/// `layers.toml`.
///
/// # Errors
/// When it cannot be read.
pub fn read_table() -> Result<toml::Table, String> {
    let path = super::source::workspace_root()?.join("layers.toml");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    text.parse().map_err(|e| format!("layers.toml: {e}"))
}

fn read_layers() -> Result<BTreeMap<String, usize>, String> {
    let table = read_table()?;
    let order = table.get("order").and_then(|o| o.as_array()).ok_or("layers.toml: no `order`")?;
    let mut layers = BTreeMap::new();
    for (height, names) in order.iter().enumerate() {
        for name in names.as_array().into_iter().flatten().filter_map(|n| n.as_str()) {
            layers.insert(name.to_string(), height);
        }
    }
    Ok(layers)
}

/// Normal dependencies between our crates, by the short names of `layers.toml`; test-only dependencies do not count.
fn read_arrows() -> Result<Arrows, String> {
    let output = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .output()
        .map_err(|e| format!("cargo metadata: {e}"))?;
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo metadata: {e}"))?;
    let mut arrows = Arrows::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let Some(from) = short_name(package["name"].as_str().unwrap_or_default()) else { continue };
        let targets = arrows.entry(from).or_default();
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            if dependency["kind"].is_null() {
                targets.extend(short_name(dependency["name"].as_str().unwrap_or_default()));
            }
        }
    }
    Ok(arrows)
}

fn short_name(package: &str) -> Option<String> {
    match package {
        "hardpan" => Some(package.to_string()),
        _ => package.strip_prefix("hardpan-").map(str::to_string),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrows(pairs: &[(&str, &str)]) -> Arrows {
        let mut arrows = Arrows::new();
        for (from, to) in pairs {
            arrows.entry((*from).into()).or_default().insert((*to).into());
            arrows.entry((*to).into()).or_default();
        }
        arrows
    }

    #[test]
    fn an_arrow_upwards_or_sideways_is_found() {
        let layers = BTreeMap::from([("os".into(), 0), ("log".into(), 1), ("tds".into(), 1)]);
        assert!(judge(&layers, &arrows(&[("log", "os")])).is_empty());
        assert_eq!(judge(&layers, &arrows(&[("os", "log")])).len(), 1);
        assert_eq!(judge(&layers, &arrows(&[("log", "tds")])).len(), 1);
        assert_eq!(judge(&layers, &arrows(&[("stray", "os")])).len(), 1);
    }

    #[test]
    fn the_path_is_the_shortest_one() {
        let map = arrows(&[("a", "b"), ("b", "c"), ("a", "c")]);
        assert_eq!(shortest_path(&map, "a", "c").unwrap(), ["a", "c"]);
        assert_eq!(shortest_path(&map, "c", "a"), None);
    }
}
